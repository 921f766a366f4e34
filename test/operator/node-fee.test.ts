/** The hourly fee of a node affects the number of nodes that the operator launches. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { NODE_HOURLY_FEE_ANNOTATION, NODE_POOL } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

describe('the fee of a node', () => {
  it('makes the operator move pods from several small nodes to a large one if it costs less including the fee', async () => {
    scenario = await startScenario({ ...BRISK, env: { NODE_HOURLY_FEE: '0' } });
    const nodePool = pool({ cpus: [2, 16] });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), nodePool);
    await scenario.apply(deployment('web', 5, {}, { cpu: '1500m' }));
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 5);
    expect(await scenario.nodes()).toHaveLength(5);

    await scenario.kube.patch(
      NODE_POOL,
      { name: nodePool.metadata.name },
      {
        metadata: { annotations: { [NODE_HOURLY_FEE_ANNOTATION]: '1' } },
      },
    );
    await scenario.until('one node', async () => (await scenario.nodes()).length === 1, 120_000);
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 5);
  }, 300_000);
});

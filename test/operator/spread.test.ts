/** Default topology spread, which the operator applies because the cluster's scheduler does. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { ZONE_LABEL } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const CONFIG = JSON.stringify({
  podTopologySpread: {
    defaultConstraints: [{ maxSkew: 1, topologyKey: ZONE_LABEL, whenUnsatisfiable: 'DoNotSchedule' }],
  },
});

describe('default topology spread', () => {
  it('leads to nodes in every zone for the replicas of a Deployment', async () => {
    scenario = await startScenario({ ...BRISK, env: { ...BRISK.env, SCHEDULER_CONFIG: CONFIG } });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }));
    // one pod per node
    await scenario.apply(deployment('web', 3, {}, { cpu: '1500m' }));
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 3);

    const asked = (await scenario.claims()).map(
      ({ spec }) => spec.requirements.find(({ key }) => key === ZONE_LABEL)?.values ?? [],
    );
    expect(asked.map(({ length }) => length)).toEqual([1, 1, 1]);
    expect(new Set(asked.flat()).size).toBe(3);
    expect(new Set((await scenario.nodes()).map(({ metadata }) => metadata.labels?.[ZONE_LABEL])).size).toBe(3);
  }, 300_000);
});

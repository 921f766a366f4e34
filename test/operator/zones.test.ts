/** Balance of zones: launches, reports and a zone that was not available. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { type KubeObject, ZONE_LABEL } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const zonesOfNodes = async (): Promise<readonly number[]> => {
  const zones = (await scenario.nodes()).map(({ metadata }) => metadata.labels?.[ZONE_LABEL] ?? '');
  return [...Map.groupBy(zones, (zone) => zone).values()].map(({ length }) => length).sort();
};

describe('the balance of zones', () => {
  it('launches nodes at equal prices in all zones, and restores the balance with later launches', async () => {
    scenario = await startScenario({ ...BRISK, env: { PACKING: 'cheapest' } });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2], capacityTypes: ['on-demand'] }));
    // one pod per node
    await scenario.apply(deployment('web', 7, {}, { cpu: '1500m' }));
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 7);
    expect(await zonesOfNodes()).toEqual([2, 2, 3]);

    const line = scenario.log.find(({ message }) => message === 'computed new nodeclaim(s) to fit pod(s)');
    expect(line?.zones).toBe('us-west-2a 3, us-west-2b 2, us-west-2c 2');

    await scenario.apply(deployment('more', 2, {}, { cpu: '1500m' }));
    await scenario.until('more running pods', async () => (await scenario.running('more')).length === 2);
    expect(await zonesOfNodes()).toEqual([3, 3, 3]);
    expect(await scenario.metrics()).toContain(
      'karpenter_nodeclaims_balanced_total{nodepool="default",zone="us-west-2c"} 3',
    );
  }, 300_000);

  it('is left to EC2 by a NodePolicy', async () => {
    scenario = await startScenario({ ...BRISK, env: { PACKING: 'cheapest' } });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2], capacityTypes: ['on-demand'] }), {
      apiVersion: 'karpenter-ts.sh/v1alpha1',
      kind: 'NodePolicy',
      metadata: { name: 'all' },
      spec: { zones: { balance: '0%' } },
    } as KubeObject);
    await scenario.apply(deployment('web', 3, {}, { cpu: '1500m' }));
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 3);
    const requirements = (await scenario.claims()).flatMap(({ spec }) => spec.requirements.map(({ key }) => key));
    expect(requirements).not.toContain(ZONE_LABEL);
  }, 300_000);
});

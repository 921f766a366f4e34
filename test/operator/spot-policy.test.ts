/** Section `spot` of NodePolicies: prices of launches, and the nodes that exist when prices or policies change. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, type KubeObject } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const policy = (spot: Record<string, unknown>): KubeObject =>
  ({
    apiVersion: 'karpenter-ts.sh/v1alpha1',
    kind: 'NodePolicy',
    metadata: { name: 'spot' },
    spec: { spot },
  }) as KubeObject;

const capacityTypes = async (): Promise<readonly (string | undefined)[]> =>
  (await scenario.claims()).map(({ metadata }) => metadata.labels?.[CAPACITY_TYPE_LABEL]).sort();

const BOTH = pool({ cpus: [2], capacityTypes: ['spot', 'on-demand'], consolidateAfter: 'Never' });

describe('the maximum price of spot', () => {
  it('launches on-demand nodes while spot costs more, and keeps the spot nodes that exist', async () => {
    scenario = await startScenario(BRISK);
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), BOTH, policy({ maxPrice: '100%' }));
    // one pod per node
    await scenario.apply(deployment('first', 1, {}, { cpu: '1500m' }));
    await scenario.until('a running pod', async () => (await scenario.running('first')).length === 1);
    expect(await capacityTypes()).toEqual(['spot']);

    await scenario.apply(policy({ maxPrice: '1%' }), deployment('second', 1, {}, { cpu: '1500m' }));
    await scenario.until('a second pod', async () => (await scenario.running('second')).length === 1);
    await scenario.pass(10 * 60_000);
    expect(await capacityTypes()).toEqual(['on-demand', 'spot']);
  }, 300_000);
});

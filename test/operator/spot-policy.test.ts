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

describe('the share of replicas on spot', () => {
  const onSpot = async (): Promise<number> => {
    const spot = new Set(
      (await scenario.nodes())
        .filter(({ metadata }) => metadata.labels?.[CAPACITY_TYPE_LABEL] === 'spot')
        .map(({ metadata }) => metadata.name),
    );
    return (await scenario.running('web')).filter(({ spec }) => spot.has(spec.nodeName ?? '')).length;
  };

  it('is kept by launches, by a scale-up, and after the replacement of an interrupted node', async () => {
    scenario = await startScenario({ ...BRISK, env: { PACKING: 'cheapest' } });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), BOTH, policy({ share: '70%' }));
    await scenario.apply(deployment('web', 4, {}, { cpu: '1500m' }));
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 4);
    expect(await onSpot()).toBe(2);
    await scenario.apply(deployment('web', 10, {}, { cpu: '1500m' }));
    await scenario.until('more running pods', async () => (await scenario.running('web')).length === 10);
    expect(await onSpot()).toBe(7);

    const [gone] = (await scenario.nodes()).filter(({ metadata }) => metadata.labels?.[CAPACITY_TYPE_LABEL] === 'spot');
    const id = gone?.spec?.providerID?.split('/').at(-1) ?? '';
    scenario.world.aws.faults.terminate(id);
    await scenario.until('a replacement', async () => {
      const names = (await scenario.nodes()).map(({ metadata }) => metadata.name);
      return !names.includes(gone?.metadata.name ?? '') && (await scenario.running('web')).length === 10;
    });
    expect(await onSpot()).toBeLessThanOrEqual(7);
  }, 300_000);
});

describe('the wait for spot capacity', () => {
  it('launches on-demand capacity only after the time of the policy', async () => {
    scenario = await startScenario(BRISK);
    const waiting = policy({ onDemandAfter: '5m', maxPrice: '1%' });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), BOTH, waiting);
    await scenario.apply(deployment('web', 1, {}, { cpu: '1500m' }));
    await scenario.pass(2 * 60_000);
    expect(await scenario.claims()).toEqual([]);
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    expect(await capacityTypes()).toEqual(['on-demand']);
  }, 300_000);
});

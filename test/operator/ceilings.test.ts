/** Ceilings in USD: no launch exceeds them, also after a crash, and a price above them evicts nothing. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { getCondition, type KubeObject, NODE_POLICY } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const ceiling = (usdPerHour: number): KubeObject =>
  ({
    apiVersion: 'karpenter-ts.sh/v1alpha1',
    kind: 'NodePolicy',
    metadata: { name: 'cost' },
    spec: { ceilings: { usdPerHour } },
  }) as KubeObject;

const amount = async (name: 'usage' | 'limit'): Promise<number> => {
  const line = (await scenario.metrics()).split('\n').find((each) => each.startsWith(`karpenter_ceilings_${name}{`));
  return Number(line?.split(' ').at(-1) ?? Number.NaN);
};

describe('a ceiling in USD', () => {
  it('bounds the NodeClaims of two NodePools together, over a restart, and evicts nothing when it is lowered', async () => {
    scenario = await startScenario(BRISK);
    const pools = ['first', 'second'].map((name) => pool({ name, cpus: [2], labels: { pool: name } }));
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), ...pools, ceiling(0.5));
    const of = (name: string) => deployment(name, 6, { nodeSelector: { pool: name } }, { cpu: '1500m' });
    await scenario.apply(of('first'), of('second'));
    await scenario.until('a node of each NodePool', async () => (await scenario.running()).length >= 2);
    await scenario.until('refused pods', async () =>
      (await scenario.events('FailedScheduling')).some(({ message = '' }) => message.includes('NodePolicy "cost"')),
    );
    await scenario.restartOperator();
    await scenario.until('the use', async () => (await amount('usage')) > 0);
    expect(await amount('usage')).toBeLessThanOrEqual(await amount('limit'));
    expect(await amount('limit')).toBe(0.5);
    expect((await scenario.claims()).length).toBeLessThan(12);

    const before = (await scenario.claims()).map(({ metadata }) => metadata.name).sort();
    await scenario.apply(ceiling(0.01));
    await scenario.until('the condition', async () => {
      const policy = await scenario.kube.find(NODE_POLICY, { name: 'cost' });
      return policy !== undefined && getCondition(policy, 'WithinCeilings')?.status === 'False';
    });
    expect((await scenario.claims()).map(({ metadata }) => metadata.name).sort()).toEqual(before);
  }, 300_000);
});

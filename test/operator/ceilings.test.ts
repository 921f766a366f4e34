/** Ceilings in USD and CapacityQuotas: no launch exceeds them, also after a crash, and none of them evicts pods. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_QUOTA, getCondition, type KubeObject, NODE, NODE_POLICY } from '#api/objects';
import { at, creates } from './crash-points.ts';
import { crashableOperator, untilDead } from './crashable-operator.ts';
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

const quota = (resources: Readonly<Record<string, number>>, selector?: unknown): KubeObject =>
  ({
    apiVersion: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityQuota',
    metadata: { name: 'few' },
    spec: { ...(selector !== undefined && { selector }), limits: { resources } },
  }) as KubeObject;

const GATES = { ...BRISK, env: { ...BRISK.env, FEATURE_GATES: 'CapacityQuota=true,StaticCapacity=true' } };
const reasonOf = async (type: string): Promise<string | undefined> => {
  const found = await scenario.kube.find(CAPACITY_QUOTA, { name: 'few' });
  return found && getCondition(found, type)?.reason;
};

describe('a CapacityQuota', () => {
  it('bounds two NodePools, a static NodePool and a node of others, also if the operator is killed after a creation', async () => {
    scenario = await startScenario({ ...GATES, operator: false });
    const operator = await crashableOperator(scenario);
    await scenario.kube.create(NODE, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'other' },
      spec: { providerID: 'other:///1', taints: [{ key: 'other', effect: 'NoSchedule' }] },
    });
    const pools = ['first', 'second'].map((name) => pool({ name, cpus: [2], labels: { pool: name } }));
    const fixed = pool({ name: 'fixed', cpus: [2] }) as KubeObject & { readonly spec: object };
    await scenario.apply(
      ...scenario.example('ec2nodeclass.yaml'),
      ...pools,
      { ...fixed, spec: { ...fixed.spec, replicas: 2 } } as KubeObject,
      quota({ nodes: 5 }),
    );
    const of = (name: string) => deployment(name, 6, { nodeSelector: { pool: name } }, { cpu: '1500m' });
    await scenario.apply(of('first'), of('second'));
    for (let crash = 0; crash < 2; crash += 1) {
      await operator.start(at('after', creates));
      await untilDead(scenario, operator);
      expect((await scenario.claims()).length).toBeLessThanOrEqual(4);
    }
    await operator.start();
    let most = 0;
    await scenario.until('a full quota', async () => {
      most = Math.max(most, (await scenario.claims()).length);
      const found = await scenario.kube.find(CAPACITY_QUOTA, { name: 'few' });
      return found?.status?.used?.resources.nodes === '5' && (await scenario.nodes()).length === 4;
    });
    await scenario.until('a refused pod', async () =>
      (await scenario.events('FailedScheduling')).some(({ message = '' }) => message.includes('CapacityQuota "few"')),
    );
    expect(await reasonOf('Reconciled')).toBe('ReconciliationSucceeded');

    await scenario.apply(quota({ nodes: 1 }));
    await scenario.until('the condition', async () => (await reasonOf('WithinLimits')) === 'Exceeded');
    await scenario.pass(60_000);
    most = Math.max(most, (await scenario.claims()).length);
    expect(most).toBe(4);
    expect(await scenario.nodes()).toHaveLength(4);
    await operator.close();
  }, 300_000);

  it('reports an invalid selector, which then selects all nodes', async () => {
    scenario = await startScenario(GATES);
    await scenario.apply(
      ...scenario.example('ec2nodeclass.yaml'),
      pool({ cpus: [2] }),
      quota({ nodes: 0 }, { matchExpressions: [{ key: 'team', operator: 'In', values: [] }] }),
    );
    await scenario.apply(deployment('web', 2));
    await scenario.until('the condition', async () => (await reasonOf('Reconciled')) === 'ReconciliationFailed');
    await scenario.pass(30_000);
    expect(await scenario.claims()).toEqual([]);
  }, 300_000);
});

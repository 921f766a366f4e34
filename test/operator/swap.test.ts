/** Swap of several nodes for others with a lower total cost, which consolidation of single nodes cannot achieve. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { isTrue } from '#api/objects';
import { type CrashableOperator, type CrashPoint, crashableOperator } from './crashable-operator.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, commands, leaks, type PoolShape, pool } from './pools.ts';

let scenario: Scenario;
let operator: CrashableOperator | undefined;
afterEach(async () => {
  await operator?.close();
  operator = undefined;
  await scenario.stop();
});

const SHAPE: PoolShape = { cpus: [2, 4, 8] };
const PODS = { a: 4, b: 2 };
/** The operator plans without the preferences below. */
const OPTIONS = { ...BRISK, env: { ...BRISK.env, PREFERENCE_POLICY: 'Ignore' } };

/** Has kube-scheduler put pods where the plan needs them. It would spread them over the new nodes otherwise. */
const prefers = (operator: 'In' | 'NotIn', ...cpus: readonly string[]) => {
  const preference = { matchExpressions: [{ key: 'karpenter.k8s.aws/instance-cpu', operator, values: cpus }] };
  return {
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference }] } },
  };
};

/** Returns the number of running pods of both kinds. */
const running = async (): Promise<number> =>
  (await scenario.running('a')).length + (await scenario.running('b')).length;
const runAll = (a: number, b: number): Promise<true> =>
  scenario.until(`${a} and ${b} pods`, async () => (await running()) === a + b);

/**
 * Starts two nodes of 8 vCPUs with two pods of 2.5 and one of 1.2 each. Neither node can be deleted, since the other
 * has room for only one small pod. Neither can be replaced by a smaller node, and one node is not enough for both.
 * But three pods of 2.5 fill 8 vCPUs, the fourth and a small one fill 4, and the last needs 2.
 */
async function mixUp(): Promise<void> {
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ ...SHAPE, budgets: [{ nodes: '0' }] }));
  await scenario.apply(
    deployment('a', 2, prefers('In', '8'), { cpu: '2500m' }),
    deployment('b', 1, prefers('NotIn', '8'), { cpu: '1200m' }),
    deployment('filling', 1, {}, { cpu: '1600m' }),
  );
  await runAll(2, 1);
  await scenario.until('the filling', async () => (await scenario.running('filling')).length === 1);
  await scenario.scale('a', PODS.a);
  await scenario.scale('b', PODS.b);
  await runAll(PODS.a, PODS.b);
  const cpus = (await scenario.nodes()).map(({ metadata }) => metadata.labels?.['karpenter.k8s.aws/instance-cpu']);
  expect(cpus).toEqual(['8', '8']);
  await scenario.scale('filling', 0);
  await scenario.until(
    'the nodes to count as consolidatable',
    async () =>
      (await scenario.pods('filling')).length === 0 &&
      (await scenario.claims()).every((claim) => isTrue(claim, 'Consolidatable')),
  );
}

/** Waits for the three sufficient nodes with all pods and without other nodes. */
const sorted = (before: number): Promise<true> =>
  scenario.until(
    'three cheaper nodes with all pods, and nothing else',
    async () =>
      scenario.instances().length === 3 &&
      scenario.world.aws.spending.usdPerHour() < 0.9 * before &&
      (await leaks(scenario)).length === 0 &&
      (await running()) === PODS.a + PODS.b,
    90_000,
  );

describe('a set of nodes with the wrong mix of pods', () => {
  it('is swapped for cheaper nodes, which are all ready before any pod moves', async () => {
    scenario = await startScenario(OPTIONS);
    await mixUp();
    const before = scenario.world.aws.spending.usdPerHour();
    const old = new Set((await scenario.nodes()).map(({ metadata }) => metadata.name));
    const uids = new Set((await scenario.pods()).map(({ metadata }) => metadata.uid));
    await scenario.apply(pool(SHAPE));
    // no pod is evicted before the last of the three is initialized
    await scenario.until(
      'three initialised replacements',
      async () => {
        const present = new Set((await scenario.pods()).map(({ metadata }) => metadata.uid));
        const claims = await scenario.claims();
        const ready = claims.filter((claim) => isTrue(claim, 'Initialized') && !old.has(claim.status?.nodeName ?? ''));
        if (ready.length < 3) expect([...uids].filter((uid) => !present.has(uid))).toEqual([]);
        return ready.length === 3;
      },
      60_000,
    );
    await sorted(before);

    expect(commands(scenario)).toMatchObject([
      { decision: 'replace', 'disrupted-node-count': 2, 'replacement-node-count': 3, 'pod-count': 6 },
    ]);
    const at = scenario.log.findIndex(({ message }) => message === 'disrupting node(s)');
    const drained = scenario.log.findIndex(({ message }, line) => line > at && message === 'tainted node');
    const until = scenario.log.slice(at, drained).map(({ message }) => message);
    expect(until.filter((message) => message === 'initialized nodeclaim')).toHaveLength(3);
    expect(await scenario.metrics()).toMatch(
      /karpenter_voluntary_disruption_decisions_total\{decision="replace",reason="underutilized",consolidation_type="swap"\} 1/,
    );
    const savings = String(commands(scenario)[0]?.command).match(/savings: \$(\d+\.\d\d)/)?.[1];
    expect(before - scenario.world.aws.spending.usdPerHour()).toBeCloseTo(Number(savings), 1);
  }, 300_000);

  it('is swapped by the next operator if one is killed between the replacements', async () => {
    scenario = await startScenario({ ...OPTIONS, operator: false });
    operator = await crashableOperator(scenario);
    await operator.start();
    await mixUp();
    const before = scenario.world.aws.spending.usdPerHour();
    let created = 0;
    const second: CrashPoint = ({ method, url }, moment) => {
      if (moment === 'after' && method === 'POST' && /\/nodeclaims(\?|$)/.test(url)) created += 1;
      return created === 2;
    };
    operator.arm(second);
    let isDead = false;
    void operator.died.then(() => {
      isDead = true;
    });
    await scenario.apply(pool(SHAPE));
    await scenario.until('death of the operator', () => isDead, 60_000);
    await operator.start();
    await sorted(before);
    expect(operator.hasty).toEqual([]);
  }, 300_000);
});

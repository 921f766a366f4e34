/** The leader is killed in each state of a rollout and of a surge, and its successor continues correctly. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { DEPLOYMENT, getCondition, type KubeObject, NODE_POOL, type NodePolicy, REPLICA_SET } from '#api/objects';
import { readRollout } from '#engine/disruption';
import { at, deletes, evicts, launches, releases } from '../operator/crash-points.ts';
import { type CrashableOperator, type CrashPoint, crashableOperator } from '../operator/crashable-operator.ts';
import type { SeenRequest } from '../operator/cuttable-proxy.ts';
import { deployment, type Scenario, startScenario } from '../operator/harness.ts';
import { apart, BRISK, leaks, pool } from '../operator/pools.ts';
import { SURGE, single, watchReady } from '../operator/ready-pods.ts';

const MINUTE = 60_000;
const PATIENCE = 240_000;
/** Time scale for waits of many minutes. */
const HURRY = 180;
const NODES = 4;

let scenario: Scenario;
let operator: CrashableOperator;
afterEach(async () => {
  await operator.close();
  await scenario.stop();
});

async function begin(pods: number, ...objects: readonly KubeObject[]): Promise<ReadonlySet<string>> {
  scenario = await startScenario({ ...BRISK, operator: false, env: { ...BRISK.env, POD_SURGE: 'true' } });
  operator = await crashableOperator(scenario);
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }), ...objects);
  await operator.start();
  await scenario.until('running pods', async () => (await scenario.running('web')).length === pods, PATIENCE);
  return new Set(scenario.instances().map(({ id }) => id));
}
const drift = (tier = 'gold'): Promise<unknown> =>
  scenario.kube.patch(NODE_POOL, { name: 'default' }, { spec: { template: { metadata: { labels: { tier } } } } });
async function dead(): Promise<void> {
  let isDead = false;
  void operator.died.then(() => {
    isDead = true;
  });
  await scenario.until('the death of the leader', () => isDead, PATIENCE);
}
const left = (old: ReadonlySet<string>): number => scenario.instances().filter(({ id }) => old.has(id)).length;
/** Number of launched instances, without dry runs. */
const bought = (): number =>
  scenario.world.aws.calls.recorded('CreateFleet').filter(({ input, errorCode }) => !input.DryRun && !errorCode).length;
const renewed = (old: ReadonlySet<string>, pods: number): Promise<true> =>
  scenario.until(
    'new nodes only',
    async () =>
      left(old) === 0 && (await scenario.running('web')).length === pods && (await leaks(scenario)).length === 0,
    PATIENCE,
  );

const patches =
  (path: string, text: string) =>
  ({ method, url, body }: SeenRequest): boolean =>
    method === 'PATCH' && url.includes(path) && body.includes(text);
const stages = (name: string) => patches('/nodepools/', `"reason":"${name}"`);
const records = (text: string) => patches('/nodepools/', text);

const nodePool = async () => {
  const found = await scenario.kube.find(NODE_POOL, { name: 'default' });
  if (found === undefined) throw new Error('there is no NodePool');
  return found;
};
const reached = (stage: string): Promise<true> =>
  scenario.until(
    `the stage ${stage}`,
    async () => getCondition(await nodePool(), 'DriftRollout')?.reason === stage,
    PATIENCE,
  );
const careful = {
  apiVersion: 'karpenter-ts.sh/v1alpha1',
  kind: 'NodePolicy',
  metadata: { name: 'careful' },
  spec: { rollout: { canaries: '1', soak: '10m' } } satisfies NodePolicy['spec'],
} as KubeObject;
const beginRollout = (): Promise<ReadonlySet<string>> => begin(NODES, careful, deployment('web', NODES, apart('web')));

describe('the successor of a leader that is killed during a rollout', () => {
  it.each<[string, CrashPoint]>([
    ['after it recorded the start', at('after', records('canaries'))],
    ['before it launches the canary', at('before', launches)],
    ['after it launched the canary', at('after', launches)],
    ['after it deleted the node that the canary replaces', at('after', deletes)],
    ['before it shows the soak', at('before', stages('Soak'))],
    ['after it showed the soak', at('after', stages('Soak'))],
  ])(
    'replaces one node before the end of the soak: %s',
    async (_, trap) => {
      const old = await beginRollout();
      operator.arm(trap);
      await drift();
      await dead();
      const record = readRollout(await nodePool());
      await operator.start();
      await reached('Soak');
      await scenario.until('the end of the drain', () => left(old) === NODES - 1, PATIENCE);
      await scenario.pass(6 * MINUTE, HURRY);
      expect(left(old)).toBe(NODES - 1);
      // the start may have been refused because of a conflict
      expect(readRollout(await nodePool())).toEqual(record ?? expect.anything());
      await renewed(old, NODES);
      expect(await scenario.events('RolloutHalted')).toEqual([]);
    },
    300_000,
  );

  it.each<[string, CrashPoint]>([
    ['after it showed the waves', at('after', stages('Waves'))],
    ['after it deleted a node of a wave', at('after', deletes)],
  ])(
    'completes the waves without another soak: %s',
    async (_, trap) => {
      const old = await beginRollout();
      await drift();
      await reached('Soak');
      await scenario.until('the end of the drain', () => left(old) === NODES - 1, PATIENCE);
      operator.arm(trap);
      await dead();
      const since = readRollout(await nodePool())?.sinceMs;
      const restartedMs = scenario.world.clock.now();
      await operator.start();
      expect(since).toBeDefined();
      await renewed(old, NODES);
      expect(scenario.world.clock.now() - restartedMs).toBeLessThan(9 * MINUTE);
    },
    300_000,
  );

  it.each<[string, CrashPoint]>([
    ['before it records the halt', at('before', records('halted'))],
    ['after it recorded the halt', at('after', records('halted'))],
    ['after it showed the halt', at('after', stages('Halted'))],
  ])(
    'keeps all nodes of a halted rollout: %s',
    async (_, trap) => {
      const old = await beginRollout();
      const fault = scenario.world.aws.faults.add({ kind: 'never-joins' });
      operator.arm(trap);
      await drift('bad');
      await scenario.pass(9 * MINUTE, HURRY);
      await dead();
      await operator.start();
      await reached('Halted');
      const launched = bought();
      await scenario.pass(25 * MINUTE, HURRY);
      expect(left(old)).toBe(NODES);
      expect(bought()).toBe(launched);
      expect((await scenario.running('web')).length).toBe(NODES);
      scenario.world.aws.faults.clear(fault);
      await drift('good');
      await renewed(old, NODES);
    },
    300_000,
  );
});

const restarts = async (): Promise<number> => (await scenario.kube.list(REPLICA_SET)).items.length - 1;
const web = { namespace: 'default', name: 'web' };
const surges = patches('/deployments/web', 'surge-started');

describe('the successor of a leader that is killed during a surge', () => {
  it.each<[string, CrashPoint]>([
    ['before it restarts the Deployment', at('before', surges)],
    ['after it restarted the Deployment', at('after', surges)],
    ['after it launched the replacement', at('after', launches)],
    ['before it removes the node', at('before', releases)],
  ])(
    'restarts the Deployment once, and always has a ready pod: %s',
    async (_, trap) => {
      const old = await begin(1, single('web', SURGE));
      const ready = await watchReady(scenario);
      operator.arm(trap);
      await drift();
      await dead();
      await scenario.pass(20_000);
      await operator.start();
      await renewed(old, 1);
      ready.stop();
      expect(ready.lost).toEqual([]);
      expect(await restarts()).toBe(1);
    },
    300_000,
  );

  it.each<[string, CrashPoint | undefined]>([
    ['while it waits', undefined],
    ['before the eviction at the deadline', at('before', evicts)],
    ['after the eviction at the deadline', at('after', evicts)],
  ])(
    'keeps the deadline of its predecessor: %s',
    async (_, trap) => {
      const old = await begin(1, single('web', { 'karpenter-ts.sh/surge': '3m' }));
      // pods of the next template fit on no node
      await scenario.kube.patch(DEPLOYMENT, web, { spec: { paused: true } });
      await scenario.kube.patch(DEPLOYMENT, web, {
        spec: { template: { spec: { nodeSelector: { absent: 'true' } } } },
      });
      await scenario.kube.patch(DEPLOYMENT, web, { spec: { paused: false } });
      if (trap !== undefined) operator.arm(trap);
      await drift();
      const startedMs = await scenario.until(
        'the restart',
        async () => {
          const found = await scenario.kube.find(DEPLOYMENT, web);
          return Date.parse(found?.metadata.annotations?.['karpenter-ts.sh/surge-started'] ?? '') || undefined;
        },
        PATIENCE,
      );
      if (trap === undefined) {
        await scenario.pass(MINUTE);
        await operator.kill();
      } else await dead();
      await operator.start();
      await scenario.until('the end of the old node', () => left(old) === 0, PATIENCE);
      const tookMs = scenario.world.clock.now() - startedMs;
      expect(tookMs).toBeGreaterThanOrEqual(3 * MINUTE);
      expect(tookMs).toBeLessThan(6 * MINUTE);
      const found = await scenario.kube.find(DEPLOYMENT, web);
      expect(Date.parse(found?.metadata.annotations?.['karpenter-ts.sh/surge-started'] ?? '')).toBe(startedMs);
    },
    300_000,
  );
});

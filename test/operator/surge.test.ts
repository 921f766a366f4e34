/** Consolidation of single replicas that request a new ready pod before their eviction. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { DEPLOYMENT, type KubeObject, NODE_POOL, POD } from '#api/objects';
import { type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';
import { SURGE, single, watchReady } from './ready-pods.ts';

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const APPS = 20;

const begin = async (setting: 'true' | 'false', ...objects: readonly KubeObject[]): Promise<void> => {
  scenario = await startScenario({ ...BRISK, env: { ...BRISK.env, POD_SURGE: setting } });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }), ...objects);
  await scenario.until('running pods', async () => (await scenario.running()).length === objects.length, 60_000);
};
/** Drifts all nodes, so that each is replaced. */
const drift = (): Promise<unknown> =>
  scenario.kube.patch(
    NODE_POOL,
    { name: 'default' },
    { spec: { template: { metadata: { labels: { tier: 'gold' } } } } },
  );
const moved = (count: number): Promise<true> =>
  scenario.until(
    'new nodes with all pods',
    async () => {
      const nodes = await scenario.nodes();
      return (
        nodes.length > 0 &&
        nodes.every(({ metadata }) => metadata.labels?.tier === 'gold') &&
        (await scenario.running()).length === count
      );
    },
    120_000,
  );
const messages = async (reason: string): Promise<readonly string[]> =>
  (await scenario.events(reason)).map(({ message = '' }) => message);

describe('a Deployment of one pod that requests a surge', () => {
  it('always has a ready pod while 20 of them are consolidated', async () => {
    const names = Array.from({ length: APPS }, (_, at) => `app-${at}`);
    await begin('true', ...names.map((name) => single(name, SURGE)));
    expect(await scenario.nodes()).toHaveLength(APPS);
    const ready = await watchReady(scenario);
    await scenario.apply(pool({ cpus: [2, 32] }));
    await scenario.until('consolidated nodes', async () => (await scenario.nodes()).length <= 3, 120_000);
    await scenario.until('running pods', async () => (await scenario.running()).length === APPS, 60_000);
    ready.stop();
    expect(ready.lost).toEqual([]);
    expect(await scenario.events('SurgeEnded')).toEqual([]);
    expect((await scenario.metrics()).match(/karpenter_pods_surges_total\{outcome="started"\} (\d+)/)?.[1]).toBe(
      `${APPS}`,
    );
  }, 300_000);

  it('waits for the same new pod after a restart of the operator', async () => {
    await begin('true', single('web', SURGE));
    const ready = await watchReady(scenario);
    await drift();
    const started = async () =>
      (await scenario.kube.find(DEPLOYMENT, { namespace: 'default', name: 'web' }))?.metadata.annotations?.[
        'karpenter-ts.sh/surge-started'
      ];
    const first = await scenario.until('the restart', started, 60_000);
    await scenario.restartOperator();
    await moved(1);
    ready.stop();
    expect(await started()).toBe(first);
    expect(ready.lost).toEqual([]);
  }, 300_000);

  it('is evicted at the deadline if its new pod is not ready', async () => {
    await begin('true', single('web', { 'karpenter-ts.sh/surge': '2m' }));
    const blocker = { nodeSelector: { absent: 'true' } };
    const old = (await scenario.running('web')).map(({ metadata }) => metadata.uid);
    // pods of the next template fit on no node
    await scenario.kube.patch(DEPLOYMENT, { namespace: 'default', name: 'web' }, { spec: { paused: true } });
    await scenario.kube.patch(
      DEPLOYMENT,
      { namespace: 'default', name: 'web' },
      { spec: { template: { spec: blocker } } },
    );
    await scenario.kube.patch(DEPLOYMENT, { namespace: 'default', name: 'web' }, { spec: { paused: false } });
    await drift();
    await scenario.until('the end', async () => (await messages('SurgeEnded')).length > 0, 90_000);
    expect(await messages('SurgeEnded')).toEqual([expect.stringContaining('was not ready within 2m0s')]);
    await scenario.until('the eviction', async () =>
      (await scenario.kube.list(POD)).items.every(({ metadata }) => !old.includes(metadata.uid)),
    );
  }, 300_000);

  it.each<[string, 'true' | 'false', object, RegExp]>([
    ['the setting is off', 'false', {}, /settings\.podSurge=true/],
    ['its strategy is Recreate', 'true', { strategy: { type: 'Recreate' } }, /Recreate/],
  ])(
    'is evicted with an event if %s',
    async (_, setting, spec, text) => {
      await begin(setting, single('web', SURGE, spec));
      const ready = await watchReady(scenario);
      await drift();
      await moved(1);
      ready.stop();
      expect(ready.lost).toEqual(['web']);
      expect(await messages('SurgeEnded')).toEqual([expect.stringMatching(text)]);
      expect(await scenario.events('SurgeStarted')).toEqual([]);
    },
    300_000,
  );
});

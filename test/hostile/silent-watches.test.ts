/**
 * Silences the watch of one resource after the other, while all other connections work. Protected pods must survive, each
 * pod must cause one launch, and voluntary disruption must pause.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  POD,
  POD_DISRUPTION_BUDGET,
  type Pod,
  type PodDisruptionBudget,
} from '#api/objects';
import { type BehindProxy, startBehindProxy } from './behind-proxy.ts';
import { smallPod } from './healthy.ts';
import { type HostileWorld, NODE_MS } from './hostile-world.ts';
import { removeOne } from './objects-away.ts';
import type { RewritingProxy } from './rewriting-proxy.ts';

/** Longer than a silent watch, a short watch and the start of the list that replaces them. */
const LISTED_MS = 90_000;

let behind: BehindProxy | undefined;
let proxy: RewritingProxy;
let hostile: HostileWorld;

interface WatchView {
  readonly resource: string;
  readonly ageSeconds: number;
  readonly stale: boolean;
}

const watches = async (): Promise<readonly WatchView[]> => {
  const answer = await fetch(`${hostile.operator.metricsUrl}/debug/watches`);
  return (await answer.json()) as readonly WatchView[];
};

const watchOf = async (resource: string): Promise<WatchView | undefined> =>
  (await watches()).find((watch) => watch.resource === resource);

const protectedPod = (name: string, spec: Partial<Pod['spec']> = {}): Pod => {
  const pod = smallPod(name, { 'karpenter.sh/nodepool': 'healthy', 'example.com/node': name });
  const tolerations = [{ key: 'example.com/healthy', operator: 'Exists' as const }];
  const metadata = { ...pod.metadata, labels: { app: name }, annotations: { 'karpenter.sh/do-not-disrupt': 'true' } };
  return { ...pod, metadata, spec: { ...pod.spec, tolerations, ...spec } };
};

const budgetFor = (name: string): PodDisruptionBudget =>
  ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'default' },
    spec: { maxUnavailable: 0, selector: { matchLabels: { app: name } } },
  }) as PodDisruptionBudget;

const find = (name: string): Promise<Pod | undefined> => hostile.kube.find(POD, { name, namespace: 'default' });
const nodeOf = async (name: string): Promise<string | undefined> => (await find(name))?.spec.nodeName;
const everLaunched = (): number => hostile.world.aws.instances.list().length;
const openBudgets = (nodes: string): Promise<unknown> =>
  hostile.kube.patch(NODE_POOL, { name: 'healthy' }, { spec: { disruption: { budgets: [{ nodes }] } } });

/** Lets time pass on the world's clock. */
const pass = async (ms: number): Promise<void> => {
  const endMs = hostile.clock.now() + ms;
  await hostile.until('time', () => hostile.clock.now() > endMs, ms + 10_000);
};

/** Silences the watch of a resource: its connection stays open without data. */
async function silence(resource: string): Promise<void> {
  const [plural = '', ...group] = resource.split('.');
  const path = group.length === 0 ? `/api/v1/${plural}?` : `/${group.join('.')}/`;
  proxy.spoil(({ url }) =>
    url.includes('watch=true') && url.includes(path) && url.includes(`/${plural}?`)
      ? { kind: 'stuck', share: 0 }
      : undefined,
  );
  proxy.cut();
  await hostile.until(`silent watch of ${resource}`, () => proxy.spoiled > 0);
}

async function speak(): Promise<void> {
  proxy.mend();
  await hostile.until('watches that deliver', async () => (await watches()).every(({ stale }) => !stale), LISTED_MS);
}

/** Binds a pod to a node, as a scheduler that ignores taints. */
const bound = (pod: Pod, nodeName: string | undefined): Pod => ({ ...pod, spec: { ...pod.spec, nodeName } }) as Pod;

let resources: readonly string[] = [];
let resident: string | undefined;
let residentUid: string | undefined;

beforeAll(async () => {
  behind = await startBehindProxy();
  ({ hostile, proxy } = behind);
  await hostile.kube.create(POD_DISRUPTION_BUDGET, budgetFor('resident'));
  await hostile.kube.create(POD, protectedPod('resident'));
  resident = await hostile.until('node of the resident pod', () => nodeOf('resident'));
  residentUid = (await find('resident'))?.metadata.uid;
  // An empty node of an earlier pod would be part of the first command.
  await hostile.until('removal of empty nodes', async () => (await hostile.kube.list(NODE_CLAIM)).items.length === 1);
  resources = (await watches()).map(({ resource }) => resource);
}, 120_000);
afterAll(() => behind?.stop());

/** Starts a pod on a node of its own, and deletes the pod, so that the node is empty. Disruption is blocked. */
async function emptyNode(name: string): Promise<string> {
  await openBudgets('0');
  await hostile.kube.create(POD, protectedPod(name));
  const node = await hostile.until('node', () => nodeOf(name), NODE_MS);
  await removeOne(hostile.kube, POD, protectedPod(name));
  await hostile.until('empty node that may be disrupted', async () => {
    const claims = (await hostile.kube.list(NODE_CLAIM)).items;
    const claim = claims.find(({ status }) => status?.nodeName === node);
    return claim?.status?.conditions?.some(({ type, status }) => type === 'Consolidatable' && status === 'True');
  });
  return node;
}

const isLeaving = async (name: string): Promise<boolean> => {
  const node = await hostile.kube.find(NODE, { name });
  return node === undefined || node.metadata.deletionTimestamp !== undefined;
};

describe('a silent watch of pods', () => {
  it('loses no protected pod that was bound to an idle node', async () => {
    const node = await emptyNode('idle');
    await hostile.kube.create(POD_DISRUPTION_BUDGET, budgetFor('late'));
    hostile.mark();
    await silence('pods');
    await hostile.kube.create(POD, bound(protectedPod('late'), node));
    const { uid } = (await find('late'))?.metadata ?? {};
    await openBudgets('100%');
    await hostile.until(
      'abandoned command',
      () => hostile.since().some(({ message }) => /abandoned disruption/.test(message)),
      60_000,
    );
    await pass(120_000);
    expect(await isLeaving(node)).toBe(false);
    expect((await find('late'))?.metadata).toMatchObject({ uid });
    expect((await find('late'))?.metadata.deletionTimestamp).toBeUndefined();
    const told = hostile.eventsOf({ apiVersion: 'v1', kind: 'Node', metadata: { name: node } });
    const abandoned = told.find(({ message }) => message.startsWith('Command abandoned'));
    expect(abandoned?.message).toContain('Pod=default/late');
    await speak();
    await hostile.kube.delete(POD, { name: 'late', namespace: 'default' }, { gracePeriodSeconds: 0 });
    await hostile.until('removal of the empty node', () => isLeaving(node), 60_000);
  }, 120_000);

  it('loses no protected pod that was bound to a node before its drain ends', async () => {
    const node = await emptyNode('drained');
    await silence('pods');
    await hostile.kube.create(POD, bound(protectedPod('during'), node));
    const claim = (await hostile.kube.list(NODE_CLAIM)).items.find(({ status }) => status?.nodeName === node);
    await hostile.kube.delete(NODE_CLAIM, { name: claim?.metadata.name ?? '' });
    await pass(90_000);
    expect((await find('during'))?.metadata.deletionTimestamp).toBeUndefined();
    expect(await hostile.kube.find(NODE, { name: node })).toBeDefined();
    await speak();
    await hostile.kube.delete(POD, { name: 'during', namespace: 'default' }, { gracePeriodSeconds: 0 });
    await hostile.until(
      'end of the drain',
      async () => (await hostile.kube.find(NODE, { name: node })) === undefined,
      60_000,
    );
    await openBudgets('100%');
  }, 120_000);
});

describe('a silent watch', () => {
  it('pauses voluntary disruption, and neither doubles a launch nor loses a protected pod, for each resource', async () => {
    expect(resources).toContain('pods');
    expect(resources.length).toBeGreaterThan(15);
    for (const [at, resource] of resources.entries()) {
      const name = `silent-${at}`;
      const before = everLaunched();
      hostile.mark();
      await silence(resource);
      await hostile.kube.create(POD, protectedPod(name));
      await hostile.until(`stale watch of ${resource}`, async () => (await watchOf(resource))?.stale, LISTED_MS);
      await hostile.until(`pause because of ${resource}`, () =>
        hostile.since().some(({ message }) => message === 'pausing disruption, watches are stale'),
      );
      const node = await hostile.until(
        `node beside a silent watch of ${resource}`,
        () => nodeOf(name),
        LISTED_MS + NODE_MS,
      );
      await pass(20_000);
      expect({ resource, launches: everLaunched() - before }).toEqual({ resource, launches: 1 });
      const started = hostile.since().findIndex(({ message }) => message === 'pausing disruption, watches are stale');
      const commands = hostile
        .since()
        .slice(started)
        .filter(({ message }) => message === 'disrupting node(s)');
      expect({ resource, commands }).toEqual({ resource, commands: [] });
      await speak();
      expect({ resource, node: await nodeOf(name) }).toEqual({ resource, node });
      expect((await find('resident'))?.metadata.uid).toBe(residentUid);
      expect(await nodeOf('resident')).toBe(resident);
      await removeOne(hostile.kube, POD, protectedPod(name));
    }
    const text = await (await fetch(`${hostile.operator.metricsUrl}/metrics`)).text();
    expect(text).toMatch(/karpenter_watch_age_seconds\{resource="pods"\} \d/);
    await hostile.expectLeading();
  }, 900_000);
});

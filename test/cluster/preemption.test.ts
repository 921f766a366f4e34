/** Compares preemptions and retries of the local scheduler with kube-scheduler, on which the results of replays depend. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NODE, POD, POD_DISRUPTION_BUDGET, type Pod, PRIORITY_CLASS } from '#api/objects';
import type { ObjectClient } from '#local/api-server';
import { PREEMPTED } from '#local/testing';
import type { KubeApi } from '../support/kube-api.ts';
import { type ControlPlane, startControlPlane } from './harness/controlplane.ts';
import { caseFrom, nodesOf, PRIORITY_CLASSES, type PreemptionCase } from './preemption/cases.ts';
import { Draws } from './scheduling/cases.ts';
import { openLocalScheduler } from './scheduling/schedulers.ts';

const CASES = 60;
const NODES = 3;
const SHOWN = 3;
/** Time in which kube-scheduler observes objects. */
const WATCH_MS = 400;
const LIMIT_MS = 20_000;
/** Shorter than five minutes, after which kube-scheduler tries each pod again. */
const EVENT_MS = 5_000;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function until<T>(what: string, find: () => Promise<T | undefined | false>, limitMs = LIMIT_MS): Promise<T> {
  for (const end = Date.now() + limitMs; Date.now() < end; await sleep(50)) {
    const found = await find();
    if (found !== undefined && found !== false) return found;
  }
  throw new Error(`no ${what} within ${limitMs / 1000} s`);
}

/** Node that a pod is bound to or nominated for, and the names of the preempted pods. */
interface Outcome {
  readonly node: string | undefined;
  readonly victims: readonly string[];
}

const isVictim = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, reason }) => type === 'DisruptionTarget' && reason === PREEMPTED) ?? false;

const conditionOf = (pod: Pod | undefined) => pod?.status?.conditions?.find(({ type }) => type === 'PodScheduled');

/** Creates the pods and budgets of a case, with their status. */
async function fill(client: ObjectClient, { running, budgets }: PreemptionCase): Promise<void> {
  for (const pod of running) {
    await client.create(POD, pod);
    await client.patch<Pod>(POD, pod.metadata, { status: pod.status ?? {} }, { subresource: 'status' });
  }
  for (const { status, ...budget } of budgets) {
    await client.create(POD_DISRUPTION_BUDGET, budget);
    await client.patch(POD_DISRUPTION_BUDGET, budget.metadata, { status }, { subresource: 'status' });
  }
}

/** Lets kube-scheduler decide about the pod. */
async function decide(kube: KubeApi, incoming: Pod): Promise<Outcome> {
  await kube.create(POD, incoming);
  const decided = await until(`decision on ${incoming.metadata.name}`, async () => {
    const found = await kube.find(POD, incoming.metadata);
    return found !== undefined && (found.spec.nodeName || conditionOf(found)?.status === 'False') ? found : false;
  });
  const node = decided.spec.nodeName ?? decided.status?.nominatedNodeName;
  if (node === undefined || decided.spec.nodeName) return { node, victims: [] };
  // kube-scheduler deletes the victims after the nomination
  let before = '';
  return until('end of the deletions', async () => {
    const pods = (await kube.list(POD)).items;
    const victims = pods.filter(isVictim);
    const text = JSON.stringify(
      victims.map(({ metadata }) => [metadata.name, metadata.deletionTimestamp !== undefined]),
    );
    const isOver = victims.length > 0 && text === before && !text.includes('false');
    before = text;
    await sleep(150);
    return isOver && { node, victims: victims.map(({ metadata }) => metadata.name).sort() };
  });
}

async function clear(client: Pick<ObjectClient, 'delete'>, { running, budgets, incoming }: PreemptionCase) {
  for (const { metadata } of [...running, incoming])
    await client.delete(POD, metadata, { gracePeriodSeconds: 0 }).catch(() => {});
  for (const { metadata } of budgets) await client.delete(POD_DISRUPTION_BUDGET, metadata);
}

describe('the local scheduler beside kube-scheduler', () => {
  let plane: ControlPlane;
  const nodes = nodesOf(NODES);

  beforeAll(async () => {
    plane = await startControlPlane({ controllers: 'scheduler' });
    await furnish(plane.client);
    await sleep(WATCH_MS);
  }, 180_000);
  afterAll(() => plane?.stop(), 60_000);

  async function furnish(client: ObjectClient): Promise<void> {
    for (const one of PRIORITY_CLASSES) await client.create(PRIORITY_CLASS, one);
    for (const node of nodes) {
      await client.create(NODE, node);
      // the API server taints new nodes as not ready
      await client.patch(NODE, node.metadata, { spec: { taints: [] } });
    }
  }

  it('preempts the same pods on the same node', async () => {
    const local = openLocalScheduler();
    await furnish(local.client);
    const draws = new Draws(7);
    const different: unknown[] = [];
    const counts = { bound: 0, preempting: 0, refused: 0 };
    for (let index = 0; index < CASES; index += 1) {
      const one = caseFrom(draws, `case-${index}`, nodes);
      await fill(plane.client, one);
      await fill(local.client, one);
      await sleep(WATCH_MS);
      const real = await decide(plane.client, one.incoming);
      const expected = local.preempt(await local.client.create(POD, one.incoming));
      const isSame = expected.some(
        ({ node, victims }) => node === real.node && victims.toSorted().join() === real.victims.join(),
      );
      if (!isSame && !(real.node === undefined && expected.length === 0)) different.push({ one, real, expected });
      counts[real.node === undefined ? 'refused' : real.victims.length > 0 ? 'preempting' : 'bound'] += 1;
      for (const client of [plane.client, local.client]) await clear(client, one);
      await sleep(WATCH_MS);
    }
    expect(different.slice(0, SHOWN)).toEqual([]);
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(CASES / 20);
  }, 600_000);

  it('tries a refused pod again when another pod ends, and does not report a pod without its claim', async () => {
    const { client } = plane;
    const pod = (name: string, cpu: string, spec: Partial<Pod['spec']> = {}): Pod => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default' },
      spec: { containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu } } }], ...spec },
    });
    const parked = pod('parked', '1', { resourceClaims: [{ name: 'gpu', resourceClaimName: 'nowhere' }] });
    await client.create(POD, parked);
    for (const node of nodes)
      await client.create(POD, pod(`on-${node.metadata.name}`, '4', { nodeName: node.metadata.name }));
    await sleep(WATCH_MS);
    await client.create(POD, pod('waiting', '4'));
    await until('refusal', async () => conditionOf(await client.find(POD, { name: 'waiting', namespace: 'default' })));
    await sleep(WATCH_MS);
    await client.delete(POD, { name: 'on-node-1', namespace: 'default' }, { gracePeriodSeconds: 0 });
    const bound = await until(
      'binding',
      async () => (await client.find(POD, { name: 'waiting', namespace: 'default' }))?.spec.nodeName,
      EVENT_MS,
    );
    expect(bound).toBe('node-1');
    for (const node of nodes) await client.delete(NODE, node.metadata);
    await sleep(WATCH_MS);
    expect((await client.find(POD, parked.metadata))?.status?.conditions ?? []).toEqual([]);
  }, 120_000);
});

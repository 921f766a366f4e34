import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  EVENT,
  LEASE,
  NAMESPACE,
  type Namespace,
  NODE,
  type Node,
  POD,
  POD_DISRUPTION_BUDGET,
  type Pod,
} from '#api/objects';
import { realClock, steadyClock } from '#lib/clock';
import { type LocalApiServer, startApiServer } from '#local/testing';
import { silent } from '#observe/logger';
import type { Informers, Store } from '../../../src/kube/client.ts';
import { Leadership, openFence } from '../../../src/kube/fence.ts';
import { connect, type HttpKubeClient } from '../../../src/kube/http.ts';
import { startInformers } from '../../../src/kube/informers.ts';
import { electLeader } from '../../../src/kube/lease.ts';
import { eventRecorder } from '../../../src/kube/recorder.ts';
import { failRequests } from '../../support/api-server-faults.ts';
import { recordingLog } from './fakes.ts';

// back-off of seconds passes in milliseconds
const clock = steadyClock(200);
let server: LocalApiServer;
let client: HttpKubeClient;
let informers: Informers;
let stop: AbortController;

beforeEach(async () => {
  server = await startApiServer({ clock, host: '127.0.0.1' });
  client = connect({ fence: openFence(), kubeconfig: server.kubeconfig(), clock, qps: 0 });
  stop = new AbortController();
  informers = startInformers({ client, clock, log: silent, signal: stop.signal });
});

afterEach(async () => {
  stop.abort();
  client.close();
  await server.close();
});

const node = (name: string, labels = {}): Node => ({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } });

const pod = (name: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { app: name } },
  spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
});

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries += 1) {
    if (tries > 1_000) throw new Error('it did not happen in time');
    await sleep(5);
  }
}

/** Replays the events of a store and records each event that is inconsistent with the events before it. */
function replay(store: Store<Node>): { readonly held: Map<string, string>; readonly wrong: string[] } {
  const held = new Map<string, string>();
  const wrong: string[] = [];
  store.subscribe((event, { metadata: { name, resourceVersion = '' } }, before) => {
    const known = held.get(name);
    if (event === 'added' && known !== undefined) wrong.push(`${name} was added twice`);
    if (event === 'updated' && known !== before?.metadata.resourceVersion) wrong.push(`${name} skipped a version`);
    if (event === 'updated' && known === resourceVersion) wrong.push(`${name} was told twice`);
    if (event === 'deleted' && known === undefined) wrong.push(`${name} was deleted twice`);
    if (event === 'deleted') held.delete(name);
    else held.set(name, resourceVersion);
  });
  return { held, wrong };
}

describe('against an API server', () => {
  it('informers neither miss nor duplicate events while watches break and history expires', async () => {
    const store = informers.store(NODE);
    const { held, wrong } = replay(store);
    await informers.synced();
    for (let round = 0; round < 60; round += 1) {
      const name = `node-${round % 7}`;
      const found = await client.find(NODE, { name });
      if (!found) await client.create(NODE, node(name));
      else if (round % 3 === 0) await client.delete(NODE, { name });
      else await client.patch(NODE, { name }, { metadata: { labels: { round: String(round) } } });
      if (round % 10 === 4) server.dropWatches();
      if (round % 20 === 9) {
        server.expireHistory();
        server.dropWatches();
      }
    }
    await client.create(NODE, node('last'));
    await until(() => held.has('last'));
    const there = await client.listAll(NODE);
    const versions = Object.fromEntries(there.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));
    await until(() => JSON.stringify(Object.entries(versions).sort()) === JSON.stringify([...held].sort()));
    expect(wrong).toEqual([]);
    expect(store.list()).toHaveLength(there.length);
  });

  it('informers read lists of several pages', async () => {
    for (let index = 0; index < 1_101; index += 1) {
      // in process, for speed
      server.objects.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: `namespace-${index}` } });
    }
    const store = informers.store<Namespace>(NAMESPACE);
    await informers.synced();
    expect(store.list().length).toBeGreaterThanOrEqual(1_101);
  });

  it('informers wait for a server that fails at first', async () => {
    failRequests(server, { match: /GET \/api\/v1\/nodes/, status: 500, times: 3 });
    const store = informers.store(NODE);
    await client.create(NODE, node('a'));
    await informers.synced();
    expect(store.list()).toHaveLength(1);
  });

  it('rejects a write over an older version as a conflict', async () => {
    const created = await client.create(NODE, node('a'));
    await client.patch(NODE, { name: 'a' }, { metadata: { labels: { team: 'x' } } });
    const stale = { metadata: { resourceVersion: created.metadata.resourceVersion, labels: { team: 'y' } } };
    await expect(client.patch(NODE, { name: 'a' }, stale)).rejects.toMatchObject({ status: 409, reason: 'Conflict' });
    await expect(client.delete(NODE, { name: 'a' }, { uid: 'other' })).rejects.toMatchObject({ status: 409 });
  });

  it('rejects an eviction that a PodDisruptionBudget forbids, and does not retry it', async () => {
    await client.create(POD, pod('web'));
    await client.patch(
      POD,
      { namespace: 'default', name: 'web' },
      { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
      { subresource: 'status' },
    );
    await client.create(POD_DISRUPTION_BUDGET, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'web', namespace: 'default' },
      spec: { selector: { matchLabels: { app: 'web' } }, minAvailable: 1 },
    });
    const budgets = informers.store(POD_DISRUPTION_BUDGET);
    await until(() => budgets.list()[0]?.status?.currentHealthy === 1);
    await expect(client.evict(pod('web'))).rejects.toMatchObject({ status: 429 });
    await client.delete(POD_DISRUPTION_BUDGET, { namespace: 'default', name: 'web' });
    await client.evict(pod('web'));
    const evicted = await client.find(POD, { namespace: 'default', name: 'web' });
    expect(evicted === undefined || evicted.metadata.deletionTimestamp !== undefined).toBe(true);
  });

  it('records events once per window, within their rate', async () => {
    const { log, lines } = recordingLog();
    const recorder = eventRecorder({ client, clock, log });
    const object = await client.create(NODE, node('a'));
    const note = { object, type: 'Warning', reason: 'FailedDraining', message: 'Failed to drain node' } as const;
    recorder.publish({ ...note, dedupe: ['a'] }, { ...note, dedupe: ['a'] }, { ...note, dedupe: ['b'] }, note, note);
    const limit = { name: 'shared', qps: 0.001, burst: 2 };
    for (const key of ['1', '2', '3']) recorder.publish({ ...note, reason: 'Nominated', dedupe: [key], limit });
    await recorder.stop();
    recorder.publish(note);
    const { items } = await client.list(EVENT, { namespace: 'default' });
    const reasons = items.map(({ reason }) => reason);
    expect(reasons.filter((reason) => reason === 'FailedDraining')).toHaveLength(4);
    expect(reasons.filter((reason) => reason === 'Nominated')).toHaveLength(2);
    expect(items[0]).toMatchObject({
      involvedObject: { kind: 'Node', name: 'a', uid: object.metadata.uid },
      source: { component: 'karpenter' },
    });
    expect(lines).toEqual([]);
  });

  it('elects a leader and hands over', async () => {
    // a fast clock would leave a busy machine milliseconds to renew the lease
    const clock = realClock();
    const elect = (identity: string, signal: AbortSignal) =>
      electLeader({
        client,
        clock,
        leadership: new Leadership(clock),
        log: silent,
        name: 'karpenter-leader-election',
        namespace: 'default',
        identity,
        signal,
      });
    const [one, two] = [new AbortController(), new AbortController()];
    const first = elect('first', one.signal);
    await first.elected;
    const second = elect('second', two.signal);
    one.abort();
    expect(await first.ended).toBe('released');
    await second.elected;
    const lease = await client.get(LEASE, { namespace: 'default', name: 'karpenter-leader-election' });
    expect(lease.spec?.holderIdentity).toBe('second');
    two.abort();
    expect(await second.ended).toBe('released');
  });
});

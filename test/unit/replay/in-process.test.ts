/** The API server in the same process, as parts of the world, the operator and the player use it. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { DEPLOYMENT, JOB, type KubeObject, NODE, POD } from '#api/objects';
import { ApiError } from '#kube/client';
import { type Api, cachesInProcess, connectInProcess, openApi } from '#local/api-server';
import { inProcessClient, inProcessInformers } from '../../../src/replay/operator/in-process-client.ts';
import { play, RefusedRequest } from '../../../src/replay/player.ts';
import type { TraceEvent } from '../../../src/replay/trace/trace.ts';
import { partial } from '../../support/partial.ts';
import { recordingLog } from '../kube/fakes.ts';
import { virtualClock } from '../virtualclock.ts';

let api: Api;
beforeEach(() => {
  api = openApi({ clock: virtualClock() });
});

const NODE_A = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } } as KubeObject;
const container = { name: 'main', image: 'pause' };
const podOf = (name: string, more: Record<string, unknown> = {}): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...more },
    spec: { containers: [container] },
  }) as KubeObject;
const POD_A = { name: 'a', namespace: 'default' };

/** Returns the error of a request. */
const refusal = (request: Promise<unknown>): Promise<unknown> =>
  request.then(
    () => 'nothing',
    (error) => (error instanceof ApiError ? `${error.status} ${error.reason}` : error),
  );

describe.each([
  ['the world', () => connectInProcess(api)],
  ['the operator', () => inProcessClient(api)],
])('a client of %s in process', (_, connect) => {
  it('returns the errors of the API server over HTTP', async () => {
    const client = connect();
    const node = await client.create(NODE, NODE_A);
    expect(await refusal(client.create(NODE, NODE_A))).toBe('409 AlreadyExists');
    await client.patch(NODE, { name: 'a' }, { metadata: { labels: { x: 'y' } } });
    const { resourceVersion } = node.metadata;
    expect(await refusal(client.patch(NODE, { name: 'a' }, { metadata: { resourceVersion } }))).toBe('409 Conflict');
    expect(await refusal(client.patch(NODE, { name: 'b' }, {}))).toBe('404 NotFound');
    expect(await refusal(client.delete(NODE, { name: 'b' }))).toBe('404 NotFound');
    expect(await refusal(client.create(NODE, { ...NODE_A, metadata: { name: 'No Name' } }))).toBe('422 Invalid');
    expect(await client.find(NODE, { name: 'b' })).toBeUndefined();
  });

  it('keeps objects until they have no finalizers', async () => {
    const client = connect();
    await client.create(NODE, { ...NODE_A, metadata: { name: 'a', finalizers: ['example.com/wait'] } });
    await client.delete(NODE, { name: 'a' });
    const going = await client.find(NODE, { name: 'a' });
    expect(going?.metadata.deletionTimestamp).toBeDefined();
    await client.patch(NODE, { name: 'a' }, { metadata: { finalizers: null } });
    expect(await client.find(NODE, { name: 'a' })).toBeUndefined();
  });

  it('sends no watch event during the call that writes', async () => {
    const client = connect();
    const told: string[] = [];
    cachesInProcess(api)
      .of(NODE)
      .subscribe((now) => told.push(String(now?.metadata.name)));
    const writing = client.create(NODE, NODE_A);
    expect(told).toEqual([]);
    await writing;
    expect(told).toEqual(['a']);
  });
});

describe('the operator in process', () => {
  it('rejects an update of an old version', async () => {
    const client = inProcessClient(api);
    const node = await client.create(NODE, NODE_A);
    await client.update(NODE, { ...node, metadata: { ...node.metadata, labels: { x: 'y' } } });
    expect(await refusal(client.update(NODE, node))).toBe('409 Conflict');
  });

  it('evicts within budgets, and only the pod with this uid', async () => {
    const client = inProcessClient(api);
    const pod = await client.create(POD, partial(podOf('a')));
    expect(await refusal(client.evict({ ...pod, metadata: { ...pod.metadata, uid: 'another' } }))).toMatch(/^409/);
    await client.evict(pod);
    const left = await client.find(POD, POD_A);
    expect(left === undefined || left.metadata.deletionTimestamp !== undefined).toBe(true);
    expect(await refusal(client.get(POD, { name: 'b', namespace: 'default' }))).toBe('404 NotFound');
  });

  it('lists objects by labels, and rejects field selectors instead of returning too many objects', async () => {
    const client = inProcessClient(api);
    await client.create(POD, partial(podOf('a')));
    await client.create(POD, podOf('b', { labels: { x: 'y' } }));
    expect(await refusal(client.listAll(POD, { fieldSelector: 'x=y' }))).toBe('400 BadRequest');
    const labelled = await client.listAll(POD, { labelSelector: 'x=y' });
    expect(labelled.map(({ metadata }) => metadata.name)).toEqual(['b']);
    expect((await client.list(POD, { namespace: 'default' })).items.map(({ metadata }) => metadata.name)).toEqual([
      'a',
      'b',
    ]);
    expect((await client.list(POD, { namespace: 'kube-system' })).items).toEqual([]);
  });

  it('has informers that contain a write before its response, one store per kind, until the signal aborts', async () => {
    const stop = new AbortController();
    const client = inProcessClient(api);
    await client.create(NODE, NODE_A);
    const informers = inProcessInformers(api, recordingLog().log, stop.signal);
    const store = informers.store(NODE);
    const names = (): readonly string[] => store.list().map(({ metadata }) => metadata.name);
    expect(informers.store(NODE)).toBe(store);
    expect(names()).toEqual(['a']);
    await client.create(NODE, { ...NODE_A, metadata: { name: 'b' } });
    expect(names()).toEqual(['a', 'b']);
    await client.delete(NODE, { name: 'a' });
    expect(names()).toEqual(['b']);
    stop.abort();
    await client.delete(NODE, { name: 'b' });
    expect(names()).toEqual(['b']);
  });
});

describe('a cache in process', () => {
  it('reports existing objects, and then each change with the previous state', async () => {
    const client = connectInProcess(api);
    await client.create(NODE, NODE_A);
    const cache = cachesInProcess(api).of(NODE);
    const told: string[] = [];
    cache.subscribe((now, before) =>
      told.push(`${before?.metadata.labels?.x ?? '-'} to ${now?.metadata.labels?.x ?? '-'}`),
    );
    await client.patch(NODE, { name: 'a' }, { metadata: { labels: { x: 'y' } } });
    await client.delete(NODE, { name: 'a' });
    expect(told).toEqual(['- to -', '- to y', 'y to -']);
    expect(cache.list()).toEqual([]);
  });

  it('indexes objects, and follows changes of the index key', async () => {
    const client = connectInProcess(api);
    const cache = cachesInProcess(api).of(NODE);
    const byLabel = ({ metadata }: KubeObject): string | undefined => metadata.labels?.x;
    const named = (value: string) => cache.by(byLabel, value).map(({ metadata }) => metadata.name);
    await client.create(NODE, { ...NODE_A, metadata: { name: 'a', labels: { x: 'one' } } });
    expect([named('one'), named('two')]).toEqual([['a'], []]);
    await client.patch(NODE, { name: 'a' }, { metadata: { labels: { x: 'two' } } });
    expect([named('one'), named('two')]).toEqual([[], ['a']]);
  });
});

describe('play', () => {
  const client = () => connectInProcess(api);
  const deployment = (replicas: number, name = 'web'): KubeObject =>
    ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, labels: { of: String(replicas) } },
      spec: {
        replicas,
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels: { app: name } }, spec: { containers: [container] } },
      },
      status: { replicas: 99 },
    }) as unknown as KubeObject;
  const WEB = { name: 'web', namespace: 'default' };
  const plays = async (...events: readonly TraceEvent[]): Promise<void> => {
    for (const event of events) await play(client(), event);
  };

  it('creates missing objects in the default namespace without status, and updates existing objects', async () => {
    await plays({ at: 0, apply: deployment(3) });
    const made = await client().find(DEPLOYMENT, WEB);
    expect(made).toMatchObject({ spec: { replicas: 3 }, metadata: { labels: { of: '3' } } });
    expect((made as { status?: { replicas?: number } }).status?.replicas).not.toBe(99);
    await plays({ at: 1, apply: deployment(5) });
    const changed = await client().find(DEPLOYMENT, WEB);
    expect(changed).toMatchObject({
      spec: { replicas: 5 },
      metadata: { labels: { of: '5' }, uid: made?.metadata.uid },
    });
  });

  it('scales workloads, and deletes objects even if they do not exist', async () => {
    const ref = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
    await plays({ at: 0, apply: deployment(3) }, { at: 1, scale: ref, replicas: 7 });
    expect(await client().find(DEPLOYMENT, WEB)).toMatchObject({ spec: { replicas: 7 } });
    await plays({ at: 2, delete: ref }, { at: 3, delete: ref });
    const left = await client().find(DEPLOYMENT, WEB);
    expect(left === undefined || left.metadata.deletionTimestamp !== undefined).toBe(true);
  });

  it('creates the namespaces of its objects', async () => {
    const there = { ...deployment(1), metadata: { name: 'web', namespace: 'team' } };
    await plays(
      { at: 0, apply: there },
      { at: 1, apply: { ...there, metadata: { ...there.metadata, name: 'other' } } },
    );
    expect(await client().find(DEPLOYMENT, { name: 'other', namespace: 'team' })).toBeDefined();
  });

  it('creates a number of pods with a run time', async () => {
    await plays({ at: 0, apply: podOf('task'), count: 3, runsFor: 89.6 });
    const items = cachesInProcess(api).of(POD).list();
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['task-0', 'task-1', 'task-2']);
    for (const { spec } of items)
      expect(spec).toMatchObject({ restartPolicy: 'Never', containers: [{ command: ['sleep', '90'] }] });
  });

  it('ends the pods of a Job after the run time, at least a second', async () => {
    const template = {
      metadata: {},
      spec: { restartPolicy: 'OnFailure', containers: [{ ...container, args: ['--all'] }] },
    };
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'report' }, spec: { template } };
    await plays({ at: 0, apply: job as unknown as KubeObject, runsFor: 0.2 });
    expect(await client().find(JOB, { name: 'report', namespace: 'default' })).toMatchObject({
      spec: { template: { spec: { restartPolicy: 'Never', containers: [{ command: ['sleep', '1'], args: [] }] } } },
    });
  });

  it.each<[string, TraceEvent, string]>([
    [
      'an unsupported kind',
      { at: 0, apply: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } } as KubeObject },
      'Node a: objects of v1 Node are not supported; remove them from the trace',
    ],
    [
      'a scaled object that does not exist',
      { at: 0, scale: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, replicas: 1 },
      'Deployment web: deployments.apps "web" not found',
    ],
    ['an object that the API server rejects', { at: 0, apply: podOf('No Name') }, 'Pod No Name: '],
  ])('reports %s', async (_, event, message) => {
    const error = await play(client(), event).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(RefusedRequest);
    expect(error.message).toContain(message);
  });
});

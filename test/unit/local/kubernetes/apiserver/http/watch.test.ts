import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CoreV1Api, KubeConfig, makeInformer, type V1Pod } from '@kubernetes/client-node';
import { type Body, eventually, everyCollection, PODS, pod, type TestServer, testServer } from '../client.ts';

const count = (wanted: number) => (events: readonly Body[]) => events.length >= wanted;
const brief = (events: readonly Body[]) => events.map(({ type, object }) => [type, object.metadata.name]);

describe('a list or watch of the local API server', () => {
  let api: TestServer;
  beforeAll(async () => {
    api = await testServer({ bookmarkIntervalMs: 20 });
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      const labels = { name, tier: name < 'c' ? 'front' : 'back' };
      await api.ok('POST', PODS, pod(name, { metadata: { labels }, spec: { nodeName: name < 'd' ? 'n1' : 'n2' } }));
    }
  });
  afterAll(() => api.server.close());

  const names = async (query: string): Promise<string[]> =>
    (await api.ok('GET', `${PODS}?${new URLSearchParams(query)}`)).items.map(({ metadata }: Body) => metadata.name);

  it.each([
    { query: 'labelSelector=tier%3Dfront', is: ['a', 'b'] },
    { query: 'labelSelector=tier!%3Dfront', is: ['c', 'd', 'e'] },
    { query: 'labelSelector=name in (a,d),tier', is: ['a', 'd'] },
    { query: 'labelSelector=name notin (a,d)', is: ['b', 'c', 'e'] },
    { query: 'labelSelector=!tier', is: [] },
    { query: 'fieldSelector=spec.nodeName%3Dn2', is: ['d', 'e'] },
    { query: 'fieldSelector=metadata.name!%3Da,status.phase%3DPending', is: ['b', 'c', 'd', 'e'] },
  ])('selects by $query', async ({ query, is }) => {
    expect(await names(query)).toEqual(is);
  });

  it('rejects unsupported field selectors of pods', async () => {
    const answer = await api.call('GET', `${PODS}?fieldSelector=spec.bogus%3D1`);
    expect(answer).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('field label not supported: spec.bogus') },
    });
  });

  it('omits kind and apiVersion in the items of built-in kinds', async () => {
    const list = await api.ok('GET', PODS);
    expect([list.kind, list.items[0].kind, list.items[0].apiVersion]).toEqual(['PodList', undefined, undefined]);
    expect(list.items[0].metadata.name).toBe('a');
  });

  it('returns pages of the state of the first page until the history is gone', async () => {
    const first = await api.ok('GET', `${PODS}?limit=2`);
    expect(first.metadata.remainingItemCount).toBe(3);
    await api.ok('POST', PODS, pod('bb'));
    const token = first.metadata.continue;
    const second = await api.ok('GET', `${PODS}?limit=2&continue=${token}`);
    expect([first, second].flatMap(({ items }) => items.map(({ metadata }: Body) => metadata.name))).toEqual([
      'a',
      'b',
      'c',
      'd',
    ]);
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    await api.ok('DELETE', `${PODS}/bb`);
    api.server.expireHistory();
    const late = await api.call('GET', `${PODS}?limit=2&continue=${token}`);
    expect(late).toMatchObject({ status: 410, body: { reason: 'Expired' } });
  });

  it('sends existing objects and then changes', async () => {
    const events = api.watch(`${PODS}?watch=true&fieldSelector=spec.nodeName%3Dn2`, count(3));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await api.patch('merge-patch+json', `${PODS}/d`, { metadata: { labels: { seen: 'yes' } } });
    expect(brief(await events)).toEqual([
      ['ADDED', 'd'],
      ['ADDED', 'e'],
      ['MODIFIED', 'd'],
    ]);
  });

  it('resumes after a revision without loss', async () => {
    const { metadata } = await api.ok('GET', PODS);
    await api.ok('POST', PODS, pod('f'));
    await api.ok('DELETE', `${PODS}/f`);
    const events = await api.watch(`${PODS}?watch=true&resourceVersion=${metadata.resourceVersion}`, count(2));
    expect(brief(events)).toEqual([
      ['ADDED', 'f'],
      ['DELETED', 'f'],
    ]);
    expect(Number(events[1].object.metadata.resourceVersion)).toBeGreaterThan(
      Number(events[0].object.metadata.resourceVersion),
    );
  });

  it('reports an object that leaves or enters the selection as deleted or added', async () => {
    const { metadata } = await api.ok('GET', PODS);
    const relabel = (tier: string) => api.patch('merge-patch+json', `${PODS}/a`, { metadata: { labels: { tier } } });
    await relabel('back');
    await relabel('front');
    const query = `watch=true&labelSelector=tier%3Dfront&resourceVersion=${metadata.resourceVersion}`;
    const events = await api.watch(`${PODS}?${query}`, count(2));
    expect(brief(events)).toEqual([
      ['DELETED', 'a'],
      ['ADDED', 'a'],
    ]);
    expect(events[0].object.metadata.labels.tier).toBe('front');
  });

  it('ends a watch from an expired revision with 410', async () => {
    const { metadata } = await api.ok('GET', PODS);
    await api.patch('merge-patch+json', `${PODS}/b`, { metadata: { annotations: { at: 'once' } } });
    api.server.expireHistory();
    const [event] = await api.watch(`${PODS}?watch=true&resourceVersion=${metadata.resourceVersion}`, count(1));
    expect(event).toMatchObject({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
  });

  it('rejects a future revision', async () => {
    const answer = await api.call('GET', `${PODS}?resourceVersion=999999`);
    expect(answer).toMatchObject({
      status: 504,
      body: { details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } },
    });
  });

  it('streams the list first and marks its end', async () => {
    const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const events = await api.watch(`${PODS}?${query}`, (seen) => seen.some(({ type }) => type === 'BOOKMARK'));
    expect(events.map(({ type }) => type)).toEqual([...Array(5).fill('ADDED'), 'BOOKMARK']);
    expect(events.at(-1).object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
  });

  it('sends bookmarks on request', async () => {
    const { metadata } = await api.ok('GET', PODS);
    const [event] = await api.watch(
      `${PODS}?watch=true&allowWatchBookmarks=true&resourceVersion=${metadata.resourceVersion}`,
      count(1),
    );
    expect(event).toMatchObject({
      type: 'BOOKMARK',
      object: { kind: 'Pod', metadata: { resourceVersion: metadata.resourceVersion } },
    });
  });

  it('sends bookmarks as metadata on metadata watches of every kind, including at the end of a list', async () => {
    const asMetadata = { accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' };
    const query =
      'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&fieldSelector=metadata.name%3Dnone';
    for (const path of await everyCollection(api)) {
      const events = await api.watch(`${path}?${query}`, count(2), asMetadata);
      expect(events.map(({ type, object }) => [path, type, object.apiVersion, object.kind])).toEqual(
        Array(2).fill([path, 'BOOKMARK', 'meta.k8s.io/v1', 'PartialObjectMetadata']),
      );
      expect(events[0].object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
      expect(events[1].object.metadata).toEqual({ resourceVersion: expect.stringMatching(/^\d+$/) });
    }
  });

  it('sends bookmarks as tables on table watches of every kind', async () => {
    const asTable = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
    const { metadata } = await api.ok('GET', PODS);
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${metadata.resourceVersion}`;
    for (const path of await everyCollection(api)) {
      const [event] = await api.watch(`${path}?${query}`, count(1), asTable);
      expect([path, event.type, event.object.kind]).toEqual([path, 'BOOKMARK', 'Table']);
      expect(event.object.rows[0].object).toMatchObject({
        kind: 'PartialObjectMetadata',
        metadata: { resourceVersion: expect.anything() },
      });
    }
  });

  it('ends a watch after timeoutSeconds', async () => {
    const { metadata } = await api.ok('GET', PODS);
    const response = await fetch(
      `${api.server.url}${PODS}?watch=true&timeoutSeconds=1&resourceVersion=${metadata.resourceVersion}`,
    );
    expect(await response.text()).toBe('');
  });

  it('serves core events under events.k8s.io too', async () => {
    const involvedObject = { kind: 'Pod', name: 'a', namespace: 'default' };
    const event = { metadata: { name: 'e1' }, involvedObject, reason: 'Tested', message: 'hello', type: 'Normal' };
    await api.ok('POST', '/api/v1/namespaces/default/events', event);
    const seen = await api.ok('GET', '/apis/events.k8s.io/v1/namespaces/default/events/e1');
    expect(seen).toMatchObject({ apiVersion: 'events.k8s.io/v1', note: 'hello', regarding: involvedObject });
    const selected = await api.ok('GET', '/api/v1/events?fieldSelector=involvedObject.name%3Da,reason%3DTested');
    expect(selected.items).toHaveLength(1);
  });

  it('keeps a client-node informer in sync across broken watches and expired history', async () => {
    const config = new KubeConfig();
    config.loadFromString(api.server.kubeconfig());
    const client = config.makeApiClient(CoreV1Api);
    const informer = makeInformer<V1Pod>(config, PODS, () => client.listNamespacedPod({ namespace: 'default' }));
    const seen: string[] = [];
    informer.on('add', (object) => seen.push(`add ${object.metadata?.name}`));
    informer.on('delete', (object) => seen.push(`delete ${object.metadata?.name}`));
    const restart = (): void => {
      setTimeout(() => void informer.start(), 5);
    };
    informer.on('error', restart);
    try {
      await informer.start();
      await eventually(
        () => seen,
        (events) => events.includes('add e'),
      );
      await api.ok('POST', PODS, pod('live'));
      await eventually(
        () => seen,
        (events) => events.includes('add live'),
      );
      api.server.dropWatches();
      await api.ok('POST', PODS, pod('missed'));
      api.server.expireHistory();
      await api.ok('DELETE', `${PODS}/live`);
      await eventually(
        () => seen,
        (events) => events.includes('add missed') && events.includes('delete live'),
      );
    } finally {
      informer.off('error', restart);
      await informer.stop();
    }
    expect(seen.filter((event) => event === 'add missed')).toHaveLength(1);
  });

  it('lists ten thousand pods with little CPU time', async () => {
    for (let i = 0; i < 10_000; i++) {
      api.server.objects.create({ ...pod(`many-${i}`), metadata: { name: `many-${i}`, namespace: 'kube-public' } });
    }
    const path = '/api/v1/namespaces/kube-public/pods';
    const before = process.cpuUsage();
    const text = await (await fetch(`${api.server.url}${path}`)).text();
    await (await fetch(`${api.server.url}${path}`)).text();
    const { user } = process.cpuUsage(before);
    expect(JSON.parse(text).items).toHaveLength(10_000);
    // Serialization per request or pairwise comparisons would take a multiple of this.
    expect(user / 1e6).toBeLessThan(3);
  });
});

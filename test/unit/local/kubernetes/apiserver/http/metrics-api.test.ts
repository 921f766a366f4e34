/** Metrics API of the local API server: use of pods and nodes. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { podMetrics } from '#live/view';
import { type Body, PODS, type TestServer, testServer } from '../client.ts';

const METRICS = '/apis/metrics.k8s.io/v1beta1';

describe('the metrics API', () => {
  let api: TestServer;
  beforeAll(async () => {
    api = await testServer();
    await api.ok('POST', '/api/v1/nodes', { metadata: { name: 'node-1' } });
    await create('web', { labels: { app: 'web' } });
    await create('busy', { annotations: { 'local.karpenter-ts.sh/cpu-use': '900m' } });
    await create('odd', { annotations: { 'local.karpenter-ts.sh/memory-use': 'much' } });
    await create('pending', {}, 'Pending');
  });
  afterAll(() => api.server.close());

  async function create(name: string, metadata: Body, phase = 'Running'): Promise<void> {
    const resources = { requests: { cpu: '1', memory: '1Gi' } };
    const containers = [
      { name: 'main', image: 'app', resources },
      { name: 'side', image: 'app' },
    ];
    await api.ok('POST', PODS, { metadata: { name, ...metadata }, spec: { nodeName: 'node-1', containers } });
    await api.patch('merge-patch+json', `${PODS}/${name}/status`, { status: { phase } });
  }
  const names = (list: Body): readonly string[] => list.items.map(({ metadata }: Body) => metadata.name);

  it('is listed with its resources, which can be read only', async () => {
    const { resources } = await api.ok('GET', METRICS);
    expect(resources.map(({ name, kind, verbs }: Body) => [name, kind, verbs])).toEqual([
      ['nodes', 'NodeMetrics', ['get', 'list']],
      ['pods', 'PodMetrics', ['get', 'list']],
    ]);
    expect((await api.call('POST', `${METRICS}/namespaces/default/pods`, {})).status).toBe(405);
    expect((await api.call('GET', `${METRICS}/services`)).status).toBe(404);
  });

  it('lists running pods with a share of the requests of each container, and a little without requests', async () => {
    const list = await api.ok('GET', `${METRICS}/pods`);
    expect(names(list)).toEqual(['busy', 'odd', 'web']);
    const web = list.items.find(({ metadata }: Body) => metadata.name === 'web');
    expect(web).toMatchObject({
      kind: 'PodMetrics',
      metadata: { namespace: 'default', labels: { app: 'web' } },
      containers: [
        { name: 'main', usage: { cpu: '300m' } },
        { name: 'side', usage: { cpu: '5m', memory: '32Mi' } },
      ],
    });
  });

  it('has the amounts of annotations, and ignores those that are not quantities', async () => {
    const busy = await api.ok('GET', `${METRICS}/namespaces/default/pods/busy`);
    expect(busy.containers[0].usage.cpu).toBe('900m');
    const odd = await api.ok('GET', `${METRICS}/namespaces/default/pods/odd`);
    const web = await api.ok('GET', `${METRICS}/namespaces/default/pods/web`);
    expect(odd.containers).toEqual(web.containers);
  });

  it('selects pods by label, namespace and name', async () => {
    expect(names(await api.ok('GET', `${METRICS}/pods?labelSelector=app%3Dweb`))).toEqual(['web']);
    expect(names(await api.ok('GET', `${METRICS}/namespaces/other/pods`))).toEqual([]);
    expect((await api.call('GET', `${METRICS}/namespaces/default/pods/pending`)).status).toBe(404);
    expect((await api.call('GET', `${METRICS}/namespaces/default/pods/none`)).status).toBe(404);
  });

  it('adds up the use of the pods of a node', async () => {
    const node = await api.ok('GET', `${METRICS}/nodes/node-1`);
    expect(node).toMatchObject({ kind: 'NodeMetrics', usage: { cpu: '2410m' } });
  });

  it('is read by karpenter efficiency', async () => {
    const uses = podMetrics(await api.ok('GET', `${METRICS}/pods`));
    expect(uses.get('default/web')?.cpu).toEqual({ p50: 305, p95: 305 });
    expect(uses.size).toBe(3);
  });
});

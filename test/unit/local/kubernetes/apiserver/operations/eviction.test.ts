import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Body, eventually, PODS, pod, type TestServer, testServer } from '../client.ts';

const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const SETS = '/apis/apps/v1/namespaces/default/replicasets';

describe('eviction from the local API server', () => {
  let api: TestServer;
  beforeAll(async () => {
    api = await testServer();
  });
  afterAll(() => api.server.close());

  const evict = (name: string, extra: object = {}) =>
    api.call('POST', `${PODS}/${name}/eviction`, {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name },
      ...extra,
    });
  const budget = (name: string, spec: object) =>
    api.ok('POST', BUDGETS, { metadata: { name }, spec: { selector: { matchLabels: { app: name } }, ...spec } });
  const settled = (name: string, holds: (status: Body) => boolean): Promise<Body> =>
    eventually(
      async () => (await api.ok('GET', `${BUDGETS}/${name}`)).status,
      (status) => status !== undefined && holds(status),
    );

  /** Creates pods of one ReplicaSet on a node. The first `ready` pods are ready. */
  async function replicas(app: string, total: number, ready = total): Promise<void> {
    const labels = { app };
    const template = { metadata: { labels }, spec: pod('x').spec };
    const set = await api.ok('POST', SETS, {
      metadata: { name: app },
      spec: { replicas: total, selector: { matchLabels: labels }, template },
    });
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: app, uid: set.metadata.uid, controller: true };
    for (let i = 0; i < total; i++) {
      const name = `${app}-${i}`;
      await api.ok(
        'POST',
        PODS,
        pod(name, { metadata: { labels, ownerReferences: [owner] }, spec: { nodeName: 'n1' } }),
      );
      const status = { phase: 'Running', conditions: [{ type: 'Ready', status: i < ready ? 'True' : 'False' }] };
      await api.patch('merge-patch+json', `${PODS}/${name}/status`, { status });
    }
  }

  it.each([
    { app: 'number', spec: { minAvailable: 2 }, desired: 2, allowed: 1 },
    { app: 'percent', spec: { minAvailable: '50%' }, desired: 2, allowed: 1 },
    { app: 'unavailable', spec: { maxUnavailable: 1 }, desired: 2, allowed: 1 },
    { app: 'unavailable-percent', spec: { maxUnavailable: '34%' }, desired: 1, allowed: 2 },
    { app: 'too-many', spec: { minAvailable: 5 }, desired: 5, allowed: 0 },
  ])('calculates the disruptions that $spec allows for three pods', async ({ app, spec, desired, allowed }) => {
    await replicas(app, 3);
    await budget(app, spec);
    const status = await settled(app, ({ currentHealthy }) => currentHealthy === 3);
    expect(status).toMatchObject({
      expectedPods: 3,
      currentHealthy: 3,
      desiredHealthy: desired,
      disruptionsAllowed: allowed,
    });
  });

  it('uses the budget, then rejects with the message of a real server', async () => {
    await replicas('web', 2);
    await budget('web', { minAvailable: 1 });
    await settled('web', ({ disruptionsAllowed }) => disruptionsAllowed === 1);
    expect((await evict('web-0')).status).toBe(201);
    const refused = await evict('web-1');
    expect(refused).toMatchObject({
      status: 429,
      body: {
        reason: 'TooManyRequests',
        message: "Cannot evict pod as it would violate the pod's disruption budget.",
        details: {
          causes: [
            {
              reason: 'DisruptionBudget',
              message: expect.stringContaining('The disruption budget web needs 1 healthy pods'),
            },
          ],
        },
      },
    });
    const evicted = await api.ok('GET', `${PODS}/web-0`);
    expect(evicted.metadata.deletionTimestamp).toBeDefined();
    expect(evicted.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', reason: 'EvictionByEvictionAPI' }),
    );
  });

  it('rejects the eviction of a pod with two budgets', async () => {
    await replicas('twice', 1);
    await budget('twice', { minAvailable: 0 });
    await api.ok('POST', BUDGETS, {
      metadata: { name: 'twice-more' },
      spec: { selector: { matchLabels: { app: 'twice' } }, minAvailable: 0 },
    });
    expect(await evict('twice-0')).toMatchObject({
      status: 500,
      body: {
        message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
      },
    });
  });

  it('evicts unhealthy pods according to the policy', async () => {
    await replicas('sick', 2, 0);
    await budget('sick', { minAvailable: 1 });
    await settled('sick', ({ expectedPods }) => expectedPods === 2);
    expect((await evict('sick-0')).status).toBe(429);
    await api.patch('merge-patch+json', `${BUDGETS}/sick`, { spec: { unhealthyPodEvictionPolicy: 'AlwaysAllow' } });
    expect((await evict('sick-0')).status).toBe(201);
  });

  it('has no effect on a dry run, and checks the uid', async () => {
    await replicas('dry', 1);
    expect((await evict('dry-0', { deleteOptions: { dryRun: ['All'] } })).status).toBe(201);
    expect((await api.ok('GET', `${PODS}/dry-0`)).metadata.deletionTimestamp).toBeUndefined();
    expect((await evict('dry-0', { deleteOptions: { preconditions: { uid: 'other' } } })).status).toBe(409);
    expect((await evict('nobody')).status).toBe(404);
  });

  it('binds a pod once', async () => {
    await api.ok('POST', PODS, pod('loose'));
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'loose' },
      target: { kind: 'Node', name: 'n9' },
    };
    expect((await api.call('POST', `${PODS}/loose/binding`, binding)).status).toBe(201);
    const bound = await api.ok('GET', `${PODS}/loose`);
    expect(bound.spec.nodeName).toBe('n9');
    expect(bound.status.conditions).toMatchObject([{ type: 'PodScheduled', status: 'True' }]);
    expect((await api.call('POST', `${PODS}/loose/binding`, binding)).status).toBe(409);
  });
});

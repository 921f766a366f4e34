import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { failRequests } from '../../../../support/api-server-faults.ts';
import { type Body, deployment, eventually, PODS, pod, type TestServer, testServer } from './client.ts';

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';

describe('an object of the local API server', () => {
  let api: TestServer;
  beforeAll(async () => {
    api = await testServer();
  });
  afterAll(() => api.server.close());

  it('ignores the namespace of a cluster-scoped object', async () => {
    const path = '/apis/scheduling.k8s.io/v1/priorityclasses';
    const sent = { metadata: { name: 'spaced', namespace: 'default' }, value: 1 };
    const made = await api.ok('POST', path, sent);
    expect(made.metadata.namespace).toBeUndefined();
    const replaced = await api.ok('PUT', `${path}/spaced`, { ...made, metadata: sent.metadata, description: 'seen' });
    expect([replaced.description, replaced.metadata.namespace]).toEqual(['seen', undefined]);
    await api.ok('DELETE', `${path}/spaced`);
  });

  it('keeps structured capacities of devices', async () => {
    const devices = [{ name: 'gpu-0', capacity: { memory: { value: '8Gi' } } }];
    const spec = { driver: 'gpu.example.com', nodeName: 'n', pool: { name: 'n', resourceSliceCount: 1 }, devices };
    const made = await api.ok('POST', '/apis/resource.k8s.io/v1/resourceslices', { metadata: { name: 'slice' }, spec });
    expect(made.spec.devices).toEqual(devices);
  });

  it('creates a pod with the fields that the server sets', async () => {
    const { status, body } = await api.call('POST', PODS, pod('made', { status: { phase: 'Running' } }));
    expect(status).toBe(201);
    expect(body.metadata).toMatchObject({
      name: 'made',
      namespace: 'default',
      generation: 1,
      creationTimestamp: '2026-03-01T12:00:00Z',
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      resourceVersion: expect.stringMatching(/^\d+$/),
    });
    expect(body.spec).toMatchObject({ restartPolicy: 'Always', terminationGracePeriodSeconds: 30, priority: 0 });
    expect(body.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
  });

  it('generates names from generateName', async () => {
    const { body } = await api.call('POST', PODS, pod('', { metadata: { name: undefined, generateName: 'gen-' } }));
    expect(body.metadata.name).toMatch(/^gen-[a-z0-9]{5}$/);
  });

  it.each([
    { when: 'the name exists', object: pod('made'), status: 409, message: 'pods "made" already exists' },
    {
      when: 'the name is not a DNS name',
      object: pod('Bad_Name'),
      status: 422,
      message: /^Pod "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123/,
    },
    {
      when: 'there are no containers',
      object: pod('empty', { spec: { containers: [] } }),
      status: 422,
      message: 'Pod "empty" is invalid: spec.containers: Required value',
    },
    {
      when: 'a field has the wrong type',
      object: pod('typed', { spec: { containers: 'none' } }),
      status: 400,
      message: /cannot unmarshal string into Go struct field Pod.spec.containers/,
    },
    {
      when: 'the priority class is unknown',
      object: pod('prio', { spec: { priorityClassName: 'nope' } }),
      status: 403,
      message: 'pods "prio" is forbidden: no PriorityClass with name nope was found',
    },
  ])('rejects a pod if $when', async ({ object, status, message }) => {
    const answer = await api.call('POST', PODS, object);
    expect(answer.status).toBe(status);
    expect(answer.body.message).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
  });

  it.each([
    {
      when: 'a request exceeds its limit',
      path: PODS,
      object: pod('greedy', {
        spec: {
          containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '2' }, limits: { cpu: '1500m' } } }],
        },
      }),
      message:
        'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1500m',
    },
    {
      when: 'a device is requested without a limit',
      path: PODS,
      object: pod('learner', {
        spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { 'nvidia.com/gpu': '1' } } }] },
      }),
      message:
        'spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources',
    },
    {
      when: 'fewer devices are requested than the limit',
      path: PODS,
      object: pod('learner', {
        spec: {
          containers: [
            {
              name: 'c',
              image: 'i',
              resources: { requests: { 'nvidia.com/gpu': '1' }, limits: { 'nvidia.com/gpu': '2' } },
            },
          ],
        },
      }),
      message: 'spec.containers[0].resources.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2',
    },
    {
      when: 'a node has a taint twice',
      path: '/api/v1/nodes',
      object: {
        metadata: { name: 'n' },
        spec: {
          taints: [
            { key: 'a', effect: 'NoSchedule' },
            { key: 'a', effect: 'NoSchedule' },
          ],
        },
      },
      message: 'metadata.taints[1]: Duplicate value',
    },
    {
      when: 'an event is about an object in another namespace',
      path: '/api/v1/namespaces/default/events',
      object: { metadata: { name: 'e' }, involvedObject: { kind: 'Pod', name: 'p', namespace: 'kube-system' } },
      message: 'involvedObject.namespace: Invalid value: "kube-system": does not match event.namespace',
    },
    {
      when: 'a job would never end',
      path: '/apis/batch/v1/namespaces/default/jobs',
      object: { metadata: { name: 'j' }, spec: { template: { spec: pod('p').spec } } },
      message: 'spec.template.spec.restartPolicy: Unsupported value: "Always": supported values: "OnFailure", "Never"',
    },
  ])('rejects an object if $when', async ({ path, object, message }) => {
    const answer = await api.call('POST', path, object);
    expect(answer).toMatchObject({ status: 422, body: { message: expect.stringContaining(message) } });
  });

  it('rejects objects in a namespace that does not exist', async () => {
    const answer = await api.call('POST', '/api/v1/namespaces/nowhere/pods', pod('lost'));
    expect(answer).toMatchObject({
      status: 404,
      body: { message: 'namespaces "nowhere" not found', reason: 'NotFound' },
    });
  });

  it('stores nothing on a dry run', async () => {
    await api.ok('POST', `${PODS}?dryRun=All`, pod('dry'));
    expect((await api.call('GET', `${PODS}/dry`)).status).toBe(404);
  });

  it('sets the priority of pods from their class', async () => {
    const body = await api.ok('POST', PODS, pod('critical', { spec: { priorityClassName: 'system-node-critical' } }));
    expect(body.spec.priority).toBe(2_000_001_000);
  });

  it('handles unknown fields according to fieldValidation', async () => {
    const strange = pod('strange', { spec: { bogus: 1 } });
    const strict = await api.call('POST', `${PODS}?fieldValidation=Strict&dryRun=All`, strange);
    expect(strict).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('strict decoding error: unknown field "spec.bogus"') },
    });
    const warned = await api.call('POST', `${PODS}?fieldValidation=Warn`, strange);
    expect(warned.headers.get('warning')).toBe('299 - "unknown field \\"spec.bogus\\""');
    expect(warned.body.spec.bogus).toBeUndefined();
  });

  it('counts generations of the spec only, and ignores an update without changes', async () => {
    const made = await api.ok('POST', DEPLOYMENTS, deployment('counted'));
    const path = `${DEPLOYMENTS}/counted`;
    const same = await api.ok('PUT', path, made);
    expect(same.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
    const labelled = await api.ok('PUT', path, { ...made, metadata: { ...made.metadata, labels: { a: 'b' } } });
    expect(labelled.metadata.generation).toBe(1);
    const scaled = await api.ok('PUT', path, { ...labelled, spec: { ...labelled.spec, replicas: 3 } });
    expect(scaled.metadata.generation).toBe(2);
  });

  it('rejects an update of an old version', async () => {
    const made = await api.ok('POST', DEPLOYMENTS, deployment('raced'));
    await api.ok('PUT', `${DEPLOYMENTS}/raced`, { ...made, metadata: { ...made.metadata, labels: { a: 'b' } } });
    const late = await api.call('PUT', `${DEPLOYMENTS}/raced`, made);
    expect(late).toMatchObject({
      status: 409,
      body: {
        reason: 'Conflict',
        message:
          'Operation cannot be fulfilled on deployments.apps "raced": the object has been modified; please apply your changes to the latest version and try again',
      },
    });
  });

  it('updates status and spec separately', async () => {
    const made = await api.ok('POST', DEPLOYMENTS, { ...deployment('split'), status: { replicas: 5 } });
    expect(made.status).toEqual({});
    const wrong = { ...made, spec: { ...made.spec, replicas: 9 }, status: { replicas: 2 } };
    const status = await api.ok('PUT', `${DEPLOYMENTS}/split/status`, wrong);
    expect([status.spec.replicas, status.status.replicas, status.metadata.generation]).toEqual([1, 2, 1]);
    const main = await api.ok('PUT', `${DEPLOYMENTS}/split`, { ...status, status: { replicas: 7 } });
    expect(main.status.replicas).toBe(2);
  });

  it('rejects a new node for a pod and changes of immutable selectors', async () => {
    const made = await api.ok('POST', PODS, pod('fixed', { spec: { nodeName: 'a' } }));
    const moved = await api.call('PUT', `${PODS}/fixed`, { ...made, spec: { ...made.spec, nodeName: 'b' } });
    expect(moved.body.message).toContain('pod updates may not change fields other than');
    const other = await api.ok('POST', DEPLOYMENTS, deployment('selected'));
    other.spec.selector.matchLabels = { app: 'other' };
    const answer = await api.call('PUT', `${DEPLOYMENTS}/selected`, other);
    expect(answer.body.message).toContain('`selector` does not match template `labels`');
    expect(answer.body.message).toContain('field is immutable');
  });

  describe('deletion', () => {
    it('removes a pod without a node immediately', async () => {
      await api.ok('POST', PODS, pod('unbound'));
      await api.ok('DELETE', `${PODS}/unbound`);
      expect((await api.call('GET', `${PODS}/unbound`)).status).toBe(404);
    });

    it('waits for the grace period of a running pod and removes it on the second delete', async () => {
      await api.ok('POST', PODS, pod('running', { spec: { nodeName: 'n1' } }));
      const first = await api.ok('DELETE', `${PODS}/running`, { gracePeriodSeconds: 10 });
      expect(first.metadata).toMatchObject({
        deletionTimestamp: '2026-03-01T12:00:10Z',
        deletionGracePeriodSeconds: 10,
        generation: 2,
      });
      const shorter = await api.ok('DELETE', `${PODS}/running`, { gracePeriodSeconds: 4 });
      expect(shorter.metadata.deletionTimestamp).toBe('2026-03-01T12:00:04Z');
      await api.ok('DELETE', `${PODS}/running`, { gracePeriodSeconds: 0 });
      expect((await api.call('GET', `${PODS}/running`)).status).toBe(404);
    });

    it('keeps an object until it has no finalizers', async () => {
      const path = '/api/v1/namespaces/default/configmaps';
      await api.ok('POST', path, { metadata: { name: 'held', finalizers: ['example.com/hold'] } });
      const held = await api.ok('DELETE', `${path}/held`);
      expect(held.metadata).toMatchObject({
        deletionTimestamp: '2026-03-01T12:00:00Z',
        finalizers: ['example.com/hold'],
      });
      const added = { metadata: { finalizers: ['example.com/hold', 'example.com/more'] } };
      expect((await api.patch('merge-patch+json', `${path}/held`, added)).status).toBe(422);
      await api.patch('merge-patch+json', `${path}/held`, { metadata: { finalizers: null } });
      expect((await api.call('GET', `${path}/held`)).status).toBe(404);
    });

    it('checks preconditions', async () => {
      await api.ok('POST', PODS, pod('guarded'));
      const answer = await api.call('DELETE', `${PODS}/guarded`, { preconditions: { uid: 'other' } });
      expect(answer).toMatchObject({
        status: 409,
        body: { message: expect.stringContaining('the UID in the precondition (other) does not match') },
      });
    });

    it('deletes a collection by label', async () => {
      for (const name of ['c1', 'c2']) await api.ok('POST', PODS, pod(name, { metadata: { labels: { batch: 'c' } } }));
      await api.ok('DELETE', `${PODS}?labelSelector=batch%3Dc`);
      expect((await api.ok('GET', `${PODS}?labelSelector=batch%3Dc`)).items).toEqual([]);
    });

    it('deletes the objects of a namespace before the namespace', async () => {
      await api.ok('POST', '/api/v1/namespaces', { metadata: { name: 'doomed' } });
      await api.ok('POST', '/api/v1/namespaces/doomed/configmaps', {
        metadata: { name: 'inside', finalizers: ['example.com/hold'] },
      });
      const marked = await api.ok('DELETE', '/api/v1/namespaces/doomed');
      expect(marked.status.phase).toBe('Terminating');
      const refused = await api.call('POST', '/api/v1/namespaces/doomed/configmaps', { metadata: { name: 'late' } });
      expect(refused).toMatchObject({
        status: 403,
        body: { details: { causes: [{ reason: 'NamespaceTerminating' }] } },
      });
      await api.patch('merge-patch+json', '/api/v1/namespaces/doomed/configmaps/inside', {
        metadata: { finalizers: null },
      });
      await eventually(
        () => api.call('GET', '/api/v1/namespaces/doomed'),
        ({ status }) => status === 404,
      );
    });
  });

  describe('garbage collection', () => {
    const MAPS = '/api/v1/namespaces/default/configmaps';
    const make = (name: string, owners: readonly Body[] = [], extra: object = {}) =>
      api.ok('POST', MAPS, {
        metadata: {
          name,
          ownerReferences: owners.map(({ metadata }) => ({
            apiVersion: 'v1',
            kind: 'ConfigMap',
            name: metadata.name,
            uid: metadata.uid,
            ...extra,
          })),
        },
      });
    const names = async (): Promise<string[]> =>
      (await api.ok('GET', MAPS)).items.map(({ metadata }: Body) => metadata.name);

    it('deletes dependents after their owner, recursively', async () => {
      const top = await make('top');
      const middle = await make('middle', [top]);
      await make('bottom', [middle]);
      await api.ok('DELETE', `${MAPS}/top`);
      await eventually(names, (left) => !['top', 'middle', 'bottom'].some((name) => left.includes(name)));
    });

    it('keeps a dependent that has another owner', async () => {
      const [one, two] = [await make('one'), await make('two')];
      await make('shared', [one, two]);
      await api.ok('DELETE', `${MAPS}/one`);
      const left = await eventually(
        () => api.ok('GET', `${MAPS}/shared`),
        ({ metadata }) => metadata.ownerReferences.length === 1,
      );
      expect(left.metadata.ownerReferences[0].name).toBe('two');
    });

    it('deletes an object whose owner has another uid', async () => {
      await make('impostor');
      await make('misled', [{ metadata: { name: 'impostor', uid: 'not-its-uid' } }]);
      await eventually(names, (left) => !left.includes('misled'));
    });

    it('orphans dependents on request', async () => {
      const parent = await make('parent');
      await make('orphan', [parent]);
      await api.ok('DELETE', `${MAPS}/parent?propagationPolicy=Orphan`);
      await eventually(names, (left) => !left.includes('parent'));
      expect((await api.ok('GET', `${MAPS}/orphan`)).metadata.ownerReferences).toBeUndefined();
    });

    it('waits in the foreground for dependents that block', async () => {
      const owner = await make('waiting');
      await make('blocking', [owner], { blockOwnerDeletion: true });
      await api.patch('merge-patch+json', `${MAPS}/blocking`, { metadata: { finalizers: ['example.com/hold'] } });
      await api.ok('DELETE', `${MAPS}/waiting?propagationPolicy=Foreground`);
      await eventually(
        () => api.ok('GET', `${MAPS}/blocking`),
        ({ metadata }) => metadata.deletionTimestamp !== undefined,
      );
      expect(await names()).toContain('waiting');
      await api.patch('merge-patch+json', `${MAPS}/blocking`, { metadata: { finalizers: null } });
      await eventually(names, (left) => !left.includes('waiting'));
    });
  });

  it('injects failures with Retry-After', async () => {
    failRequests(api.server, { match: /^GET .*\/pods/, status: 429, times: 1, retryAfterSeconds: 3 });
    const failed = await api.call('GET', PODS);
    expect(failed).toMatchObject({ status: 429, body: { reason: 'TooManyRequests' } });
    expect(failed.headers.get('retry-after')).toBe('3');
    expect((await api.call('GET', PODS)).status).toBe(200);
  });
});

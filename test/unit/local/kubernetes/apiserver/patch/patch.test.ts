import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { applyMergePatch } from '../../../../../../src/local/kubernetes/apiserver/patch/merge.ts';
import { strategicPatch } from '../../../../../../src/local/kubernetes/apiserver/patch/strategic.ts';
import { modelShape } from '../../../../../../src/local/kubernetes/apiserver/resources/models.ts';
import { type Body, deployment, type TestServer, testServer } from '../client.ts';

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const MAPS = '/api/v1/namespaces/default/configmaps';

describe('a strategic merge patch', () => {
  const containers = [
    { name: 'a', image: 'a:1', env: [{ name: 'X', value: '1' }] },
    { name: 'b', image: 'b:1' },
  ];
  const target = {
    metadata: { finalizers: ['one'] },
    spec: { containers, tolerations: [{ key: 'a' }], nodeSelector: { x: 'y' } },
  };

  it.each<{ does: string; patch: Body; gives: Body }>([
    {
      does: 'merges list items by their key',
      patch: { spec: { containers: [{ name: 'a', env: [{ name: 'Y', value: '2' }] }] } },
      gives: {
        containers: [
          {
            name: 'a',
            image: 'a:1',
            env: [
              // New items of the patch come first, like on a real server.
              { name: 'Y', value: '2' },
              { name: 'X', value: '1' },
            ],
          },
          containers[1],
        ],
      },
    },
    {
      does: 'deletes an item',
      patch: { spec: { containers: [{ name: 'a', $patch: 'delete' }] } },
      gives: { containers: [containers[1]] },
    },
    {
      does: 'replaces a list',
      patch: { spec: { containers: [{ $patch: 'replace' }, { name: 'c' }] } },
      gives: { containers: [{ name: 'c' }] },
    },
    {
      does: 'orders items',
      patch: {
        spec: {
          $setElementOrder_containers: 0,
          '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }],
          containers: [{ name: 'a', image: 'a:2' }],
        },
      },
      gives: { containers: [containers[1], { ...containers[0], image: 'a:2' }] },
    },
    {
      does: 'replaces lists without a key',
      patch: { spec: { tolerations: [{ key: 'b' }] } },
      gives: { tolerations: [{ key: 'b' }] },
    },
    {
      does: 'replaces a map on request',
      patch: { spec: { nodeSelector: { $patch: 'replace', z: '1' } } },
      gives: { nodeSelector: { z: '1' } },
    },
    {
      does: 'keeps only the named fields',
      patch: { spec: { nodeSelector: { $retainKeys: ['z'], z: '1' } } },
      gives: { nodeSelector: { z: '1' } },
    },
    { does: 'removes null values', patch: { spec: { nodeSelector: null } }, gives: { nodeSelector: undefined } },
  ])('$does', ({ patch, gives }) => {
    const { spec } = strategicPatch(target, patch, modelShape('V1Pod')) as Body;
    for (const [field, value] of Object.entries(gives)) expect(spec[field]).toEqual(value);
  });

  it('adds to and deletes from sets of scalars', () => {
    const patch = { metadata: { finalizers: ['two'], '$deleteFromPrimitiveList/finalizers': ['one'] } };
    expect(strategicPatch(target, patch, modelShape('V1Pod'))).toMatchObject({ metadata: { finalizers: ['two'] } });
  });

  it('does not mutate its target', () => {
    const before = JSON.stringify(target);
    strategicPatch(target, { spec: { containers: [{ name: 'b', $patch: 'delete' }] } }, modelShape('V1Pod'));
    expect(JSON.stringify(target)).toBe(before);
  });
});

describe('a merge patch', () => {
  const json = fc.dictionary(
    fc.constantFrom('a', 'b', 'c'),
    fc.oneof(fc.integer(), fc.constant(null), fc.dictionary(fc.constantFrom('x', 'y'), fc.integer())),
  );

  it('is idempotent', () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const once = applyMergePatch(target, patch);
        expect(applyMergePatch(once, patch)).toEqual(once);
      }),
    );
  });
});

describe('a patch of the local API server', () => {
  let api: TestServer;
  beforeAll(async () => {
    api = await testServer();
  });
  afterAll(() => api.server.close());

  it('may be a JSON patch, which is rejected if a test fails', async () => {
    await api.ok('POST', MAPS, { metadata: { name: 'json' }, data: { a: '1' } });
    const operations = [
      { op: 'test', path: '/data/a', value: '1' },
      { op: 'add', path: '/data/b', value: '2' },
    ];
    expect((await api.patch('json-patch+json', `${MAPS}/json`, operations)).body.data).toEqual({ a: '1', b: '2' });
    const failing = [{ op: 'test', path: '/data/a', value: '9' }];
    expect((await api.patch('json-patch+json', `${MAPS}/json`, failing)).status).toBe(422);
  });

  it('uses resourceVersion as a lock', async () => {
    const made = await api.ok('POST', MAPS, { metadata: { name: 'locked' } });
    const patch = { metadata: { resourceVersion: made.metadata.resourceVersion, labels: { a: 'b' } } };
    expect((await api.patch('merge-patch+json', `${MAPS}/locked`, patch)).status).toBe(200);
    const late = await api.patch('merge-patch+json', `${MAPS}/locked`, { ...patch, data: { late: 'yes' } });
    expect(late).toMatchObject({ status: 409, body: { reason: 'Conflict' } });
  });

  it('merges containers of a deployment by name', async () => {
    await api.ok('POST', DEPLOYMENTS, deployment('web'));
    const patch = { spec: { template: { spec: { containers: [{ name: 'main', image: 'pause:3.10' }] } } } };
    const { body } = await api.patch('strategic-merge-patch+json', `${DEPLOYMENTS}/web`, patch);
    expect(body.spec.template.spec.containers).toMatchObject([
      { name: 'main', image: 'pause:3.10', env: [{ name: 'A' }] },
    ]);
    expect(body.metadata.generation).toBe(2);
  });

  it('rejects an unknown patch type', async () => {
    expect((await api.patch('unknown+json', `${DEPLOYMENTS}/web`, {})).status).toBe(415);
  });

  describe('server-side apply', () => {
    const apply = (manager: string, body: Body, query = '') =>
      api.call('PATCH', `${MAPS}/${body.metadata.name}?fieldManager=${manager}${query}`, body, {
        'content-type': 'application/apply-patch+yaml',
      });
    const map = (name: string, data: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });

    it('creates, changes, and removes fields that its manager no longer applies', async () => {
      expect((await apply('me', map('mine', { a: '1', b: '1' }))).status).toBe(201);
      const second = await apply('me', map('mine', { a: '2' }));
      expect(second.body.data).toEqual({ a: '2' });
      expect(second.body.metadata.managedFields).toMatchObject([
        { manager: 'me', operation: 'Apply', apiVersion: 'v1', fieldsV1: { 'f:data': { 'f:a': {} } } },
      ]);
      const third = await apply('me', map('mine', { a: '2' }));
      expect(third.body.metadata.resourceVersion).toBe(second.body.metadata.resourceVersion);
    });

    it('keeps fields of other managers, and rejects conflicts without force', async () => {
      await apply('one', map('both', { a: '1' }));
      const joined = await apply('two', map('both', { b: '1' }));
      expect(joined.body.data).toEqual({ a: '1', b: '1' });
      const refused = await apply('two', map('both', { a: '2', b: '1' }));
      expect(refused).toMatchObject({
        status: 409,
        body: { message: 'Apply failed with 1 conflict: conflict with "one": .data.a' },
      });
      const forced = await apply('two', map('both', { a: '2', b: '1' }), '&force=true');
      expect(forced.body.data).toEqual({ a: '2', b: '1' });
      const left = await apply('two', map('both', {}));
      expect(left.body.data ?? {}).toEqual({});
    });

    it('requires a manager', async () => {
      const answer = await api.call('PATCH', `${MAPS}/none`, map('none', {}), {
        'content-type': 'application/apply-patch+yaml',
      });
      expect(answer.status).toBe(422);
    });
  });
});

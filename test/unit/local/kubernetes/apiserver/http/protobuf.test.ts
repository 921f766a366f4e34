import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeProtobuf } from '../../../../../../src/local/kubernetes/apiserver/http/protobuf.ts';
import { addBuiltins } from '../../../../../../src/local/kubernetes/apiserver/resources/builtins.ts';
import { createRegistry, groupVersion } from '../../../../../../src/local/kubernetes/apiserver/resources/registry.ts';
import { type TestServer, testServer } from '../client.ts';

const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)]);
const int = (number: number, value: number): Buffer => Buffer.from([number << 3, ...varint(value)]);
const run = (number: number, ...content: readonly (string | Buffer)[]): Buffer => {
  const inner = Buffer.concat(content.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(inner.length)]), inner]);
};
/** The protobuf envelope of Kubernetes. */
const message = (apiVersion: string, kind: string, ...fields: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.from('k8s\0'), run(1, run(1, apiVersion), run(2, kind)), run(2, ...fields)]);

const metadata = (name: string, ...more: readonly Buffer[]): Buffer => run(1, run(1, name), run(2, ''), ...more);

describe('decodeProtobuf', () => {
  it('decodes text, maps, lists, times and embedded messages, and omits empty values', () => {
    const labels = run(11, run(1, 'app'), run(2, 'web'));
    const created = run(8, int(1, 1_700_000_000));
    const container = run(2, run(1, 'main'), run(2, 'pause'), run(8, run(2, run(1, 'cpu'), run(2, run(1, '100m')))));
    const volume = run(1, run(1, 'tmp'), run(2, run(2, '')));
    const grace = int(4, 0);
    expect(
      decodeProtobuf(message('v1', 'Pod', metadata('p', labels, created), run(2, container, volume, grace), run(3))),
    ).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', labels: { app: 'web' }, creationTimestamp: '2023-11-14T22:13:20Z' },
      spec: {
        containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '100m' } } }],
        volumes: [{ name: 'tmp', emptyDir: {} }],
        terminationGracePeriodSeconds: 0,
      },
    });
  });

  it('decodes IntOrString values', () => {
    const percent = run(1, int(1, 1), int(2, 0), run(3, '50%'));
    const budget = message('policy/v1', 'PodDisruptionBudget', metadata('b'), run(2, percent));
    expect(decodeProtobuf(budget).spec).toEqual({ minAvailable: '50%' });
  });

  const known = createRegistry();
  addBuiltins(known);
  it.each(known.all().map((one) => [groupVersion(one), one.kind]))('decodes %s %s', (version, kind) => {
    expect(decodeProtobuf(message(version, kind, metadata('one')))).toEqual({
      apiVersion: version,
      kind,
      metadata: { name: 'one' },
    });
  });

  it('keeps zeros that are always present in JSON', () => {
    const low = message('scheduling.k8s.io/v1', 'PriorityClass', metadata('low'), int(2, 0), int(3, 0), run(4, ''));
    expect(decodeProtobuf(low)).toMatchObject({ value: 0 });
  });

  it('decodes volumes with inlined sources', () => {
    const source = run(2, run(22, run(1, 'ebs.csi.aws.com'), run(2, 'vol-1'), int(3, 0)));
    const capacity = run(1, run(1, 'storage'), run(2, run(1, '1Gi')));
    const volume = message('v1', 'PersistentVolume', metadata('v'), run(2, capacity, source, run(3, 'ReadWriteOnce')));
    expect(decodeProtobuf(volume).spec).toEqual({
      capacity: { storage: '1Gi' },
      csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' },
      accessModes: ['ReadWriteOnce'],
    });
  });

  it('decodes schemas with JSONSchemaPropsOrBool, JSONSchemaPropsOrArray and raw JSON', () => {
    const schema = (type: string, ...more: readonly Buffer[]): Buffer[] => [run(5, type), ...more];
    const list = schema('array', run(24, run(1, ...schema('string', run(8, run(1, '"a"'))))));
    const map = schema('object', run(30, run(2, ...schema('integer'))));
    const open = schema('object', run(30, int(1, 1)));
    const property = (name: string, fields: readonly Buffer[]): Buffer => run(29, run(1, name), run(2, ...fields));
    const root = schema('object', property('l', list), property('m', map), property('o', open));
    const version = run(7, run(1, 'v1'), int(2, 1), int(3, 1), run(4, run(1, ...root)));
    const definition = message('apiextensions.k8s.io/v1', 'CustomResourceDefinition', metadata('d'), run(2, version));
    expect(decodeProtobuf(definition).spec).toMatchObject({
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                l: { type: 'array', items: { type: 'string', default: 'a' } },
                m: { type: 'object', additionalProperties: { type: 'integer' } },
                o: { type: 'object', additionalProperties: true },
              },
            },
          },
        },
      ],
    });
  });

  it.each([
    { what: 'an invalid message', body: Buffer.from('{}'), says: 'not a Kubernetes protobuf message' },
    { what: 'an unknown kind', body: message('v1', 'Mystery'), says: 'Mystery is only accepted as' },
    { what: 'a truncated message', body: message('v1', 'Pod').subarray(0, 10), says: 'ends too early' },
  ])('rejects $what', ({ body, says }) => {
    expect(() => decodeProtobuf(body)).toThrow(says);
  });
});

describe('a protobuf request', () => {
  let api: TestServer;
  beforeAll(async () => {
    api = await testServer();
  });
  afterAll(() => api.server.close());

  it('creates the same object as JSON', async () => {
    const response = await fetch(`${api.server.url}/api/v1/namespaces`, {
      method: 'POST',
      headers: {
        'content-type': 'application/vnd.kubernetes.protobuf',
        accept: 'application/vnd.kubernetes.protobuf,application/json',
      },
      body: new Uint8Array(message('v1', 'Namespace', metadata('typed'), run(2), run(3))),
    });
    expect(response.status).toBe(201);
    expect(await api.ok('GET', '/api/v1/namespaces/typed')).toMatchObject({ status: { phase: 'Active' } });
  });

  it('gets JSON if it accepts protobuf alone', async () => {
    for (const accept of ['application/vnd.kubernetes.protobuf', 'application/vnd.kubernetes.protobuf;stream=watch']) {
      const response = await fetch(`${api.server.url}/api/v1/namespaces/default`, { headers: { accept } });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toContain('application/json');
      expect(await response.json()).toMatchObject({ kind: 'Namespace', metadata: { name: 'default' } });
    }
    const refused = await fetch(`${api.server.url}/api/v1/namespaces/default`, { headers: { accept: 'text/csv' } });
    expect(refused.status).toBe(406);
  });
});

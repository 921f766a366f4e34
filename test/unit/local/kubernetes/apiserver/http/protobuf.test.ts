import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodeProtobuf } from '../../../../../../src/local/kubernetes/apiserver/http/protobuf.ts';
import { type TestServer, testServer } from '../client.ts';

const varint = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...varint(value >> 7)]);
const int = (number: number, value: number): Buffer => Buffer.from([number << 3, ...varint(value)]);
const run = (number: number, ...content: readonly (string | Buffer)[]): Buffer => {
  const inner = Buffer.concat(content.map((part) => Buffer.from(part)));
  return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(inner.length)]), inner]);
};
/** Kubernetes' envelope around a message. */
const message = (apiVersion: string, kind: string, ...fields: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.from('k8s\0'), run(1, run(1, apiVersion), run(2, kind)), run(2, ...fields)]);

const metadata = (name: string, ...more: readonly Buffer[]): Buffer => run(1, run(1, name), run(2, ''), ...more);

describe('decodeProtobuf', () => {
  it('reads text, maps, lists, times and embedded messages, and drops what is empty', () => {
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

  it('reads numbers that may be text', () => {
    const percent = run(1, int(1, 1), int(2, 0), run(3, '50%'));
    const budget = message('policy/v1', 'PodDisruptionBudget', metadata('b'), run(2, percent));
    expect(decodeProtobuf(budget).spec).toEqual({ minAvailable: '50%' });
  });

  it.each([
    { what: 'no message', body: Buffer.from('{}'), says: 'no Kubernetes protobuf message' },
    { what: 'a kind it does not know', body: message('v1', 'Mystery'), says: 'Mystery is only accepted as' },
    { what: 'a message that ends early', body: message('v1', 'Pod').subarray(0, 10), says: 'ends too early' },
  ])('refuses $what', ({ body, says }) => {
    expect(() => decodeProtobuf(body)).toThrow(says);
  });
});

describe('a protobuf request', () => {
  let api: TestServer;
  beforeAll(async () => {
    api = await testServer();
  });
  afterAll(() => api.server.close());

  it('creates an object as JSON does', async () => {
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
});

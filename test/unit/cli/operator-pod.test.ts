/** The operator of a cluster, found by its rights and its Lease, and reached like `kubectl port-forward`. */
import { createHash } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { VERBS } from '../../../src/cli/command-line.ts';
import { explainCommand } from '../../../src/cli/explain.ts';
import { askOperator } from '../../../src/cli/operator.ts';

const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-0', namespace: 'default', uid: '1', resourceVersion: '1' },
  spec: { containers: [{ name: 'main', image: 'x' }] },
};
const METADATA = { uid: '1', resourceVersion: '1' };
const operatorPod = (namespace: string, name: string, serviceAccountName: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { ...METADATA, name, namespace },
  spec: {
    serviceAccountName,
    containers: [{ name: 'controller', image: 'x', ports: [{ name: 'http-metrics', containerPort: 9000 }] }],
  },
});
const leaseOf = (namespace: string, holderIdentity: string) => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { ...METADATA, name: 'karpenter-leader-election', namespace },
  spec: { holderIdentity },
});
const role = (name: string, ...rules: readonly (readonly [string, string, string])[]) => ({
  metadata: { ...METADATA, name },
  rules: rules.map(([group, resource, verb]) => ({ apiGroups: [group], resources: [resource], verbs: [verb] })),
});
const binding = (name: string, roleName: string, namespace: string, account: string) => ({
  metadata: { ...METADATA, name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: roleName },
  subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
});
const CREATE_CLAIMS = ['karpenter.sh', 'nodeclaims', 'create'] as const;
const ROLES = [
  role('karpenter-core', CREATE_CLAIMS, ['', 'nodes', 'update']),
  role('karpenter-admin', CREATE_CLAIMS),
  role('cluster-admin', ['*', '*', '*']),
];
const BOUND = binding('karpenter-core', 'karpenter-core', 'kube-system', 'karpenter');
const listOf = (kind: string, items: readonly unknown[]) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: `${kind}List`,
  metadata: { resourceVersion: '1' },
  items,
});
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
/** Status of a request that the user must not send. */
const FORBIDDEN = {
  ...{ kind: 'Status', apiVersion: 'v1', code: 403, reason: 'Forbidden' },
  message: 'clusterrolebindings is forbidden',
};
const leasePath = (namespace: string): string =>
  `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/karpenter-leader-election`;
const podPath = (namespace: string, name: string): string => `/api/v1/namespaces/${namespace}/pods/${name}`;

/** Objects of an operator: its Lease and its pod. */
const operatorIn = (namespace: string, name: string, account: string) => ({
  [leasePath(namespace)]: leaseOf(namespace, `${name}_0d9c`),
  [podPath(namespace, name)]: operatorPod(namespace, name, account),
});
const GENUINE = operatorIn('kube-system', 'karpenter-1', 'karpenter');
const FAKE = operatorIn('tenant', 'karpenter-1', 'karpenter');
const VERDICT = { pod: 'default/web-0', code: 'unschedulable', text: 'NodePool "gpu" has the taint gpu:NoSchedule' };
const [DATA, ERROR] = [0, 1];

/** Frame of a WebSocket server with a binary message of less than 64 KiB. */
function frameOf(message: Buffer): Buffer {
  const length = message.length < 126 ? [message.length] : [126, message.length >> 8, message.length & 0xff];
  return Buffer.concat([Buffer.from([0x82, ...length]), message]);
}

/** Message in a masked frame of a client with less than 64 KiB. */
function messageIn(frame: Buffer): Buffer {
  const short = (frame[1] ?? 0) & 0x7f;
  const start = short === 126 ? 4 : 2;
  const mask = frame.subarray(start, start + 4);
  return Buffer.from(frame.subarray(start + 4).map((byte, at) => byte ^ (mask[at % 4] ?? 0)));
}

/** Accepts a WebSocket and serves one HTTP response over it, with the framing of the port-forward protocol. */
function serveOver(socket: Duplex, key: string, { requests, answer }: { requests: string[]; answer: unknown }): void {
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n`,
  );
  const send = (channel: number, data: Buffer): void =>
    void socket.write(frameOf(Buffer.concat([Buffer.from([channel]), data])));
  for (const channel of [DATA, ERROR]) send(channel, Buffer.from([9000 & 0xff, 9000 >> 8]));
  socket.on('error', () => socket.destroy());
  socket.on('data', (frame: Buffer) => {
    const CLOSE = 0x88;
    if (frame[0] === CLOSE) return void socket.end(Buffer.from([CLOSE, 0]));
    requests.push(messageIn(frame).subarray(1).toString().split('\r\n')[0] ?? '');
    const body = JSON.stringify(answer);
    const head = `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`;
    send(DATA, Buffer.from(head + body));
  });
}

describe('the operator of a cluster', () => {
  const paths: string[] = [];
  const requests: string[] = [];
  let objects: Readonly<Record<string, unknown>>;
  let body: unknown;
  let bindings: readonly unknown[] | undefined;
  let server: Server;
  let kubeconfig: string;
  beforeEach(() => {
    paths.length = 0;
    requests.length = 0;
    bindings = [BOUND];
    body = VERDICT;
  });
  beforeAll(async () => {
    server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '', 'http://server');
      const answers: Readonly<Record<string, unknown>> = {
        ...{ '/api/v1/namespaces/default/pods/web-0': POD, ...objects },
        [`${RBAC}/clusterroles`]: listOf('ClusterRole', ROLES),
        [`${RBAC}/clusterrolebindings`]: bindings && listOf('ClusterRoleBinding', bindings),
      };
      if (pathname === `${RBAC}/clusterrolebindings` && bindings === undefined) {
        response.writeHead(403, { 'content-type': 'application/json' });
        response.end(JSON.stringify(FORBIDDEN));
        return;
      }
      const answer = answers[pathname];
      response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
      const missing = { kind: 'Status', apiVersion: 'v1', code: 404, reason: 'NotFound', message: 'not found' };
      response.end(JSON.stringify(answer ?? missing));
    });
    server.on('upgrade', (request, socket) => {
      paths.push(request.url ?? '');
      serveOver(socket, request.headers['sec-websocket-key'] ?? '', { requests, answer: body });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    kubeconfig = JSON.stringify(
      {
        ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'test' },
        contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
        clusters: [{ name: 'test', cluster: { server: url } }],
        users: [{ name: 'test', user: {} }],
      },
      null,
      1,
    );
  });
  afterAll(() => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    return closed;
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const explained = async (...args: readonly string[]): Promise<string> => {
    const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    await explainCommand().parseAsync([...args, '--kubeconfig', kubeconfig], { from: 'user' });
    return written.mock.calls.map(([text]) => String(text)).join('');
  };

  const toOperator = (namespace: string): string =>
    `/api/v1/namespaces/${namespace}/pods/karpenter-1/portforward?ports=9000`;

  it('is found by its ServiceAccount and its Lease, and reached through the API server', async () => {
    objects = GENUINE;
    expect(await explained('pod', 'web-0')).toBe(
      `Pod default/web-0\n  verdict  unschedulable\n  because  ${VERDICT.text}\n`,
    );
    expect(paths).toEqual([toOperator('kube-system')]);
    expect(requests).toEqual(['GET /debug/pods?pod=default%2Fweb-0 HTTP/1.1']);
  });

  it.each([
    ['explain node', '/debug/verdicts'],
    ['explain blockers', '/debug/blockers'],
    ['explain budgets', '/debug/budgets'],
    ['offerings', '/debug/offerings'],
    ['report moves', '/debug/moves'],
  ])('serves karpenter %s without an address', async (words, path) => {
    objects = GENUINE;
    body = [];
    const [verb = '', ...args] = words.split(' ');
    const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    const command = await VERBS[verb]?.load();
    await command?.parseAsync([...args, '--kubeconfig', kubeconfig, '-o', 'json'], { from: 'user' });
    expect(written.mock.calls.map(([text]) => String(text)).join('')).toMatch(/^(\[\]|\{.*\})\n$/);
    expect(requests).toEqual([`GET ${path} HTTP/1.1`, 'GET /debug/pause HTTP/1.1']);
  });

  it('is not replaced by an operator at the default address if the user names another cluster', async () => {
    objects = {};
    bindings = [];
    await expect(explained('node')).rejects.toThrow(
      /^no operator was found in the cluster \(no ClusterRoleBinding .*\); use --server with its metrics port$/,
    );
  });

  it('is not replaced by an operator at the default address if there are several', async () => {
    objects = { ...operatorIn('second', 'karpenter-1', 'karpenter'), ...GENUINE };
    bindings = [BOUND, binding('second', 'karpenter-core', 'second', 'karpenter')];
    await expect(explained('node')).rejects.toThrow('choose one with --operator-namespace');
  });

  it('is not replaced by a Lease and a pod in the namespace of a tenant', async () => {
    objects = { ...FAKE, ...GENUINE };
    bindings = [
      binding('tenant-admin', 'karpenter-admin', 'tenant', 'karpenter'),
      binding('tenant-root', 'cluster-admin', 'tenant', 'karpenter'),
      BOUND,
    ];
    await explained('pod', 'web-0');
    expect(paths).toEqual([toOperator('kube-system')]);
  });

  it.each([
    { what: 'has no ServiceAccount of the operator', only: FAKE, args: [] },
    { what: 'is in a namespace that the user names', only: FAKE, args: ['--operator-namespace', 'tenant'] },
    { what: 'has another account', only: operatorIn('kube-system', 'karpenter-1', 'default'), args: [] },
  ])('does not receive requests if its pod $what', async ({ only, args }) => {
    objects = only;
    await expect(explained('pod', 'web-0', ...args)).rejects.toThrow();
    expect(paths).toEqual([]);
  });

  it('must be selected if there are several', async () => {
    objects = { ...operatorIn('second', 'karpenter-1', 'karpenter'), ...GENUINE };
    bindings = [BOUND, binding('second', 'karpenter-core', 'second', 'karpenter')];
    await expect(explained('pod', 'web-0')).rejects.toThrow(
      'the cluster has several operators (kube-system/karpenter-1, second/karpenter-1); choose one with --operator-namespace',
    );
    expect(paths).toEqual([]);
    await explained('pod', 'web-0', '--operator-namespace', 'second');
    expect(paths).toEqual([toOperator('second')]);
  });

  it('must be named if the user cannot list ClusterRoleBindings', async () => {
    objects = GENUINE;
    bindings = undefined;
    await expect(explained('pod', 'web-0')).rejects.toThrow();
    expect(paths).toEqual([]);
    await explained('pod', 'web-0', '--operator-namespace', 'kube-system');
    expect(paths).toEqual([toOperator('kube-system')]);
  });
});

describe('a response of the operator', () => {
  let server: Server;
  let url: string;
  let respond: (response: ServerResponse) => void;
  beforeAll(async () => {
    server = createServer((_, response) => respond(response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    return closed;
  });

  it.each([
    {
      what: 'too long',
      answer: (response: ServerResponse) => void response.end('x'.repeat(2_000)),
      error: /the response is longer than 1000 bytes/,
    },
    {
      what: 'too long after decompression',
      answer: (response: ServerResponse) => {
        response.setHeader('content-encoding', 'gzip');
        response.end(gzipSync('x'.repeat(100_000)));
      },
      error: /the response is longer than 1000 bytes/,
    },
    {
      what: 'never complete',
      answer: (response: ServerResponse) => void response.write('{'),
      error: /did not respond within 0\.2 s/,
      ms: 200,
    },
    {
      what: 'a redirect',
      answer: (response: ServerResponse) => {
        response.writeHead(302, { location: 'http://127.0.0.1:1/' });
        response.end();
      },
      error: /cannot be reached/,
    },
    {
      what: 'a long error',
      answer: (response: ServerResponse) => {
        response.writeHead(500);
        response.end('y'.repeat(900));
      },
      error: /HTTP status 500: y{500}$/,
    },
  ])('is rejected if it is $what', async ({ answer, error, ms = 60_000 }) => {
    respond = answer;
    await expect(askOperator(url, '/debug/pods', { bytes: 1_000, ms })).rejects.toThrow(error);
  });
});

/** The operator of a cluster, found by its Lease and reached like `kubectl port-forward` through a small API server. */
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { explainCommand } from '../../../src/cli/explain.ts';

const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-0', namespace: 'default', uid: '1', resourceVersion: '1' },
  spec: { containers: [{ name: 'main', image: 'x' }] },
};
const OPERATOR = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'karpenter-1', namespace: 'kube-system', uid: '2', resourceVersion: '1' },
  spec: { containers: [{ name: 'controller', image: 'x', ports: [{ name: 'http-metrics', containerPort: 9000 }] }] },
};
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
function serveOver(socket: Duplex, key: string, requests: string[]): void {
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
    const body = JSON.stringify(VERDICT);
    const head = `HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`;
    send(DATA, Buffer.from(head + body));
  });
}

describe('the operator of a cluster', () => {
  const paths: string[] = [];
  const requests: string[] = [];
  let holder: string;
  let server: Server;
  let kubeconfig: string;
  beforeAll(async () => {
    server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? '', 'http://server');
      const answers: Readonly<Record<string, unknown>> = {
        '/api/v1/namespaces/default/pods/web-0': POD,
        '/api/v1/namespaces/kube-system/pods/karpenter-1': OPERATOR,
        '/apis/coordination.k8s.io/v1/leases': {
          ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'LeaseList', metadata: { resourceVersion: '1' } },
          items: [
            {
              metadata: { name: 'karpenter-leader-election', namespace: 'kube-system', resourceVersion: '1' },
              spec: { holderIdentity: holder },
            },
          ],
        },
      };
      const answer = answers[pathname];
      response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
      const missing = { kind: 'Status', apiVersion: 'v1', code: 404, reason: 'NotFound', message: 'not found' };
      response.end(JSON.stringify(answer ?? missing));
    });
    server.on('upgrade', (request, socket) => {
      paths.push(request.url ?? '');
      serveOver(socket, request.headers['sec-websocket-key'] ?? '', requests);
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

  it('is found by its Lease and reached through the API server', async () => {
    holder = 'karpenter-1_0d9c';
    expect(await explained('pod', 'web-0')).toBe(
      `Pod default/web-0\n  verdict  unschedulable\n  because  ${VERDICT.text}\n`,
    );
    expect(paths).toEqual(['/api/v1/namespaces/kube-system/pods/karpenter-1/portforward?ports=9000']);
    expect(requests).toEqual(['GET /debug/pods?pod=default%2Fweb-0 HTTP/1.1']);
  });
});

import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Logger, silent } from '#observe/logger';
import type { Metrics } from '#observe/metrics';
import { createMetrics } from '#observe/setup';
import { type Endpoints, serveEndpoints } from '../../../src/process/health.ts';
import { boundedServer, type HttpLimits, listen, stop, targetOf } from '../../../src/process/http-server.ts';

let endpoints: Endpoints | undefined;
const sockets: Socket[] = [];
const servers: Server[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(servers.splice(0).map(stop));
  await endpoints?.close();
});

async function start(limits: Partial<HttpLimits> = {}, metrics: Metrics = createMetrics()): Promise<Endpoints> {
  const ports = { metricsPort: 0, healthProbePort: 0, host: '127.0.0.1' };
  const debug = { '/debug/moves': () => [] };
  const serving = await serveEndpoints({ ...ports, metrics, profiling: true, ready: {}, debug, log: silent, limits });
  endpoints = serving;
  return serving;
}

function bounded(log: Logger = silent): Server {
  const server = boundedServer({ name: 'test', handler: () => undefined, log, metrics: createMetrics() });
  servers.push(server);
  return server;
}

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

/** Returns the text that the server sends until it closes the connection. */
async function untilClosed(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    text += chunk;
  });
  if (!socket.closed) await once(socket, 'close');
  return text;
}

async function exchange(port: number, bytes: string | Buffer): Promise<string> {
  const socket = await open(port);
  const answer = untilClosed(socket);
  socket.end(bytes);
  return answer;
}

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
const request = (line: string, headers = 'Host: x\r\nConnection: close\r\n'): string => `${line}\r\n${headers}\r\n`;

async function expectServing({ metricsPort, healthProbePort }: Endpoints): Promise<void> {
  expect(statusOf(await exchange(healthProbePort, request('GET /healthz HTTP/1.1')))).toBe(200);
  expect(statusOf(await exchange(healthProbePort, request('GET /readyz HTTP/1.1')))).toBe(200);
  expect(statusOf(await exchange(metricsPort, request('GET /metrics HTTP/1.1')))).toBe(200);
}

describe('an invalid request', () => {
  it.each([
    { what: 'a target of two slashes', send: request('GET // HTTP/1.1'), is: 404 },
    { what: 'a target with a bad port', send: request('GET //x:99999999 HTTP/1.1'), is: 404 },
    { what: 'a target with a bad percent sign', send: request('GET /%zz?%zz=%1 HTTP/1.1'), is: 404 },
    { what: 'a whole URL without a host', send: request('GET http:// HTTP/1.1'), is: 400 },
    { what: 'an asterisk', send: request('OPTIONS * HTTP/1.1'), is: 405 },
    { what: 'another method', send: request('DELETE /metrics HTTP/1.1'), is: 405 },
    { what: 'a tunnel', send: request('CONNECT example.com:443 HTTP/1.1'), is: 405 },
    { what: 'an unknown method', send: request('BREW /metrics HTTP/1.1'), is: 400 },
    { what: 'no Host header', send: request('GET /metrics HTTP/1.1', 'Connection: close\r\n'), is: 400 },
    { what: 'a long target', send: request(`GET /${'a'.repeat(20_000)} HTTP/1.1`), is: 431 },
    { what: 'long headers', send: request('GET / HTTP/1.1', `Host: x\r\nA: ${'a'.repeat(20_000)}\r\n`), is: 431 },
    {
      what: 'a header name with a control character',
      send: request('GET / HTTP/1.1', 'Host: x\r\nA\u0001: 1\r\n'),
      is: 400,
    },
    {
      what: 'two Content-Length headers',
      send: request('GET / HTTP/1.1', 'Host: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n'),
      is: 400,
    },
    { what: 'a body', send: `${request('GET /metrics HTTP/1.1', 'Host: x\r\nContent-Length: 3\r\n')}abc`, is: 413 },
    {
      what: 'an incomplete body',
      send: `${request('GET /metrics HTTP/1.1', 'Host: x\r\nContent-Length: 99\r\n')}abc`,
      is: 413,
    },
    { what: 'TLS', send: Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]), is: 400 },
    { what: 'HTTP/2', send: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', is: 400 },
    { what: 'an unknown protocol', send: request('GET /metrics HTTP/9.9'), is: 400 },
  ])('gets $is: $what', async ({ send, is }) => {
    const serving = await start();
    for (const port of [serving.metricsPort, serving.healthProbePort])
      expect(statusOf(await exchange(port, send))).toBe(is);
    await expectServing(serving);
  });

  it('is counted by port and reason', async () => {
    const metrics = createMetrics();
    const serving = await start({}, metrics);
    await exchange(serving.metricsPort, request('POST /metrics HTTP/1.1'));
    await exchange(serving.healthProbePort, 'nonsense\r\n\r\n');
    const text = await metrics.text();
    expect(text).toContain('karpenter_http_refused_total{port="metrics",reason="method"} 1');
    expect(text).toContain('karpenter_http_refused_total{port="health",reason="unreadable"} 1');
  });

  it('does not stop the servers, even if its bytes are random', async () => {
    const serving = await start();
    const random = generator(11);
    const sent: string[] = [];
    for (let round = 0; round < 12; round += 1) {
      const batch = Array.from({ length: 25 }, () => mangled(random));
      sent.push(...batch);
      await Promise.all(
        batch.map((bytes, index) =>
          exchange(index % 2 === 0 ? serving.metricsPort : serving.healthProbePort, Buffer.from(bytes, 'latin1')),
        ),
      );
    }
    expect(new Set(sent).size).toBeGreaterThan(200);
    await expectServing(serving);
  });
});

describe('a client that takes too much time or too many connections or requests', () => {
  it.each([
    { what: 'headers that do not end', head: 'GET /metrics HTTP/1.1\r\nHost: x\r\n', drip: 'a: b\r\n', is: 408 },
    { what: 'a request line that does not end', head: 'GET /', drip: 'a', is: 408 },
    { what: 'a connection without a request', head: '', drip: '', is: 408 },
  ])('is disconnected: $what', async ({ head, drip, is }) => {
    const serving = await start({ headersMs: 100, requestMs: 200, checkMs: 20, silenceMs: 2_000 });
    const socket = await open(serving.healthProbePort);
    const answer = untilClosed(socket);
    socket.write(head);
    const timer = setInterval(() => socket.write(drip), 10);
    expect(statusOf(await answer)).toBe(is);
    clearInterval(timer);
  });

  it('is disconnected if a body does not end', async () => {
    const serving = await start();
    const socket = await open(serving.metricsPort);
    const answer = untilClosed(socket);
    socket.write(request('GET /metrics HTTP/1.1', 'Host: x\r\nTransfer-Encoding: chunked\r\n'));
    const timer = setInterval(() => socket.write('1\r\na\r\n'), 5);
    expect(statusOf(await answer)).toBe(413);
    clearInterval(timer);
  });

  it('loses connections to other clients if it holds many', async () => {
    const metrics = createMetrics();
    const serving = await start({ connections: 8 }, metrics);
    const held: Socket[] = [];
    for (let count = 0; count < 40; count += 1) held.push(await open(serving.healthProbePort));
    await expectServing(serving);
    expect(held.filter((socket) => !socket.closed).length).toBeLessThanOrEqual(8);
    expect(await metrics.text()).toMatch(/karpenter_http_refused_total\{port="health",reason="connections"\} 3\d/);
  });

  it('gets 503 for pipelined requests above the limit, and its connection is closed', async () => {
    const metrics = createMetrics();
    const scraping = Promise.withResolvers<void>();
    metrics.beforeScrape(() => scraping.promise);
    const serving = await start({ pipelined: 2 }, metrics);
    const socket = await open(serving.metricsPort);
    const answer = untilClosed(socket);
    socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(20));
    setImmediate(scraping.resolve);
    expect((await answer).match(/^HTTP\/1\.1 \d{3}/gm)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 503']);
  });
});

describe('a connection that Node.js hands over', () => {
  it.each(['connect', 'upgrade'])('has an error listener when "%s" is emitted', async (event) => {
    const server = bounded();
    const port = await listen(server, { port: 0, host: '127.0.0.1', setting: 'PORT' });
    const listeners = new Promise<number>((resolve) => {
      server.prependListener(event, (_request, socket) => {
        resolve(socket.listenerCount('error'));
        socket.destroy();
      });
    });
    const socket = await open(port);
    socket.write(
      event === 'connect'
        ? request('CONNECT x:443 HTTP/1.1')
        : request('GET / HTTP/1.1', 'Host: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n'),
    );
    expect(await listeners).toBeGreaterThan(0);
  });
});

describe('listen', () => {
  const errors: string[] = [];
  const log: Logger = { ...silent, error: (message) => errors.push(message), with: () => log };
  beforeEach(() => void errors.splice(0));

  it('names a port that another process uses', async () => {
    const [first, second] = [bounded(log), bounded(log)];
    const port = await listen(first, { port: 0, host: '127.0.0.1', setting: 'A_PORT' });
    await expect(listen(second, { port, host: '127.0.0.1', setting: 'B_PORT' })).rejects.toThrow(
      `Cannot listen on port ${port} of 127.0.0.1: another process uses the port; end that process or set B_PORT to another port`,
    );
    expect(errors).toEqual([]);
  });

  it('names an address that the machine does not have', async () => {
    const failing = listen(bounded(log), { port: 8090, host: '192.0.2.1', setting: 'LIVE_PAGE' });
    await expect(failing).rejects.toThrow(
      'Cannot listen on port 8090 of 192.0.2.1: this machine does not have the address; set LIVE_PAGE to one of its addresses',
    );
    expect(errors).toEqual([]);
  });

  it('names a port that the user must not use', async () => {
    const server = bounded(log);
    // simulates the error, because root may use every port
    server.listen = () => {
      setImmediate(() => server.emit('error', Object.assign(new Error('denied'), { code: 'EACCES' })));
      return server;
    };
    await expect(listen(server, { port: 80, setting: 'METRICS_PORT' })).rejects.toThrow(
      'Cannot listen on port 80: this user must not use the port; set METRICS_PORT to a port of 1024 or higher',
    );
    expect(errors).toEqual([]);
  });

  it('logs errors of later connections', async () => {
    const server = bounded(log);
    await listen(server, { port: 0, host: '127.0.0.1', setting: 'PORT' });
    server.emit('error', Object.assign(new Error('too many open files'), { code: 'EMFILE' }));
    expect(errors).toEqual(['failed accepting a connection']);
  });
});

describe('targetOf', () => {
  it.each([
    { url: '/metrics', path: '/metrics', query: '' },
    { url: '/readyz?verbose', path: '/readyz', query: 'verbose=' },
    { url: 'http://10.0.0.1:8080/metrics?a=b#c', path: '/metrics', query: 'a=b%23c' },
    { url: '//x/../y#?a', path: '//x/../y', query: '' },
  ])('parses $url', ({ url, path, query }) => {
    const target = targetOf(url);
    expect({ path: target?.path, query: target?.query.toString() }).toEqual({ path, query });
  });

  it.each(['', '*', 'metrics', 'http://', 'ftp://x/metrics', undefined])('returns undefined for %p', (url) => {
    expect(targetOf(url)).toBeUndefined();
  });
});

/** Returns a generator of numbers below `limit`. The same seed yields the same numbers. */
type Random = (limit: number) => number;

function generator(seed: number): Random {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'CONNECT', 'OPTIONS', 'TRACE', 'get', '', 'G\u0000T', 'PRI'];
const TARGETS = [
  '/',
  '//',
  '/metrics',
  '/healthz/',
  '/readyz?verbose',
  '/debug/pprof/heap/x',
  '*',
  'http://[',
  '/\u00ff',
  '///@:',
  '?',
  '/..%2f',
];
const VERSIONS = ['HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/', '', 'HTTP/1.1\u0000'];
const HEADERS = [
  'Host: x',
  'Host:',
  'Connection: upgrade',
  'Upgrade: websocket',
  'Expect: 100-continue',
  'Expect: x',
  'Content-Length: -1',
  'Content-Length: 18446744073709551616',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, x',
  ': x',
  'Range: bytes=9-1',
  'X: \u0000',
  `Cookie: ${'c'.repeat(3_000)}`,
];
const ENDS = ['\r\n\r\n', '\n\n', '\r\r', '', '\r\n\r\n0\r\n\r\n', '\r\n\r\nfffffffff\r\n'];

/** Returns a request with unusual parts. In some requests, one byte is replaced with a random byte. */
function mangled(random: Random): string {
  const one = <T>(from: readonly T[]): T => from[random(from.length)] as T;
  const headers = Array.from({ length: random(5) }, () => one(HEADERS));
  const text = `${[`${one(METHODS)} ${one(TARGETS)} ${one(VERSIONS)}`, ...headers].join('\r\n')}${one(ENDS)}`;
  if (random(3) > 0 || text.length === 0) return text;
  const at = random(text.length);
  return text.slice(0, at) + String.fromCharCode(random(256)) + text.slice(at + 1);
}

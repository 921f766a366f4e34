/** Resets of connections to the operator's ports after every byte of various requests. */
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';

/** Number of simultaneous connections. It is below the server's limit, so that only the reset closes a connection. */
const AT_A_TIME = 32;
/** Number of repetitions, because a reset after the last byte races with the response. */
const LAST_BYTE_ROUNDS = 40;

let hostile: HostileWorld;
let liveUrl: string;
beforeAll(async () => {
  hostile = await startHostileWorld({ env: { LIVE_PAGE: '127.0.0.1:0' } });
  const line = hostile.operator.log.find(({ message }) => message === 'serving the live page');
  liveUrl = String(line?.url);
});
afterAll(() => hostile.stop());

const servers = (): Readonly<Record<string, string>> => ({
  metrics: hostile.operator.metricsUrl,
  health: hostile.operator.healthUrl,
  'live page': liveUrl,
});

const lines = (...all: readonly string[]): string => `${all.join('\r\n')}\r\n\r\n`;
const HOST = 'Host: localhost';
const UPGRADE = ['Connection: Upgrade', 'Upgrade: websocket'];

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH', 'BREW'];
const REQUESTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(METHODS.map((method) => [method, lines(`${method} / HTTP/1.1`, HOST)])),
  CONNECT: lines('CONNECT x:443 HTTP/1.1', HOST),
  'CONNECT with bytes for the tunnel': `${lines('CONNECT x:443 HTTP/1.1', HOST)}\u0016\u0003\u0001`,
  'an upgrade': lines('GET / HTTP/1.1', HOST, ...UPGRADE),
  'an upgrade by POST': lines('POST / HTTP/1.1', HOST, ...UPGRADE),
  'an upgrade to HTTP/2': lines('GET / HTTP/1.1', HOST, 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c'),
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a body': `${lines('POST / HTTP/1.1', HOST, 'Content-Length: 5')}hello`,
  'a body in chunks': `${lines('PUT / HTTP/1.1', HOST, 'Transfer-Encoding: chunked')}5\r\nhello\r\n0\r\n\r\n`,
  'an expectation': lines('POST / HTTP/1.1', HOST, 'Expect: 100-continue', 'Content-Length: 5'),
  'an unknown expectation': lines('POST / HTTP/1.1', HOST, 'Expect: x'),
  'two requests': lines('GET / HTTP/1.1', HOST).repeat(2),
  'a request and a tunnel': `${lines('GET / HTTP/1.1', HOST)}${lines('CONNECT x:443 HTTP/1.1', HOST)}`,
  'a long answer': lines('GET /metrics HTTP/1.1', HOST, 'Accept-Encoding: gzip'),
  'a stream': lines('GET /api/events HTTP/1.1', HOST),
  'no HTTP': 'hello?\r\n\r\n',
  'no host': lines('GET / HTTP/1.1'),
};

/** Sends bytes and resets the connection, either immediately afterwards or when a response arrives. */
function reset(url: string, bytes: string, when: 'sent' | 'answered'): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  // the server may close the connection first
  socket.on('error', () => undefined);
  socket.once('connect', () => {
    if (when === 'answered') socket.once('data', () => socket.resetAndDestroy());
    socket.write(bytes, 'latin1', () => {
      if (when === 'sent') socket.resetAndDestroy();
    });
  });
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

async function inBatches(work: readonly (() => Promise<void>)[]): Promise<void> {
  for (let at = 0; at < work.length; at += AT_A_TIME)
    await Promise.all(work.slice(at, at + AT_A_TIME).map((each) => each()));
}

/** @throws Error if the process has exited */
async function expectServing(): Promise<void> {
  expect(hostile.operator.end).toBeUndefined();
  await hostile.expectLeading();
  expect((await fetch(`${hostile.operator.metricsUrl}/metrics`)).status).toBe(200);
  expect((await fetch(liveUrl)).status).toBe(200);
}

describe.each(['metrics', 'health', 'live page'])('the %s port', (name) => {
  it.each(Object.entries(REQUESTS))('keeps working after resets at every byte of %s', async (_, request) => {
    const url = servers()[name] ?? '';
    const prefixes = Array.from({ length: request.length + 1 }, (__, length) => request.slice(0, length));
    await inBatches(prefixes.map((bytes) => () => reset(url, bytes, 'sent')));
    await inBatches(Array.from({ length: LAST_BYTE_ROUNDS }, () => () => reset(url, request, 'sent')));
    await expectServing();
  });

  it.each([
    'GET',
    'POST',
    'CONNECT',
    'an upgrade',
    'a long answer',
    'no HTTP',
  ])('keeps working after resets during the response to %s', async (form) => {
    const url = servers()[name] ?? '';
    await inBatches(Array.from({ length: LAST_BYTE_ROUNDS }, () => () => reset(url, REQUESTS[form] ?? '', 'answered')));
    await expectServing();
  });
});

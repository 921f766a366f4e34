/** Requests that any client may send to the operator's ports. */
import type { Socket } from 'node:net';
import { pour } from './raw-http.ts';

export interface PortInput {
  readonly name: string;
  say(socket: Socket): void | Promise<void>;
  /**
   * Allowed response statuses. Undefined stands for no response, because the connection is closed or more input is
   * awaited.
   */
  readonly answers: readonly (number | undefined)[];
  readonly quietMs?: number;
}

const REFUSED = [400, 404, 405, 408, 411, 413, 414, 417, 431, 501, 505, undefined] as const;

/** Statuses for unusual but valid requests. */
const SERVED = [200, ...REFUSED] as const;

const lines = (...all: readonly string[]): string => `${all.join('\r\n')}\r\n\r\n`;
const HOST = 'Host: x';

const target = (name: string, text: string, method = 'GET'): PortInput => ({
  name,
  say: (socket) => void socket.write(lines(`${method} ${text} HTTP/1.1`, HOST, 'Connection: close')),
  answers: REFUSED,
});
const raw = (name: string, text: string, quietMs?: number): PortInput => ({
  name,
  say: (socket) => void socket.write(text),
  answers: REFUSED,
  ...(quietMs === undefined ? {} : { quietMs }),
});

const TARGETS: readonly PortInput[] = [
  target('two slashes', '//'),
  target('three slashes', '///'),
  target('a host with a bad port', '//x:99999999/metrics'),
  target('an open bracket', '//[::1/healthz'),
  { ...target('an absolute URL', 'http://[::::]/metrics'), answers: SERVED },
  target('an absolute URL of another kind', 'gopher://x/metrics'),
  target('an asterisk', '*'),
  target('an asterisk for OPTIONS', '*', 'OPTIONS'),
  target('no slash', 'metrics'),
  target('a lone percent sign', '/%'),
  target('an overlong encoding', '/%c0%ae%c0%ae/metrics'),
  target('an encoded NUL', '/metrics%00'),
  target('an encoded line break', '/debug/%0d%0aX: y'),
  target('steps upwards', '/debug/../../../etc/passwd'),
  target('encoded steps upwards', '/debug/%2e%2e/%2e%2e/etc/passwd'),
  target('a path like a property', '/constructor'),
  target('another path like a property', '/__proto__'),
  target('a debug page like a property', '/debug/__proto__'),
  target('a check like a property', '/healthz/constructor'),
  target('another check like a property', '/readyz/__proto__'),
  target('a check of another name', '/readyz/%ff'),
  target('a path of 15 KB', `/${'a'.repeat(15_000)}`),
  target('a path of 1 MB', `/${'a'.repeat(1_000_000)}`),
  target('a query of 10,000 parameters', `/nowhere?${'a=1&'.repeat(3_000)}`),
  target('a profile that runs for an hour', '/debug/pprof/profile?seconds=3600'),
  target('a profile of seconds like a number', '/debug/pprof/profile?seconds=1e999'),
];

const METHODS: readonly PortInput[] = ['POST', 'PUT', 'DELETE', 'TRACE', 'PATCH', 'PROPFIND', 'BREW'].map((method) =>
  target(`the method ${method}`, '/nowhere', method),
);

const PROTOCOL: readonly PortInput[] = [
  raw('no HTTP at all', 'hello?\r\n\r\n'),
  raw('the start of TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'),
  raw('HTTP/2 with prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  raw('HTTP/9.9', lines('GET /nowhere HTTP/9.9', HOST)),
  raw('no host', lines('GET /nowhere HTTP/1.1')),
  raw('two hosts', lines('GET /nowhere HTTP/1.1', HOST, 'Host: y')),
  raw('a host that is none', lines('GET /nowhere HTTP/1.1', 'Host: [::::]:x/@', 'Connection: close')),
  raw('a header without a name', lines('GET /nowhere HTTP/1.1', HOST, ': x')),
  raw('a header with NUL', lines('GET /nowhere HTTP/1.1', HOST, 'X: a\u0000b')),
  raw('1,500 headers', lines('GET /nowhere HTTP/1.1', HOST, ...Array.from({ length: 1_500 }, (_, i) => `h${i}: x`))),
  raw('a header of 1 MB', lines('GET /nowhere HTTP/1.1', HOST, `X: ${'a'.repeat(1_000_000)}`)),
  raw('two lengths', lines('POST /nowhere HTTP/1.1', HOST, 'Content-Length: 1', 'Content-Length: 2')),
  raw('a length below nothing', lines('POST /nowhere HTTP/1.1', HOST, 'Content-Length: -1')),
  raw('a length beyond all', lines('POST /nowhere HTTP/1.1', HOST, 'Content-Length: 99999999999999999999')),
  raw('a length and chunks', lines('POST /nowhere HTTP/1.1', HOST, 'Content-Length: 3', 'Transfer-Encoding: chunked')),
  raw('a chunk of another size', `${lines('POST /nowhere HTTP/1.1', HOST, 'Transfer-Encoding: chunked')}ZZ\r\nx\r\n`),
  raw('an unknown encoding', lines('POST /nowhere HTTP/1.1', HOST, 'Transfer-Encoding: x-zip')),
  { ...raw('an upgrade', lines('GET /metrics HTTP/1.1', HOST, 'Connection: Upgrade', 'Upgrade: x')), answers: SERVED },
  raw('an expectation', lines('POST /nowhere HTTP/1.1', HOST, 'Expect: 200-maybe', 'Content-Length: 1')),
  raw('half a request line', 'GET /hea'),
  raw('half a header', 'GET /nowhere HTTP/1.1\r\nHo'),
  { name: 'a tunnel', say: (socket) => void socket.write(lines('CONNECT x:443 HTTP/1.1', HOST)), answers: REFUSED },
];

/** Inputs that use much CPU time or memory. */
export const PORT_FLOODS: readonly PortInput[] = [
  {
    name: 'headers without end',
    say: async (socket) => {
      socket.write(`GET /nowhere HTTP/1.1\r\n${HOST}\r\n`);
      await pour(socket, `${'X: a\r\n'.repeat(1_000)}`, 2_000);
    },
    answers: REFUSED,
  },
  {
    name: 'a header line without end',
    say: async (socket) => {
      socket.write('GET /nowhere HTTP/1.1\r\nX: ');
      await pour(socket, 'a'.repeat(10_000), 2_000);
    },
    answers: REFUSED,
  },
  {
    name: 'a body of 100 MB',
    say: async (socket) => {
      socket.write(lines('POST /nowhere HTTP/1.1', HOST, 'Content-Length: 100000000'));
      await pour(socket, 'a'.repeat(100_000), 1_000);
    },
    answers: REFUSED,
  },
  {
    name: 'chunks without end',
    say: async (socket) => {
      socket.write(lines('POST /nowhere HTTP/1.1', HOST, 'Transfer-Encoding: chunked'));
      await pour(socket, '5\r\nhello\r\n'.repeat(1_000), 1_000);
    },
    answers: REFUSED,
  },
  {
    name: '1,000 requests at once over one connection',
    say: (socket) => void socket.write(lines('GET /nowhere HTTP/1.1', HOST).repeat(1_000)),
    answers: REFUSED,
  },
  {
    name: 'a request letter by letter',
    say: async (socket) => {
      for (const letter of lines('GET /nowhere HTTP/1.1', HOST, 'Connection: close')) {
        socket.write(letter);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    },
    answers: REFUSED,
  },
];

export const PORT_INPUTS: readonly PortInput[] = [...TARGETS, ...METHODS, ...PROTOCOL];

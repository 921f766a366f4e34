/** Proxy that can corrupt single responses of a server. */
import { once } from 'node:events';
import * as http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface ProxiedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

/** Change of a response. */
export type Spoiled =
  /** Replaces the response; the server does not receive the request. */
  | {
      readonly kind: 'instead';
      readonly status: number;
      readonly headers?: http.OutgoingHttpHeaders;
      readonly body: string;
    }
  /** Changes the headers only. */
  | {
      readonly kind: 'headers';
      readonly change: (headers: http.IncomingHttpHeaders) => http.OutgoingHttpHeaders;
    }
  /** Changes the whole body. */
  | { readonly kind: 'changed'; readonly change: (text: string) => string }
  /** Ends after this share of the body. */
  | { readonly kind: 'cut'; readonly share: number }
  /** Stops after this share of the body and leaves the connection open. */
  | { readonly kind: 'stuck'; readonly share: number }
  /** Delays each chunk. */
  | { readonly kind: 'late'; readonly ms: number }
  /** Changes each line of a streamed body. */
  | { readonly kind: 'lines'; readonly change: (line: string) => string };

export interface RewritingProxy {
  readonly url: string;
  /** Decides on each subsequent request. If the function returns undefined, the response is not changed. */
  spoil(decide: (request: ProxiedRequest) => Spoiled | undefined): void;
  /** Closes all connections, so that watches are restarted. */
  cut(): void;
  /** Stops all changes, and closes connections that are stuck. */
  mend(): void;
  /** Number of changed responses since the last call of `spoil`. */
  readonly spoiled: number;
  close(): Promise<void>;
}

async function bodyOf(message: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const statusOf = ({ statusCode = 502 }: http.IncomingMessage): number => statusCode;

/** Returns headers without those of the body's length. */
function headersOf({ headers }: http.IncomingMessage): http.OutgoingHttpHeaders {
  const { 'content-length': _length, 'transfer-encoding': _encoding, ...rest } = headers;
  return rest;
}

export async function startRewritingProxy(target: string): Promise<RewritingProxy> {
  const { hostname, port, origin } = new URL(target);
  const agent = new http.Agent({ keepAlive: true });
  const sockets = new Set<Socket>();
  const stuck = new Set<http.ServerResponse>();
  let decide: (request: ProxiedRequest) => Spoiled | undefined = () => undefined;
  let spoiled = 0;
  let mended = 0;

  async function pass(from: http.IncomingMessage, to: http.ServerResponse): Promise<void> {
    const body = await bodyOf(from);
    const { method = '', url = '', headers } = from;
    const since = mended;
    const fate = decide({ method, url, headers, body: body.toString('utf8') });
    if (fate !== undefined) spoiled += 1;
    // Node.js would write the real time, which differs from the world's time
    to.sendDate = false;
    if (fate?.kind === 'instead') return void to.writeHead(fate.status, fate.headers).end(fate.body);
    const onward = http.request({ hostname, port, agent, method, path: url, headers });
    to.once('close', () => onward.destroy());
    onward.end(body);
    const [answer] = (await once(onward, 'response')) as [http.IncomingMessage];
    answer.once('error', () => to.destroy());
    // the response is dropped if the disturbance is already over
    if (fate?.kind === 'stuck' && since !== mended) return void to.destroy();
    await deliver(answer, to, withOwnUrl(headers, fate));
  }

  /** Replaces the server's URL in responses. The URL of the queue must lead to this proxy, too. */
  const kept = (text: string): string => text.replaceAll(origin, self.url);
  const withOwnUrl = (headers: http.IncomingHttpHeaders, fate: Spoiled | undefined): Spoiled | undefined => {
    if (headers['x-amz-target'] !== 'AmazonSQS.GetQueueUrl') return fate;
    if (fate?.kind === 'changed') return { kind: 'changed', change: (text) => fate.change(kept(text)) };
    return fate === undefined || fate.kind === 'late' ? { kind: 'changed', change: kept } : fate;
  };

  async function deliver(
    answer: http.IncomingMessage,
    to: http.ServerResponse,
    fate: Spoiled | undefined,
  ): Promise<void> {
    if (fate === undefined || fate.kind === 'headers') {
      to.writeHead(statusOf(answer), fate?.change(answer.headers) ?? answer.headers);
      to.flushHeaders();
      return void answer.pipe(to);
    }
    if (fate.kind === 'lines') return byLines(answer, to, fate.change);
    if (fate.kind === 'stuck' && fate.share === 0) {
      to.writeHead(statusOf(answer), headersOf(answer));
      to.flushHeaders();
      return void stuck.add(to);
    }
    const whole = await bodyOf(answer);
    if (fate.kind === 'changed')
      return void to.writeHead(statusOf(answer), headersOf(answer)).end(fate.change(whole.toString('utf8')));
    if (fate.kind === 'late') {
      await new Promise((resolve) => setTimeout(resolve, fate.ms));
      return void to.writeHead(statusOf(answer), headersOf(answer)).end(whole);
    }
    if (fate.kind === 'instead') return;
    to.writeHead(statusOf(answer), { ...headersOf(answer), 'content-length': whole.length });
    to.write(whole.subarray(0, Math.floor(whole.length * fate.share)));
    if (fate.kind === 'stuck') return void stuck.add(to);
    setTimeout(() => to.destroy(), 5);
  }

  async function byLines(
    answer: http.IncomingMessage,
    to: http.ServerResponse,
    change: (line: string) => string,
  ): Promise<void> {
    to.writeHead(statusOf(answer), headersOf(answer));
    to.flushHeaders();
    let rest = '';
    answer.setEncoding('utf8');
    for await (const chunk of answer) {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) to.write(change(`${line}\n`));
    }
    to.end(rest);
  }

  const server = http.createServer((from, to) => {
    pass(from, to).catch(() => to.destroy());
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const self: RewritingProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spoil(next) {
      decide = next;
      spoiled = 0;
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    mend() {
      decide = () => undefined;
      mended += 1;
      for (const response of stuck) response.destroy();
      stuck.clear();
    },
    get spoiled() {
      return spoiled;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      agent.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return self;
}

/** A server's front that can spoil single answers of it. */
import { once } from 'node:events';
import * as http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface ProxiedRequest {
  readonly method: string;
  /** With the query. */
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

/** What becomes of an answer. */
export type Spoiled =
  /** The server does not get to see the request. */
  | {
      readonly kind: 'instead';
      readonly status: number;
      readonly headers?: http.OutgoingHttpHeaders;
      readonly body: string;
    }
  /** As it comes, under other headers. */
  | {
      readonly kind: 'headers';
      readonly change: (headers: http.IncomingHttpHeaders) => http.OutgoingHttpHeaders;
    }
  /** The whole answer, changed. */
  | { readonly kind: 'changed'; readonly change: (text: string) => string }
  /** Ends in the middle, after this share of it. */
  | { readonly kind: 'cut'; readonly share: number }
  /** Its beginning comes, and then nothing more, with the connection open. */
  | { readonly kind: 'stuck'; readonly share: number }
  /** Each piece of it comes so much later. */
  | { readonly kind: 'late'; readonly ms: number }
  /** As it comes, by lines; for streams. */
  | { readonly kind: 'lines'; readonly change: (line: string) => string };

export interface RewritingProxy {
  readonly url: string;
  /** Decides on each request from now on; undefined lets it pass as it is. */
  spoil(decide: (request: ProxiedRequest) => Spoiled | undefined): void;
  /** Breaks all connections, so that watches begin anew. */
  cut(): void;
  /** Lets everything pass from now on, and ends what is stuck. */
  mend(): void;
  /** Answers spoiled since the last call of `spoil`. */
  readonly spoiled: number;
  close(): Promise<void>;
}

async function bodyOf(message: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const statusOf = ({ statusCode = 502 }: http.IncomingMessage): number => statusCode;

/** Headers for a body of another length. */
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
    // the world's time is not the one that Node.js would write
    to.sendDate = false;
    if (fate?.kind === 'instead') return void to.writeHead(fate.status, fate.headers).end(fate.body);
    const onward = http.request({ hostname, port, agent, method, path: url, headers });
    to.once('close', () => onward.destroy());
    onward.end(body);
    const [answer] = (await once(onward, 'response')) as [http.IncomingMessage];
    answer.once('error', () => to.destroy());
    // what was to get stuck when that was over already is lost
    if (fate?.kind === 'stuck' && since !== mended) return void to.destroy();
    await deliver(answer, to, withOwnUrl(headers, fate));
  }

  /** The queue's own address leads here, too. */
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

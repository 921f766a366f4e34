/**
 * The wire between an operator and one of its servers, to be cut at a chosen request. What an operator does after the
 * cut reaches nobody, and what it would have learned does not reach it: to the world this is a SIGKILL.
 */
import { once } from 'node:events';
import * as http from 'node:http';
import * as https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  /** With the query. */
  readonly url: string;
  readonly body: string;
}

/** `before`: the request is not served any more. `after`: it is served, but the answer gets lost. */
export type Moment = 'before' | 'after';

/** Called for each request at both moments; true cuts the wire. */
export type CutAt = (request: SeenRequest, moment: Moment) => boolean | Promise<boolean>;

export interface CuttableProxy {
  /** To be used instead of the server's. */
  readonly url: string;
  /** Replaces what decides on the cut. */
  watch(scissors: CutAt): void;
  cut(): void;
  /** Lets requests through again. */
  mend(): void;
  close(): Promise<void>;
}

async function bodyOf(message: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** What a server over TLS proves itself with, as PEM; the certificate's authority included. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/**
 * @param target the server's URL
 * @param certificate the server's own when it speaks TLS: clients cannot tell this end of the wire from it
 */
export async function startCuttableProxy(target: string, certificate?: Certificate): Promise<CuttableProxy> {
  const { hostname, port, protocol } = new URL(target);
  const agent = certificate
    ? new https.Agent({ keepAlive: true, ca: certificate.cert })
    : new http.Agent({ keepAlive: true });
  const sendRequest = certificate ? https.request : http.request;
  const sockets = new Set<Socket>();
  let isCut = false;
  let decide: CutAt = () => false;

  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  /** Whether the wire is cut, now if not before. */
  const cutAt = async (seen: SeenRequest, moment: Moment): Promise<boolean> => {
    if (!isCut && (await decide(seen, moment))) cut();
    return isCut;
  };

  async function pass(from: http.IncomingMessage, to: http.ServerResponse): Promise<void> {
    const body = await bodyOf(from);
    const seen: SeenRequest = { method: from.method ?? '', url: from.url ?? '', body: body.toString('utf8') };
    if (await cutAt(seen, 'before')) return void to.destroy();

    const { method, url: path, headers } = from;
    const onward = sendRequest({ hostname, port, agent, method, path, headers });
    to.once('close', () => onward.destroy());
    onward.end(body);
    const [answer] = (await once(onward, 'response')) as [http.IncomingMessage];
    if (await cutAt(seen, 'after')) return void to.destroy();
    if (headers['x-amz-target'] === 'AmazonSQS.GetQueueUrl') return answerOwnUrl(answer, to);
    to.writeHead(answer.statusCode ?? 502, answer.headers);
    to.flushHeaders();
    answer.once('error', () => to.destroy());
    answer.pipe(to);
  }

  /** The answer names the server; the operator shall go on through this wire. */
  async function answerOwnUrl(answer: http.IncomingMessage, to: http.ServerResponse): Promise<void> {
    const text = (await bodyOf(answer)).toString('utf8').replaceAll(new URL(target).origin, cable.url);
    to.writeHead(answer.statusCode ?? 502, { 'content-type': answer.headers['content-type'] ?? 'application/json' });
    to.end(text);
  }

  const serve = (from: http.IncomingMessage, to: http.ServerResponse): void => {
    if (isCut) return void to.destroy();
    pass(from, to).catch(() => to.destroy());
  };
  const server = certificate ? https.createServer(certificate, serve) : http.createServer(serve);
  server.on('connection', (socket) => {
    if (isCut) return void socket.destroy();
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const cable: CuttableProxy = {
    url: `${protocol}//127.0.0.1:${(server.address() as AddressInfo).port}`,
    watch(scissors) {
      decide = scissors;
    },
    cut,
    mend() {
      isCut = false;
    },
    async close() {
      cut();
      agent.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return cable;
}

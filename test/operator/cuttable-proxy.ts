/**
 * Proxy between an operator and one of its servers, which drops the connection at a chosen request. Afterwards no
 * request or response passes. To the rest of the world this is equivalent to a SIGKILL.
 */
import { once } from 'node:events';
import * as http from 'node:http';
import * as https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly body: string;
}

/** `before`: the request does not reach the server. `after`: the server processes it, but the response is lost. */
export type Moment = 'before' | 'after';

/** Called for each request at both moments. If it returns true, the connection is cut. */
export type CutAt = (request: SeenRequest, moment: Moment) => boolean | Promise<boolean>;

export interface CuttableProxy {
  /** URL to use instead of the server's URL. */
  readonly url: string;
  /** Replaces the function that decides on the cut. */
  watch(scissors: CutAt): void;
  cut(): void;
  /** Lets requests pass again. */
  mend(): void;
  close(): Promise<void>;
}

async function bodyOf(message: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** TLS key and certificate of a server, as PEM. The certificate includes its authority. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/**
 * @param target the server's URL
 * @param certificate the server's own certificate if it uses TLS, so that clients trust the proxy
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
  /** Reports whether the connection is cut, now or earlier. */
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

  /** Replaces the server's URL in the response, so that the operator continues to use this proxy. */
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

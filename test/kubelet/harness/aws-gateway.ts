/**
 * Address of the local AWS for pods. The local AWS listens on the loopback interface only, and its responses contain
 * its address, for example in the URL of the queue.
 */
import { createServer, type IncomingMessage, request } from 'node:http';
import { createServer as createListener, type Server, type Socket } from 'node:net';
import { CONTROL_PLANE, POD_IDENTITY_AGENT } from './network.ts';

const PORT = 4_566;
const SILENT_PORT = 4_599;

/** Endpoint of AWS in pods. */
export const AWS_ENDPOINT = `http://${CONTROL_PLANE}:${PORT}`;
/** Endpoint that accepts connections and never responds. */
export const SILENT_ENDPOINT = `http://${CONTROL_PLANE}:${SILENT_PORT}`;

export interface Gateway {
  /** Number of requests for credentials of EKS Pod Identity. */
  readonly podIdentityRequests: number;
  close(): Promise<void>;
}

/** @param target URL of the local AWS */
export async function startGateway(target: string): Promise<Gateway> {
  let podIdentityRequests = 0;
  const inside = new URL(target).host;
  const outside = new URL(AWS_ENDPOINT).host;
  const translate = (text: string, from: string, to: string): string =>
    text.replaceAll(from, to).replaceAll(encodeURIComponent(from), encodeURIComponent(to));

  const gateway = createServer(async (incoming, response) => {
    const body = Buffer.from(translate(await bodyOf(incoming), outside, inside), 'latin1');
    const headers = { ...incoming.headers, 'content-length': String(body.length) };
    request(`${target}${incoming.url}`, { method: incoming.method, headers })
      .on('response', async (answer) => {
        const text = Buffer.from(translate(await bodyOf(answer), inside, outside), 'latin1');
        const { 'transfer-encoding': _, ...rest } = answer.headers;
        response.writeHead(answer.statusCode ?? 502, { ...rest, 'content-length': String(text.length) }).end(text);
      })
      .on('error', (error) => response.destroy(error))
      .end(body);
  });
  const agent = createServer((incoming, response) => {
    podIdentityRequests += 1;
    const isToken = (incoming.headers.authorization ?? '').split('.').length === 3;
    response.writeHead(isToken ? 200 : 400, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        AccessKeyId: 'AKIALOCALPODIDENTITY',
        SecretAccessKey: 'local',
        Token: 'local',
        Expiration: new Date(Date.now() + 3_600_000).toISOString(),
      }),
    );
  });
  const kept = new Set<Socket>();
  const silent = createListener((socket) => void kept.add(socket.on('error', () => {})));
  await listen(gateway, PORT, CONTROL_PLANE);
  await listen(agent, 80, POD_IDENTITY_AGENT);
  await listen(silent, SILENT_PORT, CONTROL_PLANE);
  return {
    get podIdentityRequests() {
      return podIdentityRequests;
    },
    async close() {
      for (const socket of kept) socket.destroy();
      for (const server of [gateway, agent]) server.closeAllConnections();
      await Promise.all([gateway, agent, silent].map((one) => new Promise((resolve) => one.close(resolve))));
    },
  };
}

async function bodyOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
}

const listen = (server: Server, port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => void server.once('error', reject).listen(port, host, resolve));

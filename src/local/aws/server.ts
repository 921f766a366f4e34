/** AWS on one address: one HTTP listener for unmodified SDK clients and the `aws` command through AWS_ENDPOINT_URL. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { isIPv6 } from 'node:net';
import { listen, stop } from '#process/server';
import { ADMIN_PREFIX, administer } from './admin.ts';
import { dispatcher } from './dispatch.ts';
import { openAt } from './open-aws.ts';
import type { LocalAws, LocalAwsOptions } from './options.ts';
import type { HttpAnswer, HttpRequest } from './wire/service.ts';

export type { LocalAws, LocalAwsOptions } from './options.ts';

const DEFAULT_HOST = '127.0.0.1';
/** Limit that is far above the size of any supported request. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** Starts the local AWS. `close` stops the server with all timers and connections. */
export async function startAws(options: LocalAwsOptions): Promise<LocalAws> {
  const closing = new AbortController();
  let base = '';
  const { aws: open, account, services, carry } = openAt(options, () => base);
  const dispatch = dispatcher(account, services, carry);

  const server = createServer((request, response) => {
    const gone = new AbortController();
    // creating an abort error for each request would be slow
    response.once('close', () => {
      if (!response.writableFinished) gone.abort();
    });
    void answerTo(request, AbortSignal.any([gone.signal, closing.signal])).then((answer) => send(response, answer));
  });
  const answerTo = async (incoming: IncomingMessage, signal: AbortSignal): Promise<HttpAnswer> => {
    try {
      const request = await readRequest(incoming);
      return request.path.startsWith(ADMIN_PREFIX) ? administer(aws, request) : await dispatch(request, signal);
    } catch (error) {
      return { status: 500, headers: { 'content-type': 'text/plain' }, body: `${String(error)}\n` };
    }
  };
  const { host = DEFAULT_HOST } = options;
  const port = await listen(server, { port: options.port ?? 0, host, setting: '--aws-port' });
  base = `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;

  const aws: LocalAws = {
    ...open,
    url: base,
    env: () => environment(base, account.region),
    async close() {
      closing.abort();
      open.close();
      await stop(server);
    },
  };
  return aws;
}

const environment = (url: string, region: string): Record<string, string> => ({
  AWS_ENDPOINT_URL: url,
  AWS_REGION: region,
  AWS_DEFAULT_REGION: region,
  AWS_ACCESS_KEY_ID: 'AKIALOCALLOCALLOCAL0',
  AWS_SECRET_ACCESS_KEY: 'local',
  AWS_EC2_METADATA_DISABLED: 'true',
});

async function readRequest(incoming: IncomingMessage): Promise<HttpRequest> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new RangeError(`The request body exceeds ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return {
    method: incoming.method ?? 'GET',
    path: incoming.url ?? '/',
    headers: incoming.headers,
    body: Buffer.concat(chunks).toString(),
  };
}

function send(response: ServerResponse, { status, headers, body, reset }: HttpAnswer): void {
  if (response.destroyed) return;
  if (reset) {
    response.socket?.resetAndDestroy();
    return;
  }
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

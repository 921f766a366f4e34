/**
 * A Kubernetes API server in memory, over plain HTTP on the loopback interface. Unmodified client-node informers and
 * kubectl can use it. It does not authenticate: every process on this machine has full access.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen, stop as stopServer } from '#process/server';
import { type ApiOptions, openApi } from './api.ts';
import type { Core } from './core.ts';
import { bodyOf, sendError } from './http/call.ts';
import { negotiate } from './http/media.ts';
import { route } from './http/routes.ts';
import { createWatches, type Watches } from './http/watch.ts';
import type { ApiObject } from './json.ts';
import type { Objects } from './objects.ts';
import { StatusError } from './status.ts';

export interface ApiServerOptions extends ApiOptions {
  /** Port. Default 0, which selects any free port. */
  readonly port?: number;
  readonly host?: '127.0.0.1';
  /** Milliseconds of the server's clock between bookmarks, for watches that requested bookmarks. Default: one minute. */
  readonly bookmarkIntervalMs?: number;
}

export interface LocalApiServer {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  /** Returns a kubeconfig file (YAML) whose current context is this server. */
  kubeconfig(): string;
  /** Ends all watches and closes the port. */
  close(): Promise<void>;
  /** Creates or replaces a CustomResourceDefinition. When the call returns, its resource is served. */
  install(crd: unknown): ApiObject;
  /** The same operations within the process, without HTTP. */
  readonly objects: Objects;
  /** Closes the connection of every open watch. */
  dropWatches(): void;
  /** Discards the history. Watches and list pages from older revisions then receive 410 Gone. */
  expireHistory(): void;
  /** Called before each request. A StatusError that it throws is the response. */
  intercept: ((request: RequestView) => Promise<void>) | undefined;
}

/** A request without its body. The path has no query. */
export interface RequestView {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
}

/** Starts a server with the namespaces, priority classes and services of every cluster. */
export async function startApiServer(options: ApiServerOptions): Promise<LocalApiServer> {
  const { core, objects, install, stop } = openApi(options);
  const watches = createWatches(options.bookmarkIntervalMs ?? 60_000);
  const server = createServer((request, response) => {
    void serve({ core, watches, local }, request, response);
  });
  // otherwise informers of many kinds would have to share few sockets
  server.keepAliveTimeout = 60_000;
  const port = await listen(server, {
    port: options.port ?? 0,
    host: options.host ?? '127.0.0.1',
    setting: '--kube-port',
  });
  const url = `http://127.0.0.1:${port}`;
  const local: LocalApiServer = {
    url,
    port,
    kubeconfig: () => kubeconfig(url),
    close: async () => {
      stop();
      watches.end();
      await stopServer(server);
    },
    install,
    objects,
    dropWatches: () => watches.drop(),
    expireHistory: () => core.store.expireHistory(),
    intercept: undefined,
  };
  return local;
}

interface Serving {
  readonly core: Core;
  readonly watches: Watches;
  readonly local: Pick<LocalApiServer, 'intercept'>;
}

async function serve(
  { core, watches, local }: Serving,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // a client that disconnects during a response is not an error
  response.on('error', () => response.destroy());
  response.setHeader('date', new Date(core.clock.now()).toUTCString());
  try {
    const body = await bodyOf(request);
    const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://localhost');
    const method = request.method ?? 'GET';
    await local.intercept?.({ method, path, query });
    route({ core, method, path, query, request, response, body, wanted: negotiate(acceptOf(request, path)) }, watches);
  } catch (error) {
    if (response.headersSent) response.destroy();
    else sendError(response, statusOf(error));
  }
}

/**
 * Handlers of OpenAPI documents evaluate the Accept header themselves, because these documents have other media types.
 */
const acceptOf = (request: IncomingMessage, path: string): string | undefined =>
  path.startsWith('/openapi/') ? undefined : request.headers.accept;

function statusOf(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof URIError || error instanceof RangeError)
    return new StatusError(400, 'BadRequest', error.message);
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new StatusError(500, 'InternalError', `Internal error occurred: ${message}`);
}

function kubeconfig(url: string): string {
  return [
    'apiVersion: v1',
    'kind: Config',
    'clusters:',
    '- name: local',
    '  cluster:',
    `    server: ${url}`,
    // without this line client-node rejects plain HTTP
    '    insecure-skip-tls-verify: true',
    'users:',
    '- name: local',
    '  user: {}',
    'contexts:',
    '- name: local',
    '  context:',
    '    cluster: local',
    '    user: local',
    'current-context: local',
    '',
  ].join('\n');
}

/**
 * A Kubernetes API server in memory, over plain HTTP on the loopback interface: good enough for unmodified client-node
 * informers and unmodified kubectl. Anybody on this machine may do anything with it.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ApiOptions, openApi } from './api.ts';
import type { Core } from './core.ts';
import { createFaults, type FaultSwitches, type Faults } from './faults.ts';
import { bodyOf, sendError } from './http/call.ts';
import { wanted } from './http/media.ts';
import { route } from './http/routes.ts';
import { createWatches, type Watches } from './http/watch.ts';
import type { ApiObject } from './json.ts';
import type { Objects } from './objects.ts';
import { StatusError } from './status.ts';

export interface ApiServerOptions extends ApiOptions {
  /** 0, the default, takes any free port. */
  readonly port?: number;
  readonly host?: '127.0.0.1';
  /** Real milliseconds between bookmarks of a watch that asked for them. Default 10 000. */
  readonly bookmarkIntervalMs?: number;
}

export interface LocalApiServer {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  /** A kubeconfig file's text (YAML) whose current context is this server. */
  kubeconfig(): string;
  /** Ends watches and closes the port. */
  close(): Promise<void>;
  /** Creates or replaces a CustomResourceDefinition; its resource is served when this returns. */
  install(crd: unknown): ApiObject;
  /** The same operations in process, without HTTP. */
  readonly objects: Objects;
  readonly faults: Faults;
}

/** Starts a server with the namespaces, priority classes and services that every cluster has. */
export async function startApiServer(options: ApiServerOptions): Promise<LocalApiServer> {
  const { core, objects, install, stop } = openApi(options);
  const watches = createWatches(options.bookmarkIntervalMs ?? 10_000);
  const faults = createFaults({ dropWatches: () => watches.drop(), expireHistory: () => core.store.expireHistory() });
  const server = createServer((request, response) => {
    void serve({ core, watches, faults }, request, response);
  });
  // informers of many kinds share few sockets otherwise
  server.keepAliveTimeout = 60_000;
  const port = await listen(server, options.port ?? 0, options.host ?? '127.0.0.1');
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    kubeconfig: () => kubeconfig(url),
    close: async () => {
      stop();
      watches.end();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
    install,
    objects,
    faults,
  };
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

interface Serving {
  readonly core: Core;
  readonly watches: Watches;
  readonly faults: FaultSwitches;
}

async function serve(
  { core, watches, faults }: Serving,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // a client that goes away in the middle of an answer is no failure
  response.on('error', () => response.destroy());
  response.setHeader('date', new Date(core.clock.now()).toUTCString());
  try {
    const body = await bodyOf(request);
    const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://localhost');
    const method = request.method ?? 'GET';
    if (faults.latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, faults.latencyMs));
    const failure = faults.failureOf({ method, path, query });
    if (failure) throw failure;
    route({ core, method, path, query, request, response, body, wanted: wanted(acceptOf(request, path)) }, watches);
  } catch (error) {
    if (response.headersSent) response.destroy();
    else sendError(response, statusOf(error));
  }
}

/** OpenAPI documents have media types of their own, which their handler looks at. */
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
    // client-node refuses plain HTTP without it
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

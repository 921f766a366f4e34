/** The operator's HTTP endpoints: metrics (and profiles) on one port, health and readiness probes on another. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errorText } from './errortext.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import { profile } from './profiles.ts';

/** Passes by resolving; throws to fail. May wait: probes allow 30 s. The signal aborts when the prober has gone. */
export type Check = (signal: AbortSignal) => Promise<void> | void;

/** Thrown by what is served to look inside when there is nothing to see now; its text is the answer. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

export interface EndpointOptions {
  /** 0 takes a free port. */
  readonly metricsPort: number;
  readonly healthProbePort: number;
  /** Address to listen on; all of them when absent. */
  readonly host?: string;
  readonly metrics: Metrics;
  /** Serves profiles under /debug/pprof on the metrics port. */
  readonly profiling: boolean;
  /** Readiness checks by name. */
  readonly ready: Readonly<Record<string, Check>>;
  /** Liveness checks by name. */
  readonly alive?: Readonly<Record<string, Check>>;
  /** What to serve as JSON on the metrics port, by path such as /debug/verdicts; promises are waited for. */
  readonly debug?: Readonly<Record<string, () => unknown>>;
  readonly log: Logger;
}

export interface Endpoints {
  readonly metricsPort: number;
  readonly healthProbePort: number;
  close(): Promise<void>;
}

/** Starts both servers. @throws Error when a port cannot be taken */
export async function serveEndpoints(options: EndpointOptions): Promise<Endpoints> {
  const { metrics, log } = options;
  const ping: Check = () => undefined;
  const ready = { ...options.ready, readyz: ping };
  const alive = { ...options.alive, ping };

  const metricsServer = serve(log, async (request, response, path) => {
    if (path === '/metrics') return answer(response, 200, await metrics.text(), metrics.contentType);
    const look = options.debug?.[path];
    if (look) return show(response, look);
    if (options.profiling && path.startsWith('/debug/pprof')) return profile(request, response, path);
    const paths = ['/metrics', ...Object.keys(options.debug ?? {}), ...(options.profiling ? ['/debug/pprof/'] : [])];
    answer(response, 404, `not found, try ${paths.join(', ')}\n`);
  });
  const healthServer = serve(log, async (request, response, path) => {
    if (path === '/healthz' || path.startsWith('/healthz/')) return probe(request, response, path, 'healthz', alive);
    if (path === '/readyz' || path.startsWith('/readyz/')) return probe(request, response, path, 'readyz', ready);
    answer(response, 404, 'not found, try /healthz or /readyz\n');
  });

  const servers = [metricsServer, healthServer];
  const close = async (): Promise<void> => {
    await Promise.all(servers.map(stop));
  };
  try {
    const [metricsPort, healthProbePort] = await Promise.all([
      listen(metricsServer, { port: options.metricsPort, setting: 'METRICS_PORT' }, options.host),
      listen(healthServer, { port: options.healthProbePort, setting: 'HEALTH_PROBE_PORT' }, options.host),
    ]);
    return { metricsPort, healthProbePort, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function show(response: ServerResponse, look: () => unknown): Promise<void> {
  try {
    answer(response, 200, `${JSON.stringify(await look())}\n`, 'application/json');
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    answer(response, 503, `${error.message}\n`);
  }
}

type Handler = (request: IncomingMessage, response: ServerResponse, path: string) => Promise<void> | void;

function serve(log: Logger, handler: Handler): Server {
  return createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    Promise.resolve()
      .then(() => handler(request, response, path))
      .catch((error: unknown) => {
        log.error('failed serving request', { path, error });
        if (!response.headersSent) answer(response, 500, `${errorText(error)}\n`);
        else response.destroy();
      });
  });
}

/** Runs the checks in the way of Kubernetes' own probes: `ok`, or each check's line when verbose or failing. */
async function probe(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  name: string,
  checks: Readonly<Record<string, Check>>,
): Promise<void> {
  const only = path.slice(`/${name}/`.length);
  const chosen = Object.entries(checks).filter(([check]) => only === '' || check === only);
  if (chosen.length === 0) return answer(response, 404, `no check named "${only}"\n`);

  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const results = await Promise.all(
    chosen.map(async ([check, run]) => {
      try {
        await run(gone.signal);
        return { line: `[+]${check} ok`, passed: true };
      } catch (error) {
        return { line: `[-]${check} failed: ${errorText(error)}`, passed: false };
      }
    }),
  );
  const lines = results.map(({ line }) => line).join('\n');
  if (!results.every(({ passed }) => passed)) return answer(response, 500, `${lines}\n${name} check failed\n`);
  const isVerbose = new URL(request.url ?? '/', 'http://localhost').searchParams.has('verbose');
  answer(response, 200, isVerbose ? `${lines}\n${name} check passed\n` : 'ok');
}

export function answer(
  response: ServerResponse,
  status: number,
  body: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, { 'content-type': type, 'x-content-type-options': 'nosniff' }).end(body);
}

function listen(
  server: Server,
  { port, setting }: { readonly port: number; readonly setting: string },
  host: string | undefined,
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(new Error(`Cannot listen on port ${port}, choose another by ${setting}`, { cause: error })),
    );
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () =>
      resolve((server.address() as AddressInfo).port),
    );
  });
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** The operator's HTTP endpoints: metrics and debug pages on one port, health and readiness probes on another. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '#observe/logger';
import type { Metrics } from '#observe/metrics';
import { foreignnessOf, refuseForeign } from './foreign-pages.ts';
import {
  answer,
  BadQuery,
  boundedServer,
  type HttpLimits,
  listen,
  type RequestHandler,
  type RequestTarget,
  stop,
} from './http-server.ts';
import { send } from './long-answer.ts';
import { isFromLoopback } from './loopback.ts';
import { profile } from './profiles.ts';
import { inSteps, jsonInSteps, type Rendered, sharedAnswer } from './rendered-answer.ts';
import type { Settings } from './settings.ts';
import { runCheck, type SharedCheck, sharedCheck } from './shared-check.ts';

export type { SharedCheck } from './shared-check.ts';

/** Thrown if a debug page has no content at the moment. The message is the body of the response with status 503. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable';
}

/** Source of a debug page. Its promise is awaited, and its iterables are read one item at a time. */
export type Look = (() => unknown) | PagedLook;

/** Source that returns at most one page for each query. */
interface PagedLook {
  readonly page: (query: URLSearchParams) => unknown;
}

export interface EndpointOptions {
  /** 0 selects a free port. */
  readonly metricsPort: number;
  readonly healthProbePort: number;
  /** Address to listen on. Default: all addresses. */
  readonly host?: string;
  readonly metrics: Metrics;
  /** Serves profiles under /debug/pprof on the metrics port. */
  readonly profiling: boolean;
  /** Clients that may read /debug on the metrics port. Default: clients on loopback. */
  readonly debugEndpoints?: Settings['debugEndpoints'];
  /** Readiness checks by name. Concurrent probes share one run of a check. */
  readonly ready: Readonly<Record<string, SharedCheck>>;
  /** Liveness checks by name. */
  readonly alive?: Readonly<Record<string, SharedCheck>>;
  /** Content to serve as JSON on the metrics port, by path, for example /debug/verdicts. */
  readonly debug?: Readonly<Record<string, Look>>;
  readonly log: Logger;
  /** Monotonic time in milliseconds, which determines when a kept response expires. Default: the machine's clock. */
  readonly now?: () => number;
  /** Monotonic time that measures the rendering of a page. Default: `now`. */
  readonly rendering?: () => number;
  /** For tests. */
  readonly limits?: Partial<HttpLimits>;
}

export interface Endpoints {
  readonly metricsPort: number;
  readonly healthProbePort: number;
  close(): Promise<void>;
}

/** Starts both servers. @throws Error if a port cannot be opened */
export async function serveEndpoints(options: EndpointOptions): Promise<Endpoints> {
  const { metrics, log, limits = {} } = options;
  const metricsServer = boundedServer({ name: 'metrics', handler: metricsHandler(options), log, metrics, limits });
  const healthServer = boundedServer({ name: 'health', handler: healthHandler(options), log, metrics, limits });

  const servers = [metricsServer, healthServer];
  const close = async (): Promise<void> => {
    await Promise.all(servers.map(stop));
  };
  try {
    const [metricsPort, healthProbePort] = await Promise.all([
      listen(metricsServer, { port: options.metricsPort, host: options.host, setting: 'METRICS_PORT' }),
      listen(healthServer, { port: options.healthProbePort, host: options.host, setting: 'HEALTH_PROBE_PORT' }),
    ]);
    return { metricsPort, healthProbePort, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function metricsHandler(options: EndpointOptions): RequestHandler {
  const { metrics, debug = {}, profiling, debugEndpoints = 'loopback', now, rendering } = options;
  const scrape = sharedAnswer(() => inSteps(metrics.parts()), now, rendering);
  const look = looks(options);
  const isProfile = (path: string): boolean => profiling && path.startsWith('/debug/pprof');

  return async (request, response, target) => {
    const { path } = target;
    if (path === '/metrics') {
      return send(request, response, { ...(await scrape()), type: metrics.contentType });
    }
    const make = Object.hasOwn(debug, path) ? debug[path] : undefined;
    if (debugEndpoints === 'off' || (make === undefined && !isProfile(path))) {
      const inside = debugEndpoints === 'off' ? [] : [...Object.keys(debug), ...(profiling ? ['/debug/pprof/'] : [])];
      return answer(response, 404, `not found, try ${['/metrics', ...inside].join(', ')}\n`);
    }
    if (!isInsider(request, response, debugEndpoints)) return;
    if (make === undefined) return profile(response, target);
    return show(request, response, () => look(target, make));
  };
}

/** Returns true if the client may read debug pages. Otherwise refuses the request and returns false. */
function isInsider(
  request: IncomingMessage,
  response: ServerResponse,
  debugEndpoints: Settings['debugEndpoints'],
): boolean {
  const isLocal = isFromLoopback(request.socket);
  const foreign = foreignnessOf(request, isLocal);
  if (debugEndpoints === 'loopback' && !isLocal) answer(response, 403, ELSEWHERE);
  else if (foreign === undefined) return true;
  else refuseForeign(response, foreign);
  return false;
}

const ELSEWHERE =
  '/debug is served only on loopback; use kubectl port-forward, or set DEBUG_ENDPOINTS=all on the operator\n';

/** Maximum number of pages with a kept response. The oldest page is removed first and must be rendered again. */
const PAGES = 16;

function looks({
  now,
  rendering,
}: Pick<EndpointOptions, 'now' | 'rendering'>): (target: RequestTarget, look: Look) => Promise<Rendered> {
  const answers = new Map<string, () => Promise<Rendered>>();
  const pages = new Map<string, () => Promise<Rendered>>();
  return ({ path, query }, look) => {
    const [known, key, make] =
      typeof look === 'function'
        ? [answers, path, look]
        : [pages, `${path}?${query.toString()}`, (): unknown => look.page(query)];
    const found = known.get(key) ?? sharedAnswer(async () => jsonInSteps(await make()), now, rendering);
    known.set(key, found);
    const [oldest] = pages.keys();
    if (pages.size > PAGES && oldest !== undefined) pages.delete(oldest);
    return found();
  };
}

async function show(request: IncomingMessage, response: ServerResponse, look: () => Promise<Rendered>): Promise<void> {
  try {
    await send(request, response, { ...(await look()), type: 'application/json' });
  } catch (error) {
    if (error instanceof BadQuery) return answer(response, 400, `${error.message}\n`);
    if (!(error instanceof Unavailable)) throw error;
    answer(response, 503, `${error.message}\n`);
  }
}

function healthHandler(options: EndpointOptions): RequestHandler {
  const ping: SharedCheck = () => undefined;
  const ready = shareChecks({ ...options.ready, readyz: ping });
  const alive = shareChecks({ ...options.alive, ping });
  return async (_, response, target) => {
    const { path } = target;
    if (path === '/healthz' || path.startsWith('/healthz/')) return probe(response, target, 'healthz', alive);
    if (path === '/readyz' || path.startsWith('/readyz/')) return probe(response, target, 'readyz', ready);
    answer(response, 404, 'not found, try /healthz or /readyz\n');
  };
}

const shareChecks = (checks: Readonly<Record<string, SharedCheck>>): Readonly<Record<string, SharedCheck>> =>
  Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, sharedCheck(check)]));

/**
 * Runs the checks like Kubernetes' own probes. The response is `ok`, or one line for each check if the query has `verbose`
 * or if a check fails.
 */
async function probe(
  response: ServerResponse,
  { path, query }: RequestTarget,
  name: string,
  checks: Readonly<Record<string, SharedCheck>>,
): Promise<void> {
  const only = path.slice(`/${name}/`.length);
  const chosen = Object.entries(checks).filter(([check]) => only === '' || check === only);
  if (chosen.length === 0) return answer(response, 404, `no check named "${only}"\n`);

  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const results = await Promise.all(chosen.map(([check, run]) => runCheck(check, run, gone.signal)));
  const lines = results.map(({ line }) => line).join('\n');
  if (!results.every(({ passed }) => passed)) return answer(response, 500, `${lines}\n${name} check failed\n`);
  answer(response, 200, query.has('verbose') ? `${lines}\n${name} check passed\n` : 'ok');
}

/**
 * The Kubernetes client over HTTP with plain JSON objects. Every request takes a token of the client's bucket; refusals
 * that say when to come back, and broken connections where a repetition does no harm, are tried again.
 */
import type { IncomingMessage } from 'node:http';
import { apiVersionOf, type Kind, POD } from '../api/kinds.ts';
import type { KubeList, KubeObject, Pod } from '../api/kubernetes.ts';
import type { Logger } from '../observe/logger.ts';
import { silent } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import { backOffMs } from './backoff.ts';
import {
  ApiError,
  type DeleteOptions,
  isNotFound,
  type KubeClient,
  type ListOptions,
  type PatchOptions,
  type Ref,
  type WatchEvent,
  type WatchOptions,
} from './client.ts';
import type { Clock } from './clock.ts';
import { type ConnectionOptions, openConnection } from './kubeconfig.ts';
import { limiter } from './limiter.ts';
import { watchForOutages } from './outages.ts';
import { collectionPath, objectPath } from './paths.ts';
import { requestMetrics } from './requestmetrics.ts';
import { apiError, watchError } from './status.ts';
import { bodyOf, ConnectionError, type Exchange, exchange, linesOf } from './transport.ts';

export interface ConnectOptions extends ConnectionOptions {
  readonly clock: Clock;
  /** Requests per second and in a burst. Default 200 and 300. */
  readonly qps?: number;
  readonly burst?: number;
  /** How we identify ourselves, `karpenter/<version>`. */
  readonly userAgent?: string;
  readonly log?: Logger;
  readonly metrics?: Metrics;
}

export interface HttpKubeClient extends KubeClient {
  readonly server: URL;
  /** CA certificates of the API server, base64 of PEM. */
  readonly caBundle: string | undefined;
  /** Namespace of the pod or of the kubeconfig's context. */
  readonly namespace: string | undefined;
  /** GETs any other path, such as `/version`. @throws ApiError */
  raw(path: string, signal?: AbortSignal): Promise<unknown>;
  /** Drops idle connections. */
  close(): void;
}

const PAGE = 500;
const MOST_RETRIES = 6;
const RETRY: { readonly baseMs: number; readonly maxMs: number } = { baseMs: 100, maxMs: 5_000 };
const LONGEST_RETRY_AFTER_MS = 60_000;
const IDLE_MS = 60_000;
/** Bookmarks come about once a minute; a watch silent for this long is presumed dead. */
const WATCH_IDLE_MS = 5 * 60_000;

const CONTENT_TYPES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

type Ask = Omit<Exchange, 'idleMs' | 'path'> & {
  readonly path: string;
  readonly kind?: Kind<KubeObject> | undefined;
  readonly subresource?: string | undefined;
  /** Answer 429 to the caller at once: it means something there. */
  readonly keepRefusals?: boolean;
};

/** @throws Error when the kubeconfig cannot be used; the server itself is first contacted by the first request */
export function connect(options: ConnectOptions): HttpKubeClient {
  const { clock, log = silent } = options;
  const connection = openConnection(options);
  const userAgent = options.userAgent ?? 'karpenter';
  const bucket = limiter(clock, options.qps ?? 200, options.burst ?? 300);
  const observe = requestMetrics(options.metrics);
  const outages = watchForOutages(log);

  /** One try; answers the open response of a success. */
  async function attempt(ask: Ask, renew: boolean): Promise<IncomingMessage> {
    await bucket.take(ask.signal);
    ask.signal?.throwIfAborted();
    const startedMs = performance.now();
    const idleMs = ask.isWatch ? WATCH_IDLE_MS : IDLE_MS;
    let code = '<error>';
    try {
      const response = await exchange(connection, userAgent, { ...ask, idleMs, renew });
      const status = response.statusCode ?? 0;
      code = String(status);
      if (status < 200 || status > 299) throw apiError(status, await bodyOf(response), response.headers['retry-after']);
      outages.served(ask, performance.now() - startedMs);
      return response;
    } catch (error) {
      outages.failed(error);
      throw error;
    } finally {
      observe({ ...ask, code, seconds: (performance.now() - startedMs) / 1_000 });
    }
  }

  /** Asks until there is an answer that `read` can read, or no point in asking again. */
  async function send<T>(ask: Ask, read: (response: IncomingMessage) => T | Promise<T>): Promise<T> {
    let renew = false;
    for (let failures = 0; ; failures += 1) {
      try {
        return await read(await attempt(ask, renew));
      } catch (error) {
        const waitMs = retryWait(error, ask, failures, renew);
        if (waitMs === undefined) throw error;
        renew = error instanceof ApiError && error.status === 401;
        log.debug('retrying request', { method: ask.method, path: ask.path, waitMs: Math.round(waitMs), error });
        await clock.sleep(waitMs, ask.signal);
      }
    }
  }

  const json = <T>(ask: Ask): Promise<T> => send(ask, async (response) => JSON.parse(await bodyOf(response)) as T);

  async function list<T extends KubeObject>(kind: Kind<T>, query: ListOptions = {}): Promise<KubeList<T>> {
    const { namespace, ...parameters } = query;
    const path = `${collectionPath(kind, namespace)}${queryOf(parameters)}`;
    const page = await json<KubeList<T>>({ method: 'GET', path, kind });
    const apiVersion = apiVersionOf(kind);
    // the server leaves both out of the items of built-in kinds
    const items = (page.items ?? []).map((item) =>
      item.kind === undefined ? { ...item, apiVersion, kind: kind.kind } : item,
    );
    return { ...page, items };
  }

  async function listPages<T extends KubeObject>(kind: Kind<T>, query: ListOptions): Promise<readonly T[]> {
    const items: T[] = [];
    let next: string | undefined;
    do {
      const page: KubeList<T> = await list(kind, { ...query, ...(next === undefined ? {} : { continue: next }) });
      items.push(...page.items);
      next = page.metadata?.continue || undefined;
    } while (next !== undefined);
    return items;
  }

  async function listAll<T extends KubeObject>(kind: Kind<T>, query: ListOptions = {}): Promise<readonly T[]> {
    try {
      return await listPages(kind, { limit: PAGE, ...query });
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 410)) throw error;
      // the pages outlived the server's history: everything at once cannot
      const { limit: _, ...unlimited } = query;
      return (await list(kind, unlimited)).items;
    }
  }

  async function* watch<T extends KubeObject>(
    kind: Kind<T>,
    { resourceVersion, signal, timeoutSeconds }: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const query = queryOf({ watch: 'true', allowWatchBookmarks: 'true', resourceVersion, timeoutSeconds });
    const path = `${collectionPath(kind)}${query}`;
    let response: IncomingMessage | undefined;
    try {
      response = await send({ method: 'GET', path, kind, signal, isWatch: true }, (opened) => opened);
      for await (const line of linesOf(response)) {
        const event = JSON.parse(line) as { type: string; object: T };
        if (event.type === 'ERROR') throw watchError(event.object);
        yield event.type === 'BOOKMARK'
          ? { type: 'BOOKMARK', resourceVersion: event.object.metadata.resourceVersion ?? '' }
          : { type: event.type as 'ADDED' | 'MODIFIED' | 'DELETED', object: event.object };
      }
    } catch (error) {
      // being told to stop is no failure
      if (!signal.aborted) throw error;
    } finally {
      response?.destroy();
    }
  }

  return {
    server: connection.server,
    caBundle: connection.caBundle,
    namespace: connection.namespace,
    close: () => connection.close(),
    raw: (path, signal) => json({ method: 'GET', path, signal }),
    get: (kind, ref) => json({ method: 'GET', path: objectPath(kind, ref), kind }),
    find: async <T extends KubeObject>(kind: Kind<T>, ref: Ref) => {
      try {
        return await json<T>({ method: 'GET', path: objectPath(kind, ref), kind });
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    },
    list,
    listAll,
    watch,
    create: (kind, object) =>
      json({ method: 'POST', path: collectionPath(kind, object.metadata.namespace), body: object, kind }),
    update: (kind, object, { subresource } = {}) =>
      json({ method: 'PUT', path: objectPath(kind, object.metadata, subresource), body: object, kind, subresource }),
    patch: (kind, ref, patch, { type = 'merge', subresource, signal }: PatchOptions = {}) =>
      json({
        method: 'PATCH',
        path: objectPath(kind, ref, subresource),
        body: patch,
        contentType: CONTENT_TYPES[type],
        kind,
        subresource,
        signal,
      }),
    delete: async (kind, ref, deletion) => {
      await json({ method: 'DELETE', path: objectPath(kind, ref), body: deleteBody(deletion), kind });
    },
    evict: async (pod: Pod, deletion) => {
      const { name, namespace } = pod.metadata;
      const body = {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name, namespace },
        deleteOptions: deleteBody(deletion),
      };
      const path = objectPath(POD, { name, namespace }, 'eviction');
      await json({ method: 'POST', path, body, kind: POD, subresource: 'eviction', keepRefusals: true });
    },
  };
}

/** How long to wait before a failed request is repeated; undefined when it is not. */
function retryWait(error: unknown, ask: Ask, failures: number, renewed: boolean): number | undefined {
  if (ask.signal?.aborted || failures >= MOST_RETRIES) return undefined;
  if (error instanceof ConnectionError) {
    // a watcher reconnects by itself, with its own patience
    const isHarmless = error.wasNotSent || ask.method !== 'POST';
    return isHarmless && !ask.isWatch ? backOffMs(RETRY, failures) : undefined;
  }
  if (!(error instanceof ApiError)) return undefined;
  if (error.status === 401) return renewed ? undefined : 0;
  const wasNotServed = error.status === 429 || error.status === 503;
  if (!wasNotServed || error.retryAfterMs === undefined || ask.keepRefusals) return undefined;
  return Math.max(Math.min(error.retryAfterMs, LONGEST_RETRY_AFTER_MS), backOffMs(RETRY, failures));
}

function queryOf(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

function deleteBody(options: DeleteOptions = {}): unknown {
  const { uid, resourceVersion, gracePeriodSeconds, propagationPolicy } = options;
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    ...((uid !== undefined || resourceVersion !== undefined) && { preconditions: { uid, resourceVersion } }),
    gracePeriodSeconds,
    propagationPolicy,
  };
}

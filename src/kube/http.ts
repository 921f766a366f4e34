/**
 * Kubernetes client over HTTP with plain JSON objects. Every request takes a token from the client's token bucket. The client
 * retries a request if the server refuses it with a retry time, or if the connection breaks and a repetition is harmless.
 */
import type { IncomingMessage } from 'node:http';
import { type Kind, type KubeList, type KubeObject, POD, type Pod } from '#api/objects';
import { defined } from '#lib';
import { type Clock, type Limiter, limiter, monotonicMs } from '#lib/clock';
import { type Logger, silent } from '#observe/logger';
import type { Metrics } from '#observe/metrics';
import { acknowledgementIn, eventIn, jsonIn, listIn, objectIn, UnreadableAnswer } from './answers.ts';
import { backOffMs } from './backoff.ts';
import {
  ApiError,
  type DeleteOptions,
  isNotFound,
  type KubeClient,
  type KubeReader,
  type ListOptions,
  type PatchOptions,
  type Ref,
  type WatchEvent,
  type WatchOptions,
} from './client.ts';
import { closedFence, type Fence } from './fence.ts';
import { type Connection, type ConnectionOptions, openConnection } from './kubeconfig.ts';
import { type Outages, watchForOutages } from './outages.ts';
import { pageCount } from './pages.ts';
import { collectionPath, objectPath } from './paths.ts';
import { requestMetrics } from './request-metrics.ts';
import { apiError } from './status.ts';
import { bodyOf, ConnectionError, type Exchange, exchange, responseLines } from './transport.ts';

interface ConnectOptions extends ConnectionOptions {
  readonly clock: Clock;
  /** Requests per second, and the maximum burst. Default: 200 and 300. */
  readonly qps?: number;
  readonly burst?: number;
  /** Maximum number of retries of a failed request. Default 6. */
  readonly mostRetries?: number;
  /** Maximum wait that the server may request, in milliseconds. Default 5 seconds. */
  readonly longestRetryAfterMs?: number;
  /** User agent, `karpenter/<version>`. */
  readonly userAgent?: string;
  readonly log?: Logger;
  readonly metrics?: Metrics;
}

export interface HttpKubeReader extends KubeReader {
  readonly server: URL;
  /** CA certificates of the API server, PEM in base64. */
  readonly caBundle: string | undefined;
  /** Namespace of the pod or of the kubeconfig's context. */
  readonly namespace: string | undefined;
  /** Sends a GET request to any other path, such as `/version`. @throws ApiError */
  raw(path: string, signal?: AbortSignal, request?: Pick<RawRequest, 'idleMs'>): Promise<unknown>;
  /** Closes idle connections. */
  close(): void;
}

export interface HttpKubeClient extends HttpKubeReader, KubeClient {
  /** Sends any other request. @throws ApiError */
  raw(path: string, signal?: AbortSignal, request?: RawRequest): Promise<unknown>;
}

export type RawRequest = Partial<Pick<Exchange, 'method' | 'body' | 'contentType' | 'idleMs'>>;

const PAGE = 500;
const MOST_RETRIES = 6;
const RETRY: { readonly baseMs: number; readonly maxMs: number } = { baseMs: 100, maxMs: 5_000 };
/**
 * Maximum wait before a retry. If the server requests a longer wait, the client retries sooner, because the server may recover
 * long before.
 */
const LONGEST_RETRY_AFTER_MS = 5_000;
/** Maximum size of an object, in bytes. The limit of the API server is far lower. */
const LONGEST_OBJECT = 32 * 2 ** 20;
/** Maximum size of a page, in bytes. A page of this size takes about 20 ms to parse. */
const LONGEST_PAGE = 8 * 2 ** 20;
/** Maximum size of a failure response or of a proxy's page, in bytes. */
const LONGEST_FAILURE = 2 ** 20;
const IDLE_MS = 60_000;
/** Timeout for the start of a watch. The server starts the response immediately, even without events. */
const OPENING_MS = 20_000;
/** Maximum silence of a watch. The server sends a bookmark about once a minute, so a silent watch is presumed dead. */
const WATCH_IDLE_MS = 2.5 * 60_000;

const CONTENT_TYPES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

type Ask = Omit<Exchange, 'idleMs' | 'path'> & {
  readonly path: string;
  /** Default: one minute. */
  readonly idleMs?: number;
  readonly kind?: Kind<KubeObject> | undefined;
  readonly subresource?: string | undefined;
  /** Returns status 429 to the caller without a retry, because the status has a specific meaning for this request. */
  readonly keepRefusals?: boolean;
};

/**
 * Opens a client that can write while `fence` is open. The server is first contacted by the first request.
 * @throws Error if the kubeconfig cannot be used
 */
export const connect = (options: ConnectOptions & { readonly fence: Fence }): HttpKubeClient => new HttpClient(options);

/** Opens a client that only reads. @throws Error if the kubeconfig cannot be used */
export const connectReader = (options: ConnectOptions): HttpKubeReader =>
  new HttpClient({ ...options, fence: closedFence() });

/** Sends requests within the client's rate limit and retries them if a retry can succeed. */
class Sender {
  readonly #connection: Connection;
  readonly #userAgent: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #bucket: Limiter;
  readonly #observe: ReturnType<typeof requestMetrics>;
  readonly #outages: Outages;
  readonly #options: ConnectOptions;
  readonly #fence: Fence;

  constructor(connection: Connection, options: ConnectOptions & { readonly fence: Fence }) {
    const { clock, log = silent } = options;
    this.#connection = connection;
    this.#userAgent = options.userAgent ?? 'karpenter';
    this.#clock = clock;
    this.#log = log;
    this.#bucket = limiter(clock, options.qps ?? 200, options.burst ?? 300);
    this.#observe = requestMetrics(options.metrics);
    this.#outages = watchForOutages(log);
    this.#options = options;
    this.#fence = options.fence;
  }

  /** Sends a request until `read` can read a response or until a retry would not help. */
  async send<T>(request: Ask, read: (response: IncomingMessage) => T | Promise<T>): Promise<T> {
    const ask = request.method === 'GET' ? request : this.#fenced(request);
    let renew = false;
    for (let failures = 0; ; failures += 1) {
      try {
        return await read(await this.#attempt(ask, renew));
      } catch (error) {
        nameRequest(error, ask);
        const waitMs = retryWait(error, { ask, failures, renewed: renew }, this.#options);
        if (waitMs === undefined) throw error;
        renew = error instanceof ApiError && error.status === 401;
        this.#log.debug('retrying request', { method: ask.method, path: ask.path, waitMs: Math.round(waitMs), error });
        await this.#clock.sleep(waitMs, ask.signal);
      }
    }
  }

  /** Adds the fence to a request. A closed fence rejects the request before it takes a token, or ends its wait for a token. */
  #fenced(ask: Ask): Ask {
    const fence = this.#fence;
    fence.check();
    return { ...ask, fence, signal: ask.signal ? AbortSignal.any([ask.signal, fence.signal]) : fence.signal };
  }

  json<T>(ask: Ask, read: (answer: unknown) => T): Promise<T> {
    return this.send(ask, async (response) => read(jsonIn(await bodyOf(response, { longest: LONGEST_OBJECT }))));
  }

  /** Sends a request for an object and returns the object. */
  object<T extends KubeObject>(ask: Ask & { readonly kind: Kind<T> }): Promise<T> {
    return this.json(ask, (answer) => objectIn(ask.kind, answer));
  }

  /** Sends a request once. Returns the open response if the request succeeds. */
  async #attempt(ask: Ask, renew: boolean): Promise<IncomingMessage> {
    await this.#bucket.take(ask.signal);
    ask.signal?.throwIfAborted();
    const startedMs = performance.now();
    const sentMs = monotonicMs(this.#clock);
    let code = '<error>';
    try {
      const response = await exchange(this.#connection, this.#userAgent, {
        ...ask,
        idleMs: ask.isWatch ? OPENING_MS : (ask.idleMs ?? IDLE_MS),
        renew,
      });
      const status = response.statusCode ?? 0;
      code = String(status);
      if (status < 200 || status > 299) throw await failureOf(response);
      if (ask.isWatch) response.setTimeout(WATCH_IDLE_MS);
      // ignores the clock of failures, because they may come from a proxy
      this.#clock.correct?.({ date: response.headers.date, age: response.headers.age, sentMs });
      this.#outages.served(ask, performance.now() - startedMs);
      return response;
    } catch (error) {
      this.#outages.failed(error);
      throw error;
    } finally {
      this.#observe({ ...ask, code, seconds: (performance.now() - startedMs) / 1_000 });
    }
  }
}

class HttpClient implements HttpKubeClient {
  readonly server: URL;
  readonly caBundle: string | undefined;
  readonly namespace: string | undefined;
  readonly #connection: Connection;
  readonly #sender: Sender;
  /** Maximum number of objects in the next page, by kind. */
  readonly #limits = new Map<string, number>();

  constructor(options: ConnectOptions & { readonly fence: Fence }) {
    this.#connection = openConnection(options);
    this.#sender = new Sender(this.#connection, options);
    this.server = this.#connection.server;
    this.caBundle = this.#connection.caBundle;
    this.namespace = this.#connection.namespace;
  }

  close(): void {
    this.#connection.close();
  }

  raw(path: string, signal?: AbortSignal, request?: RawRequest): Promise<unknown> {
    return this.#sender.json({ method: 'GET', ...request, path, signal }, (answer) => answer);
  }

  get<T extends KubeObject>(kind: Kind<T>, ref: Ref): Promise<T> {
    return this.#sender.object({ method: 'GET', path: objectPath(kind, ref), kind });
  }

  async find<T extends KubeObject>(kind: Kind<T>, ref: Ref): Promise<T | undefined> {
    try {
      return await this.get(kind, ref);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Returns one page. Reduces the limit for large objects, so that parsing a page does not take long. */
  async list<T extends KubeObject>(kind: Kind<T>, query: ListOptions = {}): Promise<KubeList<T>> {
    const { namespace, limit: most, withinMs, longestBytes, ...parameters } = query;
    const signal = withinMs === undefined ? undefined : AbortSignal.timeout(withinMs);
    let limit = most && Math.min(most, this.#limits.get(kind.plural) ?? most);
    for (;;) {
      const path = `${collectionPath(kind, namespace)}${queryOf({ limit, ...parameters })}`;
      const longest = limit === undefined || limit === 1 ? longestBytes : LONGEST_PAGE;
      try {
        return await this.#sender.send({ method: 'GET', path, kind, signal }, async (response) => {
          const body = await bodyOf(response, defined({ longest }));
          if (limit !== undefined) this.#limits.set(kind.plural, body.length < LONGEST_PAGE / 4 ? limit * 2 : limit);
          return listIn(kind, jsonIn(body));
        });
      } catch (error) {
        if (signal?.aborted) throw lateList(path, withinMs, error);
        if (limit === undefined || !(error instanceof ConnectionError && error.isTooLong)) throw error;
        limit = Math.max(1, Math.floor(limit / 8));
      }
    }
  }

  async listAll<T extends KubeObject>(kind: Kind<T>, query: ListOptions = {}): Promise<readonly T[]> {
    try {
      return await this.#listPages(kind, { limit: PAGE, ...query });
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 410)) throw error;
      // the pages outlived the server's history; a single request for all objects does not depend on this history
      const { limit: _, ...unlimited } = query;
      return (await this.list(kind, unlimited)).items;
    }
  }

  async #listPages<T extends KubeObject>(kind: Kind<T>, query: ListOptions): Promise<readonly T[]> {
    const items: T[] = [];
    const pages = pageCount(kind);
    let next: string | undefined;
    do {
      const page: KubeList<T> = await this.list(kind, { ...query, ...defined({ continue: next }) });
      items.push(...page.items);
      next = pages.next(page);
    } while (next !== undefined);
    return items;
  }

  async *watch<T extends KubeObject>(
    kind: Kind<T>,
    { resourceVersion, signal, timeoutSeconds, onOpen }: WatchOptions,
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const query = queryOf({ watch: 'true', allowWatchBookmarks: 'true', resourceVersion, timeoutSeconds });
    const path = `${collectionPath(kind)}${query}`;
    let response: IncomingMessage | undefined;
    try {
      response = await this.#sender.send({ method: 'GET', path, kind, signal, isWatch: true }, (opened) => opened);
      onOpen?.();
      for await (const line of responseLines(response)) {
        const event = eventIn<T>(kind, line);
        yield event.type === 'BOOKMARK'
          ? { type: 'BOOKMARK', resourceVersion: event.object.metadata.resourceVersion ?? '' }
          : { type: event.type as 'ADDED' | 'MODIFIED' | 'DELETED', object: event.object };
      }
    } catch (error) {
      // a requested stop is not a failure
      if (signal.aborted) return;
      const failure = isOurs(error) ? error : new ConnectionError('the watch was interrupted', false, { cause: error });
      nameRequest(failure, { method: 'GET', path });
      throw failure;
    } finally {
      response?.destroy();
    }
  }

  create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T> {
    const path = collectionPath(kind, object.metadata.namespace);
    return this.#sender.object({ method: 'POST', path, body: object, kind });
  }

  update<T extends KubeObject>(kind: Kind<T>, object: T, { subresource }: { subresource?: 'status' } = {}): Promise<T> {
    const path = objectPath(kind, object.metadata, subresource);
    return this.#sender.object({ method: 'PUT', path, body: object, kind, subresource });
  }

  patch<T extends KubeObject>(
    kind: Kind<T>,
    ref: Ref,
    patch: unknown,
    { type = 'merge', subresource, signal }: PatchOptions = {},
  ): Promise<T> {
    const path = objectPath(kind, ref, subresource);
    const contentType = CONTENT_TYPES[type];
    return this.#sender.object({ method: 'PATCH', path, body: patch, contentType, kind, subresource, signal });
  }

  delete<T extends KubeObject>(kind: Kind<T>, ref: Ref, deletion?: DeleteOptions): Promise<void> {
    const ask: Ask = { method: 'DELETE', path: objectPath(kind, ref), body: deleteBody(deletion), kind };
    return this.#sender.json(ask, acknowledgementIn);
  }

  evict(pod: Pod, deletion?: DeleteOptions): Promise<void> {
    const { name, namespace } = pod.metadata;
    const body = {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name, namespace },
      deleteOptions: deleteBody(deletion),
    };
    const path = objectPath(POD, { name, namespace }, 'eviction');
    const ask: Ask = { method: 'POST', path, body, kind: POD, subresource: 'eviction', keepRefusals: true };
    return this.#sender.json(ask, acknowledgementIn);
  }
}

async function failureOf(response: IncomingMessage): Promise<ApiError> {
  const body = await bodyOf(response, { longest: LONGEST_FAILURE });
  return apiError(response.statusCode ?? 0, body, response.headers['retry-after']);
}

function lateList(path: string, withinMs: number | undefined, cause: unknown): ConnectionError {
  const error = new ConnectionError(`the list was not complete within ${withinMs} ms`, false, { cause });
  error.isTimeout = true;
  nameRequest(error, { method: 'GET', path });
  return error;
}

const isOurs = (error: unknown): error is ApiError | ConnectionError | UnreadableAnswer =>
  error instanceof ApiError || error instanceof ConnectionError || error instanceof UnreadableAnswer;

/** Adds the method and path of the request to an error. */
function nameRequest(error: unknown, { method, path }: Pick<Ask, 'method' | 'path'>): void {
  if (isOurs(error)) error.request ??= `${method} ${path.replace(/\?.*/s, '')}`;
}

interface Failed {
  readonly ask: Ask;
  /** Number of failures before this one. */
  readonly failures: number;
  /** True if the credentials were renewed for this request. */
  readonly renewed: boolean;
}

/** Returns the wait before the next retry, or undefined if the request must not be retried. */
function retryWait(
  error: unknown,
  { ask, failures, renewed }: Failed,
  { mostRetries = MOST_RETRIES, longestRetryAfterMs = LONGEST_RETRY_AFTER_MS }: ConnectOptions,
): number | undefined {
  if (ask.signal?.aborted || failures >= mostRetries) return undefined;
  if (error instanceof ConnectionError) {
    if (error.isTooLong) return undefined;
    // the caller of a watch reconnects with its own backoff
    const isHarmless = error.wasNotSent || ask.method !== 'POST';
    return isHarmless && !ask.isWatch ? backOffMs(RETRY, failures) : undefined;
  }
  if (!(error instanceof ApiError)) return undefined;
  if (error.status === 401) return renewed ? undefined : 0;
  // a creation may have succeeded although the server is unavailable: see `createOnce`
  const wasNotServed = error.status === 429 || (error.status === 503 && ask.method !== 'POST');
  if (!wasNotServed || error.retryAfterMs === undefined || ask.keepRefusals) return undefined;
  return Math.max(Math.min(error.retryAfterMs, longestRetryAfterMs), backOffMs(RETRY, failures));
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

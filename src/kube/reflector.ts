/**
 * Keeps a store equal to the API server's objects of one kind:
 *
 *   listing ──list complete──▶ watching ──stream ends or breaks──▶ watching from the last version seen
 *      ▲                          │
 *      └──────version expired─────┘
 *
 * Every failure is retried with back-off. A watch that ends normally is reopened immediately. If watches fail repeatedly although
 * the server responds, the reflector lists all objects again.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KubeObject } from '../api/kubernetes.ts';
import { type Clock, monotonicMs } from '../lib/clock.ts';
import { defined } from '../lib/defined.ts';
import type { Logger } from '../observe/logger.ts';
import { isEarlier } from './answers.ts';
import { backOffMs } from './backoff.ts';
import { ApiError, type KubeReader, type WatchEvent } from './client.ts';
import { pageCount } from './pages.ts';
import type { ObjectStore } from './store.ts';
import { ConnectionError } from './transport.ts';
import { trimmedObject } from './trimmed-object.ts';

interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeReader;
  readonly store: ObjectStore<T>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Called after each complete list. */
  readonly onListed: () => void;
  /** Called if the kind is not served or must not be read. */
  readonly onUnavailable: () => void;
}

const PAGE = 500;
const RETRY = { baseMs: 200, maxMs: 5_000 };
/** Minimum duration of a watch. A watch that ends sooner counts as a failure. */
const SHORT_WATCH_MS = 1_000;
/**
 * Maximum duration of a watch without any event. The server sends a bookmark about once a minute, so a longer silence shows that
 * the watch is not reliable.
 */
const SILENT_WATCH_MS = 4 * 60_000;
/**
 * Minimum duration of a watch request. The duration varies from 5 to 10 minutes, so that watches do not all reconnect together.
 */
const WATCH_SECONDS = 300;
/** Number of consecutive failures after which everything is listed again, because an unreadable event stays unreadable. */
const MOST_FAILURES = 3;

/** Keeps the store current until the signal aborts. */
export const reflect = <T extends KubeObject>(options: ReflectorOptions<T>): Promise<void> =>
  new Reflector(options).run();

class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #report: Reporter;
  /** Last version seen; undefined if everything must be listed. */
  #version: string | undefined;
  /** Number of consecutive failures. */
  #failures = 0;
  /** True if no event has arrived since the last list. If the version of this list expires, the next list waits with back-off. */
  #isFresh = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#report = reporter(options);
  }

  async run(): Promise<void> {
    const { clock, signal } = this.#options;
    while (!signal.aborted) {
      const wasWatching = this.#version !== undefined;
      try {
        this.#version ??= await this.#list();
        await this.#watch(this.#version);
        continue;
      } catch (error) {
        if (signal.aborted) return;
        this.#failed(error);
        if (isExpired(error) && wasWatching && !this.#isFresh) continue;
      }
      await clock.sleep(backOffMs(RETRY, this.#failures), signal);
      this.#failures += 1;
    }
  }

  async #list(): Promise<string> {
    const { store, signal, onListed } = this.#options;
    const { items, resourceVersion } = await listEverything(this.#options);
    if (signal.aborted) return resourceVersion;
    for (const _ of store.replacing(items)) await nextTurn();
    this.#isFresh = true;
    onListed();
    this.#report.listed();
    return resourceVersion;
  }

  /** Runs one watch. @throws Error if the watch fails or ends too soon */
  async #watch(from: string): Promise<void> {
    const { store, clock, signal } = this.#options;
    const startedMs = monotonicMs(clock);
    const cancel = clock.after(SHORT_WATCH_MS, () => {
      this.#failures = 0;
      this.#report.watched();
    });
    try {
      const isAlive = await this.#follow(from);
      const tookMs = monotonicMs(clock) - startedMs;
      if (tookMs < SHORT_WATCH_MS && !signal.aborted)
        throw new Error(`the watch of ${store.kind.plural} ended immediately`);
      if (tookMs >= SILENT_WATCH_MS && !isAlive) this.#version = undefined;
    } finally {
      cancel();
    }
  }

  /** Applies the events of one watch. Returns true if any event arrived. */
  async #follow(from: string): Promise<boolean> {
    const { client, store, signal } = this.#options;
    let isAlive = false;
    const timeoutSeconds = Math.round(WATCH_SECONDS * (1 + Math.random()));
    for await (const event of client.watch(store.kind, { resourceVersion: from, signal, timeoutSeconds })) {
      isAlive = true;
      this.#isFresh = false;
      this.#failures = 0;
      const seen = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
      const isBack = isEarlier(seen, this.#version);
      if (isBack && event.type === 'BOOKMARK') throw new HistoryLost(store.kind.plural);
      if (!isBack) this.#version = seen;
      this.#take(event);
    }
    return isAlive;
  }

  #take(event: WatchEvent<T>): void {
    const { store } = this.#options;
    if (event.type === 'BOOKMARK') return;
    if (event.type === 'DELETED') {
      store.remove(event.object);
      return;
    }
    const { uid, resourceVersion } = event.object.metadata;
    const known = store.get(event.object.metadata)?.metadata;
    // A server that lags behind another server may repeat old events.
    if (known?.uid === uid && isEarlier(resourceVersion, known?.resourceVersion)) return;
    for (const object of trimReceived(this.#options, event.object)) store.put(object);
  }

  #failed(error: unknown): void {
    if (isUnavailable(error)) this.#options.onUnavailable();
    const isListing = this.#version === undefined;
    const failures = this.#failures + 1;
    this.#report.failed(error, isListing ? 'list' : 'watch', failures);
    if (isRefused(error) || (isAnswer(error) && failures >= MOST_FAILURES)) this.#version = undefined;
  }
}

/** Thrown if the server responds with a state that is older than the known state. */
class HistoryLost extends Error {
  constructor(plural: string) {
    super(`the API server returned an older version of ${plural} than before`);
    this.name = 'HistoryLost';
  }
}

/** Lists all objects in pages. If the pages outlive the server's history, lists all objects in one request. */
async function listEverything<T extends KubeObject>(
  options: ReflectorOptions<T>,
): Promise<{ items: readonly T[]; resourceVersion: string }> {
  const { client, store } = options;
  const items: T[] = [];
  const pages = pageCount(store.kind);
  try {
    for (let next: string | undefined, first = true; first || next !== undefined; first = false) {
      const page = await client.list(store.kind, { limit: PAGE, ...defined({ continue: next }) });
      for (const item of page.items) items.push(...trimReceived(options, item));
      next = pages.next(page);
      if (next === undefined) return { items, resourceVersion: page.metadata.resourceVersion ?? '' };
    }
  } catch (error) {
    if (!isExpired(error)) throw error;
  }
  const all = await client.list(store.kind);
  return {
    items: all.items.flatMap((item) => trimReceived(options, item)),
    resourceVersion: all.metadata.resourceVersion ?? '',
  };
}

/** Returns the trimmed object. Reports an object without the mandatory fields of its kind and returns its last known state. */
function trimReceived<T extends KubeObject>({ store, log }: ReflectorOptions<T>, object: T): readonly T[] {
  try {
    return [trimmedObject(store.kind, object)];
  } catch (error) {
    const { name, namespace, uid } = object.metadata;
    const known = store.get(object.metadata);
    const isKnown = known !== undefined && known.metadata.uid === uid;
    const consequence = isKnown ? 'its previous version is used' : 'it is ignored';
    log.error('received an invalid object', { kind: store.kind.kind, name, namespace, consequence, error });
    return isKnown ? [known] : [];
  }
}

const isExpired = (error: unknown): boolean => error instanceof ApiError && error.status === 410;
const isUnavailable = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 403);
/** Returns true if the server refuses a watch from the known version. A new list shows any other cause. */
const isRefused = (error: unknown): boolean =>
  error instanceof HistoryLost ||
  (error instanceof ApiError && error.status >= 400 && error.status < 500 && ![401, 429].includes(error.status));
/** Returns true if the server responded, so that its history was available. */
const isAnswer = (error: unknown): boolean => !(error instanceof ConnectionError);

interface Reporter {
  /** @param failures number of consecutive failures, including this one */
  failed(error: unknown, doing: 'list' | 'watch', failures: number): void;
  listed(): void;
  watched(): void;
}

/** Logs the first relevant failure of a streak with a remedy, and the end of the streak. Single broken watches are normal. */
function reporter<T extends KubeObject>({ store, log }: ReflectorOptions<T>): Reporter {
  const { kind, plural, group } = store.kind;
  const resource = group === '' ? plural : `${plural}.${group}`;
  const failing = new Set<'list' | 'watch'>();
  const recovered = (doing: 'list' | 'watch', message: string): void => {
    if (failing.delete(doing)) log.info(message, { kind });
  };
  return {
    failed: (error, doing, failures) => {
      const isKnown = failing.has(doing);
      if (doing === 'watch' && (isKnown || failures < MOST_FAILURES))
        return log.debug('watch ended, reconnecting', { kind, error });
      if (isKnown) return;
      failing.add(doing);
      log.error(doing === 'list' ? 'failed listing, retrying' : 'failed watching, retrying', {
        kind,
        error,
        ...remedyFor(error, resource),
      });
    },
    listed: () => recovered('list', 'listing again'),
    watched: () => recovered('watch', 'watching again'),
  };
}

function remedyFor(error: unknown, resource: string): { readonly remedy?: string } {
  if (!(error instanceof ApiError)) return {};
  if (error.status === 404) return { remedy: `install the CustomResourceDefinition ${resource}` };
  if (error.status === 403) return { remedy: `allow the service account to get, list and watch ${resource}` };
  return {};
}

/**
 * Keeps a store equal to the API server's objects of one kind:
 *
 *   listing ──list complete──▶ watching ──stream ends or breaks──▶ watching from the last version seen
 *      ▲                          │
 *      └──────version expired─────┘
 *
 * Every failure is retried with back-off. A watch that ends normally is reopened immediately. If watches fail repeatedly although
 * the server responds, the reflector lists all objects again.
 *
 * An event, a bookmark or the normal end of a watch is a sign of life: it shows that all earlier events have arrived. A watch
 * without a sign is replaced by a short one, and after that by a list.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KubeObject } from '#api/objects';
import { defined } from '#lib';
import { type Clock, monotonicMs } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { isEarlier } from './answers.ts';
import { backOffMs } from './backoff.ts';
import { ApiError, type KubeReader, type WatchEvent } from './client.ts';
import { pageCount } from './pages.ts';
import type { BackOff } from './reconciler.ts';
import type { ObjectStore } from './store.ts';
import { ConnectionError } from './transport.ts';
import { trimmedObject } from './trimmed-object.ts';

interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeReader;
  readonly store: ObjectStore<T>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** True if the absence of the kind is not logged. */
  readonly isAddOn?: boolean;
  /** Called after each complete list. */
  readonly onListed: () => void;
  /** Called if the kind is not served or must not be read. Returns true if the process works without the kind. */
  readonly onUnavailable: (isServed: boolean) => boolean;
}

const PAGE = 500;
const RETRY = { baseMs: 200, maxMs: 5_000 };
/** Waits for a kind that the process works without, so that a cluster without the kind has few requests. */
const RARELY = { baseMs: 200, maxMs: 120_000 };
/** Minimum duration of a watch after the server has accepted it. A watch that ends sooner counts as a failure. */
const SHORT_WATCH_MS = 1_000;
/** Time without a sign of life after which a watch is replaced. */
const SILENT_MS = 60_000;
/**
 * Duration of a watch. The server ends an idle watch before its silence matters, because bookmarks are too rare:
 * kube-apiserver sends one a minute, and the first one of a watch of unchanged objects after two minutes. The duration
 * varies, so that watches do not all reconnect together.
 */
const WATCH_SECONDS = { least: 40, most: 50 };
/** Duration of the watch after a long time without a sign of life. */
const PROBE_SECONDS = 5;
/** Time for the end of this watch. */
const PROBE_SILENT_MS = 15_000;
/** Time without a sign of life after which the next watch is short. */
const PROBE_AFTER_MS = SILENT_MS / 2;
/** Number of consecutive failures after which everything is listed again, because an unreadable event stays unreadable. */
const MOST_FAILURES = 3;

export interface WatchState {
  /** Time since the last sign of life, in milliseconds. Undefined before the first list. */
  readonly ageMs: number | undefined;
  /** True if the store may be outdated, because the watch has shown no sign of life for a minute or since its last silence. */
  readonly isStale: boolean;
}

export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #report: Reporter;
  /** Last version seen; undefined if everything must be listed. */
  #version: string | undefined;
  /** Number of consecutive failures. */
  #failures = 0;
  /** Time of the last sign of life, by `monotonicMs`. A list counts only before the first silence. */
  #signMs: number | undefined;
  /** True after a short watch without a sign of life, until the next sign of a watch. */
  #isSilent = false;
  /** Ends the current watch. */
  #silence = new AbortController();
  /** True if no event has arrived since the last list. If the version of this list expires, the next list waits with back-off. */
  #isFresh = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#report = reporter(options);
  }

  get state(): WatchState {
    const ageMs = this.#signMs === undefined ? undefined : this.#sinceSignMs();
    return { ageMs, isStale: this.#isSilent || (ageMs ?? 0) > SILENT_MS };
  }

  /** Ends the current watch and lists all objects, because another request has shown that the store is outdated. */
  distrust(): void {
    if (this.#isSilent || this.#version === undefined) return;
    this.#isSilent = true;
    this.#version = undefined;
    this.#report.silent(this.#sinceSignMs());
    this.#silence.abort();
  }

  /** Keeps the store current until the signal aborts. */
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
        const backOff = this.#failed(error);
        if (isExpired(error) && wasWatching && !this.#isFresh) continue;
        await clock.sleep(backOffMs(backOff, this.#failures), signal);
      }
      this.#failures += 1;
    }
  }

  async #list(): Promise<string> {
    const { store, signal, onListed } = this.#options;
    const { items, resourceVersion } = await listEverything(this.#options);
    if (signal.aborted) return resourceVersion;
    for (const _ of store.replacing(items)) await nextTurn();
    this.#isFresh = true;
    if (!this.#isSilent) this.#signMs = monotonicMs(this.#options.clock);
    onListed();
    this.#report.listed();
    return resourceVersion;
  }

  /** Runs one watch. @throws Error if the watch fails or ends too soon */
  async #watch(from: string): Promise<void> {
    const { store, clock, signal } = this.#options;
    let openedMs: number | undefined;
    let cancel: (() => void) | undefined;
    // a refusal may take longer than the minimum duration of a watch
    const onOpen = (): void => {
      openedMs = monotonicMs(clock);
      cancel = clock.after(SHORT_WATCH_MS, () => {
        this.#failures = 0;
        this.#report.watched();
      });
    };
    try {
      await this.#follow(from, onOpen);
      if (openedMs !== undefined && monotonicMs(clock) - openedMs < SHORT_WATCH_MS && !signal.aborted)
        throw new Error(`the watch of ${store.kind.plural} ended immediately`);
    } finally {
      cancel?.();
    }
  }

  /** Applies the events of one watch, until the watch ends or is silent. */
  async #follow(from: string, onOpen: () => void): Promise<void> {
    const { client, store, signal } = this.#options;
    const isProbe = !this.#isSilent && this.#sinceSignMs() > PROBE_AFTER_MS;
    const { least, most } = WATCH_SECONDS;
    const timeoutSeconds = isProbe ? PROBE_SECONDS : Math.round(least + (most - least) * Math.random());
    const silence = new AbortController();
    this.#silence = silence;
    const cancel = this.#whenSilent(isProbe ? PROBE_SILENT_MS : SILENT_MS, () => silence.abort());
    const until = AbortSignal.any([signal, silence.signal]);
    try {
      const options = { resourceVersion: from, signal: until, timeoutSeconds, onOpen };
      for await (const event of client.watch(store.kind, options)) {
        if (silence.signal.aborted) break;
        this.#isFresh = false;
        this.#failures = 0;
        const seen = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
        const isBack = isEarlier(seen, this.#version);
        if (isBack && event.type === 'BOOKMARK') throw new HistoryLost(store.kind.plural);
        if (!isBack) this.#version = seen;
        this.#take(event);
        this.#showedLife();
      }
    } finally {
      cancel();
    }
    if (!silence.signal.aborted) return this.#showedLife();
    if (this.#isSilent) this.#version = undefined;
    else if (isProbe) this.distrust();
  }

  #sinceSignMs(): number {
    const nowMs = monotonicMs(this.#options.clock);
    return nowMs - (this.#signMs ?? nowMs);
  }

  #showedLife(): void {
    this.#signMs = monotonicMs(this.#options.clock);
    if (this.#isSilent) this.#report.heard();
    this.#isSilent = false;
  }

  /** Calls `fire` when a watch that starts now shows no sign of life for this duration. Returns a function that cancels this. */
  #whenSilent(durationMs: number, fire: () => void): () => void {
    const { clock } = this.#options;
    const startedMs = monotonicMs(clock);
    let cancel: () => void;
    // one timer for the whole watch, because a busy watch delivers thousands of events per second
    const wait = (ms: number): void => {
      cancel = clock.after(ms, () => {
        const restMs = Math.max(startedMs, this.#signMs ?? startedMs) + durationMs - monotonicMs(clock);
        if (restMs > 0) wait(restMs);
        else fire();
      });
    };
    wait(durationMs);
    return () => cancel();
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

  /** Returns the back-off of the next try. */
  #failed(error: unknown): BackOff {
    const isDispensable = isUnavailable(error) && this.#options.onUnavailable(error.status !== 404);
    const isListing = this.#version === undefined;
    const failures = this.#failures + 1;
    this.#report.failed(error, isListing ? 'list' : 'watch', failures);
    if (isRefused(error) || (isAnswer(error) && failures >= MOST_FAILURES)) this.#version = undefined;
    return isDispensable ? RARELY : RETRY;
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
const isUnavailable = (error: unknown): error is ApiError =>
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
  /** @param ageMs time since the last sign of life */
  silent(ageMs: number): void;
  heard(): void;
}

/** Logs the first relevant failure of a streak with a remedy, and the end of the streak. Single broken watches are normal. */
function reporter<T extends KubeObject>({ store, log, isAddOn = false }: ReflectorOptions<T>): Reporter {
  const { kind, plural, group } = store.kind;
  const resource = group === '' ? plural : `${plural}.${group}`;
  const failing = new Set<'list' | 'watch' | 'silence'>();
  const recovered = (doing: 'list' | 'watch' | 'silence', message: string): void => {
    if (failing.delete(doing)) log.info(message, { kind });
  };
  return {
    failed: (error, doing, failures) => {
      const isKnown = failing.has(doing);
      if (doing === 'watch' && (isKnown || failures < MOST_FAILURES))
        return log.debug('watch ended, reconnecting', { kind, error });
      if (isKnown) return;
      if (isAddOn && error instanceof ApiError && error.status === 404)
        return log.debug('the kind is not served', { kind });
      failing.add(doing);
      log.error(doing === 'list' ? 'failed listing, retrying' : 'failed watching, retrying', {
        kind,
        error,
        ...remedyFor(error, resource),
      });
    },
    listed: () => recovered('list', 'listing again'),
    watched: () => recovered('watch', 'watching again'),
    silent: (ageMs) => {
      if (failing.has('silence')) return;
      failing.add('silence');
      log.error('watches are silent, listing instead', { kind, 'silent-seconds': Math.round(ageMs / 1_000) });
    },
    heard: () => recovered('silence', 'watches are no longer silent'),
  };
}

function remedyFor(error: unknown, resource: string): { readonly remedy?: string } {
  if (!(error instanceof ApiError)) return {};
  if (error.status === 404) return { remedy: `install the CustomResourceDefinition ${resource}` };
  if (error.status === 403) return { remedy: `allow the service account to get, list and watch ${resource}` };
  return {};
}

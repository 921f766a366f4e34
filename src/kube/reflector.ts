/**
 * Keeps a store equal to the API server's objects of one kind:
 *
 *   listing ──list complete──▶ watching ──stream ends or breaks──▶ watching from the last version seen
 *      ▲                          │
 *      └──────version expired─────┘
 *
 * Every failure waits with back-off; a watch that ends in good order is opened again at once.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KubeObject } from '../api/kubernetes.ts';
import type { Logger } from '../observe/logger.ts';
import { backOffMs } from './backoff.ts';
import { withoutBallast } from './ballast.ts';
import { ApiError, type KubeClient } from './client.ts';
import { type Clock, monotonicMs } from './clock.ts';
import type { ObjectStore } from './store.ts';

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly store: ObjectStore<T>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Called after each complete list. */
  readonly onListed: () => void;
  /** Called when the kind is not served, or we may not read it. */
  readonly onUnavailable: () => void;
}

const PAGE = 500;
const RETRY = { baseMs: 200, maxMs: 30_000 };
/** A watch that ends sooner than this without an event is a failure in disguise. */
const SHORT_WATCH_MS = 1_000;
/** Watches end after 5 to 10 minutes, spread so that they do not all come back together. */
const WATCH_SECONDS = 300;

/** Runs until the signal aborts. */
export async function reflect<T extends KubeObject>(options: ReflectorOptions<T>): Promise<void> {
  const { client, store, clock, signal } = options;
  const { kind } = store;
  const report = reporter(options);
  let version: string | undefined;
  let failures = 0;
  /** Whether nothing has come since the last list: if that expires, the server is not to be hurried. */
  let isFresh = false;

  const list = async (): Promise<string> => {
    const { items, resourceVersion } = await listEverything(options);
    if (signal.aborted) return resourceVersion;
    for (const _ of store.replacing(items)) await nextTurn();
    isFresh = true;
    options.onListed();
    report.recovered();
    return resourceVersion;
  };

  /** Answers whether anything came. */
  const watch = async (from: string): Promise<boolean> => {
    let isAlive = false;
    const timeoutSeconds = Math.round(WATCH_SECONDS * (1 + Math.random()));
    for await (const event of client.watch(kind, { resourceVersion: from, signal, timeoutSeconds })) {
      isAlive = true;
      isFresh = false;
      failures = 0;
      version = event.type === 'BOOKMARK' ? event.resourceVersion : event.object.metadata.resourceVersion;
      if (event.type === 'DELETED') store.remove(event.object);
      else if (event.type !== 'BOOKMARK') store.put(withoutBallast(kind, event.object));
    }
    return isAlive;
  };

  while (!signal.aborted) {
    try {
      version ??= await list();
      const startedMs = monotonicMs(clock);
      const isHealthy = (await watch(version)) || monotonicMs(clock) - startedMs >= SHORT_WATCH_MS;
      if (isHealthy) {
        failures = 0;
        continue;
      }
    } catch (error) {
      if (signal.aborted) return;
      const wasWatching = version !== undefined;
      report.failed(error, !wasWatching);
      if (isExpired(error)) {
        version = undefined;
        if (wasWatching && !isFresh) continue;
      }
      if (isUnavailable(error)) options.onUnavailable();
    }
    await clock.sleep(backOffMs(RETRY, failures), signal);
    failures += 1;
  }
}

/** Pages through the kind. When the pages outlive the server's history, reads everything at once. */
async function listEverything<T extends KubeObject>({
  client,
  store,
}: ReflectorOptions<T>): Promise<{ items: readonly T[]; resourceVersion: string }> {
  const items: T[] = [];
  try {
    for (let next: string | undefined, first = true; first || next !== undefined; first = false) {
      const page = await client.list(store.kind, { limit: PAGE, ...(next === undefined ? {} : { continue: next }) });
      for (const item of page.items) items.push(withoutBallast(store.kind, item));
      next = page.metadata.continue || undefined;
      if (next === undefined) return { items, resourceVersion: page.metadata.resourceVersion ?? '' };
    }
  } catch (error) {
    if (!isExpired(error)) throw error;
  }
  const all = await client.list(store.kind);
  return {
    items: all.items.map((item) => withoutBallast(store.kind, item)),
    resourceVersion: all.metadata.resourceVersion ?? '',
  };
}

const isExpired = (error: unknown): boolean => error instanceof ApiError && error.status === 410;
const isUnavailable = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 403);

/** Logs the first failure of a streak, with what to do about it, and its end. */
function reporter<T extends KubeObject>({
  store,
  log,
}: ReflectorOptions<T>): {
  failed: (error: unknown, whileListing: boolean) => void;
  recovered: () => void;
} {
  let isReported = false;
  const { kind, plural, group } = store.kind;
  const resource = group === '' ? plural : `${plural}.${group}`;
  return {
    failed: (error, whileListing) => {
      if (!whileListing) return log.debug('watch ended, reconnecting', { kind, error });
      if (isReported) return;
      isReported = true;
      log.error('failed listing, retrying', { kind, error, ...remedyFor(error, resource) });
    },
    recovered: () => {
      if (isReported) log.info('listing again', { kind });
      isReported = false;
    },
  };
}

function remedyFor(error: unknown, resource: string): { readonly remedy?: string } {
  if (!(error instanceof ApiError)) return {};
  if (error.status === 404) return { remedy: `install the CustomResourceDefinition ${resource}` };
  if (error.status === 403) return { remedy: `allow the service account to get, list and watch ${resource}` };
  return {};
}

/**
 * Caches of API server objects by list and watch, for parts of the world in a running cluster. The operator's
 * informers cannot be used: a part must see its own write at its next read, and neither an earlier event nor a pending
 * list may revert it.
 */
import type { Kind, KubeObject } from '#api/objects';
import { ApiError, keyOf } from '#kube/client';
import type { Clock } from '#lib/clock';
import { type Cache, type Caches, cachesOf } from './cache.ts';
import { IndexedObjects } from './indexed-objects.ts';
import type { RemoteClient } from './remote-client.ts';

export interface CacheSource {
  readonly client: RemoteClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  log(message: string): void;
}

/** Resource versions of one kind are ordered numbers. */
const versionOf = (object: KubeObject): number => Number(object.metadata.resourceVersion ?? 0);

const RETRY_MS = 500;
const RECONNECT_MS = 50;

export const startCaches = (source: CacheSource): Caches => cachesOf((kind) => watchList(kind, source));

/**
 * Lists a kind, watches it from there, lists again if the history is gone (410), and reconnects if the watch breaks.
 */
export function watchList<T extends KubeObject>(kind: Kind<T>, source: CacheSource): Cache<T> {
  const cache = new WatchedCache(kind, source);
  void cache.run();
  return cache;
}

class WatchedCache<T extends KubeObject> extends IndexedObjects<T> implements Cache<T> {
  readonly synced: Promise<void>;
  readonly #kind: Kind<T>;
  readonly #source: CacheSource;
  /** Objects that an own request removed. Late events must not restore them. */
  readonly #buried = new Set<string>();
  readonly #announce: () => void;
  /** Start version of the next watch. Undefined requires a new list. */
  #version: string | undefined;

  constructor(kind: Kind<T>, source: CacheSource) {
    super();
    this.#kind = kind;
    this.#source = source;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.synced = promise;
    this.#announce = resolve;
  }

  wrote(object: T): void {
    this.#put(object);
  }

  removed(object: T): void {
    this.#buried.add(object.metadata.uid ?? '');
    this.#remove(object);
  }

  /** Runs until the source's signal aborts. */
  async run(): Promise<void> {
    const { clock, signal } = this.#source;
    while (!signal.aborted) {
      try {
        if (this.#version === undefined) this.#version = await this.#relist();
        else {
          await this.#follow(this.#version);
          // Prevents a tight loop if a server ends watches immediately.
          await clock.sleep(RECONNECT_MS, signal);
        }
      } catch (error) {
        if (signal.aborted) return;
        // An error response (mostly 410) invalidates the version, but a broken connection does not.
        if (error instanceof ApiError) this.#version = undefined;
        if (error instanceof ApiError && error.status === 410) continue;
        this.#source.log(`watch of ${this.#kind.plural}: ${String(error)}`);
        await clock.sleep(RETRY_MS, signal);
      }
    }
  }

  async #relist(): Promise<string> {
    const list = await this.#source.client.list(this.#kind);
    const present = new Set(list.items.map((item) => keyOf(item.metadata)));
    const horizon = Number(list.metadata.resourceVersion ?? 0);
    for (const object of this.list())
      if (!present.has(keyOf(object.metadata)) && versionOf(object) <= horizon) this.#remove(object);
    for (const item of list.items) this.#put(item);
    this.#buried.clear();
    this.#announce();
    return list.metadata.resourceVersion ?? '0';
  }

  async #follow(from: string): Promise<void> {
    const { client, signal } = this.#source;
    for await (const event of client.watch(this.#kind, from, signal)) {
      if (event.type === 'BOOKMARK') {
        this.#version = event.resourceVersion;
        continue;
      }
      const { type, object } = event;
      this.#version = object.metadata.resourceVersion ?? this.#version;
      if (type !== 'DELETED') this.#put(object);
      else {
        this.#buried.delete(object.metadata.uid ?? '');
        this.#remove(object);
      }
    }
  }

  #put(object: T): void {
    const key = keyOf(object.metadata);
    const before = this.at(key);
    if (this.#buried.has(object.metadata.uid ?? '')) return;
    if (before && before.metadata.uid === object.metadata.uid && versionOf(before) >= versionOf(object)) return;
    this.put(key, object);
    this.announce(object, before);
  }

  #remove(object: T): void {
    const key = keyOf(object.metadata);
    const before = this.at(key);
    // A successor with the same name is kept.
    if (!before || before.metadata.uid !== object.metadata.uid) return;
    this.delete(key);
    this.announce(undefined, before);
  }
}

import { monotonicMs, type Timepiece } from './clock.ts';

interface Entry<V> {
  value: V;
  /** Time of expiry, by `monotonicMs`. */
  endsMs: number;
}

export interface TtlCacheOptions<K, V> {
  /** Called for entries that expire or are deleted, not for overwritten ones. */
  readonly evicted?: (key: K, value: V) => void;
  /** Maximum number of entries. The entry that was set the longest ago is removed first. Default: no maximum. */
  readonly most?: number;
}

const SWEEP_MS = 60_000;

/**
 * Map that hides an entry after `ttlMs`. `sweep` removes expired entries, and `set` calls `sweep` if a minute has passed
 * since the last one.
 */
export class TtlCache<K, V> {
  readonly #entries = new Map<K, Entry<V>>();
  readonly #clock: Timepiece;
  readonly #ttlMs: number;
  readonly #evicted: ((key: K, value: V) => void) | undefined;
  readonly #most: number;
  #sweepMs: number;

  constructor(clock: Timepiece, ttlMs: number, { evicted, most }: TtlCacheOptions<K, V> = {}) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
    this.#evicted = evicted;
    this.#most = most ?? Number.POSITIVE_INFINITY;
    this.#sweepMs = monotonicMs(clock) + SWEEP_MS;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    return this.#current(key)?.value;
  }

  has(key: K): boolean {
    return this.#current(key) !== undefined;
  }

  /** Returns the expiry of an entry in milliseconds since the epoch, for messages. Returns undefined if there is no entry. */
  expiresMs(key: K): number | undefined {
    const entry = this.#current(key);
    return entry && Math.round(this.#clock.now() + entry.endsMs - monotonicMs(this.#clock));
  }

  #current(key: K): Entry<V> | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.endsMs > monotonicMs(this.#clock) ? entry : undefined;
  }

  set(key: K, value: V, ttlMs = this.#ttlMs): void {
    const nowMs = monotonicMs(this.#clock);
    if (nowMs >= this.#sweepMs) this.sweep();
    this.#entries.delete(key); // so that the entry becomes the last in the order of the map
    this.#entries.set(key, { value, endsMs: nowMs + ttlMs });
    const [oldest] = this.#entries.size > this.#most ? this.#entries.keys() : [];
    if (oldest !== undefined) this.delete(oldest);
  }

  delete(key: K): boolean {
    const entry = this.#entries.get(key);
    if (entry === undefined) return false;
    this.#entries.delete(key);
    this.#evicted?.(key, entry.value);
    return true;
  }

  /** Removes an entry without calling the eviction listener. */
  forget(key: K): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }

  keys(): K[] {
    const nowMs = monotonicMs(this.#clock);
    return [...this.#entries].filter(([, entry]) => entry.endsMs > nowMs).map(([key]) => key);
  }

  /** Removes expired entries and calls the eviction listener for each. */
  sweep(): void {
    const nowMs = monotonicMs(this.#clock);
    this.#sweepMs = nowMs + SWEEP_MS;
    for (const [key, entry] of [...this.#entries]) {
      if (entry.endsMs > nowMs) continue;
      this.#entries.delete(key);
      this.#evicted?.(key, entry.value);
    }
  }
}

export interface Freshness {
  /** If true, loads this value even if the cache has it. */
  readonly anew?: boolean;
}

/**
 * Cache that loads a value if it does not have this value. Concurrent callers share one load. The cache keeps values, but
 * not failures.
 */
export class LoadingCache<V> {
  readonly #cache: TtlCache<string, V>;
  readonly #loading = new Map<string, Promise<V>>();

  constructor(clock: Timepiece, ttlMs: number) {
    this.#cache = new TtlCache(clock, ttlMs);
  }

  async get(key: string, load: () => Promise<V>, ttlMs?: number): Promise<V> {
    if (this.#cache.has(key)) return this.#cache.get(key) as V;
    const running = this.#loading.get(key);
    if (running !== undefined) return running;
    const loading = load();
    this.#loading.set(key, loading);
    try {
      const value = await loading;
      this.#cache.set(key, value, ttlMs);
      return value;
    } finally {
      this.#loading.delete(key);
      this.#cache.sweep();
    }
  }

  set(key: string, value: V): void {
    this.#cache.set(key, value);
  }

  delete(key: string): void {
    this.#cache.delete(key);
  }

  clear(): void {
    this.#cache.clear();
  }
}

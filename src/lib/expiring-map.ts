import { monotonicMs, type Timepiece } from './clock.ts';

interface Entry<V> {
  readonly value: V;
  /** By `monotonicMs`. */
  readonly endsMs: number;
}

const SWEEP_MS = 60_000;

/** A map whose entries end after a time of their own. It takes no more memory than the entries of the last minutes. */
export class ExpiringMap<V> {
  readonly #clock: Timepiece;
  readonly #most: number;
  readonly #entries = new Map<string, Entry<V>>();
  #sweepMs = Number.NEGATIVE_INFINITY;

  /** @param most entries: the oldest go when there are more */
  constructor(clock: Timepiece, most: number) {
    this.#clock = clock;
    this.#most = most;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.endsMs > monotonicMs(this.#clock) ? entry.value : undefined;
  }

  set(key: string, value: V, ttlMs: number): void {
    const nowMs = monotonicMs(this.#clock);
    if (nowMs >= this.#sweepMs) this.#sweep(nowMs);
    this.#entries.delete(key); // an entry that is set anew is the newest
    this.#entries.set(key, { value, endsMs: nowMs + ttlMs });
    const [oldest] = this.#entries.size > this.#most ? this.#entries.keys() : [];
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  #sweep(nowMs: number): void {
    this.#sweepMs = nowMs + SWEEP_MS;
    for (const [key, { endsMs }] of this.#entries) if (endsMs <= nowMs) this.#entries.delete(key);
  }
}

/** Queue of keys for reconcilers. It stores that a key needs work, not how often the key was added. */

import { type Clock, monotonicMs } from '../lib/clock.ts';
import type { Limiter } from '../lib/limiter.ts';
import { backOffMs } from './backoff.ts';
import type { QueueMeter } from './queue-metrics.ts';
import type { BackOff } from './reconciler.ts';

/** Result of the work on a key. */
export type QueueResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'again'; readonly waitMs: number }
  /** The work failed or must be retried: at the key's next back-off step, but at most after `longestMs`. */
  | { readonly kind: 'retry'; readonly longestMs?: number };

interface QueueOptions {
  readonly clock: Clock;
  readonly concurrency: number;
  readonly backOff: BackOff;
  /** Rate limit that the retries of all keys share. */
  readonly retries: Limiter;
  /** Processes a key. `failures` is the number of its consecutive failures. Must not throw. */
  readonly work: (key: string, failures: number) => Promise<QueueResult>;
  readonly meter: QueueMeter;
  readonly random?: (() => number) | undefined;
}

/**
 * Each key is in one of these states. At most one worker processes a key at a time, and a key never waits twice.
 *
 *   idle ──add──▶ ready ──a worker is free──▶ running ──done──▶ idle
 *    │              ▲                            │ │ └─again, retry──▶ delayed
 *    └──addAfter──▶ delayed ──time is up, add──▲ │ └─add──▶ running, dirty ──finished──▶ ready
 *
 * For a delayed key, an earlier time replaces a later time. A dirty key is ready again immediately, regardless of its result.
 */
export class WorkQueue {
  readonly #options: QueueOptions;
  /** Keys in the order of arrival. */
  readonly #ready = new Set<string>();
  readonly #running = new Set<string>();
  readonly #dirty = new Set<string>();
  readonly #delayed = new Map<string, { readonly dueMs: number; readonly cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  #isOpen = false;
  #isStopped = false;
  #isPumpDue = false;
  #onIdle: (() => void) | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Number of keys that wait for a worker. */
  get depth(): number {
    return this.#ready.size;
  }

  /** Starts the work. Keys may be added before. */
  start(): void {
    this.#isOpen = true;
    this.#pump();
  }

  /** Starts no further work. Resolves when the work in progress has finished. */
  stop(): Promise<void> {
    this.#isStopped = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#ready.clear();
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  add(key: string): void {
    if (this.#isStopped) return;
    this.#undelay(key);
    if (this.#running.has(key)) {
      if (!this.#dirty.has(key)) this.#options.meter.added(key);
      this.#dirty.add(key);
      return;
    }
    if (this.#ready.has(key)) return;
    this.#ready.add(key);
    this.#options.meter.added(key);
    this.#pumpSoon();
  }

  addAfter(key: string, waitMs: number): void {
    if (waitMs <= 0) {
      this.add(key);
      return;
    }
    if (this.#isStopped || this.#ready.has(key)) return;
    const { clock } = this.#options;
    const dueMs = monotonicMs(clock) + waitMs;
    const present = this.#delayed.get(key);
    if (present && present.dueMs <= dueMs) return;
    present?.cancel();
    const cancel = clock.after(waitMs, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { dueMs, cancel });
  }

  #retry(key: string, longestMs = Number.POSITIVE_INFINITY): void {
    const { backOff, random, retries, meter } = this.#options;
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    meter.retried();
    this.addAfter(key, Math.max(Math.min(backOffMs(backOff, failures, random), longestMs), retries.reserve()));
  }

  #undelay(key: string): void {
    this.#delayed.get(key)?.cancel();
    this.#delayed.delete(key);
  }

  /** Starts work in the next turn of the event loop, after all listeners have received the events of this turn. */
  #pumpSoon(): void {
    if (this.#isPumpDue) return;
    this.#isPumpDue = true;
    setImmediate(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (!this.#isOpen || this.#isStopped) return;
    for (const key of this.#ready) {
      if (this.#running.size >= this.#options.concurrency) return;
      this.#ready.delete(key);
      this.#running.add(key);
      void this.#run(key);
    }
  }

  async #run(key: string): Promise<void> {
    const { meter, work } = this.#options;
    meter.started(key);
    const verdict = await work(key, this.#failures.get(key) ?? 0);
    meter.finished(key);
    this.#running.delete(key);
    if (verdict.kind !== 'retry') this.#failures.delete(key);
    if (this.#isStopped) {
      if (this.#running.size === 0) this.#onIdle?.();
      return;
    }
    if (this.#dirty.delete(key)) {
      // The key was added during its work. The work may have used old data, so its result is ignored, but its failure counts.
      if (verdict.kind === 'retry') this.#failures.set(key, (this.#failures.get(key) ?? 0) + 1);
      this.#ready.add(key);
    } else if (verdict.kind === 'retry') {
      this.#retry(key, verdict.longestMs);
    } else if (verdict.kind === 'again') {
      this.addAfter(key, verdict.waitMs);
    }
    this.#pump();
  }
}

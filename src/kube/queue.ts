/** Queue of keys for reconcilers. It stores that a key needs work, not how often the key was added. */

import { EarliestFirst } from '#lib';
import { type Clock, type Limiter, monotonicMs } from '#lib/clock';
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

/** End of a key's delay. */
interface Due {
  readonly key: string;
  readonly dueMs: number;
  /** Number of delays before this one. */
  readonly serial: number;
}

const isEarlier = (a: Due, b: Due): boolean => a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.serial < b.serial);
/** Number of outdated ends of delays that are kept besides one for each delayed key. */
const MOST_OUTDATED = 64;

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
  /** Ends of the delays by key. */
  readonly #delayed = new Map<string, number>();
  /** Ends of the delays in order. Some may be outdated: their keys are no longer delayed, or have another end. */
  #dues = new EarliestFirst<Due>(isEarlier);
  #serial = 0;
  /** Timer for the first end. One timer for each key would need more memory than the object of the key. */
  #alarm: { readonly dueMs: number; readonly cancel: () => void } | undefined;
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
    this.#alarm?.cancel();
    this.#delayed.clear();
    this.#ready.clear();
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  add(key: string): void {
    if (this.#isStopped) return;
    this.#delayed.delete(key);
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
    const dueMs = monotonicMs(this.#options.clock) + waitMs;
    const presentMs = this.#delayed.get(key);
    if (presentMs !== undefined && presentMs <= dueMs) return;
    this.#delayed.set(key, dueMs);
    if (this.#dues.size > 2 * this.#delayed.size + MOST_OUTDATED) this.#dropOutdated();
    else this.#pushDue(key, dueMs);
    this.#setAlarm();
  }

  #pushDue(key: string, dueMs: number): void {
    this.#serial += 1;
    this.#dues.push({ key, dueMs, serial: this.#serial });
  }

  #dropOutdated(): void {
    this.#dues = new EarliestFirst(isEarlier);
    for (const [key, dueMs] of this.#delayed) this.#pushDue(key, dueMs);
  }

  #setAlarm(): void {
    const { first } = this.#dues;
    if (first === undefined || (this.#alarm !== undefined && this.#alarm.dueMs <= first.dueMs)) return;
    this.#alarm?.cancel();
    const { clock } = this.#options;
    const cancel = clock.after(first.dueMs - monotonicMs(clock), () => {
      this.#alarm = undefined;
      this.#addDue();
    });
    this.#alarm = { dueMs: first.dueMs, cancel };
  }

  /** Adds the keys whose delay has ended. */
  #addDue(): void {
    const nowMs = monotonicMs(this.#options.clock);
    for (let { first } = this.#dues; first !== undefined && first.dueMs <= nowMs; { first } = this.#dues) {
      this.#dues.pop();
      if (this.#delayed.get(first.key) === first.dueMs) this.add(first.key);
    }
    this.#setAlarm();
  }

  #retry(key: string, longestMs = Number.POSITIVE_INFINITY): void {
    const { backOff, random, retries, meter } = this.#options;
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    meter.retried();
    this.addAfter(key, Math.max(Math.min(backOffMs(backOff, failures, random), longestMs), retries.reserve()));
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

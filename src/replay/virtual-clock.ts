/** Clock of a replay. The time stands still while work remains, and then jumps to the next timer. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '#lib/clock';

interface Timer {
  readonly dueMs: number;
  /** Serial number. Timers with the same due time fire in the order in which they were set. */
  readonly serial: number;
  fire: (() => void) | undefined;
}

/** Returns true for pending work of the event loop at this moment. Timers and sockets do not count. */
const isWork = (resource: string): boolean =>
  resource === 'Immediate' || resource.startsWith('FSReq') || resource === 'CloseReq';

/** Waits until all work that does not need time is finished. */
async function settle(): Promise<void> {
  do await nextTurn();
  while (process.getActiveResourcesInfo().some(isWork));
}

export class VirtualClock implements Clock {
  readonly #timers = new TimerHeap();
  readonly #sleepers = new WeakMap<AbortSignal, Sleepers>();
  #nowMs: number;
  #serial = 0;

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  now(): number {
    return Math.floor(this.#nowMs);
  }

  after(ms: number, fire: () => void): () => void {
    if (ms === Number.POSITIVE_INFINITY) return () => {};
    this.#serial += 1;
    const timer: Timer = { dueMs: this.#nowMs + Math.max(0, ms), serial: this.#serial, fire };
    this.#timers.add(timer);
    return () => {
      if (timer.fire === undefined) return;
      timer.fire = undefined;
      this.#timers.cancelled();
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const sleepers = signal && this.#sleepersUnder(signal);
      const stop = (): void => {
        cancel();
        resolve();
      };
      const cancel = this.after(ms, () => {
        sleepers?.delete(stop);
        resolve();
      });
      sleepers?.add(stop);
    });
  }

  #sleepersUnder(signal: AbortSignal): Sleepers {
    const known = this.#sleepers.get(signal);
    if (known !== undefined) return known;
    const sleepers = new Sleepers(signal);
    this.#sleepers.set(signal, sleepers);
    return sleepers;
  }

  /** Advances the time to `untilMs`, or until the signal aborts. Timers fire in order of their due time. */
  async runUntil(untilMs: number, signal?: AbortSignal): Promise<void> {
    await settle();
    while (!signal?.aborted) {
      const dueMs = this.#timers.nextDueMs();
      if (dueMs === undefined || dueMs > untilMs) break;
      this.#nowMs = Math.max(this.#nowMs, dueMs);
      for (let timer = this.#timers.takeDue(dueMs); timer !== undefined; timer = this.#timers.takeDue(dueMs))
        timer.fire?.();
      await settle();
    }
    if (!signal?.aborted) this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  /** Number of timers that have not fired. */
  get waiting(): number {
    return this.#timers.size;
  }
}

/**
 * Sleeps that one signal can end. They share one listener, because adding a listener to a signal takes longer if it
 * already has many. The listener is removed when no sleep remains, because Node keeps a signal of `AbortSignal.any`
 * while it has a listener.
 */
class Sleepers {
  readonly #signal: AbortSignal;
  readonly #stops = new Set<() => void>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** @param stop ends a sleep early */
  add(stop: () => void): void {
    if (this.#stops.size === 0) this.#signal.addEventListener('abort', this.#wake);
    this.#stops.add(stop);
  }

  delete(stop: () => void): void {
    this.#stops.delete(stop);
    if (this.#stops.size === 0) this.#signal.removeEventListener('abort', this.#wake);
  }

  readonly #wake = (): void => {
    for (const stop of this.#stops) stop();
    this.#stops.clear();
    this.#signal.removeEventListener('abort', this.#wake);
  };
}

const isEarlier = (one: Timer, other: Timer): boolean =>
  one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.serial < other.serial);

/** Cancelled timers stay in the heap until they are due, or until they are the larger part of it. */
const FEW_CANCELLED = 1_000;

/** Binary heap, ordered by due time. */
class TimerHeap {
  #heap: Timer[] = [];
  #cancelled = 0;

  get size(): number {
    return this.#heap.length - this.#cancelled;
  }

  add(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as Timer;
      if (!isEarlier(timer, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = timer;
  }

  cancelled(): void {
    this.#cancelled += 1;
    if (this.#cancelled < FEW_CANCELLED || this.#cancelled * 2 < this.#heap.length) return;
    const kept = this.#heap.filter(({ fire }) => fire !== undefined);
    this.#heap = [];
    this.#cancelled = 0;
    for (const timer of kept) this.add(timer);
  }

  nextDueMs(): number | undefined {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (first.fire !== undefined) return first.dueMs;
      this.#cancelled -= 1;
      this.#removeFirst();
    }
    return undefined;
  }

  /** Removes and returns the first timer that is due at this time. */
  takeDue(dueMs: number): { fire(): void } | undefined {
    const nextMs = this.nextDueMs();
    const first = this.#heap[0];
    if (nextMs === undefined || nextMs > dueMs || first?.fire === undefined) return undefined;
    const { fire } = first;
    // a cancellation has no effect from now on
    first.fire = undefined;
    this.#removeFirst();
    return { fire };
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isEarlier(heap[child + 1] as Timer, heap[child] as Timer)) child += 1;
      const below = heap[child] as Timer;
      if (!isEarlier(below, last)) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = last;
  }
}

/**
 * Lets one engine worker exist at a time if the memory limit has no room for two. A worker that starts ends the idle thread of
 * the other one, and the memory of this thread is released.
 */
import type { Clock } from '#lib/clock';

/** Engine worker that takes turns. */
export interface TurnTaker {
  /** True if the requests of pending pods must not wait for a long search of the other worker. */
  readonly isUrgent: boolean;
  readonly hasThread: boolean;
  /** Ends the thread. Requests in progress fail, and are sent again in the next turn. */
  endThread(): Promise<void>;
}

/** Maximum wait of an urgent request, in milliseconds: the default maximum of a batch window. */
const PATIENCE_MS = 10_000;

export class WorkerTurns {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #isShort: () => boolean;
  /** Number of requests in progress. */
  readonly #requests = new Map<TurnTaker, number>();
  readonly #waiting = new Set<() => void>();

  /** @param isShort returns true while only one worker may exist */
  constructor(clock: Pick<Clock, 'after'>, isShort: () => boolean) {
    this.#clock = clock;
    this.#isShort = isShort;
  }

  /** Registers a worker, so that requests of other workers end its thread. */
  join(taker: TurnTaker): void {
    this.#requests.set(taker, 0);
  }

  /** Waits until a request may start, and returns a function that must be called at the end of the request. */
  async begin(taker: TurnTaker): Promise<() => void> {
    // an urgent request counts while it waits, so that no further request of the other worker overtakes it
    if (taker.isUrgent) this.#count(taker, 1);
    for (let other = this.#obstacleOf(taker); other !== undefined; other = this.#obstacleOf(taker)) {
      if (this.#isBusy(other)) await this.#patience(taker, other);
      if (taker.isUrgent || !this.#isBusy(other)) await other.endThread();
    }
    if (!taker.isUrgent) this.#count(taker, 1);
    return () => this.#count(taker, -1);
  }

  #count(taker: TurnTaker, change: 1 | -1): void {
    this.#requests.set(taker, (this.#requests.get(taker) ?? 0) + change);
    for (const wake of [...this.#waiting]) wake();
  }

  #isBusy(taker: TurnTaker): boolean {
    return (this.#requests.get(taker) ?? 0) > 0;
  }

  /** Returns another worker that has a thread or is about to start one. */
  #obstacleOf(taker: TurnTaker): TurnTaker | undefined {
    if (!this.#isShort()) return undefined;
    const others = [...this.#requests.keys()].filter((other) => other !== taker);
    return others.find((other) => other.hasThread || (!taker.isUrgent && this.#isBusy(other)));
  }

  /** Waits until the other worker has no requests, or until an urgent request has waited long enough. */
  #patience(taker: TurnTaker, other: TurnTaker): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        cancel?.();
        this.#waiting.delete(wake);
        resolve();
      };
      const wake = (): void => {
        if (!this.#isBusy(other)) end();
      };
      this.#waiting.add(wake);
      const cancel = taker.isUrgent ? this.#clock.after(PATIENCE_MS, end) : undefined;
    });
  }
}

/**
 * Permission to write. Each client that can write has a fence. The client checks the fence immediately before it sends a mutating
 * request, so that an operator without its lease changes no objects, even if work is still in progress.
 *
 *   closed ──lease acquired──▶ open ──renewed──▶ open ──not renewed within the deadline, or ended──▶ ended
 */
import { setMaxListeners } from 'node:events';
import { type Clock, type Elapsed, since } from '#lib/clock';

export interface Fence {
  /** Aborts when the permission ends permanently. Waiting requests are dropped, and open requests are aborted. */
  readonly signal: AbortSignal;
  /** True while writes are permitted. */
  readonly isOpen: boolean;
  /** @throws NotPermitted unless writes are permitted now */
  check(): void;
}

/** A mutating request that was not sent. */
export class NotPermitted extends Error {
  constructor(reason: string) {
    super(`the request was not sent: ${reason}`);
    this.name = 'NotPermitted';
  }
}

/** Creates a fence for a process without a lease: the local world, replays, and an operator without leader election. */
export const openFence = (): Fence => ({
  signal: signalOf(new AbortController()),
  isOpen: true,
  check: () => undefined,
});

/** Creates a fence for a client that only reads. */
export const closedFence = (): Fence => ({
  signal: signalOf(new AbortController()),
  isOpen: false,
  check: () => {
    throw new NotPermitted('this client is read-only');
  },
});

/** Default time within which a leader must renew its lease, in milliseconds. Karpenter has the same default. */
const RENEW_DEADLINE_MS = 10_000;

/** Fence of an operator that works under a lease: open from the election until the renew deadline passes. */
export class Leadership implements Fence {
  readonly renewDeadlineMs: number;
  readonly #clock: Clock;
  readonly #ended = new AbortController();
  #reason = 'this replica does not hold the leader election lease';
  /** Time since the start of the last successful renewal; undefined before the election. */
  #renewed: Elapsed | undefined;
  #cancelTimer = (): void => undefined;

  constructor(clock: Clock, renewDeadlineMs = RENEW_DEADLINE_MS) {
    this.#clock = clock;
    this.renewDeadlineMs = renewDeadlineMs;
    signalOf(this.#ended);
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  get isOpen(): boolean {
    return !this.signal.aborted && this.remainingMs > 0;
  }

  /** Milliseconds until the renew deadline; 0 or less if the lease is not held. */
  get remainingMs(): number {
    return this.#renewed === undefined ? 0 : this.renewDeadlineMs - this.#renewed.atMost();
  }

  /** Opens the fence or keeps it open. @param started time since the lease request was sent, not since its response */
  renew(started: Elapsed = since(this.#clock)): void {
    if (this.signal.aborted) return;
    this.#renewed = started;
    this.#watch();
  }

  /** Closes the fence permanently. A later renewal has no effect. */
  end(reason: string): void {
    this.#cancelTimer();
    if (this.signal.aborted) return;
    this.#reason = reason;
    this.#ended.abort(new NotPermitted(reason));
  }

  check(): void {
    if (this.isOpen) return;
    if (this.#renewed !== undefined) this.#expire();
    throw new NotPermitted(this.#reason);
  }

  /** Ends this leadership at the deadline even if no request is checked and no renewal returns. */
  #watch(): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(Math.max(0, this.remainingMs), () =>
      // the timer fires early if the machine's time is set
      this.isOpen ? this.#watch() : this.#expire(),
    );
  }

  #expire(): void {
    this.end(`the leader election lease was not renewed within ${this.renewDeadlineMs / 1_000} s`);
  }
}

/** Removes the listener limit of a signal. Each open request adds a listener, so many listeners do not indicate a leak. */
function signalOf({ signal }: AbortController): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}

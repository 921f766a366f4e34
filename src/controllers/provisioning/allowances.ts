/** Number of launches of a namespace that may still be unproductive. Returns to its usual value with time. */
import { monotonicMs, type Timepiece } from '#lib/clock';

/** Usual number of allowances. */
export const MOST_ALLOWANCES = 8;
/** Below this many allowances, the namespace launches at most as many nodes at a time as it has allowances. */
export const FEW_ALLOWANCES = MOST_ALLOWANCES / 2;

export class Allowances {
  readonly #clock: Timepiece;
  readonly #returnMs: number;
  #left: number;
  #sinceMs: number;

  /** @param returnMs time until one allowance returns */
  constructor(clock: Timepiece, returnMs: number, left = MOST_ALLOWANCES) {
    this.#clock = clock;
    this.#returnMs = returnMs;
    this.#left = left;
    this.#sinceMs = monotonicMs(clock);
  }

  /** Number of allowances now. A fraction counts the time until the next allowance. */
  get left(): number {
    const nowMs = monotonicMs(this.#clock);
    const change = (nowMs - this.#sinceMs) / this.#returnMs;
    this.#sinceMs = nowMs;
    const missing = MOST_ALLOWANCES - this.#left;
    this.#left = Math.abs(missing) <= change ? MOST_ALLOWANCES : this.#left + Math.sign(missing) * change;
    return this.#left;
  }

  take(): void {
    this.#left = Math.max(0, this.left - 1);
  }

  /** Adds an allowance, at most up to `most`. */
  giveBack(most = MOST_ALLOWANCES): void {
    this.#left = Math.max(this.left, Math.min(most, this.left + 1));
  }

  /** Returns the time at which this number of allowances is left, by `monotonicMs`. */
  atMs(count: number): number {
    return monotonicMs(this.#clock) + Math.max(0, count - this.left) * this.#returnMs;
  }

  /**
   * Returns the maximum number of nodes that may be under way together.
   * @param expected number of launches that are expected to take an allowance
   */
  atOnce(expected = 0): number {
    const rest = this.left - expected;
    return rest < FEW_ALLOWANCES ? Math.max(0, Math.floor(rest)) : Number.POSITIVE_INFINITY;
  }
}

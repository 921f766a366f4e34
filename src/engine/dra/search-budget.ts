/** Work that the allocation for one pod may cost. */

export class BudgetError extends Error {}

/** Maximum number of devices that are tried for one pod, on all nodes together. */
export const MOST_STEPS = 200_000;
/** Maximum cost of selectors for one pod. A unit is one of the Common Expression Language. */
export const MOST_UNITS = 10_000_000;
/** Units that a search counts as if it reached the maximum number of steps, which takes about as long. */
const UNITS_OF_MOST_STEPS = 2_000_000;
/** Maximum time for one pod. Evaluations of selectors can be slow, although each has a cost limit. */
export const MOST_MS = 5_000;

const TOO_LONG = 'allocation of devices took longer than 5s';
const TOO_MANY = `allocation of devices needs more than ${MOST_STEPS} steps`;
const TOO_EXPENSIVE = `selectors of devices cost more than ${MOST_UNITS} units; simplify them`;
const STEPS_PER_LOOK = 64;

interface BudgetOptions {
  /** Monotonic clock of the caller. Without a clock, only steps and units count. */
  readonly elapsedMs?: (() => number) | undefined;
  /** Receives the units of the search. */
  readonly onUnits?: ((units: number) => void) | undefined;
}

export class SearchBudget {
  #steps = 0;
  #units = 0;
  readonly #elapsedMs: (() => number) | undefined;
  readonly #onUnits: ((units: number) => void) | undefined;
  readonly #startMs: number;

  constructor({ elapsedMs, onUnits }: BudgetOptions = {}) {
    this.#elapsedMs = elapsedMs;
    this.#onUnits = onUnits;
    this.#startMs = elapsedMs?.() ?? 0;
  }

  get steps(): number {
    return this.#steps;
  }

  /** @throws {BudgetError} if the budget is spent */
  spend(): void {
    this.#steps++;
    if (this.#steps > MOST_STEPS) {
      if (this.#steps === MOST_STEPS + 1) this.#onUnits?.(UNITS_OF_MOST_STEPS);
      throw new BudgetError(TOO_MANY);
    }
    if (this.#steps % STEPS_PER_LOOK === 0) this.spendTime();
  }

  /** @throws {BudgetError} if the selectors cost too much or the time is over */
  spendUnits(units: number): void {
    this.#units += units;
    this.#onUnits?.(units);
    if (this.#units > MOST_UNITS) throw new BudgetError(TOO_EXPENSIVE);
    this.spendTime();
  }

  /** @throws {BudgetError} if the time is over */
  spendTime(): void {
    if (this.#elapsedMs !== undefined && this.#elapsedMs() - this.#startMs > MOST_MS) throw new BudgetError(TOO_LONG);
  }
}

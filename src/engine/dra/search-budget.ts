/** Work that the allocation for one pod may cost. */

export class BudgetError extends Error {}

/** Maximum number of devices that are tried for one pod, on all nodes together. */
export const MOST_STEPS = 200_000;
/** Maximum time for one pod. Evaluations of selectors can be slow, although each has a cost limit. */
export const MOST_MS = 5_000;

const TOO_LONG = 'allocation of devices took longer than 5s';
const TOO_MANY = `allocation of devices needs more than ${MOST_STEPS} steps`;
const STEPS_PER_LOOK = 64;

export class SearchBudget {
  #steps = 0;
  readonly #elapsedMs: (() => number) | undefined;
  readonly #startMs: number;

  /** @param elapsedMs monotonic clock of the caller. Without a clock, only steps count. */
  constructor(elapsedMs?: () => number) {
    this.#elapsedMs = elapsedMs;
    this.#startMs = elapsedMs?.() ?? 0;
  }

  get steps(): number {
    return this.#steps;
  }

  /** @throws {BudgetError} if the budget is spent */
  spend(): void {
    this.#steps++;
    if (this.#steps > MOST_STEPS) throw new BudgetError(TOO_MANY);
    if (this.#steps % STEPS_PER_LOOK === 0) this.spendTime();
  }

  /** @throws {BudgetError} if the time is over */
  spendTime(): void {
    if (this.#elapsedMs !== undefined && this.#elapsedMs() - this.#startMs > MOST_MS) throw new BudgetError(TOO_LONG);
  }
}

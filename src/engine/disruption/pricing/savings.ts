/** Computes the savings of a move. */

const HOUR_MS = 3_600_000;

/** Node that the move removes. */
export interface Given {
  readonly usdPerHour: number;
  /** Time at which its NodeClaim and instance were gone. Undefined while they exist. */
  readonly goneMs?: number;
}

/** Node that was launched because of the move: a replacement, or a later node for the moved pods. */
export interface Taken {
  readonly usdPerHour: number;
  /** Launch time. For replacements, this time is before the start of the move. */
  readonly launchedMs: number;
  readonly goneMs?: number;
}

export interface Account {
  /**
   * Savings in USD per hour at the time of the command: the price of the candidates minus the lowest price of the replacements.
   */
  readonly predictedUsdPerHour: number;
  /** Time at which the candidates were deleted. */
  readonly startedMs: number;
  readonly given: readonly Given[];
  readonly taken: readonly Taken[];
}

const hours = (fromMs: number, toMs: number): number => Math.max(0, toMs - fromMs) / HOUR_MS;

/**
 * Returns the predicted savings in USD from the start of the move until a time: the predicted rate multiplied by the elapsed
 * time.
 */
export const predictedUsd = ({ predictedUsdPerHour, startedMs }: Account, untilMs: number): number =>
  predictedUsdPerHour * hours(startedMs, untilMs);

/**
 * Returns the savings in USD from the start of the move until a time. The result is the cost of every removed node from the time
 * at which it was gone, minus the cost of every added node from its launch until it was gone. The result therefore includes the
 * cost of the time in which both ran, of launches of a type that is not the cheapest, and of capacity that was launched again.
 * It may be negative.
 */
export function realisedUsd({ given, taken }: Account, untilMs: number): number {
  const saved = given.map(({ usdPerHour, goneMs = untilMs }) => usdPerHour * hours(goneMs, untilMs));
  const spent = taken.map(
    ({ usdPerHour, launchedMs, goneMs = untilMs }) => usdPerHour * hours(launchedMs, Math.min(goneMs, untilMs)),
  );
  return sum(saved) - sum(spent);
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

/** What a move has brought, in money. */

const HOUR_MS = 3_600_000;

/** A node that the move takes away. */
export interface Given {
  readonly usdPerHour: number;
  /** When its NodeClaim was gone, and its instance with it; undefined while it is there. */
  readonly goneMs?: number;
}

/** A node that was bought in the move's wake: a replacement, or one bought again for what it moved. */
export interface Taken {
  readonly usdPerHour: number;
  /** When it was launched, which for replacements is before the move's own beginning. */
  readonly launchedMs: number;
  readonly goneMs?: number;
}

export interface Account {
  /** USD per hour that the command promised: the price of its candidates less the cheapest price of its replacements. */
  readonly predictedUsdPerHour: number;
  /** When the candidates were deleted. */
  readonly startedMs: number;
  readonly given: readonly Given[];
  readonly taken: readonly Taken[];
}

const hours = (fromMs: number, toMs: number): number => Math.max(0, toMs - fromMs) / HOUR_MS;

/** USD that the move was to save from its beginning until a time: the promised rate times the time passed. */
export const predictedUsd = ({ predictedUsdPerHour, startedMs }: Account, untilMs: number): number =>
  predictedUsdPerHour * hours(startedMs, untilMs);

/**
 * USD that the move has saved until a time. It is the rent of every node that was given, from the time when it was gone;
 * less the rent of every node that was taken, from its launch until it was gone. So the time in which both ran costs,
 * a launch that fell to a dearer type than the cheapest costs, and capacity that is bought again costs. It may be
 * negative.
 */
export function realisedUsd({ given, taken }: Account, untilMs: number): number {
  const saved = given.map(({ usdPerHour, goneMs = untilMs }) => usdPerHour * hours(goneMs, untilMs));
  const spent = taken.map(
    ({ usdPerHour, launchedMs, goneMs = untilMs }) => usdPerHour * hours(launchedMs, Math.min(goneMs, untilMs)),
  );
  return sum(saved) - sum(spent);
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

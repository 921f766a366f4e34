/** Computes the windows in which a budget will be active. */
import { parseDuration } from '../../../api/duration.ts';
import { type Budget, isBudgetActive } from './budgets.ts';
import { nextHitMs } from './hits.ts';

/** Time from `fromMs`, inclusive, to `toMs`, exclusive. */
export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Windows {
  /** Windows in order, without overlap. The first may begin before the requested period, and the last may end after it. */
  readonly windows: readonly Window[];
  /** Time until which the windows are known. Earlier than the end of the requested period if the schedule hits too often. */
  readonly knownToMs: number;
}

/** Maximum number of hits of one schedule. Sufficient for a hit in every minute of a week, which takes most of a second. */
export const MOST_HITS = 10_080;
/** Precision of the search. Schedules hit at whole minutes. */
const PRECISION_MS = 1_000;

/**
 * Returns the windows between two times in which a budget is active.
 * @throws Error if the schedule or the duration is not valid
 */
export function windowsOf(budget: Budget, { fromMs, toMs }: Window, mostHits = MOST_HITS): Windows {
  const { schedule, duration } = budget;
  const isInForce = isBudgetActive(budget, fromMs);
  if (schedule === undefined || duration === undefined) return { windows: [{ fromMs, toMs }], knownToMs: toMs };
  const lengthMs = parseDuration(duration);
  const windows: Window[] = [];
  let hitMs = isInForce ? lastHitMs(schedule, fromMs, lengthMs) : nextHitMs(schedule, fromMs);
  for (let hits = 0; hitMs < toMs; hits++) {
    if (hits === mostHits) return { windows, knownToMs: hitMs };
    const last = windows.at(-1);
    // adjacent windows count as one
    if (last !== undefined && hitMs <= last.toMs) windows[windows.length - 1] = { ...last, toMs: hitMs + lengthMs };
    else windows.push({ fromMs: hitMs, toMs: hitMs + lengthMs });
    hitMs = nextHitMs(schedule, hitMs);
  }
  return { windows, knownToMs: toMs };
}

/** Returns the last hit up to a time, by a binary search over next hits. There must be a hit less than `withinMs` ago. */
function lastHitMs(schedule: string, nowMs: number, withinMs: number): number {
  let [earliest, latest] = [nowMs - withinMs, nowMs];
  while (latest - earliest > PRECISION_MS) {
    const middle = (earliest + latest) / 2;
    if (nextHitMs(schedule, middle) <= nowMs) earliest = middle;
    else latest = middle;
  }
  return nextHitMs(schedule, earliest);
}

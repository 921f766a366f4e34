/** The windows of time in which a budget is in force, ahead of time. */
import { parseDuration } from '../../../api/duration.ts';
import { type Budget, isBudgetActive } from './budgets.ts';
import { nextHitMs } from './hits.ts';

/** From `fromMs` on, up to and without `toMs`. */
export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Windows {
  /** In order, apart from each other. The first may have begun earlier, the last may end later than what was asked for. */
  readonly windows: readonly Window[];
  /** Up to when they are known: earlier than what was asked for where the schedule hits too often to walk it. */
  readonly knownToMs: number;
}

/** Hits of one schedule that are looked at: those of every minute of a week, which takes most of a second. */
export const MOST_HITS = 10_080;
/** Schedules hit at whole minutes. */
const PRECISION_MS = 1_000;

/**
 * When a budget is in force between two times.
 * @throws Error when the schedule or the duration cannot be read
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
    // windows that touch are one
    if (last !== undefined && hitMs <= last.toMs) windows[windows.length - 1] = { ...last, toMs: hitMs + lengthMs };
    else windows.push({ fromMs: hitMs, toMs: hitMs + lengthMs });
    hitMs = nextHitMs(schedule, hitMs);
  }
  return { windows, knownToMs: toMs };
}

/** The last hit up to a time, by the next hits of earlier ones. At least one must be less than `withinMs` ago. */
function lastHitMs(schedule: string, nowMs: number, withinMs: number): number {
  let [earliest, latest] = [nowMs - withinMs, nowMs];
  while (latest - earliest > PRECISION_MS) {
    const middle = (earliest + latest) / 2;
    if (nextHitMs(schedule, middle) <= nowMs) earliest = middle;
    else latest = middle;
  }
  return nextHitMs(schedule, earliest);
}

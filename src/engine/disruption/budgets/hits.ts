/** Computes the hits of schedules. */
import type { Cron } from 'croner';
import { parseCron } from '#api/values';

/** Cached hit. It is the next hit for all times from `fromMs` until the hit. */
interface Found {
  readonly cron: Cron;
  readonly fromMs: number;
  readonly hitMs: number;
}

/** Maximum number of schedules with a cached hit. */
const MOST_FOUND = 1_024;
const found = new Map<string, Found>();

/**
 * Returns the first hit of a schedule after a time, or Infinity if there is none. Caches the result, because a search without a
 * hit (`0 0 30 2 *`) takes a third of a second, and budgets are evaluated very often.
 * @throws Error like `parseCron`
 */
export function nextHitMs(schedule: string, fromMs: number): number {
  const known = found.get(schedule);
  if (known !== undefined && known.fromMs <= fromMs && fromMs < known.hitMs) return known.hitMs;
  const cron = known?.cron ?? parseCron(schedule);
  const hitMs = cron.nextRun(new Date(fromMs))?.getTime() ?? Number.POSITIVE_INFINITY;
  const [oldest] = found.size < MOST_FOUND ? [] : found.keys();
  if (oldest !== undefined) found.delete(oldest);
  found.set(schedule, { cron, fromMs, hitMs });
  return hitMs;
}

/** When schedules hit. */
import type { Cron } from 'croner';
import { parseCron } from '../../../api/cron.ts';

/** A hit that has been looked for: from that time on and until the hit, it is the next one. */
interface Found {
  readonly cron: Cron;
  readonly fromMs: number;
  readonly hitMs: number;
}

/** Schedules of which the last hit is kept. */
const MOST_FOUND = 1_024;
const found = new Map<string, Found>();

/**
 * The first hit of a schedule after a time; infinite when there is none. Looking for it takes a third of a second where
 * there is none (`0 0 30 2 *`), and budgets are asked again and again: it is looked for once.
 * @throws Error as `parseCron`
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

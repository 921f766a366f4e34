/** How long to wait before the next try. */
import type { BackOff } from './reconciler.ts';

/** Part of a wait that is random, so that many that failed together do not come back together. */
const JITTER = 0.1;

/**
 * Doubles from `baseMs` to `maxMs` with the number of failures so far (0: the first wait), plus up to a tenth.
 * `random` answers numbers in [0, 1).
 */
export function backOffMs({ baseMs, maxMs }: BackOff, failures: number, random: () => number = Math.random): number {
  const waitMs = Math.min(maxMs, baseMs * 2 ** Math.min(failures, 60));
  return waitMs * (1 + JITTER * random());
}

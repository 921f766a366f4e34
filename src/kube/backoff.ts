/** Computes the wait before the next try. */
import type { BackOff } from './reconciler.ts';

/** Maximum random part of a wait, so that requests that failed together are not retried together. */
const JITTER = 0.1;

/**
 * Returns a wait that doubles from `baseMs` to `maxMs` with the number of earlier failures, plus a random part of up to a tenth.
 * The first wait has 0 failures. `random` returns numbers in [0, 1).
 */
export function backOffMs({ baseMs, maxMs }: BackOff, failures: number, random: () => number = Math.random): number {
  const waitMs = Math.min(maxMs, baseMs * 2 ** Math.min(failures, 60));
  return waitMs * (1 + JITTER * random());
}

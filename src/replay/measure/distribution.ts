/** How waits are distributed, in as many figures as a plot needs. */
import type { WaitingSummary } from '../result.ts';

type Distribution = NonNullable<WaitingSummary['upTo']>;

/** Bounds of each factor of ten: finer where most waits are told apart. */
const MANTISSAS = [1, 1.5, 2, 3, 4, 5, 6, 7, 8];

/**
 * How many waits are at most so long, by growing bounds up to the longest.
 * @param sorted milliseconds, the shortest first
 */
export function distribution(sorted: ArrayLike<number>): Distribution {
  const entries: Distribution[number][] = [];
  let pods = 0;
  for (let factor = 1; pods < sorted.length; factor *= 10)
    for (const mantissa of MANTISSAS) {
      if (pods === sorted.length) break;
      const seconds = factor * mantissa;
      while (pods < sorted.length && (sorted[pods] ?? 0) <= seconds * 1000) pods += 1;
      if (pods > 0) entries.push({ seconds, pods });
    }
  return entries;
}

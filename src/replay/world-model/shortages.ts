/** Pools that are sold out for a while. */

import { chance } from '../../local/aws/random.ts';
import type { Pool } from '../../local/aws/types.ts';
import { exponential } from './draws.ts';
import type { WorldModel } from './world-model.ts';

const HOUR_MS = 3_600_000;

/** When a pool changes, in turn; the first entry is the end of what it was at the start. */
interface Changes {
  readonly beganSoldOut: boolean;
  readonly at: number[];
}

/**
 * Whether a pool is sold out at a moment; undefined when none ever is. Times of both kinds are exponential, so that the
 * share of the model holds from the start on. Reserved capacity is never sold out. The answer depends on the seed, the
 * pool and the moment alone.
 */
export function shortages(
  { soldOut, seed }: Pick<WorldModel, 'soldOut' | 'seed'>,
  startMs: number,
): ((pool: Pool, atMs: number) => boolean) | undefined {
  if (soldOut.spot === 0 && soldOut.onDemand === 0) return undefined;
  const known = new Map<string, Changes>();
  return ({ instanceType, zone, capacityType }, atMs) => {
    const share = capacityType === 'spot' ? soldOut.spot : capacityType === 'on-demand' ? soldOut.onDemand : 0;
    if (share === 0 || share === 1) return share === 1;
    const pool = `${instanceType}/${zone}/${capacityType}`;
    let changes = known.get(pool);
    if (changes === undefined) {
      changes = { beganSoldOut: chance(seed, 'sold out', pool) < share, at: [] };
      known.set(pool, changes);
    }
    return isSoldOutAt(changes, Math.max(0, atMs - startMs), (nth, isSoldOut) => {
      const hours = isSoldOut ? soldOut.hours : (soldOut.hours * (1 - share)) / share;
      return hours * HOUR_MS * exponential(seed, 'sold out for', pool, nth);
    });
  };
}

function isSoldOutAt(
  { beganSoldOut, at }: Changes,
  passedMs: number,
  lengthOf: (nth: number, isSoldOut: boolean) => number,
): boolean {
  while ((at.at(-1) ?? -1) <= passedMs) {
    const isSoldOut = beganSoldOut === (at.length % 2 === 0);
    at.push((at.at(-1) ?? 0) + lengthOf(at.length, isSoldOut));
  }
  const changed = at.findLastIndex((end) => end <= passedMs) + 1;
  return beganSoldOut === (changed % 2 === 0);
}

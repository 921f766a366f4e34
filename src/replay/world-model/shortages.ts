/** Pools without capacity for a limited time. */

import { chance } from '../../local/aws/random.ts';
import type { Pool } from '../../local/aws/types.ts';
import { exponential } from './draws.ts';
import type { WorldModel } from './world-model.ts';

const HOUR_MS = 3_600_000;

/** Times at which a pool changes between the two states. The first entry is the end of the initial state. */
interface Changes {
  readonly beganSoldOut: boolean;
  readonly at: number[];
}

/**
 * Returns a function that reports if a pool is sold out at a moment, or undefined if pools are never sold out. The
 * durations of both states are exponential, so the share of the model applies from the start. Reserved capacity is
 * never sold out. The result depends only on the seed, the pool and the moment.
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

/** Deterministic random numbers for a seed (mulberry32). */
export interface Dice {
  /** Returns a number from 0 to `most`, both included. */
  upTo(most: number): number;
  /** @throws RangeError if there is nothing to pick from */
  pick<T>(from: readonly T[]): T;
}

export function dice(seed: number): Dice {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const upTo = (most: number): number => Math.floor(next() * (most + 1));
  return {
    upTo,
    pick(from) {
      if (from.length === 0) throw new RangeError('cannot pick from nothing');
      return from[upTo(from.length - 1)] as (typeof from)[number];
    },
  };
}

/** Returns true in one of `cases` cases on average. */
export const oneIn = (roll: Dice, cases: number): boolean => roll.upTo(cases - 1) === 0;

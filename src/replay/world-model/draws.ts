/** Random numbers that depend only on the seed and on their purpose, and not on previous random numbers. */
import { chance } from '#local/aws';

type What = readonly (string | number)[];

/** Returns an exponentially distributed number with mean 1, for memoryless waiting times. */
export const exponential = (...what: What): number => -Math.log(1 - chance(...what));

/**
 * Returns a normally distributed number with mean 0 and standard deviation 1, from two independent numbers in [0, 1).
 */
export const normalOf = (first: number, second: number): number =>
  Math.sqrt(-2 * Math.log(1 - first)) * Math.cos(2 * Math.PI * second);

export const normal = (...what: What): number => normalOf(chance(...what, 'radius'), chance(...what, 'angle'));

/** Draws that depend on the seed and on what they are for, and on nothing that was drawn before. */
import { chance } from '../../local/aws/random.ts';

type What = readonly (string | number)[];

/** Of mean 1, exponential: what waits without memory. */
export const exponential = (...what: What): number => -Math.log(1 - chance(...what));

/** Of mean 0 and standard deviation 1, normal, of two independent draws in [0, 1). */
export const normalOf = (first: number, second: number): number =>
  Math.sqrt(-2 * Math.log(1 - first)) * Math.cos(2 * Math.PI * second);

export const normal = (...what: What): number => normalOf(chance(...what, 'radius'), chance(...what, 'angle'));

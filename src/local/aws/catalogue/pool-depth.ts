/** Returns the spare capacity of a spot pool, from 0 for the least to 1 for the most. */
import { chance } from '../random.ts';

export const poolDepth = (seed: number, type: string, zone: string): number => chance(seed, 'depth', type, zone);

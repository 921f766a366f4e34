/** How much spare capacity a spot pool has: 0 for the shallowest to 1 for the deepest. */
import { chance } from '../random.ts';

export const poolDepth = (seed: number, type: string, zone: string): number => chance(seed, 'depth', type, zone);

/** Extremes of every field of a NodeClaim, a NodeOverlay and a CapacityBuffer. */
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { customInputs } from './custom-inputs.ts';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';
import { expectBounded } from './memory.ts';
import { play } from './play.ts';

let hostile: HostileWorld;
beforeAll(async () => {
  hostile = await startHostileWorld();
});
afterAll(() => hostile.stop());

describe('the operator handles an extreme value of', () => {
  it.each(['NodeClaim', 'NodeOverlay', 'CapacityBuffer'].flatMap(customInputs))('$name', (input) =>
    play(hostile, input));

  it('all of these within its memory limits', () => expectBounded(hostile));
});

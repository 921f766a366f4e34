/** Extremes of every field of a NodePool. */
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
  it.each(customInputs('NodePool'))('$name', (input) => play(hostile, input));

  it('all of these within its memory limits', () => expectBounded(hostile));
});

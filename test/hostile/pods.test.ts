/** Pods with extreme specs. */
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { NODE_POOL } from '#api/objects';
import { openPool } from './healthy.ts';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';
import { expectBounded } from './memory.ts';
import { play } from './play.ts';
import { POD_INPUTS } from './pod-inputs.ts';

let hostile: HostileWorld;
beforeAll(async () => {
  hostile = await startHostileWorld({ furniture: [[NODE_POOL, openPool()]] });
});
afterAll(() => hostile.stop());

describe('the operator', () => {
  // one at a time, because pods of different inputs would share nodes
  it.each(POD_INPUTS)('survives $name', (input) => play(hostile, input));

  it('survives all of these pods within its memory limits', () => expectBounded(hostile));
});

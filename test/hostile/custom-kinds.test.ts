/** Extremes of every field of a NodePool, a NodeClaim, a NodeOverlay, a NodePolicy and a CapacityBuffer. */
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { customInputs } from './custom-inputs.ts';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';
import { expectBounded } from './memory.ts';
import { playObjects } from './play.ts';
import { groupsOf } from './together.ts';

/** Number of fields whose values exist at the same time. */
const TOGETHER = 4;

let hostile: HostileWorld;
beforeAll(async () => {
  hostile = await startHostileWorld({ aws: { stateChangeEvents: true } });
});
afterAll(() => hostile.stop());

describe('the operator', () => {
  it.each(
    ['NodePool', 'NodeClaim', 'NodeOverlay', 'NodePolicy', 'CapacityBuffer'].flatMap((kind) =>
      groupsOf(customInputs(kind), TOGETHER),
    ),
  )('handles an extreme value of $names', ({ inputs }) => playObjects(hostile, inputs));

  it('handles all of these values within its memory limits', () => expectBounded(hostile));
});

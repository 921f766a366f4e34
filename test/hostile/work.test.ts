/** The operator keeps its lease and launches nodes in time despite expensive objects. */
import { afterAll, beforeAll, describe, it } from '@jest/globals';
import { NODE_POOL } from '#api/objects';
import { wholeCatalogue } from '../support/catalogue.ts';
import { openPool } from './healthy.ts';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';
import { expectBounded } from './memory.ts';
import { play } from './play.ts';
import { WORK_INPUTS } from './work-inputs.ts';

let hostile: HostileWorld;
beforeAll(async () => {
  hostile = await startHostileWorld({
    furniture: [[NODE_POOL, openPool()]],
    // all instance types, because rules are compared with each of them
    aws: { catalogue: wholeCatalogue() },
    env: { AWS_FEATURE_GATES: 'NodeClassCEL=true' },
  });
});
afterAll(() => hostile.stop());

describe('the operator', () => {
  it.each(WORK_INPUTS)('survives $name', (input) => play(hostile, input));

  it('survives all of these objects within its memory limits', () => expectBounded(hostile));
});

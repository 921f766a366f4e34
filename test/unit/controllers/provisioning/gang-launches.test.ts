import { describe, expect, it } from '@jest/globals';
import { type PlannedClaim, podKey } from '#engine/model';
import { wholeGangs } from '../../../../src/controllers/provisioning/gang-launches.ts';
import { pod } from '../../engine/build.ts';
import { gang } from '../../engine/gangs/build.ts';

const web = pod('web');
const [a, b, other] = [gang('a', { pods: 2 }), gang('b', { pods: 2 }), [web]];
const pods = new Map([...a, ...b, ...other].map((each) => [podKey(each), each]));
const claim = (...names: readonly string[]): PlannedClaim =>
  ({ nodePool: 'default', pods: names.map((name) => `default/${name}`) }) as unknown as PlannedClaim;

describe('a claim of a gang that the launch budget holds back', () => {
  const [a0, a1, b0, b1, single] = [claim('a-0'), claim('a-1'), claim('b-0'), claim('b-1'), claim('web')];
  const all = [a0, a1, b0, b1, single];
  const waiting = (claims: readonly PlannedClaim[], ...short: readonly PlannedClaim[]) =>
    claims.filter((each) => wholeGangs(claims, new Set(short), pods).has(each));

  it('waits if no claim of the gang is admitted', () => {
    expect(waiting(all, a0, a1)).toEqual([a0, a1]);
  });

  it('is admitted if one claim of the gang is admitted', () => {
    expect(waiting(all, a1, b0, b1)).toEqual([b0, b1]);
  });

  it('is admitted with a gang on the same node', () => {
    const shared = claim('a-1', 'b-0');
    expect(waiting([a0, shared, b1, single], shared, b1, single)).toEqual([single]);
  });
});

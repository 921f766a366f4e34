/** Response of `/debug/holds`. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PodHolds } from '#state';
import { holdViews } from '../../../src/controllers/debug-views.ts';
import { World } from './harness.ts';

let world: World;
let holds: PodHolds;
beforeEach(() => {
  world = new World();
  holds = new PodHolds(world.clock);
  world.start();
});
afterEach(() => world.kill());

describe('the view of holds', () => {
  const views = () => [...holdViews(world, (pod) => holds.heldNow(pod))];

  it('lists each held pod with reason, start and end until the hold ends', async () => {
    const [first, second] = world.pending(2);
    world.pending(1, '2', 'other');
    await world.pass(1);
    if (first === undefined || second === undefined) throw new Error('there are no pods');
    holds.hold(first, { code: 'solver-stuck', text: 'the solver did not answer in time' });
    const hold = {
      code: 'solver-stuck',
      text: 'the solver did not answer in time',
      since: '2026-01-01T00:00:01Z',
      until: '2026-01-01T00:05:01Z',
      times: 1,
    };
    expect(views()).toEqual([first, second].map(({ metadata }) => ({ pod: `default/${metadata.name}`, ...hold })));
    world.removePods(first);
    await world.clock.advance(1000);
    expect(views()).toHaveLength(1);
    await world.clock.advance(10 * 60_000);
    expect(views()).toEqual([]);
  });
});

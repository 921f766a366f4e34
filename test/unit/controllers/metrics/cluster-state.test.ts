import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const gauge = async (name: string): Promise<number> =>
  Number(new RegExp(`^karpenter_cluster_state_${name} (.*)$`, 'm').exec(await world.metrics.text())?.[1]);
const complaints = (): number =>
  world.lines.filter(({ message }) => message === 'cluster state is not synced, no decisions are made').length;

describe('cluster state', () => {
  it('is not synced while a claim waits for its instance', async () => {
    world.nodePool();
    const answered = Promise.withResolvers<void>();
    const { create } = world.cloud;
    world.cloud.create = async (...args) => {
      await answered.promise;
      return create.apply(world.cloud, args);
    };
    world.start();
    await world.pass(10);
    expect([await gauge('synced'), await gauge('unsynced_time_seconds')]).toEqual([1, 0]);

    world.pending(1);
    await world.pass(25);
    expect(await gauge('synced')).toBe(0);
    expect(await gauge('unsynced_time_seconds')).toBeGreaterThan(10);
    expect(complaints()).toBe(0);

    await world.pass(30);
    // After thirty seconds, and every ten seconds from then on.
    expect(complaints()).toBeGreaterThanOrEqual(2);
    expect(complaints()).toBeLessThanOrEqual(5);

    answered.resolve();
    await world.pass(90);
    expect([await gauge('synced'), await gauge('unsynced_time_seconds')]).toEqual([1, 0]);
    expect(await gauge('node_count')).toBe(1);
  });
});

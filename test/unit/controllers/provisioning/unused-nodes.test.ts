/** Nodes that suitable pods do not take are not nominated for ever. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { LaunchWorld, MINUTE } from './launch-world.ts';

/** World whose scheduler binds no pods, for example because it waits for other pods of a gang. */
class IdleWorld extends LaunchWorld {
  isIdle = true;

  protected override takes(...args: Parameters<LaunchWorld['takes']>): boolean {
    return !this.isIdle && super.takes(...args);
  }
}

let world: IdleWorld;
afterEach(() => world.kill());

describe('a node that its pod does not take', () => {
  it('is removed after ten minutes, and counts as an unproductive launch', async () => {
    world = new IdleWorld();
    world.nodePool('default');
    await world.begin();
    world.createPod();
    await world.pass(9 * MINUTE);
    expect([world.cloud.creations, world.claims.length]).toEqual([1, 1]);
    await world.pass(30 * MINUTE);
    expect(world.cloud.creations).toBeGreaterThan(1);
    expect(world.condition()).toMatchObject({ status: 'False', reason: 'NodesNotUsed' });
    const before = world.cloud.creations;
    await world.pass(5 * MINUTE);
    expect(world.cloud.creations - before).toBeLessThan(2);
  });

  it('stays if the pod is bound in time', async () => {
    world = new IdleWorld();
    world.nodePool('default');
    await world.begin();
    const pod = world.createPod();
    await world.pass(8 * MINUTE);
    world.isIdle = false;
    await world.pass(10 * MINUTE);
    expect([world.isBound(pod), world.cloud.creations, world.condition()]).toEqual([true, 1, undefined]);
  });
});

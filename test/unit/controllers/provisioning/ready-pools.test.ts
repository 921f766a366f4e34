import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, NODE_POOL } from '#api/objects';
import { World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const ready = (status: 'True' | 'False') => ({
  status: { conditions: [{ type: 'Ready', status, reason: 'Ready', message: '' }] },
});

/** Returns the seconds until the first claim, or the limit if there is none. */
async function secondsToClaim(limit: number): Promise<number> {
  for (let second = 0; second < limit; second++) {
    if (world.claims.length > 0) return second;
    await world.pass(1);
  }
  return limit;
}

describe('a pod that waits for a NodePool', () => {
  it('is scheduled as soon as it becomes ready, before its next retry', async () => {
    world.nodePool();
    world.kube.patch(EC2_NODE_CLASS, { name: 'default' }, ready('False'), 'status');
    world.start();
    await world.pass(2);
    world.pending(1);
    await world.pass(12); // The second retry was just made, and the next one is ten seconds later.
    expect(world.claims).toEqual([]);

    world.kube.patch(EC2_NODE_CLASS, { name: 'default' }, ready('True'), 'status');
    expect(await secondsToClaim(10)).toBeLessThan(4);
  });

  it('is scheduled as soon as its limits are raised', async () => {
    world.nodePool('default', { limits: { cpu: '0' } });
    world.start();
    await world.pass(2);
    world.pending(1);
    await world.pass(12);
    expect(world.claims).toEqual([]);

    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { limits: { cpu: '10' } } });
    expect(await secondsToClaim(10)).toBeLessThan(4);
  });
});

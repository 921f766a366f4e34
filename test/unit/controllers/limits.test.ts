/** Limits of NodePools hold over the whole life of nodes, on random courses. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NODE_POOL, NODEPOOL_LABEL, type NodeClaim } from '#api/objects';
import { addResources, amountIn, maxResources, type Resources, resourcesOf } from '#engine/model';
import { allows, Course } from './course.ts';
import { World } from './harness.ts';

class LimitCourse extends Course {
  constructor(seed: number) {
    super(seed, 'StaticCapacity=true');
    const { world, size } = this;
    world.nodePool('first', { weight: this.below(2), limits: { nodes: String(size()), memory: `${size() * 12}Gi` } });
    world.nodePool('second', { limits: { cpu: String(size() * 4) } });
    world.nodePool('fixed', { replicas: 2, limits: { nodes: String(2 + this.below(2)) } });
  }

  protected override excesses(): readonly string[] {
    const { claims, kube } = this.world;
    return kube.all(NODE_POOL).flatMap(({ metadata: { name }, spec }) => {
      const own = claims.filter(({ metadata }) => metadata.labels?.[NODEPOOL_LABEL] === name);
      const usage = addResources(...own.map((claim) => this.#largestOf(claim)));
      return Object.entries(resourcesOf(spec.limits)).flatMap(([resource, limit]) => {
        const used = amountIn(usage, resource);
        this.mostUsed = Math.max(this.mostUsed, used / limit);
        return used > limit ? [`${name}: ${resource} ${used} of ${limit}`] : [];
      });
    });
  }

  /** Returns the capacity of a NodeClaim, or the largest capacity that it can get. */
  #largestOf(claim: NodeClaim): Resources {
    const possible = this.world.cloud.types.filter(({ name }) => allows(claim, name)).map(({ capacity }) => capacity);
    const { capacity } = claim.status ?? {};
    return { ...(capacity === undefined ? maxResources(...possible) : resourcesOf(capacity)), nodes: 1 };
  }
}

describe('a NodePool with limits', () => {
  it('exceeds no limit while pods arrive, nodes drift and end, launches fail and the operator is killed', async () => {
    let full = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1_000_000 }), async (seed) => {
        const course = new LimitCourse(seed);
        expect(await course.run()).toEqual([]);
        if (course.mostUsed === 1) full++;
      }),
      { numRuns: 12, seed: 3, endOnFailure: true },
    );
    expect(full).toBeGreaterThan(6);
  });

  it('has no more NodeClaims than its limit of nodes if pods arrive in batches within one window', async () => {
    const world = new World();
    world.nodePool('default', { limits: { nodes: '7' } });
    world.start();
    await world.pass(2);
    let most = 0;
    for (let batch = 0; batch < 10; batch++) {
      world.pending(20, '3');
      await world.clock.advance(50);
      most = Math.max(most, world.claims.length);
    }
    for (let second = 0; second < 60; second++) {
      await world.pass(1);
      most = Math.max(most, world.claims.length);
    }
    world.kill();
    expect(most).toBe(7);
  });
});

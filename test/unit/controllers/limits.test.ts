/** Limits of NodePools hold over the whole life of nodes, on random courses. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { INSTANCE_TYPE_LABEL, NODE_CLAIM, NODE_POOL, NODEPOOL_LABEL, type NodeClaim } from '#api/objects';
import { addResources, amountIn, pseudoRandom, type Resources, resourcesOf } from '#engine/model';
import { maxResources } from '#engine/testing';
import { World } from './harness.ts';

const STEP_MS = 500;
const STEPS = 160;
const ARGS = ['--feature-gates=StaticCapacity=true', '--batch-idle-duration=1s'];

class Course {
  readonly #world = new World();
  readonly #random: () => number;
  #isRunning = false;
  /** True while the test itself writes. */
  #isDisturbing = false;
  #generation = 0;
  /** Largest part of a limit that was used. */
  mostUsed = 0;

  constructor(seed: number) {
    this.#random = pseudoRandom(seed);
    const world = this.#world;
    const { cloud } = world;
    const create = cloud.create.bind(cloud);
    // EC2 may launch any type that the NodeClaim allows
    cloud.create = async (claim, adjust = async (types) => types) =>
      create(claim, async (types) => {
        const allowed = (await adjust(types)).filter(({ name }) => allows(claim, name));
        return allowed.slice(this.#below(allowed.length));
      });
    cloud.beforeCreate = () => {
      if (this.#chance(0.1)) throw new Error('EC2 is out of order');
    };
    world.kube.beforeWrite = (operation) => {
      if (this.#isDisturbing || !operation.includes('nodeclaims') || !this.#chance(0.03)) return;
      this.#kill();
      throw new Error('the operator was killed');
    };
    const size = () => 2 + this.#below(6);
    world.nodePool('first', { weight: this.#below(2), limits: { nodes: String(size()), memory: `${size() * 12}Gi` } });
    world.nodePool('second', { limits: { cpu: String(size() * 4) } });
    world.nodePool('fixed', { replicas: 2, limits: { nodes: String(2 + this.#below(2)) } });
  }

  readonly #below = (most: number): number => Math.floor(this.#random() * most);
  readonly #chance = (probability: number): boolean => this.#random() < probability;

  #kill(): void {
    this.#world.kill();
    this.#isRunning = false;
  }

  async run(): Promise<readonly string[]> {
    const world = this.#world;
    const excesses = new Set<string>();
    for (let step = 0; step < STEPS; step++) {
      if (!this.#isRunning) {
        world.start(ARGS);
        this.#isRunning = true;
      }
      this.#isDisturbing = true;
      this.#disturb();
      this.#isDisturbing = false;
      await world.clock.advance(STEP_MS);
      world.joinInstances();
      world.bindPods();
      for (const excess of this.#excesses()) excesses.add(excess);
    }
    this.#kill();
    return [...excesses];
  }

  #disturb(): void {
    const world = this.#world;
    if (this.#chance(0.2)) world.pending(1 + this.#below(6), ['500m', '1', '3'][this.#below(3)]);
    if (this.#chance(0.05)) world.removePods(...world.pods.filter(() => this.#chance(0.5)));
    const claims = world.claims.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const claim = claims[this.#below(claims.length)];
    if (claim !== undefined && this.#chance(0.03)) world.kube.delete(NODE_CLAIM, claim.metadata);
    const pool = ['first', 'second', 'fixed'][this.#below(3)] ?? '';
    const labels = { generation: String(this.#generation++) };
    if (this.#chance(0.04))
      world.kube.patch(NODE_POOL, { name: pool }, { spec: { template: { metadata: { labels } } } });
  }

  #excesses(): readonly string[] {
    const { claims, kube } = this.#world;
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
    const possible = this.#world.cloud.types.filter(({ name }) => allows(claim, name)).map(({ capacity }) => capacity);
    const { capacity } = claim.status ?? {};
    return { ...(capacity === undefined ? maxResources(...possible) : resourcesOf(capacity)), nodes: 1 };
  }
}

function allows({ spec }: NodeClaim, type: string): boolean {
  const { values } = spec.requirements.find(({ key }) => key === INSTANCE_TYPE_LABEL) ?? {};
  return values === undefined || values.includes(type);
}

describe('a NodePool with limits', () => {
  it('exceeds no limit while pods arrive, nodes drift and end, launches fail and the operator is killed', async () => {
    let full = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1_000_000 }), async (seed) => {
        const course = new Course(seed);
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

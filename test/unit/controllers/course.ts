/** Random courses of nodes: pods arrive, nodes drift and end, launches fail, and the operator is killed. */
import { INSTANCE_TYPE_LABEL, NODE_CLAIM, NODE_POOL, type NodeClaim } from '#api/objects';
import { type InstanceType, pseudoRandom } from '#engine/model';
import { World } from './harness.ts';

const STEP_MS = 500;
const STEPS = 160;

export abstract class Course {
  protected readonly world = new World();
  readonly #args: readonly string[];
  readonly #random: () => number;
  #isRunning = false;
  /** True while the test itself writes. */
  #isDisturbing = false;
  #generation = 0;
  /** Largest part of a limit that was used. */
  mostUsed = 0;

  /** The NodePools are `first`, `second` and the static `fixed`. */
  constructor(seed: number, gates: string) {
    this.#args = [`--feature-gates=${gates}`, '--batch-idle-duration=1s'];
    this.#random = pseudoRandom(seed);
    const { world } = this;
    const { cloud } = world;
    const create = cloud.create.bind(cloud);
    // EC2 may launch any type that the NodeClaim allows
    cloud.create = async (claim, adjust = async (types) => types) =>
      create(claim, async (types) => {
        const allowed = (await adjust(types)).filter(({ name }) => allows(claim, name));
        return allowed.slice(this.below(allowed.length)).map((type) => this.bought(claim, type));
      });
    cloud.beforeCreate = () => {
      if (this.chance(0.1)) throw new Error('EC2 is out of order');
    };
    world.kube.beforeWrite = (operation) => {
      if (this.#isDisturbing || !operation.includes('nodeclaims') || !this.chance(0.03)) return;
      this.#kill();
      throw new Error('the operator was killed');
    };
  }

  /** Returns the limits that the NodeClaims exceed. */
  protected abstract excesses(): readonly string[];

  /** Returns the type with the offerings of which EC2 launches one. */
  protected bought(_: NodeClaim, type: InstanceType): InstanceType {
    return type;
  }

  protected readonly below = (most: number): number => Math.floor(this.#random() * most);
  protected readonly chance = (probability: number): boolean => this.#random() < probability;
  protected readonly size = (): number => 2 + this.below(6);

  #kill(): void {
    this.world.kill();
    this.#isRunning = false;
  }

  async run(): Promise<readonly string[]> {
    const { world } = this;
    const excesses = new Set<string>();
    for (let step = 0; step < STEPS; step++) {
      if (!this.#isRunning) {
        world.start(this.#args);
        this.#isRunning = true;
      }
      this.#isDisturbing = true;
      this.#disturb();
      this.#isDisturbing = false;
      await world.clock.advance(STEP_MS);
      world.joinInstances();
      world.bindPods();
      for (const excess of this.excesses()) excesses.add(excess);
    }
    this.#kill();
    return [...excesses];
  }

  #disturb(): void {
    const { world } = this;
    if (this.chance(0.2)) world.pending(1 + this.below(6), ['500m', '1', '3'][this.below(3)]);
    if (this.chance(0.05)) world.removePods(...world.pods.filter(() => this.chance(0.5)));
    const claims = world.claims.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const claim = claims[this.below(claims.length)];
    if (claim !== undefined && this.chance(0.03)) world.kube.delete(NODE_CLAIM, claim.metadata);
    const pool = ['first', 'second', 'fixed'][this.below(3)] ?? '';
    const labels = { generation: String(this.#generation++) };
    if (this.chance(0.04))
      world.kube.patch(NODE_POOL, { name: pool }, { spec: { template: { metadata: { labels } } } });
  }
}

export function allows({ spec }: NodeClaim, type: string): boolean {
  const { values } = spec.requirements.find(({ key }) => key === INSTANCE_TYPE_LABEL) ?? {};
  return values === undefined || values.includes(type);
}

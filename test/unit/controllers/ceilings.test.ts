/** Ceilings of NodePolicies and CapacityQuotas hold over the whole life of nodes, on random courses. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  CAPACITY_QUOTA,
  CAPACITY_TYPE_LABEL,
  type CapacityQuota,
  INSTANCE_TYPE_LABEL,
  NODE,
  NODE_POLICY,
  NODEPOOL_LABEL,
  type NodeClaim,
  ZONE_LABEL,
} from '#api/objects';
import { amountIn, type InstanceType, type Offering, Requirements, resourcesOf, selects } from '#engine/model';
import { allows, Course } from './course.ts';
import { World } from './harness.ts';

const USD = 'usdPerHour';
const quotaOf = (name: string, spec: CapacityQuota['spec']): CapacityQuota => ({
  apiVersion: 'autoscaling.x-k8s.io/v1beta1',
  kind: 'CapacityQuota',
  metadata: { name },
  spec,
});

const offered = ({ requirements }: Pick<Offering, 'requirements'>, key: string): string =>
  requirements.find((each) => each.key === key)?.values?.[0] ?? '';

class CeilingCourse extends Course {
  readonly #usdPerHour: number;
  readonly #quotas: readonly CapacityQuota[];

  constructor(seed: number) {
    super(seed, 'StaticCapacity=true,CapacityQuota=true');
    const { world, size } = this;
    world.nodePool('first', { weight: this.below(2) });
    world.nodePool('second');
    world.nodePool('fixed', { replicas: 2 });
    this.#usdPerHour = size() / 10;
    world.kube.create(NODE_POLICY, {
      apiVersion: 'karpenter-ts.sh/v1alpha1',
      kind: 'NodePolicy',
      metadata: { name: 'cost' },
      spec: { ceilings: { usdPerHour: this.#usdPerHour } },
    });
    const zone = { matchLabels: { [ZONE_LABEL]: 'zone-a' } };
    const onDemand = { matchExpressions: [{ key: CAPACITY_TYPE_LABEL, operator: 'NotIn', values: ['spot'] }] };
    this.#quotas = [
      quotaOf('all', { limits: { resources: { nodes: 3 + size(), memory: `${size() * 24}Gi` } } }),
      quotaOf('zone', { selector: zone, limits: { resources: { nodes: 1 + this.below(3) } } }),
      quotaOf('on-demand', { selector: onDemand, limits: { resources: { cpu: 4 + 4 * this.below(3) } } }),
    ];
    for (const quota of this.#quotas) world.kube.create(CAPACITY_QUOTA, quota);
    world.kube.create(NODE, OTHER);
  }

  /** EC2 may launch any offering that the NodeClaim allows. */
  protected override bought({ spec }: NodeClaim, type: InstanceType): InstanceType {
    const requirements = Requirements.fromRequirements(spec.requirements);
    const offerings = type.offerings.filter((offering) =>
      [ZONE_LABEL, CAPACITY_TYPE_LABEL].every((key) => requirements.get(key).has(offered(offering, key))),
    );
    return { ...type, offerings: offerings.slice(this.below(offerings.length)).slice(0, 1) };
  }

  protected override excesses(): readonly string[] {
    const launches = this.world.claims.map((claim) => this.#launchesOf(claim));
    const bounds = [
      { name: 'cost', selector: {}, resource: USD, limit: this.#usdPerHour },
      ...this.#quotas.flatMap(({ metadata: { name }, spec: { selector = {}, limits } }) =>
        Object.entries(resourcesOf(limits.resources as Record<string, string>)).map(([resource, limit]) => ({
          name,
          selector: selector as Parameters<typeof selects>[0],
          resource,
          limit,
        })),
      ),
    ];
    return bounds.flatMap(({ name, selector, resource, limit }) => {
      const others = selects(selector, OTHER.metadata.labels) ? amountIn(OTHER_AMOUNTS, resource) : 0;
      const added = launches.map((each) =>
        Math.max(0, ...each.map(({ labels, amounts }) => (selects(selector, labels) ? (amounts[resource] ?? 0) : 0))),
      );
      const used = added.reduce((sum, each) => sum + each, others);
      this.mostUsed = Math.max(this.mostUsed, used / limit);
      return used > limit + 1e-9 ? [`${name}: ${resource} ${used} of ${limit}`] : [];
    });
  }

  /** Returns the labels and amounts of the instance of a NodeClaim, or of all instances that it can get. */
  #launchesOf(claim: NodeClaim) {
    const { labels = {} } = claim.metadata;
    const requirements = Requirements.fromRequirements(claim.spec.requirements);
    const isPossible = (key: string, value: string): boolean =>
      claim.status?.providerID ? labels[key] === value : requirements.get(key).has(value);
    return this.world.cloud.types
      .filter(({ name }) => allows(claim, name) && isPossible(INSTANCE_TYPE_LABEL, name))
      .flatMap((type) =>
        type.offerings
          .filter((offering) =>
            [ZONE_LABEL, CAPACITY_TYPE_LABEL].every((key) => isPossible(key, offered(offering, key))),
          )
          .map((offering) => ({
            labels: {
              ...labels,
              [ZONE_LABEL]: offered(offering, ZONE_LABEL),
              [CAPACITY_TYPE_LABEL]: offered(offering, CAPACITY_TYPE_LABEL),
            },
            amounts: { ...type.capacity, nodes: 1, [USD]: offering.usdPerHour } as Record<string, number>,
          })),
      );
  }
}

const OTHER_AMOUNTS = { nodes: 1, cpu: 2000, memory: 8 * 2 ** 30 };
/** Node of another owner. */
const OTHER = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'other', labels: { [ZONE_LABEL]: 'zone-a', [INSTANCE_TYPE_LABEL]: 'm.large' } },
  spec: { providerID: 'other:///1' },
  status: {
    capacity: { cpu: '2', memory: '8Gi', pods: '1' },
    allocatable: { cpu: '2', memory: '8Gi', pods: '0' },
    conditions: [{ type: 'Ready', status: 'True' }],
  },
} as const;

describe('a ceiling', () => {
  it('is not exceeded while pods arrive, nodes drift and end, launches fail and the operator is killed', async () => {
    let full = 0;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1_000_000 }), async (seed) => {
        const course = new CeilingCourse(seed);
        expect(await course.run()).toEqual([]);
        if (course.mostUsed > 0.9) full++;
      }),
      { numRuns: 12, seed: 3, endOnFailure: true },
    );
    expect(full).toBeGreaterThan(6);
  });
});

describe('a CapacityQuota', () => {
  const statusOf = (world: World) => world.kube.find(CAPACITY_QUOTA, { name: 'few' })?.status;
  const started = (spec: CapacityQuota['spec']): World => {
    const world = new World();
    world.nodePool('first');
    world.nodePool('second');
    world.kube.create(CAPACITY_QUOTA, quotaOf('few', spec));
    world.kube.create(NODE, OTHER);
    world.start(['--feature-gates=CapacityQuota=true', '--batch-idle-duration=1s']);
    return world;
  };

  it('counts nodes of all NodePools and of others in its status', async () => {
    const world = started({ limits: { resources: { nodes: 3, cpu: '100' } } });
    world.pending(12, '3');
    await world.pass(120);
    world.kill();
    expect(world.claims).toHaveLength(2);
    expect(statusOf(world)?.used).toMatchObject({ resources: { nodes: '3' } });
    expect(statusOf(world)?.conditions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ type: 'Reconciled', status: 'True', reason: 'ReconciliationSucceeded' }),
        expect.objectContaining({ type: 'WithinLimits', status: 'True' }),
      ]),
    );
  });

  it('selects more nodes instead of none if its selector is invalid, and names the field and the remedy', async () => {
    const selector = { matchExpressions: [{ key: NODEPOOL_LABEL, operator: 'In', values: [] }] };
    const world = started({ selector, limits: { resources: { nodes: 2 } } });
    world.pending(12, '3');
    await world.pass(120);
    world.kill();
    expect(world.claims).toHaveLength(1);
    expect(statusOf(world)?.conditions?.find(({ type }) => type === 'Reconciled')).toMatchObject({
      status: 'False',
      reason: 'ReconciliationFailed',
      message: expect.stringMatching(
        /^CapacityQuota "few": spec.selector.matchExpressions\[0\]: In of "karpenter.sh\/nodepool" must have a value; add a value, or use Exists/,
      ),
    });
  });

  it('has no effect without its feature gate', async () => {
    const world = new World();
    world.nodePool('first');
    world.kube.create(CAPACITY_QUOTA, quotaOf('none', { limits: { resources: { nodes: 0 } } }));
    world.start(['--batch-idle-duration=1s']);
    world.pending(1);
    await world.pass(30);
    world.kill();
    expect(world.claims).toHaveLength(1);
  });
});

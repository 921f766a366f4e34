/** Choice among NodePools of equal weight by price. */
import { describe, expect, it } from '@jest/globals';
import { ARCH_LABEL, CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, type Pod, ZONE_LABEL } from '#api/objects';
import type { Plan, SolveOptions } from '../../../../src/engine/model.ts';
import { CheapestPools } from '../../../../src/engine/packing/cheapest-pools.ts';
import { solve } from '../../../../src/engine/solve.ts';
import { CompiledSnapshot } from '../../../../src/engine/solver/compiled-snapshot.ts';
import {
  instanceType,
  nodePool,
  OPTIONS,
  oneOf,
  type PoolParts,
  planOf,
  pod,
  replicas,
  type SnapshotParts,
  snapshot,
} from '../build.ts';

/** On-demand types, of which arm64 costs 20 % less. Spot nodes cost half. */
const TYPES = ['amd64', 'arm64'].flatMap((arch) =>
  [2, 4, 16].map((cpu) =>
    instanceType(`${arch}-${cpu}`, {
      cpu,
      usd: cpu * (arch === 'arm64' ? 0.08 : 0.1),
      requirements: [oneOf(ARCH_LABEL, arch)],
    }),
  ),
);

const capacityType = (name: string, value: string, parts: PoolParts = {}) =>
  nodePool(name, { ...parts, requirements: [oneOf(CAPACITY_TYPE_LABEL, value), oneOf(ARCH_LABEL, 'amd64')] });
const arch = (name: string, value: string, parts: PoolParts = {}) =>
  nodePool(name, {
    ...parts,
    requirements: [oneOf(ARCH_LABEL, value), oneOf(CAPACITY_TYPE_LABEL, 'on-demand')],
  });
const web = (count: number, parts = {}): readonly Pod[] =>
  replicas(count, 'web', { cpu: '1', memory: '1Gi', ...parts });

/** Returns the number of pods by NodePool. */
function podsByPool({ claims }: Plan): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { nodePool: name, pods } of claims) counts[name] = (counts[name] ?? 0) + pods.length;
  return counts;
}

const usdOf = ({ claims }: Plan): number => claims.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0);

const placed = (parts: SnapshotParts, options: Partial<SolveOptions> = {}): Plan => {
  const plan = planOf({ types: TYPES, ...parts }, options);
  expect([...plan.refusals]).toEqual([]);
  return plan;
};

describe('a group of NodePools of equal weight', () => {
  // without a choice, the last name is tried first
  const spot = capacityType('a', 'spot');
  const onDemand = capacityType('z', 'on-demand');

  it('launches spot nodes if the other NodePool is on-demand', () => {
    expect(podsByPool(placed({ pools: [onDemand, spot], pendingPods: web(20) }))).toEqual({ a: 20 });
  });

  it('keeps pods from the nodes of an on-demand NodePool that pods without a choice need', () => {
    const bound = replicas(1, 'bound', {
      cpu: '2',
      memory: '1Gi',
      nodeSelector: { [CAPACITY_TYPE_LABEL]: 'on-demand' },
    });
    const plan = placed({ pools: [onDemand, spot], pendingPods: [...bound, ...web(20)] });
    expect(podsByPool(plan)).toEqual({ a: 20, z: 1 });
    expect(usdOf(plan)).toBeCloseTo(20 * 0.05 + 0.2);
  });

  it('shares a node with pods without a choice if this costs less than another node', () => {
    const bound = replicas(1, 'bound', {
      cpu: '1',
      memory: '1Gi',
      nodeSelector: { [CAPACITY_TYPE_LABEL]: 'on-demand' },
    });
    const plan = placed({ pools: [onDemand, spot], pendingPods: [...bound, ...web(1)] });
    expect(podsByPool(plan)).toEqual({ z: 2 });
  });

  it('launches arm64 nodes for pods that run on both architectures', () => {
    const amd = replicas(4, 'amd', { cpu: '1', memory: '1Gi', nodeSelector: { [ARCH_LABEL]: 'amd64' } });
    const pools = [arch('z', 'amd64'), arch('a', 'arm64')];
    expect(podsByPool(placed({ pools, pendingPods: [...web(20), ...amd] }))).toEqual({ a: 20, z: 4 });
  });

  it('uses the more expensive NodePool for pods beyond the limit of the cheapest one', () => {
    const pools = [onDemand, capacityType('a', 'spot', { limits: { cpu: '16' } })];
    const plan = placed({ pools, pendingPods: web(20) });
    expect(podsByPool(plan)).toEqual({ a: 16, z: 4 });
    expect(usdOf(plan)).toBeCloseTo(16 * 0.05 + 4 * 0.1);
  });

  it('uses the more expensive NodePool if launches of the cheapest one are withheld', () => {
    const withheld = [{ nodePool: 'a', cause: { code: 'never-joined' }, text: 'no node joined' }] as const;
    const plan = solve(
      { ...snapshot({ types: TYPES, pools: [onDemand, spot], pendingPods: web(3) }), withheld },
      OPTIONS,
    );
    expect(podsByPool(plan)).toEqual({ z: 3 });
  });

  it('uses the more expensive NodePool in zones that the cheapest one does not have', () => {
    const labels = { app: 'web' };
    const spread = {
      labels,
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: ZONE_LABEL,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: labels },
        },
      ],
    } as const;
    const inZone = nodePool('a', {
      requirements: [oneOf(CAPACITY_TYPE_LABEL, 'spot'), oneOf(ZONE_LABEL, 'zone-a')],
    });
    expect(podsByPool(placed({ pools: [onDemand, inZone], pendingPods: web(6, spread) }))).toEqual({ a: 2, z: 4 });
  });

  it('prefers a NodePool whose minValues can be satisfied to a cheaper one', () => {
    const varied = nodePool('a', {
      requirements: [
        oneOf(CAPACITY_TYPE_LABEL, 'spot'),
        oneOf(ARCH_LABEL, 'amd64'),
        { key: INSTANCE_TYPE_LABEL, operator: 'Exists', minValues: 2 },
      ],
    });
    // only one type of the cheaper NodePool has room
    const large = replicas(2, 'large', { cpu: '15', memory: '1Gi' });
    const parts = { pools: [onDemand, varied], pendingPods: [...large, ...web(20)] };
    const plan = placed(parts, { minValuesPolicy: 'BestEffort' });
    expect(
      plan.claims.filter(({ nodePool: name }) => name === 'a').every(({ instanceTypes }) => instanceTypes.length > 1),
    ).toBe(true);
    expect(podsByPool(plan).a).toBe(20);
  });

  it('stays in order of names if no price is known', () => {
    const types = TYPES.map((type) => ({
      ...type,
      offerings: type.offerings.map((offering) => ({ ...offering, usdPerHour: Number.POSITIVE_INFINITY })),
    }));
    expect(podsByPool(placed({ types, pools: [onDemand, spot], pendingPods: web(3) }))).toEqual({ z: 3 });
  });

  it('is compared with the price of one node if no node would be full', () => {
    const [small, large] = [
      nodePool('a', { requirements: [oneOf('size', 'small')] }),
      nodePool('z', { requirements: [oneOf('size', 'large')] }),
    ];
    const types = [
      instanceType('small', { cpu: 2, usd: 0.2, requirements: [oneOf('size', 'small')] }),
      instanceType('large', { cpu: 64, gib: 64, usd: 3, requirements: [oneOf('size', 'large')] }),
    ];
    expect(podsByPool(placed({ types, pools: [small, large], pendingPods: web(2) }))).toEqual({ a: 2 });
    expect(podsByPool(placed({ types, pools: [small, large], pendingPods: web(64) }))).toEqual({ z: 64 });
  });

  it('does not compete with NodePools of a higher weight', () => {
    const pools = [
      capacityType('z', 'on-demand', { weight: 2 }),
      capacityType('b', 'on-demand', { weight: 1 }),
      capacityType('a', 'spot', { weight: 1 }),
    ];
    expect(podsByPool(placed({ pools, pendingPods: web(20) }))).toEqual({ z: 20 });
    const limited = [capacityType('z', 'on-demand', { weight: 2, limits: { cpu: '4' } }), ...pools.slice(1)];
    expect(podsByPool(placed({ pools: limited, pendingPods: web(20) }))).toEqual({ z: 4, a: 16 });
  });

  it('is used in order of names with compatible packing', () => {
    const plan = placed({ pools: [onDemand, spot], pendingPods: web(20) }, { packing: 'compatible' });
    expect(podsByPool(plan)).toEqual({ z: 20 });
  });
});

describe('a group of fifty NodePools of equal weight', () => {
  const pools = Array.from({ length: 50 }, (_, index) =>
    nodePool(`pool-${String(index).padStart(2, '0')}`, {
      requirements: [oneOf(INSTANCE_TYPE_LABEL, `type-${index}`)],
    }),
  );
  const types = Array.from({ length: 50 }, (_, index) =>
    instanceType(`type-${index}`, { cpu: 4, usd: 0.4 + (index % 10) / 10 }),
  );
  const pendingPods = Array.from({ length: 200 }, (_, index) =>
    pod(`pod-${index}`, { cpu: `${500 + index}m`, memory: '1Gi' }),
  );

  it('launches nodes of the cheapest ones', () => {
    const plan = placed({ types, pools, pendingPods });
    expect(plan.unpacked).toBeUndefined();
    expect(new Set(plan.claims.map(({ usdPerHour }) => usdPerHour))).toEqual(new Set([0.2]));
  });

  it('is compared for as many classes of pods as the work limit allows', () => {
    const common = new CompiledSnapshot(snapshot({ types, pools, pendingPods }), OPTIONS);
    const classes = pendingPods.map((each) => common.classesFor(pendingPods).of(each));
    const demand = common.dimensions.amounts({ cpu: 100_000, memory: 2 ** 40, pods: 200 });
    const compared = (work: number): number => {
      const cheapest = new CheapestPools(common.templates, demand, work);
      return classes.filter((podClass) => cheapest.of(podClass) !== undefined).length;
    };
    expect(compared(Number.POSITIVE_INFINITY)).toBe(200);
    // the first class needs a check of every row for each NodePool, and the others one check for each NodePool
    expect(compared(50 * 50 + 9 * 50)).toBe(10);
  });
});

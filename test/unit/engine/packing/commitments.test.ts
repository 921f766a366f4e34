import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import type { Plan, PlannedClaim, Snapshot } from '../../../../src/engine/model.ts';
import type { Commitment } from '../../../../src/engine/price-book/commitment.ts';
import { CommittedUse } from '../../../../src/engine/price-book/committed-use.ts';
import { coverageOf, type RunningInstance } from '../../../../src/engine/price-book/coverage.ts';
import { nodeUsdPerHour } from '../../../../src/engine/purchase.ts';
import { solve } from '../../../../src/engine/solve.ts';
import {
  instanceType,
  nodePool,
  OPTIONS,
  oneOf,
  planOf,
  pod,
  replicas,
  type SnapshotParts,
  stateNode,
} from '../build.ts';
import { Draw, drawnSnapshot } from '../scenarios.ts';

const plan = (amount: number, share = 0.6, name = 'plan'): Commitment => ({
  name,
  kind: 'compute-savings-plan',
  amount,
  rates: [{ share }],
});
const ofFamily = (family: string, amount: number, share = 0.6): Commitment => ({
  name: family,
  kind: 'ec2-instance-savings-plan',
  amount,
  rates: [{ family, share }],
});

/** Spot costs half of on-demand, so all nodes are spot without commitments. */
const TYPES = [
  instanceType('m5.large', { cpu: 2, gib: 8 }),
  instanceType('m5.xlarge', { cpu: 4, gib: 16 }),
  instanceType('m5.2xlarge', { cpu: 8, gib: 32 }),
  instanceType('c5.large', { cpu: 2, gib: 8, usd: 0.19 }),
];
const planned = (parts: SnapshotParts, commitments: readonly Commitment[]): Plan =>
  planOf({ types: TYPES, ...parts, commitments });

const valuesOf = ({ requirements }: PlannedClaim, label: string): readonly string[] =>
  requirements.find(({ key }) => key === label)?.values ?? [];
const capacityTypes = ({ claims }: Plan): readonly string[] =>
  claims.map((claim) => valuesOf(claim, CAPACITY_TYPE_LABEL).join('+')).sort();
const priceOf = ({ claims }: Plan): number => claims.reduce((sum, claim) => sum + nodeUsdPerHour(claim), 0);

/** Cost of a plan if its nodes are launched as the cheapest option and AWS applies the remaining commitments. */
function bill({ claims }: Plan, cluster: Snapshot): number {
  const use = CommittedUse.of(cluster.commitments, cluster.nodes, cluster.pools);
  const types = new Map(cluster.pools.flatMap(({ instanceTypes }) => instanceTypes.map((type) => [type.name, type])));
  const instances = claims.map((claim, at): RunningInstance => {
    const zones = valuesOf(claim, ZONE_LABEL);
    const offering = types.get(claim.cheapest)?.offerings.find(({ requirements, usdPerHour, available }) => {
      const of = (label: string) => requirements.find(({ key }) => key === label)?.values?.[0] ?? '';
      const isAllowed = zones.length === 0 || zones.includes(of(ZONE_LABEL));
      const capacity = valuesOf(claim, CAPACITY_TYPE_LABEL);
      return available && isAllowed && capacity.includes(of(CAPACITY_TYPE_LABEL)) && usdPerHour === claim.usdPerHour;
    });
    const of = (label: string) => offering?.requirements.find(({ key }) => key === label)?.values?.[0] ?? '';
    return {
      id: String(at),
      instanceType: claim.cheapest,
      zone: of(ZONE_LABEL),
      capacityType: of(CAPACITY_TYPE_LABEL),
      usdPerHour: claim.usdPerHour,
    };
  });
  const { covered } = coverageOf(instances, use?.leftWithout([]).rest ?? []);
  return instances.reduce((sum, { id, usdPerHour }) => sum + usdPerHour - (covered.get(id) ?? 0), 0);
}

describe('a node with commitments', () => {
  it('is spot without a commitment, and on-demand if a commitment covers it', () => {
    const pendingPods = replicas(4, 'web', { cpu: '2' });
    expect(new Set(capacityTypes(planned({ pendingPods }, [])))).toEqual(new Set(['on-demand+spot']));
    const covered = planned({ pendingPods }, [plan(10)]);
    expect(new Set(capacityTypes(covered))).toEqual(new Set(['on-demand']));
    expect(priceOf(covered)).toBeCloseTo(0);
    // The price before commitments is still reported.
    expect(covered.claims.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0)).toBeCloseTo(0.8, 1);
  });

  it('is covered until the commitment is used up, and costs no more than an uncovered node then', () => {
    const pendingPods = replicas(40, 'web', { cpu: '2' });
    // 80 CPUs cost 8 on demand, and the plan covers 4 of that.
    const found = planned({ pendingPods }, [plan(2.4)]);
    expect(priceOf(found)).toBeLessThan(2.2);
    expect(priceOf(found)).toBeGreaterThan(1.8);
    const used = found.claims.reduce((sum, { coveredUsdPerHour = 0 }) => sum + coveredUsdPerHour, 0);
    expect(used).toBeGreaterThan(3.6);
    expect(used).toBeLessThanOrEqual(4 + 1e-9);
    expect(new Set(capacityTypes(found))).toEqual(new Set(['on-demand', 'on-demand+spot']));
  });

  it('is limited to covered types', () => {
    const found = planned({ pendingPods: replicas(2, 'web', { cpu: '2' }) }, [ofFamily('m5', 10)]);
    for (const claim of found.claims) {
      expect(valuesOf(claim, INSTANCE_TYPE_LABEL).filter((type) => !type.startsWith('m5.'))).toEqual([]);
      expect(valuesOf(claim, CAPACITY_TYPE_LABEL)).toEqual(['on-demand']);
    }
    expect(found.claims.length).toBeGreaterThan(0);
  });

  it('is limited to the zone of reserved instances', () => {
    const zonal: Commitment = {
      name: 'zonal',
      kind: 'zonal-reserved-instances',
      amount: 1,
      zone: 'zone-b',
      rates: [{ instanceType: 'm5.large', perHour: 1 }],
    };
    const [claim] = planned({ pendingPods: [pod('web', { cpu: '1' })] }, [zonal]).claims;
    expect(claim && [claim.instanceTypes, valuesOf(claim, ZONE_LABEL)]).toEqual([['m5.large'], ['zone-b']]);
  });

  it('uses only the part that running nodes do not use, and the part of nodes that are being deleted', () => {
    const labels = { [INSTANCE_TYPE_LABEL]: 'm5.2xlarge', [CAPACITY_TYPE_LABEL]: 'on-demand' };
    const pendingPods = [pod('web', { cpu: '8' })];
    // One m5.2xlarge uses 0.48.
    const with1 = (markedForDeletion: boolean) =>
      planned({ pendingPods, nodes: [stateNode('full', { labels, markedForDeletion, allocatable: { cpu: '0' } })] }, [
        plan(0.48),
      ]);
    expect(capacityTypes(with1(false))).toEqual(['on-demand+spot']);
    expect(capacityTypes(with1(true))).toEqual(['on-demand']);
  });

  it('does not use commitments that its NodePool or pods exclude', () => {
    const pools = [nodePool('spot', { requirements: [oneOf(CAPACITY_TYPE_LABEL, 'spot')] })];
    expect(capacityTypes(planned({ pools, pendingPods: [pod('web', { cpu: '1' })] }, [plan(10)]))).toEqual(['spot']);
    const nodeSelector = { [INSTANCE_TYPE_LABEL]: 'c5.large' };
    const other = planned({ pendingPods: [pod('web', { cpu: '1', nodeSelector })] }, [ofFamily('m5', 10)]);
    expect(capacityTypes(other)).toEqual(['on-demand+spot']);
  });

  it('keeps the number of types that minValues requires', () => {
    const pools = [
      nodePool('many', { requirements: [{ ...oneOf(INSTANCE_TYPE_LABEL, 'm5.large', 'c5.large'), minValues: 2 }] }),
    ];
    const pendingPods = [pod('web', { cpu: '1' })];
    const [claim] = planned({ pools, pendingPods }, [ofFamily('m5', 10)]).claims;
    expect(claim?.instanceTypes).toHaveLength(2);
    expect(claim?.coveredUsdPerHour).toBeUndefined();
    const [covered] = planned({ pools, pendingPods }, [plan(10)]).claims;
    expect([covered?.instanceTypes.length, covered?.coveredUsdPerHour]).toEqual([2, 0.19]);
  });

  it('matches Karpenter with packing: compatible', () => {
    const parts = { types: TYPES, pendingPods: replicas(5, 'web', { cpu: '2' }) };
    const compatible = (commitments: readonly Commitment[]) =>
      planOf({ ...parts, commitments }, { packing: 'compatible' }).claims;
    expect(compatible([plan(10)])).toEqual(compatible([]));
  });

  it('is equal without commitments and with a used-up commitment', () => {
    const parts = { types: TYPES, pendingPods: replicas(9, 'web', { cpu: '1' }) };
    const text = (more: SnapshotParts) => JSON.stringify(planOf({ ...parts, ...more }).claims);
    expect(text({ commitments: [] })).toBe(text({}));
    expect(text({ commitments: [plan(0)] })).toBe(text({}));
  });
});

describe('a random cluster with commitments', () => {
  const SEEDS = Array.from(
    { length: Number(process.env.PER_KIND ?? 60) },
    (_, at) => at + Number(process.env.SEED ?? 1) * 1000,
  );

  it.each(SEEDS)('never costs more with commitments, nor uses more than exists: seed %d', (seed) => {
    const draw = new Draw(seed);
    const base = drawnSnapshot(seed, { nodes: 4, workloads: 6 });
    const names = base.pools.flatMap(({ instanceTypes }) => instanceTypes.map(({ name }) => name));
    const commitments = [
      ...(draw.maybe(0.5, () => [
        {
          name: 'zonal',
          kind: 'zonal-reserved-instances',
          amount: 1 + draw.below(3),
          zone: draw.of(['zone-a', 'zone-b']),
          rates: [{ instanceType: draw.of(names), perHour: 1 }],
        } as const,
      ]) ?? []),
      plan(draw.below(20) / 10, 0.4 + draw.below(6) / 10),
    ];
    const cluster: Snapshot = { ...base, commitments };
    const without = solve(base, OPTIONS);
    const found = solve(cluster, OPTIONS);
    expect([...found.refusals.keys()].sort()).toEqual([...without.refusals.keys()].sort());
    expect(found.unpacked).toBeUndefined();
    expect(bill(found, cluster)).toBeLessThanOrEqual(bill(without, cluster) * (1 + 1e-6) + 1e-6);
    const left = CommittedUse.of(commitments, cluster.nodes, cluster.pools)?.leftWithout([]).rest ?? [];
    const { covered } = coverageOf(
      found.claims.flatMap((claim, at) =>
        claim.coveredUsdPerHour === undefined
          ? []
          : [
              {
                id: String(at),
                instanceType: claim.cheapest,
                zone: valuesOf(claim, ZONE_LABEL)[0] ?? 'zone-a',
                capacityType: 'on-demand',
                usdPerHour: claim.usdPerHour,
              },
            ],
      ),
      left,
    );
    const possible = [...covered.values()].reduce((sum, usd) => sum + usd, 0);
    const said = found.claims.reduce((sum, { coveredUsdPerHour = 0 }) => sum + coveredUsdPerHour, 0);
    expect(said).toBeLessThanOrEqual(possible + 1e-6);
    for (const claim of found.claims.filter(({ coveredUsdPerHour = 0 }) => coveredUsdPerHour > 0))
      expect(valuesOf(claim, CAPACITY_TYPE_LABEL)).toEqual(['on-demand']);
  });
});

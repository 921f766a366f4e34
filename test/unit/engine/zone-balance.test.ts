import { describe, expect, it } from '@jest/globals';
import { BALANCED_ZONE_ANNOTATION, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, ZONE_LABEL } from '#api/objects';
import type { InstanceType, Plan, PlannedClaim, StateNode } from '../../../src/engine/model.ts';
import { prepare, solve } from '../../../src/engine/solve.ts';
import { balanceZones, singleZone, worsensBalance, zonesText } from '../../../src/engine/zone-balance.ts';
import {
  instanceType,
  nodePool,
  OPTIONS,
  offering,
  oneOf,
  pod,
  replicas,
  type SnapshotParts,
  snapshot,
  stateNode,
} from './build.ts';
import { Draw } from './scenarios.ts';

const SHARE = 0.03;
const ZONES = ['zone-a', 'zone-b', 'zone-c'];

/** Instance type for one pod of the tests, with a price per zone. */
const typeAt = (prices: Readonly<Record<string, number>>, name = 'one'): InstanceType => ({
  ...instanceType(name, { cpu: 4, capacityTypes: ['on-demand'], zones: Object.keys(prices) }),
  offerings: Object.entries(prices).map(([zone, usd]) => offering('on-demand', zone, usd)),
});

const EQUAL = typeAt({ 'zone-a': 1, 'zone-b': 1, 'zone-c': 1 });

function input({ share = SHARE, ...parts }: SnapshotParts & { readonly share?: number }) {
  const found = snapshot(parts);
  return { ...found, pools: found.pools.map((pool) => ({ ...pool, zoneBalance: share })) };
}

const planOf = (parts: Parameters<typeof input>[0]): Plan => solve(input(parts), OPTIONS);

const zonesOf = (plan: Pick<Plan, 'claims'>): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...Map.groupBy(plan.claims, (claim) => singleZone(claim) ?? 'any')]
      .map(([zone, { length }]) => [zone, length] as const)
      .sort(),
  );

const nodesIn = (zone: string, count: number, pool = 'default'): readonly StateNode[] =>
  Array.from({ length: count }, (_, index) =>
    stateNode(`${zone}-${pool}-${index}`, {
      pool,
      allocatable: { cpu: '0' },
      labels: { [ZONE_LABEL]: zone, [NODEPOOL_LABEL]: pool },
    }),
  );

const large = (count: number) => replicas(count, 'large', { cpu: '3' });

describe('the balance of zones', () => {
  it('counts nodes without those that are removed or being deleted, as if they did not exist', () => {
    const [first, second, third] = ['zone-a', 'zone-a', 'zone-b'].map((zone, at) => ({
      ...(nodesIn(zone, 1)[0] as StateNode),
      providerId: `node-${at}`,
    })) as [StateNode, StateNode, StateNode];
    const claims = planOf({ types: [EQUAL], pendingPods: large(3) }).claims.map(({ zone: _, ...claim }) => ({
      ...claim,
      requirements: claim.requirements.filter(({ key }) => key !== ZONE_LABEL),
    }));
    const { pools } = input({ types: [EQUAL], pendingPods: [] });
    const deleted = { ...third, markedForDeletion: true };
    const zones = (nodes: readonly StateNode[], leaving?: readonly StateNode[]) =>
      zonesOf({ claims: balanceZones(claims, { pools, nodes, ...(leaving && { leaving }) }) });
    expect(zones([first, second, third], [second])).toEqual(zones([first, third]));
    expect(zones([first, second, deleted], [second, deleted])).toEqual(zones([first]));
    expect(zones([first, second, third])).toEqual({ 'zone-b': 1, 'zone-c': 2 });
  });

  it('launches 30 nodes at equal prices as 10, 10 and 10', () => {
    const plan = planOf({ types: [EQUAL], pendingPods: large(30) });
    expect(zonesOf(plan)).toEqual({ 'zone-a': 10, 'zone-b': 10, 'zone-c': 10 });
    expect(zonesText(plan.claims)).toBe('zone-a 10, zone-b 10, zone-c 10');
  });

  it('leaves the zones to the cloud if the share is 0', () => {
    const plan = planOf({ types: [EQUAL], pendingPods: large(30), share: 0 });
    expect(zonesOf(plan)).toEqual({ any: 30 });
    expect(zonesText(plan.claims)).toBeUndefined();
  });

  it('restores the balance after a zone could not be used', () => {
    const nodes = [...nodesIn('zone-a', 6), ...nodesIn('zone-b', 6)];
    expect(zonesOf(planOf({ types: [EQUAL], nodes, pendingPods: large(6) }))).toEqual({ 'zone-c': 6 });
    expect(zonesOf(planOf({ types: [EQUAL], nodes, pendingPods: large(9) }))).toEqual({
      'zone-a': 1,
      'zone-b': 1,
      'zone-c': 7,
    });
  });

  it('uses no zone that is not available', () => {
    const type = { ...EQUAL, offerings: EQUAL.offerings.map((each, at) => ({ ...each, available: at !== 1 })) };
    expect(zonesOf(planOf({ types: [type], pendingPods: large(6) }))).toEqual({ 'zone-a': 3, 'zone-c': 3 });
  });

  it('avoids zones in which a node costs more than the share, and reports the extra price', () => {
    const type = typeAt({ 'zone-a': 1.02, 'zone-b': 1, 'zone-c': 1.04 });
    const plan = planOf({ types: [type], pendingPods: large(5) });
    expect(zonesOf(plan)).toEqual({ 'zone-a': 2, 'zone-b': 3 });
    expect(plan.claims.map(({ usdPerHour }) => usdPerHour).sort()).toEqual([1, 1, 1, 1.02, 1.02]);
    expect(zonesText(plan.claims)).toBe(
      'zone-a 2, zone-b 3; the cheapest zones alone would be zone-b 5, for $0.0400 less per hour',
    );
    const dearer = plan.claims.find((claim) => singleZone(claim) === 'zone-a');
    expect(dearer?.annotations[BALANCED_ZONE_ANNOTATION]).toBe('zone-b costs $0.0200 less per hour');
  });

  it('leaves the zone to the cloud if only the cheapest zone is within the share', () => {
    const type = typeAt({ 'zone-a': 1, 'zone-b': 2, 'zone-c': 3 });
    expect(zonesOf(planOf({ types: [type], pendingPods: large(4) }))).toEqual({ any: 4 });
  });

  it('counts claims that pods bind to a zone before it chooses other zones', () => {
    const bound = replicas(3, 'bound', { cpu: '3', nodeSelector: { [ZONE_LABEL]: 'zone-a' } });
    const plan = planOf({ types: [EQUAL], pendingPods: [...large(6), ...bound] });
    expect(zonesOf(plan)).toEqual({ 'zone-a': 3, 'zone-b': 3, 'zone-c': 3 });
  });

  it('counts each NodePool by itself, and prefers empty zones of the cluster between equal zones', () => {
    const pools = [nodePool('default'), nodePool('other', { taints: [{ key: 'other', effect: 'NoSchedule' }] })];
    const nodes = [...nodesIn('zone-a', 5, 'other'), ...nodesIn('zone-b', 4, 'other')];
    const one = planOf({ types: [EQUAL], pools, nodes, pendingPods: large(1) });
    expect(zonesOf(one)).toEqual({ 'zone-c': 1 });
    const three = planOf({ types: [EQUAL], pools, nodes, pendingPods: large(3) });
    expect(zonesOf(three)).toEqual({ 'zone-a': 1, 'zone-b': 1, 'zone-c': 1 });
  });

  it('lists only the types of the zone, cheapest there first', () => {
    const types = [
      typeAt({ 'zone-a': 1, 'zone-b': 1.01 }, 'x'),
      typeAt({ 'zone-a': 2, 'zone-b': 1 }, 'y'),
      typeAt({ 'zone-a': 3 }, 'z'),
    ];
    const { claims } = planOf({ types, pendingPods: large(2) });
    const inZone = (zone: string) => claims.find((claim) => singleZone(claim) === zone);
    expect(inZone('zone-a')).toMatchObject({ instanceTypes: ['x', 'y', 'z'], cheapest: 'x' });
    expect(inZone('zone-b')).toMatchObject({ instanceTypes: ['y', 'x'], cheapest: 'y' });
    expect(inZone('zone-b')?.requirements).toContainEqual(oneOf(INSTANCE_TYPE_LABEL, 'x', 'y'));
  });

  it('does not change reserved nodes and nodes with minValues of zones', () => {
    const reserved = { ...EQUAL, offerings: [...EQUAL.offerings, offering('reserved', 'zone-a', 0)] };
    const claim = planOf({ types: [EQUAL], pendingPods: large(1), share: 0 }).claims[0] as PlannedClaim;
    const pools = [{ nodePool: nodePool('default'), instanceTypes: [reserved], zoneBalance: SHARE }];
    const open = {
      ...claim,
      requirements: claim.requirements.filter(({ key }) => key !== 'karpenter.sh/capacity-type'),
    };
    expect(balanceZones([open], { pools, nodes: [] })).toEqual([open]);
    const requirements = [{ key: ZONE_LABEL, operator: 'Exists', minValues: 2 } as const];
    const plan = planOf({ types: [EQUAL], pools: [nodePool('default', { requirements })], pendingPods: large(2) });
    expect(plan.claims.map(({ zone }) => zone)).toEqual([undefined, undefined]);
  });

  it('does not count nodes that leave', () => {
    const nodes = [...nodesIn('zone-a', 2), ...nodesIn('zone-b', 1), ...nodesIn('zone-c', 1)];
    const prepared = prepare(input({ types: [EQUAL], nodes, pendingPods: [pod('p', { cpu: '3' })] }), OPTIONS);
    const leaving = new Set(nodes.filter(({ name }) => name.startsWith('zone-b')).map(({ providerId }) => providerId));
    expect(zonesOf(prepared.solve({ leaving }))).toEqual({ 'zone-b': 1 });
  });
});

describe('the balance of zones with random prices', () => {
  const drawn = (seed: number) => {
    const draw = new Draw(seed);
    const scale = 10 ** (draw.below(7) - 3);
    const types = ['one', 'two'].map((name) =>
      typeAt(Object.fromEntries(ZONES.map((zone) => [zone, scale * (1 + draw.below(101) / 1000)])), name),
    );
    const nodes = ZONES.flatMap((zone) => nodesIn(zone, draw.below(5)));
    return { scale, types, nodes, pendingPods: large(1 + draw.below(12)) };
  };
  const priceOf = ({ claims }: Plan): number => claims.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0);
  const seeds = Array.from({ length: 200 }, (_, seed) => seed + 1);

  it('never adds more than the share to the price of a plan', () => {
    for (const seed of seeds) {
      const { scale: _, ...parts } = drawn(seed);
      const [plain, balanced] = [planOf({ ...parts, share: 0 }), planOf(parts)];
      expect(balanced.claims.map(({ pods }) => pods)).toEqual(plain.claims.map(({ pods }) => pods));
      expect(priceOf(balanced)).toBeLessThanOrEqual(priceOf(plain) * (1 + SHARE) * (1 + 1e-9));
      expect(priceOf(balanced)).toBeGreaterThanOrEqual(priceOf(plain) * (1 - 1e-9));
    }
  });

  it('fills the zones within the share evenly, at every scale of prices', () => {
    for (const seed of seeds) {
      const { types, nodes, pendingPods } = drawn(seed);
      const plan = planOf({ types, nodes, pendingPods });
      const chosen = plan.claims.flatMap(({ zone }) => zone?.name ?? []);
      const before = (zone: string): number => nodes.filter(({ labels }) => labels[ZONE_LABEL] === zone).length;
      const priceIn = (zone: string): number =>
        Math.min(...types.flatMap(({ offerings }) => offerings[ZONES.indexOf(zone)]?.usdPerHour ?? []));
      const cheapest = Math.min(...ZONES.map(priceIn));
      const eligible = ZONES.filter((zone) => priceIn(zone) <= cheapest * (1 + SHARE));
      expect(new Set(chosen).difference(new Set(eligible))).toEqual(new Set());
      if (eligible.length < 2) continue;
      const finalCount = (zone: string): number => before(zone) + chosen.filter((each) => each === zone).length;
      // a zone that received nodes has at most one node more than any zone that could have received them
      for (const zone of new Set(chosen))
        for (const other of eligible) expect(finalCount(zone)).toBeLessThanOrEqual(finalCount(other) + 1);
    }
  });
});

describe('a move between zones', () => {
  const counts = new Map([
    ['zone-a', 2],
    ['zone-b', 2],
  ]);
  it.each([
    { what: 'from an equal zone', leaving: ['zone-a'], arriving: ['zone-b'], worse: true },
    { what: 'within a zone', leaving: ['zone-a'], arriving: ['zone-a'], worse: false },
    { what: 'to an empty zone', leaving: ['zone-a'], arriving: ['zone-c'], worse: false },
    { what: 'of one node of each zone to one', leaving: ['zone-a', 'zone-b'], arriving: ['zone-a'], worse: true },
  ])('makes the zones less even or not: $what', ({ leaving, arriving, worse }) => {
    expect(worsensBalance(counts, { leaving, arriving })).toBe(worse);
  });
});

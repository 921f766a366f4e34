/** Laws of priced preferences on random clusters. */
import { describe, expect, it } from '@jest/globals';
import type { InstanceType, Plan, Snapshot, SolveOptions } from '../../../../src/engine/model.ts';
import { preferencesOf } from '../../../../src/engine/preferences/preferences.ts';
import { PreferenceJudge } from '../../../../src/engine/preferences/satisfaction.ts';
import { nodeUsdPerHour } from '../../../../src/engine/purchase.ts';
import { solve } from '../../../../src/engine/solve.ts';
import { TopologyBase } from '../../../../src/engine/topology/base.ts';
import { OPTIONS } from '../build.ts';
import { drawnSnapshot } from '../scenarios.ts';

const CLUSTERS = 1_000;
const SIZES = { nodes: 6, workloads: 6 };
const PRICED = { ...OPTIONS, preferencePolicy: 'Priced', packing: 'cheapest' } as const;
const IGNORING = { ...PRICED, preferencePolicy: 'Ignore' } as const;
const RESPECTING = { ...PRICED, preferencePolicy: 'Respect' } as const;

const WORTHS = [0, 0.1, 5];

function drawn(seed: number): Snapshot {
  const found = drawnSnapshot(seed, SIZES);
  const worth = WORTHS[seed % WORTHS.length] ?? 0;
  return { ...found, pools: found.pools.map((pool) => ({ ...pool, preferences: { worth, most: 1 } })) };
}

const usdOf = ({ claims }: Plan): number =>
  claims.reduce((sum, claim) => sum + nodeUsdPerHour(claim) + (claim.spotRiskUsdPerHour ?? 0), 0);

/** Sum of the weights of satisfied preferences. */
function satisfied(plan: Plan, snapshot: Snapshot): number {
  const base = new TopologyBase(snapshot, { preferences: true });
  const pods = snapshot.pendingPods.filter((pod) => preferencesOf(pod).length > 0);
  const judge = new PreferenceJudge(
    base,
    pods,
    pods.map((pod) => [pod]),
  );
  const spots = judge.spotsIn(plan, (id) => snapshot.nodes.findIndex(({ providerId }) => providerId === id));
  return judge.judge(spots).weights.reduce((sum, weight) => sum + weight, 0);
}

const dearer = (type: InstanceType, by: number): InstanceType => ({
  ...type,
  offerings: type.offerings.map((each) => ({ ...each, usdPerHour: each.usdPerHour * by })),
});

const nodesOf = ({ claims }: Plan): readonly string[] => claims.map(({ pods }) => [...pods].sort().join()).sort();

describe('a priced plan', () => {
  const seeds = Array.from({ length: CLUSTERS }, (_, seed) => seed + 1);

  it('costs at most the worth of its additional preferences more than a plan without preferences', () => {
    let additional = 0;
    for (const seed of seeds) {
      const snapshot = drawn(seed);
      const [plan, ignoring] = [solve(snapshot, PRICED), solve(snapshot, IGNORING)];
      const { gainedUsdPerHour = 0, addedUsdPerHour = 0 } = plan.preferences ?? {};
      expect(usdOf(plan)).toBeLessThanOrEqual(usdOf(ignoring) + gainedUsdPerHour + 1e-6);
      if (addedUsdPerHour > 0) additional++;
      for (const group of plan.preferences?.groups ?? [])
        if (group.satisfied === group.wanted)
          expect(group.addedUsdPerHour ?? 0).toBeLessThanOrEqual((group.worthUsdPerHour ?? 0) + 1e-9);
      expect([...plan.refusals.keys()].sort()).toEqual([...ignoring.refusals.keys()].sort());
      if (Math.abs(usdOf(plan) - usdOf(ignoring)) < 1e-9)
        expect(satisfied(plan, snapshot)).toBeGreaterThanOrEqual(satisfied(ignoring, snapshot));
    }
    expect(additional).toBeGreaterThan(CLUSTERS / 50);
  });

  it('does not depend on the scale of prices', () => {
    let compared = 0;
    for (const seed of seeds.slice(0, CLUSTERS / 10)) {
      const snapshot = drawn(seed);
      const pools = snapshot.pools.map((pool) => ({
        ...pool,
        instanceTypes: pool.instanceTypes.map((type) => dearer(type, 8)),
      }));
      const dear = { ...snapshot, pools };
      // the search for cheaper nodes may find other nodes at the same price
      const isSame = (options: SolveOptions): boolean =>
        String(nodesOf(solve(dear, options))) === String(nodesOf(solve(snapshot, options)));
      if (!isSame(IGNORING) || !isSame(RESPECTING)) continue;
      compared++;
      expect(nodesOf(solve(dear, PRICED))).toEqual(nodesOf(solve(snapshot, PRICED)));
    }
    expect(compared).toBeGreaterThan(CLUSTERS / 20);
  });

  it('satisfies all preferences that a plan with all preferences satisfies at the same price', () => {
    let free = 0;
    for (const seed of seeds.slice(0, CLUSTERS / 4)) {
      const snapshot = drawn(seed);
      const [plan, all] = [solve(snapshot, PRICED), solve(snapshot, RESPECTING)];
      const sameRefusals = [...all.refusals.keys()].sort().join() === [...plan.refusals.keys()].sort().join();
      if (!sameRefusals || usdOf(all) > usdOf(plan) + 1e-9) continue;
      free++;
      expect(satisfied(plan, snapshot)).toBeGreaterThanOrEqual(satisfied(all, snapshot));
    }
    expect(free).toBeGreaterThan(CLUSTERS / 20);
  });
});

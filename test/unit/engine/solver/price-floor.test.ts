/** Solves with a price limit that skip the search for cheaper nodes if it cannot succeed. */
import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL } from '#api/objects';
import type { PackingLimit, Plan, Snapshot, SolveOptions } from '../../../../src/engine/model.ts';
import { nodeUsdPerHour } from '../../../../src/engine/purchase.ts';
import { solve } from '../../../../src/engine/solve.ts';
import { instanceType, nodePool, OPTIONS, oneOf, planOf, replicas, type SnapshotParts, snapshot } from '../build.ts';
import { drawnSnapshot } from '../scenarios.ts';

const SIMULATED: SolveOptions = { ...OPTIONS, reservedMode: 'fallback', packing: 'cheapest', packingWork: 300_000 };

const textOf = (plan: Plan): string => JSON.stringify({ ...plan, refusals: [...plan.refusals] });
const priceOf = ({ claims }: Plan): number => claims.reduce((sum, claim) => sum + nodeUsdPerHour(claim), 0);

const onDemand = (snapshot: Snapshot): Snapshot => ({
  ...snapshot,
  pools: snapshot.pools.map(({ instanceTypes, ...pool }) => ({
    ...pool,
    instanceTypes: instanceTypes.map((type) => ({
      ...type,
      offerings: type.offerings.filter(({ requirements }) =>
        requirements.every(({ values }) => values?.[0] !== 'spot'),
      ),
    })),
  })),
});

describe('a solve with a price limit', () => {
  it.each(
    Array.from({ length: 30 }, (_, seed) => seed),
  )('finds a plan at exactly the limit, for any capacity type or a single one (seed %i)', (seed) => {
    const drawn = drawnSnapshot(seed, { nodes: 3, workloads: 12 });
    for (const [snapshot, avoided] of [[drawn], [onDemand(drawn)], [onDemand(drawn), 'spot']] as const) {
      const packed = solve(snapshot, SIMULATED);
      const packingLimit: PackingLimit = { usdPerHour: priceOf(packed), ...(avoided && { avoided }) };
      expect(textOf(solve(snapshot, { ...SIMULATED, packingLimit })) === textOf(packed)).toBe(true);
    }
  });

  /** First-fit by size puts three pods on each node, 6 of 8 CPU. The cheapest plan costs a quarter. */
  const wasteful: SnapshotParts = {
    types: [
      instanceType('small', { cpu: 2, gib: 8, usd: 0.2 }),
      instanceType('medium', { cpu: 4, gib: 16, usd: 0.3 }),
      instanceType('large', { cpu: 8, gib: 32, usd: 0.9 }),
    ],
    pendingPods: [...replicas(6, 'web', { cpu: '1900m', memory: '1Gi' }), ...replicas(4, 'job', { cpu: '1' })],
  };
  const bought = planOf(wasteful, { ...SIMULATED, packing: 'compatible' });
  const packed = planOf(wasteful, SIMULATED);
  const limited = (packingLimit: PackingLimit, parts: SnapshotParts = {}, options: Partial<SolveOptions> = {}) =>
    planOf({ ...wasteful, ...parts }, { ...SIMULATED, ...options, packingLimit });

  it('keeps the first plan if even fractions of nodes cost more than the limit', () => {
    expect(priceOf(packed)).toBeLessThan(priceOf(bought));
    const floor = (15.4 * 0.3) / 4 / 2; // 15.4 CPU at the spot price
    expect(textOf(limited({ usdPerHour: floor * 1.001 }))).toBe(textOf(packed));
    expect(textOf(limited({ usdPerHour: floor * 0.999 }))).toBe(textOf(bought));
  });

  it('ignores offerings that may not be launched', () => {
    const packingLimit = { usdPerHour: priceOf(packed), avoided: 'spot' };
    expect(textOf(limited(packingLimit))).toBe(textOf(bought));
    const spotAlone = [nodePool('default', { requirements: [oneOf(CAPACITY_TYPE_LABEL, 'spot')] })];
    expect(textOf(limited({ usdPerHour: 1_000, avoided: 'spot' }, { pools: spotAlone }))).toBe(
      textOf(planOf({ ...wasteful, pools: spotAlone }, { ...SIMULATED, packing: 'compatible' })),
    );
  });

  it('has only as few nodes as the limit allows', () => {
    // One node for four pods costs 4 % more than four nodes for one pod.
    const types = [instanceType('one', { cpu: 1, usd: 0.2 }), instanceType('four', { cpu: 4, usd: 0.832 })];
    const { pools, ...rest } = snapshot({ types, pendingPods: replicas(16, 'web', { cpu: '1' }) });
    const extras = { feeUsdPerHour: 0.0001, volumesUsdPerHour: 0, publicIpv4UsdPerHour: 0 };
    const costly: Snapshot = { ...rest, pools: pools.map((pool) => ({ ...pool, extras })) };
    const nodesFor = (usdPerHour: number): number =>
      solve(costly, { ...SIMULATED, packingLimit: { usdPerHour } }).claims.length;
    expect(nodesFor(1.67)).toBe(4);
    expect(nodesFor(1.65)).toBe(7); // three nodes for four pods and four nodes for one pod
    expect(nodesFor(1.61)).toBe(16);
  });

  it('searches for cheaper nodes if several attempts compete', () => {
    const options = { reservedMode: 'off' } as const;
    expect(textOf(limited({ usdPerHour: 0 }, {}, options))).toBe(
      textOf(planOf(wasteful, { ...SIMULATED, ...options })),
    );
  });
});

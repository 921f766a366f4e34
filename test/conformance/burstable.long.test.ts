/**
 * Plans with AWS's own instance types, among which the smallest burstable types appear cheapest. Prices include surplus
 * CPU credits.
 */
import { describe, expect, it } from '@jest/globals';
import type { SolveOptions } from '#engine/model';
import { solve } from '#engine/solve';
import { burstableCluster, priceAt } from '../../bench/burstable.ts';

const OPTIONS: SolveOptions = {
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  reservedMode: 'fallback',
  ignoreDraRequests: false,
};
const FEES = [0, 0.015, 0.05];
const cases = [false, true].flatMap((withDaemonSets) =>
  [1, 2, 3].map((seed) => ({
    seed,
    daemonSets: withDaemonSets ? 'five DaemonSets' : 'no DaemonSets',
    cluster: burstableCluster(seed, withDaemonSets),
  })),
);

describe('an unrestricted NodePool', () => {
  it.each(cases)('gets few nodes at a good price with $daemonSets, seed $seed', async ({ cluster }) => {
    const plan = solve(await cluster.snapshot(), OPTIONS);
    expect(plan.refusals.size).toBe(0);
    expect(plan.claims.length).toBeLessThanOrEqual(40);
    const plansWithout = await Promise.all(
      FEES.map(async (nodeHourlyFee) => solve(await cluster.snapshot({ nodeHourlyFee, burstable: false }), OPTIONS)),
    );
    const leastUsd = Math.min(...plansWithout.map((other) => priceAt(other, cluster, 0.7)));
    expect(priceAt(plan, cluster, 0.7)).toBeLessThanOrEqual(1.05 * leastUsd);
  });

  it.each(cases)('gets as many nodes for a slightly higher fee with $daemonSets, seed $seed', async ({ cluster }) => {
    const nodesFor = async (nodeHourlyFee: number) =>
      solve(await cluster.snapshot({ nodeHourlyFee }), OPTIONS).claims.length;
    expect(Math.abs((await nodesFor(0.02)) - (await nodesFor(0.015)))).toBeLessThanOrEqual(3);
  });

  it('gets more than a hundred nodes that cost more at 70 % utilization if credits are free', async () => {
    const [{ cluster }] = cases as [(typeof cases)[number]];
    const free = solve(await cluster.snapshot({ cpuUtilization: 0 }), OPTIONS);
    const priced = solve(await cluster.snapshot(), OPTIONS);
    expect(free.claims.length).toBeGreaterThan(100);
    expect(priceAt(free, cluster, 1)).toBeGreaterThan(priceAt(priced, cluster, 1));
  });
});

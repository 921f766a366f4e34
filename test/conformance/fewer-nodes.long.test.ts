/** Cost of fewer nodes in the recorded scheduling cases: the default fee compared with a fee of 0. */
import { describe, expect, it } from '@jest/globals';
import { DEFAULT_NODE_HOURLY_FEE } from '#api/values';
import type { Plan, SolveOptions } from '#engine/model';
import { solve } from '#engine/solve';
import { priceOf, recordedScenarios } from '../../bench/recorded.ts';

const OPTIONS: SolveOptions = {
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  reservedMode: 'fallback',
  ignoreDraRequests: false,
};
/** Upper limit of the price of a node's volumes in the recorded cases, in USD per hour. */
const MOST_EXTRAS = 0.01;

const withFees = (plan: Plan): number => priceOf(plan) + plan.claims.length * (DEFAULT_NODE_HOURLY_FEE + MOST_EXTRAS);

const cases = await Promise.all(
  recordedScenarios().map(async ({ name, snapshot }) => ({
    name,
    compatible: solve(await snapshot(0), { ...OPTIONS, packing: 'compatible' }),
    cheapest: solve(await snapshot(0), OPTIONS),
    usual: solve(await snapshot(DEFAULT_NODE_HOURLY_FEE), OPTIONS),
  })),
);

describe('a plan with fewer nodes', () => {
  const sum = (of: (one: (typeof cases)[number]) => number): number => cases.reduce((all, one) => all + of(one), 0);

  it.each(cases)('costs at most 5 % more in $name', ({ cheapest, usual }) => {
    expect(withFees(usual)).toBeLessThanOrEqual(1.05 * withFees(cheapest) + 1e-9);
    // simulations of disruption pack once, and their cheapest plan may have few nodes by chance
    const isCheaper = priceOf(usual) < priceOf(cheapest);
    expect(usual.claims.length).toBeLessThanOrEqual(isCheaper ? Number.POSITIVE_INFINITY : cheapest.claims.length);
  });

  it("has at most 1.3 times as many nodes as Karpenter's, at a price that is a quarter lower", () => {
    const nodes = sum(({ compatible }) => compatible.claims.length);
    expect(sum(({ usual }) => usual.claims.length)).toBeLessThan(1.3 * nodes);
    expect(sum(({ usual }) => priceOf(usual))).toBeLessThan(0.725 * sum(({ compatible }) => priceOf(compatible)));
    expect(sum(({ cheapest }) => priceOf(cheapest))).toBeLessThan(0.715 * sum(({ compatible }) => priceOf(compatible)));
  });

  it('has the nodes of first-fit if the search finds no plan with so few', () => {
    const [pods] = cases.filter(({ name }) => name === '0017-affinity');
    expect(pods?.compatible.claims).toHaveLength(13);
    expect(pods?.usual.claims).toHaveLength(13);
  });
});

describe('a plan without a fee', () => {
  it.each(recordedScenarios())('costs at most as much as the plan of $name with the default fee', async ({
    snapshot,
  }) => {
    const usdWith = async (fee: number): Promise<number> =>
      priceOf(solve(await snapshot(fee), { ...OPTIONS, reservedMode: 'strict' }));
    expect(await usdWith(0)).toBeLessThanOrEqual((await usdWith(DEFAULT_NODE_HOURLY_FEE)) * (1 + 1e-9));
  });
});

/** Plans for recorded pods with a fee of nodes. */
import { describe, expect, it } from '@jest/globals';
import { priceOf, recordedScenarios } from '../../../../bench/recorded.ts';
import { solve } from '../../../../src/engine/solve.ts';
import { OPTIONS } from '../build.ts';

const FEES = [0, 0.015, 0.03, 0.05, 0.1];
/** Relative difference in price by which the search can miss the best plan. */
const TOLERANCE = 0.001;

describe('a plan for recorded pods with a higher fee of nodes', () => {
  it.each(recordedScenarios('-plain'))('has no more nodes and no cheaper instances: $name', async ({ snapshot }) => {
    const plans = [];
    for (const fee of FEES) {
      const plan = solve(await snapshot(fee), { ...OPTIONS, packing: 'cheapest', afterBinding: true });
      plans.push({ nodes: plan.claims.length, usdPerHour: priceOf(plan) });
    }
    for (const [at, { nodes, usdPerHour }] of plans.entries()) {
      const lower = plans[at - 1];
      if (lower === undefined) continue;
      expect(nodes).toBeLessThanOrEqual(lower.nodes);
      expect(usdPerHour).toBeGreaterThanOrEqual(lower.usdPerHour * (1 - TOLERANCE));
    }
  });
});

describe('a plan for recorded pods that kube-scheduler would not bind to the best nodes', () => {
  it('is the second-best plan, not first-fit', async () => {
    const [scenario] = recordedScenarios('0028-plain');
    const snapshot = await scenario?.snapshot(0.015);
    if (snapshot === undefined) throw new Error('no such case');
    const plan = (options: object) => solve(snapshot, { ...OPTIONS, ...options });
    const [best, bound] = [plan({ packing: 'cheapest' }), plan({ packing: 'cheapest', afterBinding: true })];
    expect(bound.claims.length).not.toBe(best.claims.length);
    expect(priceOf(bound)).toBeLessThan(priceOf(plan({ packing: 'compatible' })));
  });
});

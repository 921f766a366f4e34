/** The search among packings, on numbers alone. */
import { describe, expect, it } from '@jest/globals';
import { costOf, type Problem } from '../../../../src/engine/packing/problem.ts';
import { cheapestPacking } from '../../../../src/engine/packing/search.ts';
import { Shop } from '../../../../src/engine/packing/shop.ts';

const isLate = (): boolean => false;

/** Pods of one milli-core on nodes of the given sizes and prices. */
const problem = (pods: number, rows: readonly (readonly [size: number, usdPerHour: number])[]): Problem => ({
  kinds: [{ amounts: new Float64Array([1]), count: pods }],
  capacities: rows.map(([size]) => new Float64Array([size])),
  mixes: [{ kinds: [0], prices: Float64Array.from(rows, ([, usdPerHour]) => usdPerHour) }],
});

function packed(of: Problem, indifference: number) {
  const bins = cheapestPacking(of, { indifference, isLate }) ?? [];
  return { nodes: bins.reduce((sum, { copies }) => sum + copies, 0), usdPerHour: costOf(bins) };
}

describe('a packing', () => {
  it('takes the cheapest nodes, however many, where nodes cost nothing besides their instances', () => {
    const sizes = problem(16, [
      [1, 0.1],
      [16, 1.601],
    ]);
    expect(packed(sizes, 0)).toEqual({ nodes: 16, usdPerHour: expect.closeTo(1.6) });
  });

  it('takes fewer nodes where that costs practically the same', () => {
    const sizes = problem(16, [
      [1, 0.1],
      [16, 1.601],
    ]);
    expect(packed(sizes, 0.005)).toEqual({ nodes: 1, usdPerHour: 1.601 });
  });

  it('never pays more than that for fewer nodes', () => {
    for (const dearer of [1.001, 1.003, 1.004, 1.006, 1.01, 1.05]) {
      const sizes = problem(64, [
        [1, 0.1],
        [4, 0.4 * dearer],
        [16, 1.6 * dearer],
      ]);
      expect(packed(sizes, 0.005).usdPerHour).toBeLessThanOrEqual(6.4 * 1.005 + 1e-9);
    }
  });

  it('goes through no more than the money that there is', () => {
    const budget = { left: 1_000_000, isLate };
    const shop = new Shop(problem(16, [[4, 0.4]]), budget);
    const request = {
      counts: Int32Array.of(16),
      worth: Float64Array.of(0.1),
      filling: 'scarcity',
      surcharge: 0.1,
    } as const;
    expect(shop.buy({ ...request, usdLimit: 2.01 })).toHaveLength(1); // four nodes in one go
    expect(shop.buy({ ...request, usdLimit: 2 })).toBeUndefined();
  });

  it('fills few of the nodes that it could buy', () => {
    const sizes = Array.from({ length: 200 }, (_, index) => [index + 1, 0.1 * (index + 1) ** 1.01] as const);
    const budget = { left: 1_000_000, isLate };
    new Shop(problem(1_000, sizes), budget).buy({
      ...{ counts: Int32Array.of(1_000), worth: Float64Array.of(0.1), filling: 'scarcity', surcharge: 0 },
    });
    // each node that is filled takes some ten looks, each bound one
    expect(1_000_000 - budget.left).toBeLessThan(200 + 10 * 20);
  });
});

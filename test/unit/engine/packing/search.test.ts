/** The search among packings, on numbers alone. */
import { describe, expect, it } from '@jest/globals';
import { costOf, type Problem } from '../../../../src/engine/packing/problem.ts';
import { cheapestPacking } from '../../../../src/engine/packing/search.ts';

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
});

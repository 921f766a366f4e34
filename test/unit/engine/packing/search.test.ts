/** The search among packings, on numbers alone. */
import { describe, expect, it } from '@jest/globals';
import { type Bin, costOf, nodesOf, type Problem } from '../../../../src/engine/packing/problem.ts';
import { bestPacking } from '../../../../src/engine/packing/search.ts';
import { Shop } from '../../../../src/engine/packing/shop.ts';

const NO_SURPLUS = { surplus: [], cpuAt: 0 };
const isLate = (): boolean => false;

/** Pods of one milli-core on nodes of the given sizes and prices. */
const problem = (pods: number, rows: readonly (readonly [size: number, usdPerHour: number])[]): Problem => ({
  kinds: [{ amounts: new Float64Array([1]), count: pods }],
  capacities: rows.map(([size]) => new Float64Array([size])),
  mixes: [{ kinds: [0], prices: Float64Array.from(rows, ([, usdPerHour]) => usdPerHour) }],
  ...NO_SURPLUS,
});

function packed(of: Problem, indifference: number, usdLimit?: number) {
  const bins = bestPacking(of, { indifference, usdLimit, isLate })?.bins ?? [];
  return { nodes: nodesOf(bins), usdPerHour: costOf(bins) };
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

  /** Nodes with room for 1 or for 4 pods, of which the large ones are dearer by a part. */
  const dearerLargeNodes = (dearer: number) =>
    problem(16, [
      [1, 0.1],
      [4, 0.4 * (1 + dearer)],
    ]);

  it('takes fewer nodes where what they cost more is little', () => {
    expect(packed(dearerLargeNodes(0.04), 0.005)).toEqual({ nodes: 4, usdPerHour: expect.closeTo(1.664) });
    expect(packed(dearerLargeNodes(0.04), 0)).toEqual({ nodes: 16, usdPerHour: expect.closeTo(1.6) });
  });

  it('pays 5 % for fewer nodes at most, and has as few as that buys', () => {
    // each large node is dearer by 0.024 than four small ones, and 5 % are 0.08
    expect(packed(dearerLargeNodes(0.06), 0.005)).toEqual({ nodes: 7, usdPerHour: expect.closeTo(1.672) });
    expect(packed(dearerLargeNodes(0.21), 0.005)).toEqual({ nodes: 16, usdPerHour: expect.closeTo(1.6) });
  });

  it('is made from the plan that there is already where that is better', () => {
    const sizes = dearerLargeNodes(0.04);
    const present = (price: number): readonly Bin[] => [{ row: 1, price, counts: Int32Array.of(16), copies: 1 }];
    const cost = (price: number): number =>
      costOf(bestPacking(sizes, { indifference: 0, present: present(price), isLate })?.bins ?? []);
    expect(cost(1.5)).toBe(1.5);
    expect(cost(1.7)).toBeCloseTo(1.6);
  });

  it('is what the search for fewer nodes finds where that is cheaper with as many nodes', () => {
    const sizes = [
      [4, 8],
      [8, 8],
      [8, 16],
      [8, 4],
      [16, 16],
      [16, 8],
      [16, 32],
    ] as const;
    const kind = (cpu: number, memory: number, count: number) => ({ amounts: Float64Array.of(cpu, memory), count });
    const of: Problem = {
      kinds: [kind(4, 5, 8), kind(5, 1, 6), kind(7, 6, 5)],
      capacities: sizes.map((size) => Float64Array.from(size)),
      mixes: [{ kinds: [0, 1, 2], prices: Float64Array.from(sizes, ([cpu, memory]) => 3 * cpu + memory) }],
      ...NO_SURPLUS,
    };
    expect(packed(of, 0)).toEqual({ nodes: 7, usdPerHour: 400 });
    expect(packed(of, 0.005)).toEqual({ nodes: 7, usdPerHour: 396 });
  });

  it('never becomes too dear to be of use by having fewer nodes', () => {
    expect(packed(dearerLargeNodes(0.04), 0.005, 1.67)).toMatchObject({ nodes: 4 });
    expect(packed(dearerLargeNodes(0.04), 0.005, 1.65)).toMatchObject({ nodes: 7 });
    expect(packed(dearerLargeNodes(0.04), 0.005, 1.61)).toMatchObject({ nodes: 16 });
    expect(packed(dearerLargeNodes(0.04), 0.005, 1.5)).toMatchObject({ nodes: 16 });
  });

  it('pays for a node saved no more than what two small pods cost', () => {
    // the small pods of one kind cost 0.01 each; a node less would cost 0.02
    const of: Problem = {
      kinds: [
        { amounts: new Float64Array([1]), count: 20 },
        { amounts: new Float64Array([10]), count: 2 },
      ],
      capacities: [new Float64Array([20]), new Float64Array([10]), new Float64Array([20])],
      mixes: [
        { kinds: [0], prices: Float64Array.of(0.2, Infinity, Infinity) },
        { kinds: [1], prices: Float64Array.of(Infinity, 0.5, 1.025) },
      ],
      ...NO_SURPLUS,
    };
    expect(packed(of, 0.005)).toEqual({ nodes: 3, usdPerHour: expect.closeTo(1.2) });
    const cheaper = { ...of, mixes: [of.mixes[0], { kinds: [1], prices: Float64Array.of(Infinity, 0.5, 1.015) }] };
    expect(packed(cheaper as Problem, 0.005)).toEqual({ nodes: 2, usdPerHour: expect.closeTo(1.215) });
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

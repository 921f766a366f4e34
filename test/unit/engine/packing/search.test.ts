/** Search for packings on plain numbers. */
import { describe, expect, it } from '@jest/globals';
import { type Bin, costOf, nodesOf, type Problem } from '../../../../src/engine/packing/problem.ts';
import { bestPacking } from '../../../../src/engine/packing/search.ts';
import { Shop } from '../../../../src/engine/packing/shop.ts';

const NO_SURPLUS = { surplus: [], cpuAt: 0 };
const isLate = (): boolean => false;

/** Problem with pods of one millicore and nodes of the given sizes and prices. */
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
  it('takes the cheapest nodes, whatever their number, if nodes have no cost besides their instances', () => {
    const sizes = problem(16, [
      [1, 0.1],
      [16, 1.601],
    ]);
    expect(packed(sizes, 0)).toEqual({ nodes: 16, usdPerHour: expect.closeTo(1.6) });
  });

  it('takes fewer nodes if the price is practically equal', () => {
    const sizes = problem(16, [
      [1, 0.1],
      [16, 1.601],
    ]);
    expect(packed(sizes, 0.005)).toEqual({ nodes: 1, usdPerHour: 1.601 });
  });

  /** Nodes with room for 1 or 4 pods. A large node costs this fraction more than four small ones. */
  const dearerLargeNodes = (dearer: number) =>
    problem(16, [
      [1, 0.1],
      [4, 0.4 * (1 + dearer)],
    ]);

  it('takes fewer nodes if the price difference is small', () => {
    expect(packed(dearerLargeNodes(0.04), 0.005)).toEqual({ nodes: 4, usdPerHour: expect.closeTo(1.664) });
    expect(packed(dearerLargeNodes(0.04), 0)).toEqual({ nodes: 16, usdPerHour: expect.closeTo(1.6) });
  });

  it('pays at most 5 % more for fewer nodes, and has as few nodes as that allows', () => {
    // Each large node costs 0.024 more than four small ones, and 5 % is 0.08.
    expect(packed(dearerLargeNodes(0.06), 0.005)).toEqual({ nodes: 7, usdPerHour: expect.closeTo(1.672) });
    expect(packed(dearerLargeNodes(0.21), 0.005)).toEqual({ nodes: 16, usdPerHour: expect.closeTo(1.6) });
  });

  it('is the existing plan if that is better', () => {
    const sizes = dearerLargeNodes(0.04);
    const present = (price: number): readonly Bin[] => [{ row: 1, price, counts: Int32Array.of(16), copies: 1 }];
    const cost = (price: number): number =>
      costOf(bestPacking(sizes, { indifference: 0, present: present(price), isLate })?.bins ?? []);
    expect(cost(1.5)).toBe(1.5);
    expect(cost(1.7)).toBeCloseTo(1.6);
  });

  it('is the result of the search for fewer nodes if that costs less', () => {
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
      kinds: [kind(8, 3, 5), kind(1, 1, 6), kind(1, 1, 8)],
      capacities: sizes.map((size) => Float64Array.from(size)),
      mixes: [{ kinds: [0, 1, 2], prices: Float64Array.from(sizes, ([cpu, memory]) => 3 * cpu + memory) }],
      ...NO_SURPLUS,
    };
    // the first search finds only eight nodes for 212
    expect(packed(of, 0)).toEqual({ nodes: 4, usdPerHour: 204 });
    expect(packed(of, 0.005)).toEqual({ nodes: 4, usdPerHour: 204 });
  });

  it('stays below the price limit when it reduces the number of nodes', () => {
    expect(packed(dearerLargeNodes(0.04), 0.005, 1.67)).toMatchObject({ nodes: 4 });
    expect(packed(dearerLargeNodes(0.04), 0.005, 1.65)).toMatchObject({ nodes: 7 });
    expect(packed(dearerLargeNodes(0.04), 0.005, 1.61)).toMatchObject({ nodes: 16 });
    expect(packed(dearerLargeNodes(0.04), 0.005, 1.5)).toMatchObject({ nodes: 16 });
  });

  it('pays no more for one node less than the price of two small pods', () => {
    // The small pods of one kind cost 0.01 each. One node less would cost 0.02.
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

  it('stops at the price limit', () => {
    const budget = { left: 1_000_000, isLate };
    const shop = new Shop(problem(16, [[4, 0.4]]), budget);
    const request = {
      counts: Int32Array.of(16),
      worth: Float64Array.of(0.1),
      filling: 'scarcity',
      surcharge: 0.1,
      considered: undefined,
    } as const;
    expect(shop.buy({ ...request, usdLimit: 2.01 })).toHaveLength(1); // four nodes in one step
    expect(shop.buy({ ...request, usdLimit: 2 })).toBeUndefined();
  });

  it('fills only few of the possible nodes', () => {
    const sizes = Array.from({ length: 200 }, (_, index) => [index + 1, 0.1 * (index + 1) ** 1.01] as const);
    const budget = { left: 1_000_000, isLate };
    new Shop(problem(1_000, sizes), budget).buy({
      ...{ counts: Int32Array.of(1_000), worth: Float64Array.of(0.1), filling: 'scarcity', surcharge: 0 },
      ...{ usdLimit: Number.POSITIVE_INFINITY, considered: undefined },
    });
    // Each filled node takes about ten steps, each bounded node one step.
    expect(1_000_000 - budget.left).toBeLessThan(200 + 10 * 20);
  });
});

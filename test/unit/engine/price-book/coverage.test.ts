import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Commitment } from '../../../../src/engine/price-book/commitment.ts';
import { coverageOf, type RunningInstance } from '../../../../src/engine/price-book/coverage.ts';

const instance = (id: string, instanceType: string, usdPerHour: number, more: Partial<RunningInstance> = {}) => ({
  id,
  instanceType,
  zone: 'a',
  capacityType: 'on-demand',
  usdPerHour,
  ...more,
});

const computePlan = (amount: number, share: number): Commitment => ({
  name: 'compute',
  kind: 'compute-savings-plan',
  amount,
  rates: [{ share }],
});
const familyPlan = (amount: number, share: number, family: string): Commitment => ({
  name: family,
  kind: 'ec2-instance-savings-plan',
  amount,
  rates: [{ family, share }],
});
const reserved = (instanceType: string, amount: number, zone?: string): Commitment => ({
  name: instanceType,
  kind: zone === undefined ? 'regional-reserved-instances' : 'zonal-reserved-instances',
  amount,
  ...(zone === undefined ? {} : { zone }),
  rates: [{ instanceType, perHour: 1 }],
});

describe('a commitment', () => {
  it('covers instances until a Savings Plan is used up, the last instance in part', () => {
    const nodes = [instance('1', 'm5.large', 0.1), instance('2', 'm5.large', 0.1), instance('3', 'm5.large', 0.1)];
    const { covered, left } = coverageOf(nodes, [computePlan(0.09, 0.6)]);
    expect(covered.get('1')).toBeCloseTo(0.1);
    expect(covered.get('2')).toBeCloseTo(0.05);
    expect(covered.has('3')).toBe(false);
    expect(left).toEqual([0]);
  });

  it('does not cover spot and reserved capacity', () => {
    const nodes = ['spot', 'reserved'].map((capacityType) => instance(capacityType, 'm5.large', 0.1, { capacityType }));
    expect(coverageOf(nodes, [computePlan(1, 0.6)])).toEqual({ covered: new Map(), left: [1] });
  });

  it('is used in the order zonal reserved instances, regional ones, family plans, general plans', () => {
    const nodes = ['1', '2', '3', '4'].map((id) => instance(id, 'm5.large', 0.1));
    const commitments = [
      reserved('m5.large', 1, 'a'),
      reserved('m5.large', 1),
      familyPlan(0.05, 0.5, 'm5'),
      computePlan(10, 0.4),
    ];
    expect(coverageOf(nodes, commitments)).toEqual({
      covered: new Map(['1', '2', '3', '4'].map((id) => [id, 0.1])),
      left: [0, 0, 0, 10 - 0.04],
    });
  });

  it('does not cover other zones if it is in one zone', () => {
    const { covered } = coverageOf([instance('1', 'm5.large', 0.1, { zone: 'b' })], [reserved('m5.large', 1, 'a')]);
    expect(covered.size).toBe(0);
  });

  it('covers other sizes of a family by normalization factors, small sizes first', () => {
    const flexible: Commitment = {
      name: 'm5',
      kind: 'regional-reserved-instances',
      amount: 6,
      rates: [{ family: 'm5', perUnit: 1 }],
    };
    const nodes = [
      instance('big', 'm5.2xlarge', 0.4),
      instance('small', 'm5.large', 0.1),
      instance('c', 'c5.large', 1),
    ];
    const { covered, left } = coverageOf(nodes, [flexible]);
    expect(Object.fromEntries(covered)).toEqual({ small: 0.1, big: 0.2 });
    expect(left).toEqual([0]);
  });

  it('covers the largest savings rate first, as AWS does', () => {
    const plan: Commitment = {
      name: 'plan',
      kind: 'compute-savings-plan',
      amount: 0.05,
      rates: [
        { family: 'm5', share: 0.7 },
        { family: 'c5', share: 0.5 },
      ],
    };
    const nodes = [instance('1', 'm5.large', 0.1), instance('2', 'c5.large', 0.1)];
    expect([...coverageOf(nodes, [plan]).covered.keys()]).toEqual(['2']);
  });

  it('uses a share of the list price, and saves the price after discounts', () => {
    const { covered, left } = coverageOf(
      [instance('1', 'm5.large', 0.08, { listUsdPerHour: 0.1 })],
      [computePlan(1, 0.6)],
    );
    expect(covered.get('1')).toBeCloseTo(0.08);
    expect(left[0]).toBeCloseTo(0.94);
  });

  it('never covers more than the price, never exceeds its amount, and does not depend on order', () => {
    const types = ['m5.large', 'm5.xlarge', 'c5.large', 'r5.metal'];
    const nodes = fc.array(
      fc.record({
        type: fc.constantFrom(...types),
        price: fc.integer({ min: 0, max: 9 }),
        zone: fc.constantFrom('a', 'b'),
      }),
      { maxLength: 12 },
    );
    const commitments = fc.array(
      fc.oneof(
        fc
          .record({ amount: fc.integer({ min: 0, max: 20 }), share: fc.double({ min: 0.1, max: 1, noNaN: true }) })
          .map(({ amount, share }) => computePlan(amount, share)),
        fc.integer({ min: 1, max: 4 }).map((count) => reserved('m5.large', count, 'a')),
        fc.integer({ min: 1, max: 4 }).map((count) => familyPlan(count, 0.5, 'm5')),
      ),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(nodes, commitments, (drawn, granted) => {
        const running = drawn.map(({ type, price, zone }, at) => instance(String(at), type, price, { zone }));
        const ordered = granted.toSorted((a, b) => (a.kind < b.kind ? 1 : -1));
        const { covered, left } = coverageOf(running, ordered);
        for (const { id, usdPerHour } of running) {
          expect(covered.get(id) ?? 0).toBeLessThanOrEqual(usdPerHour + 1e-9);
          expect(covered.get(id) ?? 0).toBeGreaterThanOrEqual(0);
        }
        for (const [at, rest] of left.entries()) {
          expect(rest).toBeGreaterThanOrEqual(0);
          expect(rest).toBeLessThanOrEqual((ordered[at] as Commitment).amount);
        }
        expect(coverageOf(running.toReversed(), ordered)).toEqual({ covered, left });
      }),
    );
  });
});

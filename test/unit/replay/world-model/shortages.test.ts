import { describe, expect, it } from '@jest/globals';
import { shortages } from '../../../../src/replay/world-model/start-world-model.ts';
import type { SoldOutModel } from '../../../../src/replay/world-model/world-model.ts';

const START = Date.UTC(2026, 7, 10);
const MINUTE = 60_000;
const model = (soldOut: Partial<SoldOutModel>, seed = 1) => ({
  seed,
  soldOut: { spot: 0, onDemand: 0, hours: 2, ...soldOut },
});
const pool = (instanceType: string, capacityType: 'spot' | 'on-demand' | 'reserved' = 'spot') => ({
  instanceType,
  zone: 'us-west-2a',
  capacityType,
});
const types = Array.from({ length: 400 }, (_, n) => `m${n}.large`);

describe('a sold-out pool', () => {
  it('does not exist without a share', () => {
    expect(shortages(model({}), START)).toBeUndefined();
  });

  it('has its share at any time, and lasts as long as the model specifies', () => {
    const isSoldOut = shortages(model({ spot: 0.1 }), START);
    let soldOut = 0;
    let began = 0;
    let moments = 0;
    for (const type of types) {
      let before = isSoldOut?.(pool(type), START) ?? false;
      for (let minute = 0; minute < 7 * 1440; minute += 10, moments++) {
        const now = isSoldOut?.(pool(type), START + minute * MINUTE) ?? false;
        if (now) soldOut++;
        if (now && !before) began++;
        before = now;
      }
    }
    expect(soldOut / moments).toBeCloseTo(0.1, 2);
    // Shortages of less than ten minutes are sometimes missed.
    expect((soldOut * 10) / 60 / began).toBeGreaterThan(1.8);
    expect((soldOut * 10) / 60 / began).toBeLessThan(2.3);
    const atStart = types.filter((type) => isSoldOut?.(pool(type), START)).length / types.length;
    expect(Math.abs(atStart - 0.1)).toBeLessThan(0.04);
  });

  it('depends on seed, pool and time, but not on earlier calls', () => {
    const moments = Array.from({ length: 500 }, (_, hour) => START + hour * 60 * MINUTE);
    const all = (seed: number, order: readonly number[]) => {
      const isSoldOut = shortages(model({ spot: 0.3 }, seed), START);
      return new Map(order.map((at) => [at, isSoldOut?.(pool('m5.large'), at)]));
    };
    const [forwards, backwards] = [all(1, moments), all(1, moments.toReversed())];
    expect(moments.map((at) => backwards.get(at))).toEqual(moments.map((at) => forwards.get(at)));
    expect(moments.map((at) => all(2, moments).get(at))).not.toEqual(moments.map((at) => forwards.get(at)));
  });

  it('has the capacity type of the model', () => {
    const isSoldOut = shortages(model({ spot: 1 }), START);
    expect(isSoldOut?.(pool('a'), START)).toBe(true);
    expect(isSoldOut?.(pool('a', 'on-demand'), START)).toBe(false);
    expect(isSoldOut?.(pool('a', 'reserved'), START)).toBe(false);
    expect(shortages(model({ onDemand: 1 }), START)?.(pool('a', 'on-demand'), START)).toBe(true);
  });
});

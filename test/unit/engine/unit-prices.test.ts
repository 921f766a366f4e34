/** Unit prices are the optimum of a linear program, which all rooms limit. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type PricedRoom, unitPricesOf } from '../../../src/engine/unit-prices.ts';

const amount = fc.integer({ min: 1, max: 64 });
const room: fc.Arbitrary<PricedRoom> = fc.record({ cpu: amount, memory: amount, usdPerHour: amount });
const GRID = 500;

/** Returns the highest worth at evenly distributed prices of CPU. */
function worthOnGrid(rooms: readonly PricedRoom[], demand: { readonly cpu: number; readonly memory: number }): number {
  const highest = Math.min(...rooms.map(({ usdPerHour, cpu }) => usdPerHour / cpu));
  const worths = Array.from({ length: GRID + 1 }, (_, at) => {
    const cpuPrice = (highest * at) / GRID;
    const memoryPrice = Math.min(...rooms.map(({ usdPerHour, cpu, memory }) => (usdPerHour - cpuPrice * cpu) / memory));
    return cpuPrice * demand.cpu + Math.max(0, memoryPrice) * demand.memory;
  });
  return Math.max(...worths);
}

describe('a unit price', () => {
  it('makes no room worth more than its cost, and gives the demand the highest worth', () => {
    fc.assert(
      fc.property(fc.array(room, { minLength: 1, maxLength: 30 }), amount, amount, (rooms, cpu, memory) => {
        const prices = unitPricesOf(rooms, { cpu, memory });
        for (const each of rooms)
          expect(prices.cpu * each.cpu + prices.memory * each.memory).toBeLessThanOrEqual(each.usdPerHour * (1 + 1e-9));
        const worth = prices.cpu * cpu + prices.memory * memory;
        expect(worth).toBeGreaterThanOrEqual(worthOnGrid(rooms, { cpu, memory }) * (1 - 1e-9));
      }),
    );
  });

  it('is 0 without rooms', () => {
    expect(unitPricesOf([], { cpu: 1, memory: 1 })).toEqual({ cpu: 0, memory: 0 });
  });
});

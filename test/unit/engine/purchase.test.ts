import { describe, expect, it } from '@jest/globals';
import { indifferenceOf, isBetter, nodeUsdPerHour, type Purchase } from '../../../src/engine/purchase.ts';

const purchase = (usdPerHour: number, nodes = 1, instanceTypes = 1): Purchase => ({ usdPerHour, nodes, instanceTypes });

describe('the better of two purchases', () => {
  const indifference = indifferenceOf(0.02);

  it('is the cheaper one where prices differ by more than half a percent', () => {
    expect(isBetter(purchase(99, 50), purchase(100, 2), indifference)).toBe(true);
    expect(isBetter(purchase(101, 1), purchase(100, 50), indifference)).toBe(false);
  });

  it('is the one with fewer nodes where prices are practically equal', () => {
    expect(isBetter(purchase(100.4, 15), purchase(100, 26), indifference)).toBe(true);
    expect(isBetter(purchase(99.6, 26), purchase(100, 15), indifference)).toBe(false);
  });

  it('is the one with fewer instance types where nodes are as many', () => {
    expect(isBetter(purchase(100.4, 15, 2), purchase(100, 15, 3), indifference)).toBe(true);
    expect(isBetter(purchase(100, 15, 3), purchase(100.4, 15, 2), indifference)).toBe(false);
  });

  it('is the cheaper one where all else is equal', () => {
    expect(isBetter(purchase(99.9), purchase(100), indifference)).toBe(true);
    expect(isBetter(purchase(100), purchase(100), indifference)).toBe(false);
  });

  it('is the cheaper one, by however little, where nodes cost nothing besides their instances', () => {
    expect(isBetter(purchase(100.4, 15), purchase(100, 26), indifferenceOf(0))).toBe(false);
    expect(isBetter(purchase(99.99, 26), purchase(100, 15), indifferenceOf(0))).toBe(true);
  });
});

describe('the price of a node to buy', () => {
  it('includes what it costs besides its instance', () => {
    expect(nodeUsdPerHour({ usdPerHour: 1, extrasUsdPerHour: 0.02 })).toBe(1.02);
    expect(nodeUsdPerHour({ usdPerHour: 1 })).toBe(1);
  });
});

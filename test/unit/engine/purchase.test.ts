import { describe, expect, it } from '@jest/globals';
import { indifferenceOf, isBetter, nodeUsdPerHour, type Purchase, savesNodes } from '../../../src/engine/purchase.ts';

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

describe('a purchase of fewer nodes', () => {
  const saving = { usdPerNode: 0.5, mostUsdPerHour: 105 };

  it('is worth so much for each node that it saves', () => {
    expect(savesNodes(purchase(101, 8), purchase(100, 10), saving)).toBe(true);
    expect(savesNodes(purchase(101.01, 8), purchase(100, 10), saving)).toBe(false);
  });

  it('is worth no more than a part of the price of all nodes', () => {
    expect(savesNodes(purchase(105, 2), purchase(100, 20), saving)).toBe(true);
    expect(savesNodes(purchase(105.01, 2), purchase(100, 20), saving)).toBe(false);
  });

  it('has fewer nodes', () => {
    expect(savesNodes(purchase(99, 10), purchase(100, 10), saving)).toBe(false);
  });
});

describe('the price of a node to buy', () => {
  it('includes what it costs besides its instance', () => {
    expect(nodeUsdPerHour({ usdPerHour: 1, extrasUsdPerHour: 0.02 })).toBe(1.02);
    expect(nodeUsdPerHour({ usdPerHour: 1 })).toBe(1);
  });
});

import { describe, expect, it } from '@jest/globals';
import { indifferenceOf, isBetter, nodeUsdPerHour, type Purchase, savesNodes } from '../../../src/engine/purchase.ts';

const purchase = (usdPerHour: number, nodes = 1, instanceTypes = 1): Purchase => ({ usdPerHour, nodes, instanceTypes });

describe('the better of two plans', () => {
  const indifference = indifferenceOf(0.02);

  it('is the cheaper one if prices differ by more than half a percent', () => {
    expect(isBetter(purchase(99, 50), purchase(100, 2), indifference)).toBe(true);
    expect(isBetter(purchase(101, 1), purchase(100, 50), indifference)).toBe(false);
  });

  it('has fewer nodes if prices are practically equal', () => {
    expect(isBetter(purchase(100.4, 15), purchase(100, 26), indifference)).toBe(true);
    expect(isBetter(purchase(99.6, 26), purchase(100, 15), indifference)).toBe(false);
  });

  it('has fewer instance types if the number of nodes is equal', () => {
    expect(isBetter(purchase(100.4, 15, 2), purchase(100, 15, 3), indifference)).toBe(true);
    expect(isBetter(purchase(100, 15, 3), purchase(100.4, 15, 2), indifference)).toBe(false);
  });

  it('is the cheaper one if all else is equal', () => {
    expect(isBetter(purchase(99.9), purchase(100), indifference)).toBe(true);
    expect(isBetter(purchase(100), purchase(100), indifference)).toBe(false);
  });

  it('is the cheaper one by any difference if nodes have no cost besides their instances', () => {
    expect(isBetter(purchase(100.4, 15), purchase(100, 26), indifferenceOf(0))).toBe(false);
    expect(isBetter(purchase(99.99, 26), purchase(100, 15), indifferenceOf(0))).toBe(true);
  });
});

describe('a plan with fewer nodes', () => {
  const saving = { usdPerNode: 0.5, mostUsdPerHour: 105 };

  it('is worth a fixed amount per saved node', () => {
    expect(savesNodes(purchase(101, 8), purchase(100, 10), saving)).toBe(true);
    expect(savesNodes(purchase(101.01, 8), purchase(100, 10), saving)).toBe(false);
  });

  it('is worth at most a fraction of the price of all nodes', () => {
    expect(savesNodes(purchase(105, 2), purchase(100, 20), saving)).toBe(true);
    expect(savesNodes(purchase(105.01, 2), purchase(100, 20), saving)).toBe(false);
  });

  it('has fewer nodes', () => {
    expect(savesNodes(purchase(99, 10), purchase(100, 10), saving)).toBe(false);
  });
});

describe('the price of a node to launch', () => {
  it('includes costs besides its instance', () => {
    expect(nodeUsdPerHour({ usdPerHour: 1, extrasUsdPerHour: 0.02 })).toBe(1.02);
    expect(nodeUsdPerHour({ usdPerHour: 1 })).toBe(1);
  });
});

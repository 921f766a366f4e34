/** Compares the lower bound of prices with plans. */
import { describe, expect, it } from '@jest/globals';
import { podKey } from '../../../../src/engine/pods.ts';
import { leastUsd } from '../../../../src/engine/preferences/price-bound.ts';
import { nodeUsdPerHour } from '../../../../src/engine/purchase.ts';
import { solve } from '../../../../src/engine/solve.ts';
import { instanceType, OPTIONS, replicas, snapshot, stateNode } from '../build.ts';
import { drawnSnapshot } from '../scenarios.ts';

const CLUSTERS = 200;

describe('the lower bound of the price of a plan', () => {
  it('is not above the price of a plan in any random cluster', () => {
    let positive = 0;
    for (let seed = 1; seed <= CLUSTERS; seed++) {
      const drawn = drawnSnapshot(seed, { nodes: 6, workloads: 6 });
      const { claims, refusals } = solve(drawn, { ...OPTIONS, preferencePolicy: 'Ignore', packing: 'cheapest' });
      const placed = drawn.pendingPods.filter((pod) => !refusals.has(podKey(pod)));
      const bound = leastUsd(drawn, placed);
      expect(bound).toBeLessThanOrEqual(claims.reduce((sum, claim) => sum + nodeUsdPerHour(claim), 0) + 1e-9);
      if (bound > 0) positive++;
    }
    expect(positive).toBeGreaterThan(CLUSTERS / 10);
  });

  it('is the price of full nodes without present nodes, and less with their room', () => {
    const types = [instanceType('whole', { cpu: 4, usd: 0.4, capacityTypes: ['on-demand'] })];
    const pendingPods = replicas(8, 'web', { cpu: '1' });
    expect(leastUsd(snapshot({ types, pendingPods }), pendingPods)).toBeCloseTo(0.8);
    const nodes = [stateNode('present')];
    expect(leastUsd(snapshot({ types, nodes, pendingPods }), pendingPods)).toBeLessThan(0.8);
  });
});

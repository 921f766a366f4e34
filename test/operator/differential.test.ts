/**
 * Compares the command line's results for a snapshot with the operator's decisions in that cluster, on random
 * clusters. The number of clusters depends on the time limit. `npm run test:differential` runs thousands, and repeats
 * seeds that failed.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomCluster } from './differential/clusters.ts';
import { Differential } from './differential/differential.ts';

const FIRST_SEED = 1;
const MOST = 40;
const LIMIT_MS = 30_000;
/** Minimum number of clusters, for slow machines. */
const LEAST = 12;

describe('the command line', () => {
  let differential: Differential;
  beforeAll(async () => {
    differential = await Differential.start();
  });
  afterAll(() => differential.stop());

  it('decides the same as the operator for random clusters', async () => {
    const startedMs = performance.now();
    for (let played = 0; played < MOST && (played < LEAST || performance.now() - startedMs < LIMIT_MS); played++) {
      const seed = FIRST_SEED + played;
      expect({ seed, differences: await differential.play(randomCluster(seed)) }).toEqual({ seed, differences: [] });
    }
    // an empty comparison would prove nothing
    const { nodes, refusals, disruptions } = differential.compared;
    expect(Math.min(nodes, refusals, disruptions)).toBeGreaterThan(0);
  });
});

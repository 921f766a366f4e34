/**
 * What the command line says over a dump equals what the operator does with that cluster: on random clusters, as many as
 * a minute allows. `npm run test:differential` plays thousands, and any seed that disagrees again.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomCluster } from './differential/clusters.ts';
import { Differential } from './differential/differential.ts';

const FIRST_SEED = 1;
const MOST = 40;
const LIMIT_MS = 60_000;
/** Slow machines play at least these. */
const LEAST = 12;

describe('the command line and the operator', () => {
  let differential: Differential;
  beforeAll(async () => {
    differential = await Differential.start();
  });
  afterAll(() => differential.stop());

  it('say the same of random clusters', async () => {
    const startedMs = performance.now();
    for (let played = 0; played < MOST && (played < LEAST || performance.now() - startedMs < LIMIT_MS); played++) {
      const seed = FIRST_SEED + played;
      expect({ seed, differences: await differential.play(randomCluster(seed)) }).toEqual({ seed, differences: [] });
    }
    // a comparison of nothing with nothing shows nothing
    const { nodes, refusals, disruptions } = differential.compared;
    expect(Math.min(nodes, refusals, disruptions)).toBeGreaterThan(0);
  });
});

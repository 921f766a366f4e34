/** NodePools that are created and deleted. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { NODE_POOL } from '#api/objects';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

/** A run with 98 takes two and a half minutes; see `test/unit/controllers/metrics/ended-series.test.ts` for as many. */
const POOLS = 24;
/** Time on the scenario's clock after which the series of a deleted object end. */
const GRACE_MS = 10 * 60_000;

let scenario: Scenario | undefined;
afterEach(() => scenario?.stop());

const names = Array.from({ length: POOLS }, (_, at) => `pool-${at}`);

describe('a metric of a NodePool with nodes', () => {
  it('ends with the NodePool', async () => {
    const world = await startScenario({ ...BRISK, env: { ...BRISK.env, METRICS: 'karpenter' } });
    scenario = world;
    const seriesNamed = async (): Promise<readonly string[]> =>
      (await world.metrics()).split('\n').filter((line) => /"pool-\d+"/.test(line));
    await world.apply(...world.example('ec2nodeclass.yaml'));
    await world.apply(...names.map((name) => pool({ name })));
    await world.apply(...names.map((name) => deployment(name, 1, { nodeSelector: { 'karpenter.sh/nodepool': name } })));
    await world.until('a node for each', async () => (await world.nodes()).length >= POOLS, 120_000);
    await world.until('running pods', async () => (await world.running()).length === POOLS, 120_000);
    expect((await seriesNamed()).length).toBeGreaterThan(POOLS * 50);

    for (const name of names) {
      await world.scale(name, 0);
      await world.kube.delete(NODE_POOL, { name });
    }
    await world.until('their end', async () => (await world.claims()).length === 0, 120_000);
    await world.pass(GRACE_MS + 60_000);
    await world.until('the end of their series', async () => (await seriesNamed()).length === 0);
  });
});

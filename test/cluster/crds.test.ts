/** Sends the objects that real CRDs accept, default or reject to a real API server with the CRD chart. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { misjudged, readCrdCases } from '../unit/api/crdcases.ts';
import { type Cluster, startCluster } from './harness/cluster.ts';
import { collections, outcomeAt } from './harness/crdcases.ts';
import { type Server, serverAt } from './harness/http.ts';
import { eventually } from './harness/processes.ts';

const AT_ONCE = 8;
const SERVED_MS = 60_000;

describe('the CRD chart on a real API server', () => {
  let cluster: Cluster;
  let server: Server;
  beforeAll(async () => {
    cluster = await startCluster({ values: null, world: { systemNodes: 0 } });
    await cluster.install('karpenter-crd', {});
    server = serverAt(cluster.plane.url, cluster.plane.credentials);
  }, 180_000);
  afterAll(async () => {
    server?.close();
    await cluster?.stop();
  }, 60_000);

  const isServed = async (path: string): Promise<boolean> => (await server.send({ method: 'GET', path })).code === 200;

  it('serves every kind', async () => {
    // helm returns before the API server serves the definitions.
    for (const path of collections())
      await eventually(`served ${path}`, async () => (await isServed(path)) || undefined, SERVED_MS);
  }, 120_000);

  it('returns the reference outcome for every case', async () => {
    const cases = readCrdCases();
    expect(cases.length).toBeGreaterThan(800);
    const wrong: string[] = [];
    const queue = cases[Symbol.iterator]();
    const work = async (): Promise<void> => {
      for (const test of queue) {
        const problem = misjudged(test, await outcomeAt(server, test));
        if (problem) wrong.push(`${test.id} (${test.kind}: ${test.note}): ${problem}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    expect(wrong).toEqual([]);
  }, 300_000);
});

/** Decisions about moves do not depend on units of size and of money. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NODEPOOL_LABEL } from '../../../../../src/api/labels.ts';
import { methodsOf, review } from '../../../../../src/engine/disruption/review.ts';
import { passOn } from '../../../../support/cluster-course.ts';
import { type Cluster, clusterOf } from '../../../../support/clusters.ts';
import { scaledCluster } from '../../../../support/scaled-cluster.ts';

const clusters = fc
  .record({
    seed: fc.nat(10_000),
    nodes: fc.integer({ min: 2, max: 8 }),
    podsPerNode: fc.integer({ min: 2, max: 10 }),
    workloads: fc.integer({ min: 1, max: 6 }),
    ruled: fc.constantFrom(0, 0.5),
    fill: fc.constantFrom<readonly [number, number]>([0.1, 0.4], [0.3, 0.7]),
    capacityTypes: fc.constantFrom(['on-demand'], ['spot', 'on-demand']),
  })
  .map(({ capacityTypes, ...shape }) =>
    clusterOf({
      ...shape,
      pools: [{ name: 'default', capacityTypes, consolidationPolicy: 'WhenEmptyOrUnderutilized', budget: '100%' }],
      offered: /^[cmr][56]i?\.(|x|2x|4x)large$/,
      bought: /^m6i\.(x|2x)large$/,
    }),
  );

/** Returns the moves that each method finds, and the codes for the nodes that stay. */
async function decisions(cluster: Cluster) {
  const pass = passOn(cluster, { evictionUsd: 0 });
  const found = [];
  for (const method of methodsOf('thorough')) {
    const { result, declined } = await review(method, pass);
    const moves = result.commands.map(({ candidates, replacements, worth }) => ({
      from: candidates.map(({ name }) => name),
      to: replacements.map(({ cheapest, pods }) => [cheapest, pods]),
      hours: worth?.hours,
    }));
    found.push([method.name, moves, [...declined].map(([node, { reason }]) => [node, reason.code])]);
  }
  return found;
}

/** Powers of two, so that products are exact. */
const factor = fc.constantFrom(1 / 8, 1, 4, 32);

describe('every decision about a move', () => {
  it('is the same if all pods, nodes and prices are multiplied by a factor', async () => {
    let moves = 0;
    let declined = 0;
    await fc.assert(
      fc.asyncProperty(clusters, fc.constantFrom(1, 2, 16), factor, async (cluster, size, price) => {
        const expected = await decisions(cluster);
        expect(await decisions(scaledCluster(cluster, { size, price }))).toEqual(expected);
        moves += expected.filter(([, found]) => found?.length).length;
        declined += JSON.stringify(expected).split('not-worth-moving').length - 1;
      }),
      { numRuns: 25, seed: 20_260_101, endOnFailure: true },
    );
    expect(moves).toBeGreaterThan(0);
    expect(declined).toBeGreaterThan(0);
  });

  it('doubles with the number of equal clusters', async () => {
    await fc.assert(
      fc.asyncProperty(clusters, async (cluster) => {
        const { snapshot } = cluster;
        const [pool] = snapshot.pools;
        if (pool === undefined) return;
        const other = { ...pool.nodePool, metadata: { ...pool.nodePool.metadata, name: 'other', uid: 'other' } };
        const twin = (name: string): string => `twin-${name}`;
        const nodes = snapshot.nodes.map((node) => ({
          ...node,
          name: twin(node.name),
          providerId: twin(node.providerId),
          labels: { ...node.labels, [NODEPOOL_LABEL]: 'other' },
        }));
        const both = { ...cluster, snapshot: { ...snapshot, nodes: [...snapshot.nodes, ...nodes] } };
        const pools = new Map([...cluster.pools, ['other', { ...pool, nodePool: other }]]);
        const codesIn = async (input: Cluster) =>
          (await decisions(input)).flatMap(([, , codes]) => codes as unknown as [string, string][]);
        const alone = await codesIn(cluster);
        const together = await codesIn({ ...both, pools });
        for (const [node, code] of alone) {
          expect(together).toContainEqual([node, code]);
          expect(together).toContainEqual([twin(node), code]);
        }
      }),
      { numRuns: 10, seed: 20_260_101 },
    );
  });
});

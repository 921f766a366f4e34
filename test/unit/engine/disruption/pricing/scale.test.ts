/** Decisions about moves do not depend on units of size, of money and of time. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { methodsOf, review } from '../../../../../src/engine/disruption/review.ts';
import { pseudoRandom } from '../../../../../src/engine/pseudo-random.ts';
import { passOn } from '../../../../support/cluster-course.ts';
import { type Cluster, clusterOf } from '../../../../support/clusters.ts';
import { scaledCluster } from '../../../../support/scaled-cluster.ts';

/** Pods of the first workload belong to a Job, so that evictions lose their work. */
function withJobs(cluster: Cluster): Cluster {
  const nodes = cluster.snapshot.nodes.map((node) => {
    const pods = node.pods.map((pod) => {
      const { metadata } = pod;
      const ownerReferences = metadata.ownerReferences?.map((owner) => ({ ...owner, kind: 'Job' }));
      const isOfJob = metadata.labels?.app === 'app-0' && ownerReferences !== undefined;
      return isOfJob ? { ...pod, metadata: { ...metadata, ownerReferences } } : pod;
    });
    return { ...node, pods };
  });
  return { ...cluster, snapshot: { ...cluster.snapshot, nodes } };
}

const MINUTE = 60_000;

/** Nodes were launched in the last twelve hours. Their pods started at any time since, and were ready within a minute. */
function withAges(cluster: Cluster, seed: number): Cluster {
  const random = pseudoRandom(seed);
  const { nowMs } = cluster.snapshot;
  const ago = (ms: number): string => new Date(nowMs - ms).toISOString();
  const minutesWithin = (ms: number): number => Math.ceil((random() * ms) / MINUTE) * MINUTE;
  const nodes = cluster.snapshot.nodes.map((node) => {
    const ageMs = Math.ceil(1 + 720 * random()) * MINUTE;
    const pods = node.pods.map((pod) => {
      const podMs = minutesWithin(ageMs);
      const conditions = [
        { type: 'PodScheduled', status: 'True', lastTransitionTime: ago(podMs) },
        { type: 'Ready', status: 'True', lastTransitionTime: ago(podMs - 1000 * Math.floor(60 * random())) },
      ];
      return { ...pod, status: { ...pod.status, startTime: ago(podMs), conditions } } as typeof pod;
    });
    const { metadata, status, ...claim } = node.nodeClaim as NonNullable<typeof node.nodeClaim>;
    const initialized = { type: 'Initialized', status: 'True', lastTransitionTime: ago(ageMs - 40_000) } as const;
    const others = (status?.conditions ?? []).filter(({ type }) => type !== 'Initialized');
    const nodeClaim = {
      ...claim,
      metadata: { ...metadata, creationTimestamp: ago(ageMs) },
      status: { ...status, lastPodEventTime: ago(minutesWithin(ageMs)), conditions: [initialized, ...others] },
    };
    return { ...node, pods, nodeClaim };
  });
  return { ...cluster, snapshot: { ...cluster.snapshot, nodes } };
}

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
  .map(({ capacityTypes, ...shape }) => ({
    ...shape,
    pools: [
      { name: 'default', capacityTypes, consolidationPolicy: 'WhenEmptyOrUnderutilized' as const, budget: '100%' },
    ],
    offered: /^[cmr][56]i?\.(|x|2x|4x)large$/,
    bought: /^m6i\.(x|2x)large$/,
  }))
  .map((shape) => withAges(withJobs(clusterOf(shape)), shape.seed));

/** Returns the moves that each method finds, and the codes for the nodes that stay. @param time factor of the cluster's times */
async function decisions(cluster: Cluster, time = 1) {
  const pass = passOn(cluster, { evictionUsd: 0 });
  const found = [];
  for (const method of methodsOf('thorough')) {
    const { result, declined } = await review(method, pass);
    const moves = result.commands.map(({ candidates, replacements, worth }) => ({
      from: candidates.map(({ name }) => name),
      to: replacements.map(({ cheapest, pods }) => [cheapest, pods]),
      hours: Number(((worth?.hours ?? 0) / time).toFixed(9)),
    }));
    const reasons = [...declined]
      .map(([node, { reason }]) => [node, reason] as const)
      .concat([...(result.reasons ?? [])]);
    found.push([method.name, moves, reasons.map(([node, { code }]) => [node, code])]);
  }
  return found;
}

/** Powers of two, so that products are exact. */
const factor = fc.constantFrom(1 / 8, 1, 4, 32);

describe('every decision about a move', () => {
  it('is the same if all pods, nodes, prices and times are multiplied by a factor', async () => {
    let moves = 0;
    let declined = 0;
    const times = fc.constantFrom(1 / 4, 1, 8);
    await fc.assert(
      fc.asyncProperty(clusters, fc.constantFrom(1, 2, 16), factor, times, async (cluster, size, price, time) => {
        const expected = await decisions(cluster);
        expect(await decisions(scaledCluster(cluster, { size, price, time }), time)).toEqual(expected);
        moves += expected.filter(([, found]) => found?.length).length;
        declined += JSON.stringify(expected).split('not-worth-moving').length - 1;
      }),
      { numRuns: 25, seed: 20_260_101, endOnFailure: true },
    );
    expect(moves).toBeGreaterThan(0);
    expect(declined).toBeGreaterThan(0);
  });
});

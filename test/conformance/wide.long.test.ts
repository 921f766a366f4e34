/** Price of the default packing relative to `compatible` for clusters with many rules, NodePools or kinds of pods. */
import { describe, expect, it } from '@jest/globals';
import type { Snapshot } from '#engine/model';
import { solve } from '#engine/solve';
import { priceOf } from '../../bench/recorded.ts';
import { benchmarkSnapshot, OPTIONS, WORKLOADS } from '../../bench/scheduling.ts';
import { snapshotOf, WIDE_CLUSTERS } from '../../bench/wide.ts';

function relativePrice(snapshot: Snapshot): number {
  const [cheapest, compatible] = (['cheapest', 'compatible'] as const).map((packing) =>
    solve(snapshot, { ...OPTIONS, packing }),
  );
  if (cheapest === undefined || compatible === undefined) throw new Error('no plans');
  expect(cheapest.refusals.size).toBe(compatible.refusals.size);
  expect(cheapest.unpacked).toBeUndefined();
  return priceOf(cheapest) / priceOf(compatible);
}

describe('the default packing', () => {
  it.each([
    ['wide-anti-affinity-300', 0.8],
    ['wide-anti-affinity-1000', 0.8],
    ['wide-node-affinity-300', 0.8],
    ['wide-node-affinity-1000', 0.85],
    ['wide-diverse-1000-over-50', 0.85],
    ['wide-diverse-5000-over-50', 0.9],
  ])('costs less than compatible for %s, at most %f times as much', async (name, most) => {
    const cluster = WIDE_CLUSTERS.find((each) => each.name === name);
    if (cluster === undefined) throw new Error(`no cluster ${name}`);
    expect(relativePrice(await snapshotOf(cluster))).toBeLessThanOrEqual(most);
  });

  it.each([
    100, 1_000, 5_000,
  ])('costs less than compatible for %d diverse pods of one NodePool, at most 0.76 times as much', (pods) => {
    const workload = WORKLOADS.find(({ name }) => name === `diverse-${pods}`);
    if (workload === undefined) throw new Error('no workload');
    expect(relativePrice(benchmarkSnapshot(workload))).toBeLessThanOrEqual(0.76);
  });
});

describe('the order of manifests', () => {
  it.each([
    'wide-anti-affinity-60',
    'wide-node-affinity-60',
    'wide-spread-and-apart-150',
  ])('does not change the plan of %s', async (name) => {
    const cluster = WIDE_CLUSTERS.find((each) => each.name === name);
    if (cluster === undefined) throw new Error(`no cluster ${name}`);
    const reversed = { ...cluster, objects: () => cluster.objects().toReversed() };
    const options = { ...OPTIONS, packing: 'cheapest' } as const;
    const [plan, other] = [solve(await snapshotOf(cluster), options), solve(await snapshotOf(reversed), options)];
    expect(other.claims).toEqual(plan.claims);
  });
});

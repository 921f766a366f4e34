/** Changes of the input that must not change the default plan, on random clusters with many rules. */
import { describe, expect, it } from '@jest/globals';
import type { Plan, PoolInput, Snapshot } from '../../src/engine/model.ts';
import { pseudoRandom } from '../../src/engine/pseudo-random.ts';
import { solve } from '../../src/engine/solve.ts';
import { type DrawnCluster, drawnCluster } from './reference/clusters.ts';

const CLUSTERS = 1_000;

function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  const rest = [...items];
  return items.map(() => rest.splice(Math.floor(random() * rest.length), 1)[0] as T);
}

/** Returns the pods of each new node with its price, the pods of each existing node, and the refused pods. */
const summary = ({ claims, placements, refusals }: Plan) => ({
  claims: claims.map(({ nodePool, usdPerHour, pods }) => `${nodePool} ${usdPerHour} ${pods.join()}`).sort(),
  placements: placements.map(({ node, pods }) => `${node} ${pods.join()}`).sort(),
  refused: [...refusals.keys()].sort(),
});

function changedSeeds(firstSeed: number, change: (cluster: DrawnCluster, seed: number) => Snapshot): readonly number[] {
  const seeds = Array.from({ length: CLUSTERS }, (_, index) => firstSeed + index);
  return seeds.filter((seed) => {
    const cluster = drawnCluster(seed);
    const options = { ...cluster.options, packing: 'cheapest' } as const;
    const [before, after] = [cluster.snapshot, change(cluster, seed)].map((snapshot) =>
      JSON.stringify(summary(solve(snapshot, options))),
    );
    return before !== after;
  });
}

/** Copies a NodePool with a taint that no pod tolerates. */
function unused({ nodePool, ...pool }: PoolInput): PoolInput {
  const { spec, metadata } = nodePool;
  const taints = [{ key: 'unused', value: 'yes', effect: 'NoSchedule' }] as const;
  const template = { ...spec.template, spec: { ...spec.template.spec, taints } };
  return {
    ...pool,
    nodePool: { ...nodePool, metadata: { ...metadata, name: 'unused', uid: 'unused' }, spec: { ...spec, template } },
  };
}

const toleratesEverything = ({ pendingPods }: Snapshot): boolean =>
  pendingPods.some(({ spec }) => spec.tolerations?.some(({ key, operator }) => operator === 'Exists' && !key));

describe('the default plan', () => {
  it('does not depend on the order of pods, nodes, NodePools and instance types', () => {
    const changed = changedSeeds(200_000, ({ snapshot }, seed) => {
      const random = pseudoRandom(seed);
      const { pendingPods, nodes, pools } = snapshot;
      // all NodePools of a drawn cluster have the same instance types
      const instanceTypes = shuffled(pools[0]?.instanceTypes ?? [], random);
      return {
        ...snapshot,
        pendingPods: shuffled(pendingPods, random),
        nodes: shuffled(nodes, random),
        pools: shuffled(pools, random).map((pool) => ({ ...pool, instanceTypes })),
      };
    });
    expect(changed).toEqual([]);
  });

  it('does not depend on a NodePool that no pod can use', () => {
    const changed = changedSeeds(300_000, ({ snapshot }) => {
      const [first] = snapshot.pools;
      if (first === undefined || toleratesEverything(snapshot)) return snapshot;
      return { ...snapshot, pools: [...snapshot.pools, unused(first)] };
    });
    expect(changed).toEqual([]);
  });
});

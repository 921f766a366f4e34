/** Laws of limits on random clusters. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NODEPOOL_LABEL } from '../../../../src/api/labels.ts';
import type { NodePool } from '../../../../src/api/nodepool.ts';
import type { EngineSnapshot, Plan, Snapshot } from '../../../../src/engine/model.ts';
import { unlaunchedProviderId } from '../../../../src/engine/pool-usage.ts';
import { addResources, amountIn, maxResources, resourcesOf } from '../../../../src/engine/resources.ts';
import { prepare, type Variation } from '../../../../src/engine/solve.ts';
import { OPTIONS } from '../build.ts';
import { Draw, drawnSnapshot } from '../scenarios.ts';

const RESOURCES = ['nodes', 'cpu', 'memory', 'pods', 'example.com/gpu'];

/** Adds limits around the usage to the NodePools, and nodes that are not launched. */
function limited(seed: number): Snapshot {
  const draw = new Draw(seed);
  const { pools, nodes, ...rest } = drawnSnapshot(seed, { nodes: 6, workloads: 8 });
  const all = nodes.map((node) =>
    draw.chance(0.2)
      ? { ...node, providerId: unlaunchedProviderId(node.name), registered: false, initialized: false }
      : node,
  );
  const limitsOf = ({ metadata }: NodePool) => {
    const used = usageOf(metadata.name, { nodes: all });
    const amount = (name: string): number => {
      const free = { nodes: 4, cpu: 24_000, memory: 64 * 2 ** 30, pods: 120, 'example.com/gpu': 2 }[name] ?? 0;
      return Math.max(0, amountIn(used, name) + draw.below(free) - draw.below(2));
    };
    const chosen = RESOURCES.filter(() => draw.chance(0.5));
    return Object.fromEntries(chosen.map((name) => [name, name === 'cpu' ? `${amount(name)}m` : String(amount(name))]));
  };
  return {
    ...rest,
    nodes: all,
    pools: pools.map((input) => {
      const { nodePool } = input;
      return { ...input, nodePool: { ...nodePool, spec: { ...nodePool.spec, limits: limitsOf(nodePool) } } };
    }),
  };
}

/** Returns the capacity of all nodes of a NodePool, and the largest capacity that its planned nodes can get. */
function usageOf(pool: string, { nodes, pools = [] }: Partial<EngineSnapshot>, claims: Plan['claims'] = []) {
  const capacities = new Map(
    pools.flatMap(({ instanceTypes }) => instanceTypes).map((type) => [type.name, type.capacity]),
  );
  const existing = (nodes ?? []).filter(({ labels }) => labels[NODEPOOL_LABEL] === pool);
  const planned = claims.filter(({ nodePool }) => nodePool === pool);
  return addResources(
    ...existing.map(({ capacity }) => ({ ...capacity, nodes: 1 })),
    ...planned.map(({ instanceTypes }) => ({
      ...maxResources(...instanceTypes.map((name) => capacities.get(name) ?? {})),
      nodes: 1,
    })),
  );
}

function excesses(snapshot: Snapshot, { claims }: Plan): readonly string[] {
  return snapshot.pools.flatMap(({ nodePool: { metadata, spec } }) => {
    if (claims.every(({ nodePool }) => nodePool !== metadata.name)) return [];
    const usage = usageOf(metadata.name, snapshot, claims);
    const exceeded = Object.entries(resourcesOf(spec.limits)).filter(([name, limit]) => amountIn(usage, name) > limit);
    return exceeded.map(([name, limit]) => `${metadata.name}: ${name} ${amountIn(usage, name)} of ${limit}`);
  });
}

describe('a plan', () => {
  it.each(['compatible', 'cheapest'] as const)('never exceeds a limit of any resource with packing %s', (packing) => {
    let launched = 0;
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), (seed) => {
        const snapshot = limited(seed);
        const prepared = prepare(snapshot, { ...OPTIONS, packing });
        const draw = new Draw(seed);
        const leaving = new Set(snapshot.nodes.filter(() => draw.chance(0.3)).map(({ providerId }) => providerId));
        const moved = snapshot.nodes.flatMap(({ pods, providerId }) => (leaving.has(providerId) ? pods : []));
        const replacement: Variation = { leaving, pendingPods: [...snapshot.pendingPods, ...moved] };
        for (const variation of [{}, replacement]) {
          const plan = prepared.solve(variation);
          launched += plan.claims.length;
          expect(excesses(snapshot, plan)).toEqual([]);
        }
      }),
      { numRuns: 60, seed: 5, endOnFailure: true },
    );
    expect(launched).toBeGreaterThan(60);
  });

  it('uses the room of replaced nodes only with the rule of Karpenter, and never more', () => {
    let beyond = 0;
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), (seed) => {
        const snapshot = limited(seed);
        const draw = new Draw(seed);
        const replaced = snapshot.nodes.filter(() => draw.chance(0.5));
        const leaving = new Set(replaced.map(({ providerId }) => providerId));
        const pendingPods = [...snapshot.pendingPods, ...replaced.flatMap(({ pods }) => pods)];
        const plan = prepare(snapshot, { ...OPTIONS, freesLimits: true }).solve({ leaving, pendingPods });
        const staying = snapshot.nodes.filter(
          ({ providerId, markedForDeletion }) => !leaving.has(providerId) && !markedForDeletion,
        );
        expect(excesses({ ...snapshot, nodes: staying }, plan)).toEqual([]);
        beyond += excesses(snapshot, plan).length;
      }),
      { numRuns: 60, seed: 5, endOnFailure: true },
    );
    expect(beyond).toBeGreaterThan(0);
  });
});

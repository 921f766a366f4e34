/** Random snapshots with limits, and the limits that a plan exceeds. */
import { NODEPOOL_LABEL, type NodePool } from '#api/objects';
import type { EngineSnapshot, Plan, Snapshot } from '../../../src/engine/model.ts';
import { unlaunchedProviderId } from '../../../src/engine/pool-usage.ts';
import { addResources, amountIn, maxResources, resourcesOf } from '../../../src/engine/resources.ts';
import { Draw, drawnSnapshot } from './scenarios.ts';

const RESOURCES = ['nodes', 'cpu', 'memory', 'pods', 'example.com/gpu'];

/** Adds limits around the usage to the NodePools, and nodes that are not launched. */
export function limited(seed: number): Snapshot {
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

/** Returns the limits that a plan exceeds. */
export function excesses(snapshot: Snapshot, { claims }: Plan): readonly string[] {
  return snapshot.pools.flatMap(({ nodePool: { metadata, spec } }) => {
    if (claims.every(({ nodePool }) => nodePool !== metadata.name)) return [];
    const usage = usageOf(metadata.name, snapshot, claims);
    const exceeded = Object.entries(resourcesOf(spec.limits)).filter(([name, limit]) => amountIn(usage, name) > limit);
    return exceeded.map(([name, limit]) => `${metadata.name}: ${name} ${amountIn(usage, name)} of ${limit}`);
  });
}

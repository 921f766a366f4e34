/** Changes of the input that must not change the default plan, or its price, on random clusters with many rules. */
import { describe, expect, it } from '@jest/globals';
import { CAPACITY_RESERVATION_ID_LABEL, HOSTNAME_LABEL, type NodePool, type Pod, type PodSpec } from '#api/objects';
import { DEFAULT_NODE_HOURLY_FEE } from '#api/values';
import { type InstanceType, type Plan, type PoolInput, pseudoRandom, type Snapshot } from '#engine/model';
import { solve } from '#engine/solve';
import { type DrawnCluster, drawnCluster } from './reference/clusters.ts';

/** Clusters for each law. The laws about order, unused NodePools, twice the pods and constraints have 2,000 together. */
const CLUSTERS = 500;

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

/** Removes nodes, limits, reservations and weights, because prices with them need not be proportional to the pods. */
const unbounded = (snapshot: Snapshot): Snapshot => ({
  ...snapshot,
  nodes: [],
  pools: snapshot.pools.map((pool) => ({
    ...pool,
    nodePool: unboundedPool(pool.nodePool),
    instanceTypes: pool.instanceTypes.map(unreservedType),
  })),
});

function unboundedPool({ spec: { limits: _limits, weight: _weight, ...spec }, ...pool }: NodePool): NodePool {
  const requirements = spec.template.spec.requirements.map(({ minValues: _minValues, ...each }) => each);
  return { ...pool, spec: { ...spec, template: { ...spec.template, spec: { ...spec.template.spec, requirements } } } };
}

const unreservedType = (type: InstanceType): InstanceType => ({
  ...type,
  requirements: type.requirements
    .filter(({ key }) => key !== CAPACITY_RESERVATION_ID_LABEL)
    .map((each) => ({ ...each, ...(each.values && { values: each.values.filter((value) => value !== 'reserved') }) })),
  offerings: type.offerings.filter(({ reservationCapacity }) => reservationCapacity === undefined),
});

const inCopy = (namespace = 'default'): string => `${namespace}-copy`;

/** Returns the pod in another namespace, with terms that select pods of that namespace. */
function copied({ metadata, spec, ...pod }: Pod): Pod {
  const text = JSON.stringify(spec, (key, value) => (key === 'namespaces' ? value.map(inCopy) : value));
  return {
    ...pod,
    metadata: { ...metadata, uid: `${metadata.uid}-copy`, namespace: inCopy(metadata.namespace) },
    spec: JSON.parse(text),
  };
}

/** Returns true if pods of other namespaces do not matter to the pod, and if it need not share a host with other pods. */
function isIndependent({ spec }: Pod): boolean {
  const { requiredDuringSchedulingIgnoredDuringExecution: required, preferredDuringSchedulingIgnoredDuringExecution } =
    spec.affinity?.podAffinity ?? {};
  const terms = [
    ...(required ?? []),
    ...(preferredDuringSchedulingIgnoredDuringExecution ?? []).map((term) => term.podAffinityTerm),
  ];
  const text = JSON.stringify(spec);
  return (
    !terms.some(({ topologyKey }) => topologyKey === HOSTNAME_LABEL) &&
    !text.includes('namespaceSelector') &&
    !text.includes('persistentVolumeClaim') &&
    !text.includes('ephemeral')
  );
}

const CONSTRAINTS: readonly ((spec: PodSpec) => PodSpec)[] = [
  ({ topologySpreadConstraints: _spread, ...spec }) => spec,
  ({ nodeSelector: _selector, ...spec }) => ({ ...spec, affinity: { ...spec.affinity, nodeAffinity: {} } }),
  (spec) => ({ ...spec, affinity: { ...spec.affinity, podAffinity: {} } }),
  (spec) => ({ ...spec, affinity: { ...spec.affinity, podAntiAffinity: {} } }),
];

interface Prices {
  /** Sum of the prices of all clusters that place the same pods, after the change and before. */
  readonly ratio: number;
  /** Seeds of clusters whose price is higher by more than 2 %. */
  readonly dearer: readonly number[];
  readonly clusters: number;
}

/** @param factor expected price after the change, relative to before */
function priceRatios(
  firstSeed: number,
  factor: number,
  change: (pods: readonly Pod[], seed: number) => readonly (readonly Pod[])[],
): Prices {
  let [clusters, before, after] = [0, 0, 0];
  const dearer: number[] = [];
  for (let seed = firstSeed; seed < firstSeed + CLUSTERS; seed++) {
    const { snapshot, options } = drawnCluster(seed);
    const base = unbounded(snapshot);
    const [one, other] = change(base.pendingPods, seed).map((pendingPods) =>
      solve({ ...base, pendingPods }, { ...options, packing: 'cheapest', reservedMode: 'strict' }),
    ) as [Plan, Plan];
    const placed = one.claims.flatMap(({ pods }) => pods).length;
    if (placed === 0 || other.claims.flatMap(({ pods }) => pods).length !== factor * placed) continue;
    const [was, is] = [usdPerHour(one) * factor, usdPerHour(other)];
    clusters += 1;
    before += was;
    after += is;
    if (is > was * 1.02) dearer.push(seed);
  }
  return { ratio: after / before, dearer, clusters };
}

const usdPerHour = ({ claims }: Plan): number =>
  claims.reduce((sum, { usdPerHour: usd, surplusUsdPerHour = 0 }) => sum + usd + surplusUsdPerHour, 0);

const withFee = (snapshot: Snapshot, feeUsdPerHour: number): Snapshot => ({
  ...snapshot,
  pools: snapshot.pools.map((pool) => ({
    ...pool,
    extras: { feeUsdPerHour, volumesUsdPerHour: 0.002, publicIpv4UsdPerHour: 0 },
  })),
});

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

  // In single small clusters, the order of first-fit decides which NodePool and which zone a pod gets.
  it('costs at most twice as much for twice the pods', () => {
    const { ratio, dearer, clusters } = priceRatios(400_000, 2, (pods) => {
      const independent = pods.filter(isIndependent);
      return [independent, [...independent, ...independent.map(copied)]];
    });
    expect(clusters).toBeGreaterThan(300);
    expect(ratio).toBeLessThan(0.9);
    expect(dearer.length).toBeLessThanOrEqual(0.015 * clusters);
  });

  it('does not cost more without a constraint', () => {
    const { ratio, dearer, clusters } = priceRatios(500_000, 1, (pods, seed) => {
      const without = CONSTRAINTS[seed % CONSTRAINTS.length] as (spec: PodSpec) => PodSpec;
      return [pods, pods.map((pod) => ({ ...pod, spec: without(pod.spec) }))];
    });
    expect(clusters).toBeGreaterThan(300);
    expect(ratio).toBeLessThan(1);
    expect(dearer.length).toBeLessThanOrEqual(0.03 * clusters);
  });

  it('costs at most as much without a fee as with the default fee, apart from the fee', () => {
    let cheaper = 0;
    const dearer: number[] = [];
    for (let seed = 600_000; seed < 600_000 + CLUSTERS; seed++) {
      const { snapshot, options } = drawnCluster(seed);
      const [without, usual] = [0, DEFAULT_NODE_HOURLY_FEE].map((fee) =>
        solve(withFee(snapshot, fee), { ...options, packing: 'cheapest' }),
      ) as [Plan, Plan];
      // prices do not decide which pods are placed
      expect(summary(without).refused).toEqual(summary(usual).refused);
      if (usdPerHour(without) > usdPerHour(usual) * (1 + 1e-9)) dearer.push(seed);
      if (usdPerHour(without) < usdPerHour(usual) * 0.999) cheaper++;
    }
    expect(dearer).toEqual([]);
    expect(cheaper).toBeGreaterThan(0);
  });
});

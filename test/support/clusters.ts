/**
 * Realistic random clusters from a seed: nodes launched over time for workloads that have since shrunk, grown or moved.
 * For benchmarks and property tests.
 */
import type { NodePool, Pod } from '#api/objects';
import { builtInTypes } from '#cli/testing';
import {
  addResources,
  allocatable,
  fits,
  type InstanceType,
  type PoolInput,
  pseudoRandom,
  Requirements,
  type Resources,
  requirementsOf,
  type Snapshot,
  type StateNode,
} from '#engine/model';
import {
  DAEMON_REQUESTS,
  daemonPod,
  MEAN_CPU,
  NOW_MS,
  nodeNameOf,
  nodeOf,
  nodePoolOf,
  type Place,
  type PoolShape,
  pick,
  podOf,
  priceOf,
  type Random,
  REQUIREMENTS,
  type Workload,
  workloadOf,
  ZONES,
} from './cluster-objects.ts';

export interface ClusterShape {
  readonly seed: number;
  readonly nodes: number;
  /** Average number of pods that fill a node. */
  readonly podsPerNode: number;
  /** Range of the fraction of pods that remain on their node. */
  readonly fill: readonly [from: number, to: number];
  readonly pools: readonly PoolShape[];
  readonly workloads: number;
  /** Memory of the pods, in MiB per milli-CPU. If undefined, each workload has a ratio of its own. */
  readonly memoryPerCpu?: number;
  /** Part of the workloads with spread constraints, host anti-affinity, and a PodDisruptionBudget each. */
  readonly ruled: number;
  /** Fraction of nodes within `consolidateAfter` of their NodePool. */
  readonly quiet?: number;
  /** Pattern for the names of the NodePools' instance types. The default is the built-in catalogue. */
  readonly offered?: RegExp;
  /** Pattern for the names of types that determine node sizes. */
  readonly bought: RegExp;
}

export interface Cluster {
  readonly snapshot: Snapshot;
  readonly pools: ReadonlyMap<string, PoolInput>;
}

/** Returns the cheapest type with an offering in this place that holds the requests. */
function cheapestFor(types: readonly InstanceType[], requests: Resources, place: Place): InstanceType | undefined {
  let cheapest: InstanceType | undefined;
  let lowest = Number.POSITIVE_INFINITY;
  for (const type of types) {
    const price = priceOf(type, place);
    if (price >= lowest || !fits(requests, allocatable(type))) continue;
    [cheapest, lowest] = [type, price];
  }
  return cheapest;
}

/** Generates nodes with pods. */
class Builder {
  readonly #shape: ClusterShape;
  readonly #random: Random;
  readonly #workloads: readonly Workload[];
  readonly #counts: number[];

  constructor(shape: ClusterShape, workloads: readonly Workload[], random: Random) {
    this.#shape = shape;
    this.#random = random;
    this.#workloads = workloads;
    this.#counts = workloads.map(() => 0);
  }

  /** Adds random pods until this number in a row does not fit. */
  #fill(chosen: number[], limit: Resources, patience: number): Resources {
    let used = this.#requestsOf(chosen);
    for (let misses = 0; misses < patience; ) {
      const at = Math.floor(this.#random() * this.#workloads.length);
      const workload = this.#workloads[at] as Workload;
      const next = addResources(used, workload.requests);
      if (!fits(next, limit) || (workload.onePerHost && chosen.includes(at))) {
        misses++;
        continue;
      }
      used = next;
      chosen.push(at);
    }
    return used;
  }

  #requestsOf(chosen: readonly number[]): Resources {
    return addResources(DAEMON_REQUESTS, ...chosen.map((at) => this.#workloads[at]?.requests ?? {}));
  }

  /** Launches the node for pods that fill a type of some size, then removes some of them. */
  node(index: number, pools: readonly PoolInput[], types: readonly InstanceType[]): StateNode {
    const { pools: shapes, bought, fill, quiet = 0 } = this.#shape;
    const poolAt = Math.floor(this.#random() * pools.length);
    const capacityType = pick(this.#random, shapes[poolAt]?.capacityTypes ?? []);
    const place: Place = { zone: ZONES[index % ZONES.length] ?? '', capacityType };
    const sold = types.filter((type) => Number.isFinite(priceOf(type, place)));
    const first = pick(
      this.#random,
      sold.filter(({ name }) => bought.test(name)),
    );
    const chosen: number[] = [];
    const requests = this.#fill(chosen, allocatable(first), 8);
    const type = cheapestFor(sold, requests, place) ?? first;
    this.#fill(chosen, allocatable(type), 60);
    const kept = Math.max(1, Math.round(chosen.length * (fill[0] + this.#random() * (fill[1] - fill[0]))));
    while (chosen.length > kept) chosen.splice(Math.floor(this.#random() * chosen.length), 1);
    const name = nodeNameOf(index);
    const pods = [daemonPod(name), ...chosen.map((at) => this.#pod(at, name))];
    const pool = pools[poolAt]?.nodePool as NodePool;
    return nodeOf({ index, type, pool, ...place, pods, isQuiet: this.#random() < quiet });
  }

  #pod(at: number, nodeName: string): Pod {
    const count = (this.#counts[at] ?? 0) + 1;
    this.#counts[at] = count;
    return podOf(this.#workloads[at] as Workload, count, nodeName);
  }
}

const typeLists = new Map<string, readonly InstanceType[]>();

/** Caches the list, because the catalogue is slow to generate and engines cache by identity of the list. */
function typesNamed(pattern: RegExp, pool: NodePool): readonly InstanceType[] {
  let types = typeLists.get(pattern.source);
  if (types === undefined) {
    types = builtInTypes([], NOW_MS)(pool).filter(({ name }) => pattern.test(name));
    typeLists.set(pattern.source, types);
  }
  return types;
}

export function clusterOf(shape: ClusterShape): Cluster {
  const random = pseudoRandom(shape.seed);
  const nodePools = shape.pools.map(nodePoolOf);
  const types = typesNamed(shape.offered ?? /./, nodePools[0] as NodePool);
  const bought = types.filter(({ name }) => shape.bought.test(name));
  const meanCpu = bought.reduce((sum, type) => sum + (type.capacity.cpu ?? 0), 0) / bought.length;
  const scale = meanCpu / (shape.podsPerNode * MEAN_CPU);
  const workloads = Array.from({ length: shape.workloads }, (_, index) =>
    workloadOf(index, { scale, isRuled: random() < shape.ruled, memoryPerCpu: shape.memoryPerCpu }, random),
  );
  const pools = nodePools.map((nodePool) => ({ nodePool, instanceTypes: types }));
  const builder = new Builder(shape, workloads, random);
  const allowed = Requirements.fromRequirements(REQUIREMENTS);
  const sold = types.filter((type) => requirementsOf(type).intersects(allowed));
  const nodes = Array.from({ length: shape.nodes }, (_, index) => builder.node(index, pools, sold));
  return {
    pools: new Map(pools.map((pool) => [pool.nodePool.metadata.name, pool])),
    snapshot: {
      nowMs: NOW_MS,
      pools,
      nodes,
      pendingPods: [],
      daemonPods: [daemonPod('')],
      namespaces: [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } }],
      podDisruptionBudgets: workloads.flatMap(({ budget }) => budget ?? []),
      persistentVolumeClaims: [],
      persistentVolumes: [],
      storageClasses: [],
    },
  };
}

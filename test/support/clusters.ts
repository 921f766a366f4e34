/**
 * Clusters as they come to be in real life, from a seed: nodes bought over time for workloads that have since shrunk,
 * grown or moved. For benchmarks and for laws that must hold in any cluster.
 */
import type { Pod, PodDisruptionBudget, PodSpec } from '../../src/api/kubernetes.ts';
import {
  ARCH_LABEL,
  CAPACITY_TYPE_LABEL,
  HOSTNAME_LABEL,
  INITIALIZED_LABEL,
  INSTANCE_CATEGORY_LABEL,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  REGISTERED_LABEL,
  ZONE_LABEL,
} from '../../src/api/labels.ts';
import type { NodeClaim } from '../../src/api/nodeclaim.ts';
import type { NodePool } from '../../src/api/nodepool.ts';
import { builtInTypes } from '../../src/cli/objects/builtin.ts';
import type { Command } from '../../src/engine/disruption/command.ts';
import { type ClusterSnapshot, methodsOf, review } from '../../src/engine/disruption/review.ts';
import { Simulator } from '../../src/engine/disruption/simulations/simulator.ts';
import { allocatable, cheapestOffering, requirementsOf } from '../../src/engine/instance-types.ts';
import type {
  InstanceType,
  PlannedClaim,
  PoolInput,
  Requirement,
  Resources,
  Snapshot,
  StateNode,
} from '../../src/engine/model.ts';
import { podKey } from '../../src/engine/pods.ts';
import { pseudoRandom } from '../../src/engine/pseudo-random.ts';
import { Requirements } from '../../src/engine/requirements.ts';
import { addResources, fits, podRequests, quantityList } from '../../src/engine/resources.ts';

export const NOW_MS = Date.UTC(2026, 5, 3, 10, 0, 0);
const MINUTE = 60_000;
/** Of all NodePools, besides their capacity types. */
const REQUIREMENTS: readonly Requirement[] = [
  { key: ARCH_LABEL, operator: 'In', values: ['amd64'] },
  { key: INSTANCE_CATEGORY_LABEL, operator: 'In', values: ['c', 'm', 'r'] },
];
const ZONES = ['us-west-2a', 'us-west-2b', 'us-west-2c'];

export interface PoolShape {
  readonly name: string;
  readonly capacityTypes: readonly string[];
  readonly consolidationPolicy?: NonNullable<NodePool['spec']['disruption']>['consolidationPolicy'];
  readonly budget?: string;
  readonly limits?: NodePool['spec']['limits'];
}

export interface ClusterShape {
  readonly seed: number;
  readonly nodes: number;
  /** Pods that fill a node, on average. */
  readonly podsPerNode: number;
  /** Part of the pods that have stayed on their node: from, to. */
  readonly fill: readonly [from: number, to: number];
  readonly pools: readonly PoolShape[];
  readonly workloads: number;
  /** Part of the workloads with spread constraints, host anti-affinity, and a PodDisruptionBudget each. */
  readonly ruled: number;
  /** Part of the nodes that are within their pool's `consolidateAfter` window. */
  readonly quiet?: number;
  /** Instance types of the NodePools, by name; the built-in catalogue when left out. */
  readonly offered?: RegExp;
  /** Types of whose size nodes are. */
  readonly bought: RegExp;
}

type Random = () => number;

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

function nodePoolOf({ name, capacityTypes, consolidationPolicy, budget = '10%', limits }: PoolShape): NodePool {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name, uid: `uid-${name}` },
    status: { conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }] },
    spec: {
      ...(limits === undefined ? {} : { limits }),
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
          requirements: [...REQUIREMENTS, { key: CAPACITY_TYPE_LABEL, operator: 'In', values: [...capacityTypes] }],
          expireAfter: '720h',
        },
      },
      disruption: {
        consolidateAfter: '5m',
        budgets: [{ nodes: budget }],
        ...(consolidationPolicy && { consolidationPolicy }),
      },
    },
  };
}

interface Workload {
  readonly name: string;
  readonly spec: PodSpec;
  readonly requests: Resources;
  /** Host ports and rules by host let a node hold one only. */
  readonly onePerHost: boolean;
  readonly budget?: PodDisruptionBudget;
}

const CPU = [50, 100, 100, 200, 250, 250, 400, 500, 750, 1000];
/** Chosen so that `podsPerNode` comes out. */
const MEAN_CPU = 340;
const MEMORY_PER_CPU = [1, 2, 2, 4, 4, 6];

/** Requests are scaled so that the wanted number of pods fills a node. */
function workloadOf(index: number, scale: number, isRuled: boolean, random: Random): Workload {
  const name = `app-${index}`;
  const cpu = Math.max(10, Math.round(pick(random, CPU) * scale));
  const memory = Math.max(16, Math.round(cpu * pick(random, MEMORY_PER_CPU)));
  const labelSelector = { matchLabels: { app: name } };
  const rule = isRuled ? Math.floor(random() * 4) : -1;
  const onePerHost = rule === 1;
  const spec: PodSpec = {
    containers: [{ name: 'main', resources: { requests: { cpu: `${cpu}m`, memory: `${memory}Mi` } } }],
    ...(rule === 0
      ? {
          topologySpreadConstraints: [
            { maxSkew: 2, topologyKey: ZONE_LABEL, whenUnsatisfiable: 'DoNotSchedule', labelSelector },
          ],
        }
      : {}),
    ...(onePerHost
      ? {
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: HOSTNAME_LABEL, labelSelector }],
            },
          },
        }
      : {}),
    ...(rule === 2
      ? {
          topologySpreadConstraints: [
            { maxSkew: 3, topologyKey: HOSTNAME_LABEL, whenUnsatisfiable: 'ScheduleAnyway', labelSelector },
          ],
        }
      : {}),
  };
  const budget: PodDisruptionBudget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'default' },
    spec: { maxUnavailable: 1, selector: labelSelector },
    status: { disruptionsAllowed: random() < 0.02 ? 0 : 1 },
  };
  const pod = podOf({ name, spec, onePerHost, requests: {} }, 0, 'none');
  return { name, spec, requests: podRequests(pod), onePerHost, ...(isRuled ? { budget } : {}) };
}

/** Every pod has objects of its own, as pods that came over the wire do. */
const podOf = ({ name, spec }: Workload, index: number, nodeName: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `${name}-${index}`,
    namespace: 'default',
    uid: `${name}-${String(index).padStart(6, '0')}`,
    labels: { app: name },
    creationTimestamp: new Date(NOW_MS - 60 * MINUTE).toISOString(),
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid: name, controller: true }],
  },
  spec: { ...structuredClone(spec), nodeName },
  status: { phase: 'Running', startTime: new Date(NOW_MS - 60 * MINUTE).toISOString() },
});

export const DAEMON_SPEC: PodSpec = {
  containers: [{ name: 'agent', resources: { requests: { cpu: '50m', memory: '64Mi' } } }],
  tolerations: [{ operator: 'Exists' }],
};

const DAEMON_REQUESTS = podRequests({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'agent' },
  spec: DAEMON_SPEC,
});

const daemonPod = (nodeName: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `agent-${nodeName}`,
    namespace: 'kube-system',
    uid: `agent-${nodeName}`,
    labels: { app: 'agent' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'agent', controller: true }],
  },
  spec: { ...structuredClone(DAEMON_SPEC), ...(nodeName && { nodeName }) },
  status: { phase: nodeName ? 'Running' : 'Pending' },
});

function labelsOf(type: InstanceType, pool: string, zone: string, capacityType: string, name: string) {
  const fixed = type.requirements.flatMap(({ key, operator, values = [] }) =>
    operator === 'In' && values.length === 1 ? [[key, String(values[0])] as const] : [],
  );
  return {
    ...Object.fromEntries(fixed),
    [INSTANCE_TYPE_LABEL]: type.name,
    [NODEPOOL_LABEL]: pool,
    [ZONE_LABEL]: zone,
    [CAPACITY_TYPE_LABEL]: capacityType,
    [HOSTNAME_LABEL]: name,
    [REGISTERED_LABEL]: 'true',
    [INITIALIZED_LABEL]: 'true',
  };
}

interface NodeParts {
  readonly index: number;
  readonly type: InstanceType;
  readonly pool: NodePool;
  readonly zone: string;
  readonly capacityType: string;
  readonly pods: readonly Pod[];
  readonly isQuiet: boolean;
}

const nodeNameOf = (index: number): string => `node-${String(index).padStart(5, '0')}`;

function nodeOf({ index, type, pool, zone, capacityType, pods, isQuiet }: NodeParts): StateNode {
  const name = nodeNameOf(index);
  const labels = labelsOf(type, pool.metadata.name, zone, capacityType, name);
  const sinceMs = NOW_MS - (isQuiet ? MINUTE : 30 * MINUTE);
  const at = new Date(sinceMs).toISOString();
  const nodeClaim: NodeClaim = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name, uid: `claim-${name}`, labels, creationTimestamp: new Date(NOW_MS - 90 * MINUTE).toISOString() },
    spec: {
      nodeClassRef: pool.spec.template.spec.nodeClassRef,
      requirements: pool.spec.template.spec.requirements,
      expireAfter: '720h',
    },
    status: {
      providerID: `aws:///${name}`,
      lastPodEventTime: at,
      conditions: [
        { type: 'Initialized', status: 'True', lastTransitionTime: new Date(NOW_MS - 80 * MINUTE).toISOString() },
        { type: 'Consolidatable', status: isQuiet ? 'False' : 'True', lastTransitionTime: at },
      ],
    },
  };
  return {
    name,
    providerId: `aws:///${name}`,
    node: {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, uid: `node-${name}`, labels },
      spec: { providerID: `aws:///${name}` },
      status: {
        conditions: [{ type: 'Ready', status: 'True' }],
        capacity: quantityList(type.capacity),
        allocatable: quantityList(allocatable(type)),
      },
    },
    nodeClaim,
    registered: true,
    initialized: true,
    labels,
    annotations: {},
    taints: [],
    capacity: { ...type.capacity, nodes: 1 },
    allocatable: allocatable(type),
    pods,
    markedForDeletion: false,
    nominatedUntilMs: 0,
    bufferPods: 0,
  };
}

interface Place {
  readonly zone: string;
  readonly capacityType: string;
}

/** USD per hour; infinite when the type is not sold there. */
function priceOf(type: InstanceType, { zone, capacityType }: Place): number {
  const offering = type.offerings.find(
    ({ requirements, available }) =>
      available &&
      requirements.some(({ key, values }) => key === ZONE_LABEL && values?.includes(zone)) &&
      requirements.some(({ key, values }) => key === CAPACITY_TYPE_LABEL && values?.includes(capacityType)),
  );
  return offering?.usdPerHour ?? Number.POSITIVE_INFINITY;
}

export interface Cluster {
  readonly snapshot: Snapshot;
  readonly pools: ReadonlyMap<string, PoolInput>;
}

/** The cheapest type that is sold there and holds the requests. */
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

/** Draws nodes with pods on them. */
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

  /** Adds pods, in any order, until this many in a row did not fit. */
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

  /** The node is bought for pods that fill a type of some size; then some of them leave. */
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

/** The catalogue takes a while to make, and engines keep what they know of a list with the list. */
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
    workloadOf(index, scale, random() < shape.ruled, random),
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

/** The cluster as the disruption methods look at it. */
export const sceneIn = ({ snapshot, pools }: Cluster, more: Partial<ClusterSnapshot> = {}): ClusterSnapshot => ({
  snapshot,
  pools,
  inProgress: new Set(),
  spotToSpot: true,
  staticCapacity: true,
  consolidation: 'thorough',
  simulator: new Simulator(snapshot, {
    nodePools: [...pools.values()].map(({ nodePool }) => nodePool),
    solve: {
      preferencePolicy: 'Respect',
      minValuesPolicy: 'Strict',
      reservedMode: 'fallback',
      ignoreDraRequests: true,
    },
  }),
  elapsedMs: () => 0,
  ...more,
});

export const costOf = ({ snapshot, pools }: Cluster): number =>
  snapshot.nodes.reduce((sum, { labels }) => {
    const types = pools.get(labels[NODEPOOL_LABEL] ?? '')?.instanceTypes ?? [];
    const type = types.find(({ name }) => name === labels[INSTANCE_TYPE_LABEL]);
    const place = { zone: labels[ZONE_LABEL] ?? '', capacityType: labels[CAPACITY_TYPE_LABEL] ?? '' };
    return sum + (type === undefined ? 0 : priceOf(type, place));
  }, 0);

/** The node that a claim would become: of its cheapest type, in the cheapest place. */
function bought(claim: PlannedClaim, index: number, { pools }: Cluster, pods: readonly Pod[]): StateNode {
  const pool = pools.get(claim.nodePool);
  const type = pool?.instanceTypes.find(({ name }) => name === claim.cheapest);
  const requirements = Requirements.fromRequirements(claim.requirements);
  const offering = type && cheapestOffering(type, requirements);
  if (pool === undefined || type === undefined || offering === undefined)
    throw new Error(`Cannot buy ${claim.cheapest} for NodePool ${claim.nodePool}: it is not for sale`);
  const valueFor = (key: string): string => offering.requirements.find((each) => each.key === key)?.values?.[0] ?? '';
  const place = { zone: valueFor(ZONE_LABEL), capacityType: valueFor(CAPACITY_TYPE_LABEL) };
  return nodeOf({ index, type, pool: pool.nodePool, ...place, pods, isQuiet: false });
}

/** The cluster after a command has been carried out and everything has come to rest. */
export function after(cluster: Cluster, { candidates, replacements, plan }: Command): Cluster {
  const gone = new Set(candidates.map(({ providerId }) => providerId));
  const moving = new Map(
    candidates.flatMap(({ reschedulablePods }) => reschedulablePods).map((pod) => [podKey(pod), pod]),
  );
  const arriving = new Map(plan?.placements.map(({ providerId, pods }) => [providerId, pods]));
  const boundTo = (keys: readonly string[], nodeName: string): readonly Pod[] =>
    keys.map((key) => {
      const pod = moving.get(key);
      if (pod === undefined) throw new Error(`Pod ${key} is put somewhere, but does not move`);
      moving.delete(key);
      return { ...pod, spec: { ...pod.spec, nodeName } };
    });
  const stayed = cluster.snapshot.nodes
    .filter(({ providerId }) => !gone.has(providerId))
    .map((node) => {
      const more = boundTo(arriving.get(node.providerId) ?? [], node.name);
      return more.length === 0 ? node : { ...node, pods: [...node.pods, ...more] };
    });
  const names = cluster.snapshot.nodes.map(({ name }) => Number(name.slice('node-'.length)));
  const firstFree = Math.max(0, ...names) + 1;
  const fresh = replacements.map((claim, at) => {
    const name = nodeNameOf(firstFree + at);
    return bought(claim, firstFree + at, cluster, [daemonPod(name), ...boundTo(claim.pods, name)]);
  });
  if (moving.size > 0) throw new Error(`Pods without a place: ${[...moving.keys()].join(', ')}`);
  return { ...cluster, snapshot: { ...cluster.snapshot, nodes: [...stayed, ...fresh] } };
}

/** One command of a course of events. */
export interface Step {
  readonly method: string;
  readonly command: Command;
  readonly before: Cluster;
  readonly after: Cluster;
}

/** Asks the methods again and again, and does what they say, until they have nothing more to say. */
export async function* untilAtRest(cluster: Cluster, more: Partial<ClusterSnapshot> = {}): AsyncGenerator<Step> {
  for (let now = cluster; ; ) {
    const step = await nextStep(now, more);
    if (step === undefined) return;
    now = step.after;
    yield step;
  }
}

async function nextStep(cluster: Cluster, more: Partial<ClusterSnapshot>): Promise<Step | undefined> {
  const scene = sceneIn(cluster, more);
  for (const method of methodsOf(scene.consolidation)) {
    const [command] = (await review(method, scene)).result.commands;
    if (command !== undefined) return { method: method.name, command, before: cluster, after: after(cluster, command) };
  }
  return undefined;
}

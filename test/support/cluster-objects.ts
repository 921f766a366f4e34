/** NodePools, workloads, pods and nodes of random clusters from a seed. */
import {
  ARCH_LABEL,
  CAPACITY_TYPE_LABEL,
  HOSTNAME_LABEL,
  INITIALIZED_LABEL,
  INSTANCE_CATEGORY_LABEL,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  type NodeClaim,
  type NodePool,
  type Pod,
  type PodDisruptionBudget,
  type PodSpec,
  REGISTERED_LABEL,
  ZONE_LABEL,
} from '#api/objects';
import {
  allocatable,
  type InstanceType,
  podRequests,
  quantityList,
  type Requirement,
  type Resources,
  type StateNode,
} from '#engine/model';

export const NOW_MS = Date.UTC(2026, 5, 3, 10, 0, 0);
const MINUTE = 60_000;
/** Requirements of all NodePools, besides their capacity types. */
export const REQUIREMENTS: readonly Requirement[] = [
  { key: ARCH_LABEL, operator: 'In', values: ['amd64'] },
  { key: INSTANCE_CATEGORY_LABEL, operator: 'In', values: ['c', 'm', 'r'] },
];
export const ZONES = ['us-west-2a', 'us-west-2b', 'us-west-2c'];

export interface PoolShape {
  readonly name: string;
  readonly capacityTypes: readonly string[];
  readonly consolidationPolicy?: NonNullable<NodePool['spec']['disruption']>['consolidationPolicy'];
  readonly budget?: string;
  readonly limits?: NodePool['spec']['limits'];
}

export type Random = () => number;

export const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

export function nodePoolOf({ name, capacityTypes, consolidationPolicy, budget = '10%', limits }: PoolShape): NodePool {
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

export interface Workload {
  readonly name: string;
  readonly spec: PodSpec;
  readonly requests: Resources;
  /** Host ports and host rules allow only one pod per node. */
  readonly onePerHost: boolean;
  readonly budget?: PodDisruptionBudget;
}

const CPU = [50, 100, 100, 200, 250, 250, 400, 500, 750, 1000];
/** Mean that results in `podsPerNode`. */
export const MEAN_CPU = 340;
const MEMORY_PER_CPU = [1, 2, 2, 4, 4, 6];

interface WorkloadShape {
  readonly scale: number;
  readonly isRuled: boolean;
  /** MiB per milli-CPU. If undefined, a ratio is drawn. */
  readonly memoryPerCpu: number | undefined;
}

/** Requests are scaled so that the wanted number of pods fills a node. */
export function workloadOf(index: number, { scale, isRuled, memoryPerCpu }: WorkloadShape, random: Random): Workload {
  const name = `app-${index}`;
  const cpu = Math.max(10, Math.round(pick(random, CPU) * scale));
  const memory = Math.max(16, Math.round(cpu * (memoryPerCpu ?? pick(random, MEMORY_PER_CPU))));
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

/** Every pod has separate objects, like decoded pods. */
export const podOf = ({ name, spec }: Workload, index: number, nodeName: string): Pod => ({
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

export const DAEMON_REQUESTS = podRequests({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'agent' },
  spec: DAEMON_SPEC,
});

export const daemonPod = (nodeName: string): Pod => ({
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

export const nodeNameOf = (index: number): string => `node-${String(index).padStart(5, '0')}`;

export function nodeOf({ index, type, pool, zone, capacityType, pods, isQuiet }: NodeParts): StateNode {
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
        { type: 'Initialized', status: 'True', lastTransitionTime: new Date(NOW_MS - 89.5 * MINUTE).toISOString() },
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

export interface Place {
  readonly zone: string;
  readonly capacityType: string;
}

/** USD per hour. Infinite if the type has no such offering. */
export function priceOf(type: InstanceType, { zone, capacityType }: Place): number {
  const offering = type.offerings.find(
    ({ requirements, available }) =>
      available &&
      requirements.some(({ key, values }) => key === ZONE_LABEL && values?.includes(zone)) &&
      requirements.some(({ key, values }) => key === CAPACITY_TYPE_LABEL && values?.includes(capacityType)),
  );
  return offering?.usdPerHour ?? Number.POSITIVE_INFINITY;
}

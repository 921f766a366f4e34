/** Builders of small clusters for engine tests. */
import {
  CAPACITY_TYPE_LABEL,
  type DaemonSet,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  type Node,
  type NodePool,
  type Pod,
  type PodSpec,
  type Taint,
  ZONE_LABEL,
} from '#api/objects';
import type { NodePoolSpec } from '#api/testing';
import type {
  InstanceType,
  Offering,
  Plan,
  Requirement,
  Resources,
  Snapshot,
  SolveOptions,
  StateNode,
} from '../../../src/engine/model.ts';
import { resourcesOf } from '../../../src/engine/resources.ts';
import { solve } from '../../../src/engine/solve.ts';

export const oneOf = (key: string, ...values: readonly string[]): Requirement => ({ key, operator: 'In', values });

const UNSCHEDULABLE = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' } as const;
let uids = 0;

export interface PodParts extends Partial<Omit<PodSpec, 'containers'>> {
  readonly cpu?: string;
  readonly memory?: string;
  readonly requests?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly namespace?: string;
  readonly hostPort?: number;
}

export function pod(name: string, parts: PodParts = {}): Pod {
  const { cpu, memory, requests = {}, labels = {}, namespace = 'default', hostPort, ...spec } = parts;
  const own = { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }), ...requests };
  uids++;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels, uid: String(uids).padStart(8, '0') },
    spec: {
      ...spec,
      containers: [{ name: 'app', resources: { requests: own }, ...(hostPort ? { ports: [{ hostPort }] } : {}) }],
    },
    status: { phase: spec.nodeName ? 'Running' : 'Pending', conditions: [UNSCHEDULABLE] },
  };
}

export const replicas = (count: number, name: string, parts: PodParts = {}): readonly Pod[] =>
  Array.from({ length: count }, (_, index) => pod(`${name}-${index}`, parts));

/** A pod that a DaemonSet controls. */
export function daemon(name: string, parts: PodParts = {}): Pod {
  const own = pod(name, parts);
  const owner: DaemonSet['metadata'] & { uid: string } = { name, uid: name };
  return {
    ...own,
    metadata: { ...own.metadata, ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', ...owner }] },
  };
}

export interface TypeParts {
  readonly cpu?: number;
  readonly gib?: number;
  readonly pods?: number;
  readonly usd?: number;
  readonly zones?: readonly string[];
  readonly capacityTypes?: readonly string[];
  readonly requirements?: readonly Requirement[];
  readonly capacity?: Resources;
  readonly offerings?: readonly Offering[];
}

export const offering = (capacityType: string, zone: string, usdPerHour: number, available = true): Offering => ({
  requirements: [oneOf(CAPACITY_TYPE_LABEL, capacityType), oneOf(ZONE_LABEL, zone)],
  usdPerHour,
  available,
});

/** Instance type whose spot price is half of its on-demand price and which reserves no resources for the system. */
export function instanceType(name: string, parts: TypeParts = {}): InstanceType {
  const { cpu = 4, gib = 16, pods = 110, usd = cpu / 10, requirements = [], capacity = {} } = parts;
  const { zones = ['zone-a', 'zone-b', 'zone-c'], capacityTypes = ['on-demand', 'spot'] } = parts;
  const offerings = zones.flatMap((zone) =>
    capacityTypes.map((capacityType) => offering(capacityType, zone, capacityType === 'spot' ? usd / 2 : usd)),
  );
  return {
    name,
    requirements: [
      oneOf(INSTANCE_TYPE_LABEL, name),
      oneOf(ZONE_LABEL, ...zones),
      oneOf(CAPACITY_TYPE_LABEL, ...capacityTypes),
      ...requirements,
    ],
    capacity: { cpu: cpu * 1000, memory: gib * 2 ** 30, pods, ...capacity },
    overhead: { kubeReserved: {}, systemReserved: {}, evictionThreshold: {} },
    offerings: parts.offerings ?? offerings,
  };
}

export interface PoolParts extends Partial<Omit<NodePoolSpec, 'template'>> {
  readonly requirements?: NodePoolSpec['template']['spec']['requirements'];
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
}

export function nodePool(name: string, parts: PoolParts = {}): NodePool {
  const { requirements = [], labels = {}, taints = [], ...spec } = parts;
  const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      ...spec,
      template: { metadata: { labels }, spec: { nodeClassRef, requirements, taints, expireAfter: 'Never' } },
    },
  };
}

export interface NodeParts {
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly pods?: readonly Pod[];
  readonly pool?: string;
  readonly initialized?: boolean;
  readonly markedForDeletion?: boolean;
}

export function stateNode(name: string, parts: NodeParts = {}): StateNode {
  const { taints = [], pods = [], pool = 'default', initialized = true, markedForDeletion = false } = parts;
  const labels = { [ZONE_LABEL]: 'zone-a', [NODEPOOL_LABEL]: pool, 'kubernetes.io/hostname': name, ...parts.labels };
  const node: Node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } };
  const allocatable = resourcesOf({ cpu: '4', memory: '16Gi', pods: '110', ...parts.allocatable });
  return {
    name,
    providerId: `aws:///${name}`,
    node,
    registered: true,
    initialized,
    labels,
    annotations: {},
    taints,
    capacity: { ...allocatable, nodes: 1 },
    allocatable,
    pods,
    markedForDeletion,
    nominatedUntilMs: 0,
    bufferPods: 0,
  };
}

export interface SnapshotParts extends Partial<Omit<Snapshot, 'pools'>> {
  readonly pools?: readonly NodePool[];
  readonly types?: readonly InstanceType[];
}

export function snapshot({ pools = [nodePool('default')], types = TYPES, ...parts }: SnapshotParts = {}): Snapshot {
  return {
    nowMs: 0,
    pools: pools.map((each) => ({ nodePool: each, instanceTypes: types })),
    nodes: [],
    pendingPods: [],
    daemonPods: [],
    namespaces: [],
    podDisruptionBudgets: [],
    persistentVolumeClaims: [],
    persistentVolumes: [],
    storageClasses: [],
    ...parts,
  };
}

export const TYPES: readonly InstanceType[] = [
  instanceType('small', { cpu: 2, gib: 8 }),
  instanceType('medium', { cpu: 4, gib: 16 }),
  instanceType('large', { cpu: 8, gib: 32 }),
];

export const OPTIONS: SolveOptions = {
  preferencePolicy: 'Respect',
  minValuesPolicy: 'Strict',
  reservedMode: 'strict',
  ignoreDraRequests: true,
};

export const planOf = (parts: SnapshotParts, options: Partial<SolveOptions> = {}): Plan =>
  solve(snapshot(parts), { ...OPTIONS, ...options });

/** Text of the refusal of a pod in the default namespace. */
export const refusalText = (plan: Plan, name: string): string | undefined => plan.refusals.get(`default/${name}`)?.text;

/** Random clusters as objects of an API server, and the nodes that a plan for them launches. */
import {
  aliasLabels,
  type Container,
  type CSINode,
  type DaemonSet,
  HOSTNAME_LABEL,
  INITIALIZED_LABEL,
  type KubeObject,
  type Node,
  type PersistentVolume,
  type Pod,
  type PodAffinityTerm,
  REGISTERED_LABEL,
  ZONE_LABEL,
} from '#api/objects';
import {
  allocatable,
  compatibleOfferings,
  type PlannedClaim,
  quantityList,
  Requirements,
  type Resources,
  requirementsOf,
  type Snapshot,
  type SolveOptions,
  type StateNode,
  selects,
} from '#engine/model';
import { drawnCluster } from '../../conformance/reference/clusters.ts';
import { Draw } from '../../unit/engine/scenarios.ts';

const EBS_DRIVER = 'ebs.csi.aws.com';
const EBS_ZONE = 'topology.ebs.csi.aws.com/zone';
const APPS = ['a', 'b', 'c'];

export interface SoundnessCluster {
  readonly snapshot: Snapshot;
  readonly options: SolveOptions;
}

/**
 * Draws a cluster with objects that an API server accepts. Leaves out nodes that are being removed, because their pods have no
 * place yet, and local volumes. A local volume exists on its node only, so its pod waits until the claim is replaced.
 */
export function soundnessCluster(seed: number): SoundnessCluster {
  const { snapshot, options } = drawnCluster(seed);
  const draw = new Draw(seed + 1_000_000);
  const local = new Set(
    snapshot.persistentVolumes.filter(({ spec }) => spec.local).map(({ metadata }) => metadata.name),
  );
  const localClaims = new Set(
    snapshot.persistentVolumeClaims
      .filter(({ spec }) => local.has(spec.volumeName ?? ''))
      .map(({ metadata }) => metadata.name),
  );
  const hasNoLocal = ({ spec }: Pod): boolean =>
    (spec.volumes ?? []).every(({ persistentVolumeClaim }) => !localClaims.has(persistentVolumeClaim?.claimName ?? ''));
  const labelled = new Map(
    snapshot.daemonPods.map(({ metadata }) => [metadata.name, draw.maybe(0.5, () => ({ app: draw.of(APPS) })) ?? {}]),
  );
  const daemonOf = (each: Pod): Pod => {
    const owner = each.metadata.ownerReferences?.[0]?.name ?? '';
    const metadata = { ...each.metadata, namespace: 'other', labels: labelled.get(owner) ?? {} };
    return valid({ ...each, metadata });
  };
  const bound = (each: Pod): Pod => {
    if (each.metadata.ownerReferences !== undefined) return daemonOf(each);
    const isResized = each.status?.phase === 'Running' && draw.chance(0.3);
    return isResized ? resized(valid(each), draw) : valid(each);
  };
  const instanceTypes = (snapshot.pools[0]?.instanceTypes ?? []).map((type) =>
    draw.chance(0.5) ? { ...type, volumeLimits: { [EBS_DRIVER]: 1 + draw.below(3) } } : type,
  );
  return {
    snapshot: {
      ...snapshot,
      pools: snapshot.pools.map((pool) => ({ ...pool, instanceTypes })),
      nodes: snapshot.nodes
        .filter(({ markedForDeletion }) => !markedForDeletion)
        .map((node) => ({ ...node, labels: withAliases(node.labels), pods: node.pods.map(bound) })),
      pendingPods: snapshot.pendingPods
        .filter(({ spec }) => !spec.nodeName)
        .filter(hasNoLocal)
        .map(valid),
      daemonPods: snapshot.daemonPods.map(daemonOf),
      persistentVolumes: snapshot.persistentVolumes.filter(({ spec }) => !spec.local).map(validVolume),
      persistentVolumeClaims: snapshot.persistentVolumeClaims
        .filter(({ metadata }) => !localClaims.has(metadata.name))
        .map((claim) => ({
          ...claim,
          spec: {
            storageClassName: '',
            ...claim.spec,
            accessModes: ['ReadWriteOnce'],
            resources: { requests: { storage: '1Gi' } },
          },
        })),
    },
    options: { ...options, afterBinding: true },
  };
}

/** Returns the pod during a resize in place: refused, postponed or in progress, to more or less than it had before. */
function resized(pod: Pod, draw: Draw): Pod {
  const amounts = { cpu: draw.of(['100m', '1', '2500m']), memory: draw.of(['128Mi', '2Gi']) };
  const [type, reason] = draw.of([
    ['PodResizePending', 'Infeasible'],
    ['PodResizePending', 'Deferred'],
    ['PodResizeInProgress', undefined],
  ] as const);
  const { name = 'app' } = pod.spec.containers[0] ?? {};
  const report = {
    ...{ name, image: 'pause', imageID: '', ready: true, restartCount: 0 },
    allocatedResources: amounts,
    resources: { requests: draw.chance(0.5) ? amounts : { cpu: '500m', memory: '256Mi' } },
  };
  const conditions = [{ type, status: 'True', ...(reason && { reason }) }];
  return { ...pod, status: { ...pod.status, conditions, containerStatuses: [report] } } as Pod;
}

/** Adds the fields that an API server requires. */
function valid(pod: Pod): Pod {
  const containerOf = (container: Container): Container => ({
    ...container,
    image: 'pause',
    ...(container.ports && {
      ports: container.ports.map((port) => ({ ...port, containerPort: port.hostPort ?? 80, protocol: 'TCP' })),
    }),
  });
  return { ...pod, spec: { ...pod.spec, containers: pod.spec.containers.map(containerOf) } };
}

const validVolume = (volume: PersistentVolume): PersistentVolume => {
  const { name } = volume.metadata;
  const spec = {
    ...volume.spec,
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    csi: { driver: EBS_DRIVER, volumeHandle: name },
  };
  return { ...volume, spec };
};

/** The driver sets its own label for the zone, because all nodes run the driver. */
const withAliases = (labels: Readonly<Record<string, string>>): Record<string, string> => ({
  ...aliasLabels(labels),
  ...(labels[ZONE_LABEL] === undefined ? {} : { [EBS_ZONE]: labels[ZONE_LABEL] }),
  ...labels,
  [REGISTERED_LABEL]: 'true',
  [INITIALIZED_LABEL]: 'true',
});

export interface NewNode {
  readonly node: Node;
  readonly csiNode: CSINode;
}

const nodeOf = (
  name: string,
  labels: Record<string, string>,
  resources: Resources,
  taints: StateNode['taints'],
): Node => {
  const { nodes: _, ...rest } = resources;
  const amounts = quantityList(rest);
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels },
    spec: { taints },
    status: { allocatable: amounts, capacity: amounts, conditions: [{ type: 'Ready', status: 'True' }] },
  } as unknown as Node;
};

const csiNodeOf = (name: string, count?: number): CSINode => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSINode',
  metadata: { name },
  spec: { drivers: [{ name: EBS_DRIVER, nodeID: name, ...(count === undefined ? {} : { allocatable: { count } }) }] },
});

/** Returns the objects of an existing node. */
export const existingNode = ({ name, labels, allocatable: room, taints, csiNode }: StateNode): NewNode => ({
  node: nodeOf(name, { [HOSTNAME_LABEL]: name, ...labels }, room, taints),
  csiNode: csiNodeOf(name, csiNode?.spec.drivers?.[0]?.allocatable?.count),
});

/** Returns the objects of the node that a planned claim becomes. Any of its types and offerings can be launched. */
export function launchedNode(claim: PlannedClaim, { pools }: Snapshot, name: string, draw: Draw): NewNode {
  const pool = pools.find(({ nodePool }) => nodePool.metadata.name === claim.nodePool);
  const requirements = Requirements.fromRequirements(claim.requirements);
  const types = (pool?.instanceTypes ?? []).filter((type) => claim.instanceTypes.includes(type.name));
  const launchable = types.flatMap((type) =>
    compatibleOfferings(type, requirements).map((offering) => ({ type, offering })),
  );
  if (pool === undefined || launchable.length === 0) throw new Error(`no offering for ${JSON.stringify(claim)}`);
  const { type, offering } = draw.of(launchable);
  const labels: Record<string, string> = { [HOSTNAME_LABEL]: name };
  for (const [key, set] of requirementsOf(type).entries())
    if (!set.complement && set.values.size === 1) labels[key] = set.any();
  for (const [key, set] of requirementsOf(offering).entries())
    if (!set.complement && set.values.size === 1) labels[key] = set.any();
  Object.assign(labels, claim.labels);
  const taints = pool.nodePool.spec.template.spec.taints ?? [];
  const node = nodeOf(name, withAliases(labels), allocatable(type, offering), taints);
  return { node, csiNode: csiNodeOf(name, type.volumeLimits?.[EBS_DRIVER]) };
}

interface RequiredRule
  extends Pick<PodAffinityTerm, 'topologyKey' | 'labelSelector' | 'namespaces' | 'namespaceSelector'> {
  readonly type: 'spread' | 'affinity' | 'anti-affinity';
}

/** Returns the rules between pods that kube-scheduler enforces for a pod. */
export function requiredRules({ spec }: Pod): readonly RequiredRule[] {
  const { affinity = {}, topologySpreadConstraints = [] } = spec;
  const termsOf = (kind: 'podAffinity' | 'podAntiAffinity'): readonly PodAffinityTerm[] =>
    affinity[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  return [
    ...topologySpreadConstraints
      .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule')
      .map((constraint) => ({ ...constraint, type: 'spread' as const })),
    ...termsOf('podAffinity').map((term) => ({ ...term, type: 'affinity' as const })),
    ...termsOf('podAntiAffinity').map((term) => ({ ...term, type: 'anti-affinity' as const })),
  ];
}

/**
 * Returns a known difference to kube-scheduler that can explain why it refuses a pod on its planned node. Undefined if no
 * difference concerns the pod. On new nodes, the engine does not count the pods of DaemonSets for spreads by host. In domains of
 * several nodes, it counts them only if the domain of the node is known and the DaemonSet runs on all possible nodes.
 */
export function knownDifference(pod: Pod, { daemonPods }: Snapshot): string | undefined {
  const rules = requiredRules(pod);
  const counts = (rule: RequiredRule, { metadata }: Pod): boolean =>
    (rule.namespaceSelector !== undefined ||
      (rule.namespaces ?? [pod.metadata.namespace]).includes(metadata.namespace ?? '')) &&
    selects(rule.labelSelector, metadata.labels);
  const shared = rules.filter(({ type, topologyKey }) => type === 'spread' || topologyKey !== HOSTNAME_LABEL);
  return shared.some((rule) => daemonPods.some((daemon) => counts(rule, daemon)))
    ? 'counts pods of a DaemonSet'
    : undefined;
}

/** Returns the DaemonSet of a representative pod. */
export const daemonSetOf = ({ metadata, spec }: Pod): DaemonSet =>
  ({
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name: metadata.name, namespace: metadata.namespace ?? 'default', uid: metadata.name },
    spec: { selector: {}, template: { metadata: { labels: metadata.labels }, spec } },
  }) as unknown as DaemonSet;

/** Returns the object without fields that the server sets. */
export const submitted = <T extends KubeObject>(object: T): T => {
  const { uid: _, creationTimestamp: __, ...metadata } = object.metadata;
  const { status: ___, ...rest } = object as T & { readonly status?: unknown };
  return { ...rest, metadata } as unknown as T;
};

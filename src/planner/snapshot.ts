/** Cluster state as the engine's input: plain, immutable data that shares its objects with the stores. */
import type { DaemonSet, NodeAffinity, NodePool, Pod } from '#api/objects';
import type { Commitment } from '#engine/costs';
import {
  defaultRequests,
  type IdlePool,
  isActive,
  isScheduled,
  type PoolInput,
  podKey,
  type ResourceTemplate,
  resourceTemplateOf,
  type Snapshot,
  type StateNode,
  withSuccessor,
} from '#engine/model';
import type { WithheldLaunch } from '#engine/solve';
import { remembering, timeOf } from '#lib';
import { type ClusterState, deviceLists, type OverdueClaim, PODS_BY_DAEMON_SET, type Stores } from '#state';
import { ceilingsOf } from './ceilings.ts';
import { overdueNodes } from './overdue-nodes.ts';

export interface SnapshotParts {
  readonly nowMs: number;
  readonly pools: readonly PoolInput[];
  readonly idlePools?: readonly IdlePool[];
  readonly idleNodePools?: readonly NodePool[];
  /** Read before the pods were listed, so that a pod that is bound in the meantime is counted at most twice. */
  readonly nodes: readonly StateNode[];
  /** Read together with the nodes, so that a claim that is launched in the meantime is counted once. */
  readonly overdue: readonly OverdueClaim[];
  readonly pendingPods: readonly Pod[];
  readonly withheld?: readonly WithheldLaunch[];
  readonly commitments?: readonly Commitment[] | undefined;
  /** True if pods stay on the nodes that were launched for them. Otherwise, each solve packs them again, as in Karpenter. */
  readonly keepsLaunches?: boolean;
}

export function takeSnapshot(
  cluster: ClusterState,
  { overdue, commitments = [], withheld = [], keepsLaunches = false, ...parts }: SnapshotParts,
): Snapshot {
  const { stores } = cluster;
  const defaultSpread = cluster.defaultSpread();
  const nodes = overdue.length === 0 ? parts.nodes : [...parts.nodes, ...overdueNodes(overdue, parts.pools)];
  const sources = { policies: stores.nodePolicies.list(), quotas: cluster.quotas() };
  const ceilings = ceilingsOf(sources, stores.nodePools.list(), { ...parts, nodes });
  const gangGroups = cluster.gangGroups();
  return {
    ...parts,
    nodes,
    daemonPods: stores.daemonSets.list().map((daemonSet) => representative(daemonSet, podsOf(daemonSet, stores))),
    namespaces: stores.namespaces.list(),
    podDisruptionBudgets: stores.podDisruptionBudgets.list(),
    persistentVolumeClaims: stores.persistentVolumeClaims.list(),
    persistentVolumes: stores.persistentVolumes.list(),
    storageClasses: stores.storageClasses.list(),
    ...deviceLists(cluster.devices, stores.pods),
    ...nominatedClaims(cluster, parts.pendingPods, keepsLaunches),
    ...(commitments.length > 0 && { commitments }),
    ...(withheld.length > 0 && { withheld }),
    ...(ceilings.length > 0 && { ceilings }),
    ...(gangGroups.size > 0 && { gangGroups }),
    ...(defaultSpread === undefined ? {} : { defaultSpread }),
  };
}

/** Returns the NodeClaims that previous solves chose: always for pods with resource claims, and for all pods on request. */
function nominatedClaims(
  { nominatedClaims: known, podTimings }: Pick<ClusterState, 'nominatedClaims' | 'podTimings'>,
  pods: readonly Pod[],
  ofAll: boolean,
): Pick<Snapshot, 'nominatedClaims'> {
  if (known.size === 0 && !ofAll) return {};
  const chosen = pods.flatMap((pod) => {
    const { uid = '' } = pod.metadata;
    const created = ofAll && !isScheduled(pod) ? podTimings.get(podKey(pod)).nodeClaim : undefined;
    const name = known.get(uid) ?? created;
    return name === undefined ? [] : [[uid, name] as const];
  });
  return chosen.length === 0 ? {} : { nominatedClaims: new Map(chosen) };
}

const podsOf = ({ metadata: { uid } }: DaemonSet, stores: Stores): readonly Pod[] =>
  uid === undefined ? [] : stores.pods.byIndex(PODS_BY_DAEMON_SET, uid);

/**
 * Returns the newest active pod of a DaemonSet, because this pod includes the changes of admission. Without an active pod, builds
 * a pod from the template. Returns the same object for the same input, so that the engine can cache its results by object.
 */
function representative(daemonSet: DaemonSet, pods: readonly Pod[]): Pod {
  const newest = newestActive(pods);
  const affinity = daemonSet.spec.template.spec.affinity?.nodeAffinity;
  return newest ? withSuccessor(unpinned(newest, affinity), templateOf(daemonSet)) : fromTemplate(daemonSet);
}

const templateOf = remembering((daemonSet: DaemonSet): ResourceTemplate => resourceTemplateOf(daemonSet.spec.template));

/** Returns the first of the pods with the latest creation time. */
const newestActive = remembering((pods: readonly Pod[]): Pod | undefined => {
  let newest: Pod | undefined;
  let newestMs = Number.NEGATIVE_INFINITY;
  for (const pod of pods) {
    const createdMs = timeOf(pod.metadata.creationTimestamp) || 0;
    if (createdMs <= newestMs || !isActive(pod)) continue;
    newest = pod;
    newestMs = createdMs;
  }
  return newest;
});

/** Restores the affinity of the template. The DaemonSet controller pins each pod to its node by affinity. */
const unpinned = remembering((pod: Pod, template: NodeAffinity | undefined): Pod => {
  const required = template?.requiredDuringSchedulingIgnoredDuringExecution;
  const { nodeName: _, ...spec } = pod.spec;
  const { requiredDuringSchedulingIgnoredDuringExecution: pin, ...affinity } = spec.affinity?.nodeAffinity ?? {};
  const kept = required ?? (isPin(pin) ? undefined : pin);
  const nodeAffinity: NodeAffinity = {
    ...affinity,
    ...(kept === undefined ? {} : { requiredDuringSchedulingIgnoredDuringExecution: kept }),
  };
  return { ...pod, spec: { ...spec, affinity: { ...spec.affinity, nodeAffinity } } };
});

/**
 * Returns true for the controller's pin. The pin selects the node by a field, and a node that does not exist yet cannot match it.
 */
const isPin = (required: NodeAffinity['requiredDuringSchedulingIgnoredDuringExecution']): boolean =>
  (required?.nodeSelectorTerms ?? []).some((term) => (term.matchFields ?? []).length > 0);

const fromTemplate = remembering((daemonSet: DaemonSet): Pod => {
  const { metadata, spec } = daemonSet.spec.template;
  const { name, uid = '', namespace = 'default' } = daemonSet.metadata;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      name,
      namespace,
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid, controller: true }],
    },
    spec: defaultRequests(spec),
  };
});

/** Stores that the cluster state reads, with the indexes that the cluster state and the controllers use. */
import {
  CAPACITY_BUFFER,
  CAPACITY_QUOTA,
  type CapacityBuffer,
  type CapacityQuota,
  CSI_NODE,
  type CSINode,
  DAEMON_SET,
  type DaemonSet,
  NAMESPACE,
  type Namespace,
  NODE,
  NODE_CLAIM,
  NODE_POLICY,
  NODE_POOL,
  NODEPOOL_LABEL,
  type Node,
  type NodeClaim,
  type NodePolicy,
  type NodePool,
  nodeNameOf,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  type PersistentVolume,
  type PersistentVolumeClaim,
  POD,
  POD_DISRUPTION_BUDGET,
  type Pod,
  type PodDisruptionBudget,
  STATEFUL_SET,
  STORAGE_CLASS,
  type StorageClass,
  VOLUME_ATTACHMENT,
  type VolumeAttachment,
  type Workload,
} from '#api/objects';
import type { Informers, Store } from '#kube/client';

/** Pods by `spec.nodeName`. Pods that are not bound have the empty string. */
export const PODS_BY_NODE = 'nodeName';
/** Pods of DaemonSets by the UID of the DaemonSet. */
export const PODS_BY_DAEMON_SET = 'daemonSetUid';
/** Nodes by `spec.providerID`. */
export const NODES_BY_PROVIDER_ID = 'providerID';
/** NodeClaims by `status.providerID`. */
export const CLAIMS_BY_PROVIDER_ID = 'providerID';
/** NodeClaims by the name of their NodePool. */
export const CLAIMS_BY_NODE_POOL = 'nodePool';
/** NodeClaims by the name of their NodeClass. */
export const CLAIMS_BY_NODE_CLASS = 'nodeClass';

/** VolumeAttachments by `spec.nodeName`. */
export const ATTACHMENTS_BY_NODE = 'nodeName';

export interface Stores {
  readonly pods: Store<Pod>;
  readonly nodes: Store<Node>;
  readonly nodeClaims: Store<NodeClaim>;
  readonly nodePools: Store<NodePool>;
  /** Empty if the cluster does not serve NodePolicies. */
  readonly nodePolicies: Store<NodePolicy>;
  readonly daemonSets: Store<DaemonSet>;
  /** Empty if the operator must not read StatefulSets. */
  readonly statefulSets: Store<Workload>;
  readonly namespaces: Store<Namespace>;
  readonly podDisruptionBudgets: Store<PodDisruptionBudget>;
  readonly persistentVolumeClaims: Store<PersistentVolumeClaim>;
  readonly persistentVolumes: Store<PersistentVolume>;
  readonly storageClasses: Store<StorageClass>;
  readonly csiNodes: Store<CSINode>;
  readonly volumeAttachments: Store<VolumeAttachment>;
}

const present = (value: string | undefined): readonly string[] => (value ? [value] : []);

export function openStores(informers: Informers): Stores {
  return {
    pods: informers.store(POD, {
      [PODS_BY_NODE]: (pod) => [nodeNameOf(pod)],
      [PODS_BY_DAEMON_SET]: (pod) =>
        (pod.metadata.ownerReferences ?? []).filter(({ kind }) => kind === 'DaemonSet').map(({ uid }) => uid),
    }),
    nodes: informers.store(NODE, { [NODES_BY_PROVIDER_ID]: (node) => present(node.spec?.providerID) }),
    nodeClaims: informers.store(NODE_CLAIM, {
      [CLAIMS_BY_PROVIDER_ID]: (claim) => present(claim.status?.providerID),
      [CLAIMS_BY_NODE_POOL]: (claim) => present(claim.metadata.labels?.[NODEPOOL_LABEL]),
      [CLAIMS_BY_NODE_CLASS]: (claim) => present(claim.spec.nodeClassRef.name),
    }),
    nodePools: informers.store(NODE_POOL),
    nodePolicies: informers.store(NODE_POLICY, {}, { isAddOn: true }),
    daemonSets: informers.store(DAEMON_SET),
    statefulSets: informers.store(STATEFUL_SET, {}, { optional: true }),
    namespaces: informers.store(NAMESPACE),
    podDisruptionBudgets: informers.store(POD_DISRUPTION_BUDGET),
    persistentVolumeClaims: informers.store(PERSISTENT_VOLUME_CLAIM),
    persistentVolumes: informers.store(PERSISTENT_VOLUME),
    storageClasses: informers.store(STORAGE_CLASS),
    csiNodes: informers.store(CSI_NODE),
    volumeAttachments: informers.store(VOLUME_ATTACHMENT, {
      [ATTACHMENTS_BY_NODE]: ({ spec }) => [spec.nodeName],
    }),
  };
}

/** Empty if the cluster does not serve CapacityBuffers, or if the operator must not read them. */
export const openBuffers = (informers: Informers): Store<CapacityBuffer> =>
  informers.store(CAPACITY_BUFFER, {}, { isAddOn: true });

/** A quota that must not be read still holds, so that a missing permission blocks the start. The kind may be missing. */
export const openQuotas = (informers: Informers): Store<CapacityQuota> =>
  informers.store(CAPACITY_QUOTA, {}, { isAddOn: true, optional: false });

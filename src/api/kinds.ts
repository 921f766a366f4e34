/** Path of each kind in the Kubernetes API, with its static type. */
import type { CapacityBuffer } from './capacity-buffer.ts';
import type { CapacityQuota } from './capacity-quota.ts';
import type {
  DeviceClass,
  DeviceTaintRule,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
} from './dra/objects.ts';
import type { EC2NodeClass } from './ec2-nodeclass.ts';
import type {
  ConfigMap,
  CSINode,
  DaemonSet,
  KubeEvent,
  KubeObject,
  Lease,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  PodTemplate,
  ReplicationController,
  Service,
  StorageClass,
  VolumeAttachment,
  Workload,
} from './kubernetes.ts';
import { KARPENTER_TS_GROUP } from './labels.ts';
import type { NodeClaim } from './nodeclaim.ts';
import type { NodeOverlay } from './nodeoverlay.ts';
import type { NodePolicy } from './nodepolicy.ts';
import type { NodePool } from './nodepool.ts';
import type { ProvisioningRequest } from './provisioning-request.ts';
import type { NodeReadinessRule } from './readiness-rule.ts';

export interface Kind<T extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Static type of this kind. Never set. */
  readonly type?: T;
}

/** Returns the plural of a kind as in paths of the API: `nodepools`, `ec2nodeclasses`. */
const pathOf = (kind: string): string =>
  kind.endsWith('cy')
    ? `${kind.slice(0, -1).toLowerCase()}ies`
    : `${kind.toLowerCase()}${kind.endsWith('s') ? 'es' : 's'}`;

const cluster = <T extends KubeObject>(group: string, version: string, kind: string): Kind<T> => ({
  group,
  version,
  kind,
  plural: pathOf(kind),
  namespaced: false,
});
const namespaced = <T extends KubeObject>(group: string, version: string, kind: string): Kind<T> => ({
  ...cluster<T>(group, version, kind),
  namespaced: true,
});

export const NODE_POOL = cluster<NodePool>('karpenter.sh', 'v1', 'NodePool');
export const NODE_CLAIM = cluster<NodeClaim>('karpenter.sh', 'v1', 'NodeClaim');
export const NODE_OVERLAY = cluster<NodeOverlay>('karpenter.sh', 'v1alpha1', 'NodeOverlay');
export const NODE_POLICY = cluster<NodePolicy>(KARPENTER_TS_GROUP, 'v1alpha1', 'NodePolicy');
export const EC2_NODE_CLASS = cluster<EC2NodeClass>('karpenter.k8s.aws', 'v1', 'EC2NodeClass');
export const CAPACITY_BUFFER = namespaced<CapacityBuffer>('autoscaling.x-k8s.io', 'v1beta1', 'CapacityBuffer');
export const CAPACITY_QUOTA = cluster<CapacityQuota>('autoscaling.x-k8s.io', 'v1beta1', 'CapacityQuota');
export const PROVISIONING_REQUEST = namespaced<ProvisioningRequest>(
  'autoscaling.x-k8s.io',
  'v1',
  'ProvisioningRequest',
);

export const POD = namespaced<Pod>('', 'v1', 'Pod');
export const NODE = cluster<Node>('', 'v1', 'Node');
export const NODE_READINESS_RULE = cluster<NodeReadinessRule>(
  'readiness.node.x-k8s.io',
  'v1alpha1',
  'NodeReadinessRule',
);
export const NAMESPACE = cluster<Namespace>('', 'v1', 'Namespace');
export const EVENT = namespaced<KubeEvent>('', 'v1', 'Event');
export const SERVICE = namespaced<Service>('', 'v1', 'Service');
export const POD_TEMPLATE = namespaced<PodTemplate>('', 'v1', 'PodTemplate');
export const REPLICATION_CONTROLLER = namespaced<ReplicationController>('', 'v1', 'ReplicationController');
export const PERSISTENT_VOLUME = cluster<PersistentVolume>('', 'v1', 'PersistentVolume');
export const PERSISTENT_VOLUME_CLAIM = namespaced<PersistentVolumeClaim>('', 'v1', 'PersistentVolumeClaim');
export const DAEMON_SET = namespaced<DaemonSet>('apps', 'v1', 'DaemonSet');
export const DEPLOYMENT = namespaced<Workload>('apps', 'v1', 'Deployment');
export const REPLICA_SET = namespaced<Workload>('apps', 'v1', 'ReplicaSet');
export const STATEFUL_SET = namespaced<Workload>('apps', 'v1', 'StatefulSet');
export const JOB = namespaced<Workload>('batch', 'v1', 'Job');
/** Value of `spec.managedBy` of Jobs that the Job controller of Kubernetes manages, as if the field were absent. */
export const JOB_CONTROLLER = 'kubernetes.io/job-controller';
export const PRIORITY_CLASS = cluster('scheduling.k8s.io', 'v1', 'PriorityClass');
export const STORAGE_CLASS = cluster<StorageClass>('storage.k8s.io', 'v1', 'StorageClass');
export const CSI_NODE = cluster<CSINode>('storage.k8s.io', 'v1', 'CSINode');
export const VOLUME_ATTACHMENT = cluster<VolumeAttachment>('storage.k8s.io', 'v1', 'VolumeAttachment');
export const RESOURCE_CLAIM = namespaced<ResourceClaim>('resource.k8s.io', 'v1', 'ResourceClaim');
export const RESOURCE_SLICE = cluster<ResourceSlice>('resource.k8s.io', 'v1', 'ResourceSlice');
export const RESOURCE_CLAIM_TEMPLATE = namespaced<ResourceClaimTemplate>(
  'resource.k8s.io',
  'v1',
  'ResourceClaimTemplate',
);
export const DEVICE_CLASS = cluster<DeviceClass>('resource.k8s.io', 'v1', 'DeviceClass');
export const DEVICE_TAINT_RULE = cluster<DeviceTaintRule>('resource.k8s.io', 'v1', 'DeviceTaintRule');
export const POD_DISRUPTION_BUDGET = namespaced<PodDisruptionBudget>('policy', 'v1', 'PodDisruptionBudget');
export const CONFIG_MAP = namespaced<ConfigMap>('', 'v1', 'ConfigMap');
export const LEASE = namespaced<Lease>('coordination.k8s.io', 'v1', 'Lease');

export const apiVersionOf = (kind: Kind): string =>
  kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;

/** Path of each kind in the Kubernetes API, with its static type. */
import type { CapacityBuffer } from './capacity-buffer.ts';
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
import type { NodeClaim } from './nodeclaim.ts';
import type { NodeOverlay } from './nodeoverlay.ts';
import type { NodePool } from './nodepool.ts';

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

const cluster = <T extends KubeObject>(group: string, version: string, kind: string, plural: string): Kind<T> => ({
  group,
  version,
  kind,
  plural,
  namespaced: false,
});
const namespaced = <T extends KubeObject>(group: string, version: string, kind: string, plural: string): Kind<T> => ({
  group,
  version,
  kind,
  plural,
  namespaced: true,
});

export const NODE_POOL = cluster<NodePool>('karpenter.sh', 'v1', 'NodePool', 'nodepools');
export const NODE_CLAIM = cluster<NodeClaim>('karpenter.sh', 'v1', 'NodeClaim', 'nodeclaims');
export const NODE_OVERLAY = cluster<NodeOverlay>('karpenter.sh', 'v1alpha1', 'NodeOverlay', 'nodeoverlays');
export const EC2_NODE_CLASS = cluster<EC2NodeClass>('karpenter.k8s.aws', 'v1', 'EC2NodeClass', 'ec2nodeclasses');
export const CAPACITY_BUFFER = namespaced<CapacityBuffer>(
  'autoscaling.x-k8s.io',
  'v1beta1',
  'CapacityBuffer',
  'capacitybuffers',
);

export const POD = namespaced<Pod>('', 'v1', 'Pod', 'pods');
export const NODE = cluster<Node>('', 'v1', 'Node', 'nodes');
export const NAMESPACE = cluster<Namespace>('', 'v1', 'Namespace', 'namespaces');
export const EVENT = namespaced<KubeEvent>('', 'v1', 'Event', 'events');
export const SERVICE = namespaced<Service>('', 'v1', 'Service', 'services');
export const POD_TEMPLATE = namespaced<PodTemplate>('', 'v1', 'PodTemplate', 'podtemplates');
export const REPLICATION_CONTROLLER = namespaced<ReplicationController>(
  '',
  'v1',
  'ReplicationController',
  'replicationcontrollers',
);
export const PERSISTENT_VOLUME = cluster<PersistentVolume>('', 'v1', 'PersistentVolume', 'persistentvolumes');
export const PERSISTENT_VOLUME_CLAIM = namespaced<PersistentVolumeClaim>(
  '',
  'v1',
  'PersistentVolumeClaim',
  'persistentvolumeclaims',
);
export const DAEMON_SET = namespaced<DaemonSet>('apps', 'v1', 'DaemonSet', 'daemonsets');
export const DEPLOYMENT = namespaced<Workload>('apps', 'v1', 'Deployment', 'deployments');
export const REPLICA_SET = namespaced<Workload>('apps', 'v1', 'ReplicaSet', 'replicasets');
export const STATEFUL_SET = namespaced<Workload>('apps', 'v1', 'StatefulSet', 'statefulsets');
export const JOB = namespaced<Workload>('batch', 'v1', 'Job', 'jobs');
export const PRIORITY_CLASS = cluster('scheduling.k8s.io', 'v1', 'PriorityClass', 'priorityclasses');
export const STORAGE_CLASS = cluster<StorageClass>('storage.k8s.io', 'v1', 'StorageClass', 'storageclasses');
export const CSI_NODE = cluster<CSINode>('storage.k8s.io', 'v1', 'CSINode', 'csinodes');
export const VOLUME_ATTACHMENT = cluster<VolumeAttachment>(
  'storage.k8s.io',
  'v1',
  'VolumeAttachment',
  'volumeattachments',
);
export const RESOURCE_CLAIM = namespaced<ResourceClaim>('resource.k8s.io', 'v1', 'ResourceClaim', 'resourceclaims');
export const RESOURCE_SLICE = cluster<ResourceSlice>('resource.k8s.io', 'v1', 'ResourceSlice', 'resourceslices');
export const RESOURCE_CLAIM_TEMPLATE = namespaced<ResourceClaimTemplate>(
  'resource.k8s.io',
  'v1',
  'ResourceClaimTemplate',
  'resourceclaimtemplates',
);
export const DEVICE_CLASS = cluster<DeviceClass>('resource.k8s.io', 'v1', 'DeviceClass', 'deviceclasses');
export const DEVICE_TAINT_RULE = cluster<DeviceTaintRule>(
  'resource.k8s.io',
  'v1',
  'DeviceTaintRule',
  'devicetaintrules',
);
export const POD_DISRUPTION_BUDGET = namespaced<PodDisruptionBudget>(
  'policy',
  'v1',
  'PodDisruptionBudget',
  'poddisruptionbudgets',
);
export const CONFIG_MAP = namespaced<ConfigMap>('', 'v1', 'ConfigMap', 'configmaps');
export const LEASE = namespaced<Lease>('coordination.k8s.io', 'v1', 'Lease', 'leases');

export const apiVersionOf = (kind: Kind): string =>
  kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;

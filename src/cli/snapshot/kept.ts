/**
 * What a redacted snapshot keeps of objects, in one place. Whatever is not named here is left out, so that a field that
 * Kubernetes gets tomorrow leaks nothing. The types demand a decision on every field that the product reads.
 */

import type {
  Container,
  ContainerStatus,
  CSINode,
  KubeEvent,
  KubeObject,
  Node,
  ObjectMeta,
  PersistentVolume,
  PersistentVolumeClaimSpec,
  Pod,
  PodDisruptionBudget,
  PodSpec,
  PodStatus,
  PodTemplateSpec,
  PodVolume,
  StorageClass,
  VolumeAttachment,
  Workload,
} from '../../api/kubernetes.ts';
import {
  CAPACITY_BUFFER_FAKE_POD_ANNOTATION,
  CAPACITY_BUFFER_NAME_ANNOTATION,
  CAPACITY_BUFFER_NAMESPACE_ANNOTATION,
  CAPACITY_OVERLAY_ANNOTATION,
  CLUSTER_NAME_TAGGED_ANNOTATION,
  DO_NOT_DISRUPT_ANNOTATION,
  EC2_NODECLASS_HASH_ANNOTATION,
  EC2_NODECLASS_HASH_VERSION_ANNOTATION,
  INSTANCE_PROFILE_ANNOTATION,
  MIN_VALUES_RELAXED_ANNOTATION,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
  PRICE_OVERLAY_ANNOTATION,
  REQUESTED_DRA_DRIVERS_ANNOTATION,
  TAGGED_ANNOTATION,
  TERMINATION_TIMESTAMP_ANNOTATION,
} from '../../api/labels.ts';
import { DELETION_COST_ANNOTATION } from '../../engine/pods.ts';
import { BIND_COMPLETED } from '../../engine/volumes.ts';
import type { Keep, KeepOf } from './keep.ts';
import {
  AFFINITY,
  CONDITIONS,
  NODE_TERM,
  OWNER,
  PORT,
  RESOURCES,
  SELECTOR,
  SPREAD,
  TAINT,
  TOLERATION,
} from './parts.ts';

/** Annotations that something is decided by. Their values stay. */
export const KEPT_ANNOTATIONS: ReadonlySet<string> = new Set([
  DO_NOT_DISRUPT_ANNOTATION,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
  TERMINATION_TIMESTAMP_ANNOTATION,
  MIN_VALUES_RELAXED_ANNOTATION,
  REQUESTED_DRA_DRIVERS_ANNOTATION,
  PRICE_OVERLAY_ANNOTATION,
  CAPACITY_OVERLAY_ANNOTATION,
  CAPACITY_BUFFER_FAKE_POD_ANNOTATION,
  CAPACITY_BUFFER_NAME_ANNOTATION,
  CAPACITY_BUFFER_NAMESPACE_ANNOTATION,
  EC2_NODECLASS_HASH_ANNOTATION,
  EC2_NODECLASS_HASH_VERSION_ANNOTATION,
  INSTANCE_PROFILE_ANNOTATION,
  TAGGED_ANNOTATION,
  CLUSTER_NAME_TAGGED_ANNOTATION,
  DELETION_COST_ANNOTATION,
  BIND_COMPLETED,
  // of earlier versions and of other autoscalers, for `migrate`
  'karpenter.sh/do-not-evict',
  'karpenter.sh/do-not-consolidate',
  'karpenter.sh/provisioner-hash',
  'karpenter.k8s.aws/nodetemplate-hash',
  'compatibility.karpenter.sh/v1beta1-kubelet-conversion',
  'compatibility.karpenter.sh/v1beta1-nodeclass-reference',
  'compatibility.karpenter.k8s.aws/v1beta1-ubuntu',
  'cluster-autoscaler.kubernetes.io/safe-to-evict',
  'cluster-autoscaler.kubernetes.io/scale-down-disabled',
  // which Helm release owns a CustomResourceDefinition
  'meta.helm.sh/release-name',
  'meta.helm.sh/release-namespace',
]);

/** Annotations go by {@link KEPT_ANNOTATIONS}. */
export const METADATA: KeepOf<Omit<ObjectMeta, 'annotations'>> = {
  name: true,
  generateName: true,
  namespace: true,
  uid: true,
  resourceVersion: true,
  generation: true,
  creationTimestamp: true,
  deletionTimestamp: true,
  deletionGracePeriodSeconds: true,
  labels: 'map',
  finalizers: true,
  ownerReferences: OWNER,
};

const CONTAINER: KeepOf<Container> = {
  name: true,
  // of controllers alone: see `redact.ts`
  image: false,
  resources: RESOURCES,
  ports: PORT,
  restartPolicy: true,
  args: false,
  startupProbe: false,
  readinessProbe: false,
  lifecycle: false,
};

const CLAIM_SPEC: KeepOf<PersistentVolumeClaimSpec> = {
  storageClassName: true,
  volumeName: true,
  accessModes: true,
  resources: RESOURCES,
};

const VOLUME: KeepOf<PodVolume> = {
  name: true,
  persistentVolumeClaim: { claimName: true, readOnly: true },
  ephemeral: { volumeClaimTemplate: { spec: CLAIM_SPEC } },
};

const POD_SPEC: KeepOf<PodSpec> = {
  nodeName: true,
  nodeSelector: 'map',
  affinity: AFFINITY,
  tolerations: TOLERATION,
  topologySpreadConstraints: SPREAD,
  containers: CONTAINER,
  initContainers: CONTAINER,
  overhead: 'map',
  resources: RESOURCES,
  volumes: VOLUME,
  priority: true,
  priorityClassName: true,
  preemptionPolicy: true,
  schedulerName: true,
  schedulingGates: { name: true },
  terminationGracePeriodSeconds: true,
  hostNetwork: true,
  restartPolicy: true,
  serviceAccountName: false,
  resourceClaims: { name: true, resourceClaimName: true, resourceClaimTemplateName: true },
};

const CONTAINER_STATUS: KeepOf<ContainerStatus> = {
  name: true,
  ready: true,
  allocatedResources: 'map',
  resources: RESOURCES,
};

const POD_STATUS: KeepOf<PodStatus> = {
  phase: true,
  conditions: CONDITIONS,
  nominatedNodeName: true,
  resourceClaimStatuses: { name: true, resourceClaimName: true },
  startTime: true,
  podIP: false,
  containerStatuses: CONTAINER_STATUS,
  initContainerStatuses: CONTAINER_STATUS,
};

/** The metadata of templates goes by the same rules as that of objects. */
const TEMPLATE: KeepOf<PodTemplateSpec> = { metadata: false, spec: POD_SPEC };

const WORKLOAD_SPEC: KeepOf<Workload['spec']> = {
  replicas: true,
  completions: true,
  parallelism: true,
  selector: SELECTOR,
  template: TEMPLATE,
};

/** Of an object, besides what every one has. */
type Parts<T extends KubeObject> = KeepOf<Omit<T, keyof KubeObject>>;

const WORKLOAD: Parts<Workload> = { spec: WORKLOAD_SPEC };

const POD: Parts<Pod> = { spec: POD_SPEC, status: POD_STATUS };

const NODE: Parts<Node> = {
  spec: { providerID: true, taints: TAINT, unschedulable: true },
  status: {
    capacity: 'map',
    allocatable: 'map',
    conditions: CONDITIONS,
    nodeInfo: { kubeletVersion: true, operatingSystem: true, architecture: true, osImage: true },
    addresses: false,
  },
};

const PERSISTENT_VOLUME: Parts<PersistentVolume> = {
  spec: {
    nodeAffinity: { required: { nodeSelectorTerms: NODE_TERM } },
    csi: { driver: true, volumeHandle: true },
    awsElasticBlockStore: { volumeID: true },
    // only whether they are there is asked
    local: {},
    hostPath: {},
    storageClassName: true,
    claimRef: { namespace: true, name: true, uid: true },
    persistentVolumeReclaimPolicy: true,
  } satisfies KeepOf<PersistentVolume['spec']>,
  status: { phase: true },
};

const STORAGE_CLASS: Parts<StorageClass> = {
  provisioner: true,
  volumeBindingMode: true,
  allowedTopologies: { matchLabelExpressions: { key: true, values: true } },
};

const CSI_NODE: Parts<CSINode> = { spec: { drivers: { name: true, nodeID: true, allocatable: { count: true } } } };

const VOLUME_ATTACHMENT: Parts<VolumeAttachment> = {
  spec: { nodeName: true, attacher: true, source: { persistentVolumeName: true } },
};

const BUDGET: Parts<PodDisruptionBudget> = {
  spec: { selector: SELECTOR, minAvailable: true, maxUnavailable: true, unhealthyPodEvictionPolicy: true },
  status: { disruptionsAllowed: true, currentHealthy: true, desiredHealthy: true, expectedPods: true },
};

/** Without messages, which name pods and may quote. */
const EVENT: Parts<KubeEvent> = {
  involvedObject: { apiVersion: true, kind: true, name: true, namespace: true, uid: true },
  reason: true,
  message: false,
  type: true,
  count: true,
  firstTimestamp: true,
  lastTimestamp: true,
  source: { component: true },
  reportingComponent: true,
};

const DEFINITION: Keep = {
  spec: {
    group: true,
    names: { kind: true, plural: true },
    scope: true,
    versions: { name: true, served: true, storage: true },
    conversion: { strategy: true, webhook: { clientConfig: { service: { name: true, namespace: true, port: true } } } },
  },
  status: { storedVersions: true, conditions: CONDITIONS },
};

/** Of kinds that have no row, nothing but the metadata is kept. */
export const KEPT: Readonly<Record<string, Keep>> = {
  Pod: POD,
  Node: NODE,
  Deployment: WORKLOAD,
  StatefulSet: WORKLOAD,
  ReplicaSet: WORKLOAD,
  Job: WORKLOAD,
  DaemonSet: WORKLOAD,
  PodTemplate: { template: TEMPLATE },
  Namespace: { status: { phase: true } },
  PriorityClass: { value: true, globalDefault: true, preemptionPolicy: true },
  PersistentVolume: PERSISTENT_VOLUME,
  PersistentVolumeClaim: { spec: CLAIM_SPEC, status: { phase: true } },
  StorageClass: STORAGE_CLASS,
  CSINode: CSI_NODE,
  VolumeAttachment: VOLUME_ATTACHMENT,
  PodDisruptionBudget: BUDGET,
  Service: { spec: { selector: 'map' } },
  Event: EVENT,
  ReplicationController: { spec: { replicas: true, selector: 'map' } },
  CustomResourceDefinition: DEFINITION,
};

/**
 * Fields that this product reads of Kubernetes' built-in objects. Informers trim pods and nodes to these fields
 * (`kube/trimmed-object.ts`), and redacted snapshots keep the fields that cannot hold a secret (`cli/snapshot/redact.ts`).
 *
 * {@link FieldsOf} requires a rule for every field that `kubernetes.ts` declares, at any depth. Code that reads a field
 * without a rule does not compile.
 */

import type {
  Condition,
  Container,
  ContainerStatus,
  CSINode,
  KubeEvent,
  KubeObject,
  LabelSelector,
  LabelSelectorRequirement,
  Namespace,
  Node,
  NodeSelectorTerm,
  ObjectMeta,
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  Pod,
  PodAffinity,
  PodAffinityTerm,
  PodDisruptionBudget,
  PodSpec,
  PodTemplate,
  PodTemplateSpec,
  PodVolume,
  ReplicationController,
  ResourceRequirements,
  StorageClass,
  Taint,
  VolumeAttachment,
  Workload,
} from './kubernetes.ts';
import {
  BALANCED_ZONE_ANNOTATION,
  BIND_COMPLETED_ANNOTATION,
  BUFFER_CLUSTER_ANNOTATION,
  BUFFER_DURATION_ANNOTATION,
  BUFFER_REFILL_ANNOTATION,
  BUFFER_SCHEDULE_ANNOTATION,
  BUFFER_TIME_ZONE_ANNOTATION,
  CAPACITY_BUFFER_FAKE_POD_ANNOTATION,
  CAPACITY_BUFFER_NAME_ANNOTATION,
  CAPACITY_BUFFER_NAMESPACE_ANNOTATION,
  CAPACITY_OVERLAY_ANNOTATION,
  CLUSTER_NAME_TAGGED_ANNOTATION,
  CONSUME_REQUEST_ANNOTATIONS,
  DELETION_COST_ANNOTATION,
  DELETION_COST_SINCE_ANNOTATION,
  DO_NOT_DISRUPT_ANNOTATION,
  DO_NOT_REPAIR_ANNOTATION,
  EC2_NODECLASS_HASH_ANNOTATION,
  EC2_NODECLASS_HASH_VERSION_ANNOTATION,
  EXCLUSIVE_JOB_ANNOTATION,
  GANG_ANNOTATION,
  GANG_DISRUPTION_ANNOTATION,
  GANG_MIN_ANNOTATION,
  GANG_TOPOLOGY_ANNOTATION,
  GANGS_ANNOTATION,
  INSTANCE_PROFILE_ANNOTATION,
  MAINTENANCE_NOT_BEFORE_ANNOTATION,
  MIN_VALUES_RELAXED_ANNOTATION,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
  PREFERENCE_WORTH_ANNOTATION,
  PREFERENCES_ANNOTATION,
  PRICE_OVERLAY_ANNOTATION,
  REBOOT_BOOT_ID_ANNOTATION,
  REQUEST_BOOKED_ANNOTATION,
  REQUEST_CLASS_ANNOTATION,
  REQUESTED_DRA_DRIVERS_ANNOTATION,
  ROLLOUT_ANNOTATION,
  SELECTED_NODE_ANNOTATION,
  SPOT_SHARE_ANNOTATION,
  SURGE_ANNOTATION,
  TAGGED_ANNOTATION,
  TERMINATION_TIMESTAMP_ANNOTATION,
  VOLCANO_GROUP_ANNOTATIONS,
  VPA_CONTAINERS_ANNOTATION,
} from './labels.ts';

/**
 * Rule for a value. The rule of a list is that of its items.
 * - `true`: a scalar
 * - `private`: a scalar that may hold a secret, which redacted snapshots leave out
 * - `map`: an object of any keys whose values are scalars, such as labels and quantities
 * - `digest`: a value of any shape; redacted snapshots show a digest in place of each text
 * - fields: an object with these fields. The rule `*` is for all fields without a rule.
 */
export type Keep = boolean | 'private' | 'map' | 'digest' | { readonly [field: string]: Keep };

type RuleOf<Value> = unknown extends Value
  ? Keep
  : Value extends readonly (infer Item)[]
    ? RuleOf<Item>
    : Value extends string | number | boolean
      ? true | 'private'
      : string extends keyof Value
        ? Value[string] extends string | number
          ? 'map'
          : { readonly '*': RuleOf<Value[string]> } & { readonly [field: string]: Keep }
        : FieldsOf<Value>;

/** A rule for every field of an object. Annotations go by {@link KEPT_ANNOTATIONS}, and no rule keeps `managedFields`. */
export type FieldsOf<T> = {
  readonly [Field in Exclude<keyof T, 'annotations' | 'managedFields'>]-?: RuleOf<NonNullable<T[Field]>>;
};

/** Rules for the fields of an object besides those that every object has. */
type PartsOf<T extends KubeObject> = FieldsOf<Omit<T, keyof KubeObject>>;

/** Annotations that affect decisions. Redacted snapshots keep their values. */
export const KEPT_ANNOTATIONS: ReadonlySet<string> = new Set([
  DO_NOT_DISRUPT_ANNOTATION,
  DO_NOT_REPAIR_ANNOTATION,
  PREFERENCE_WORTH_ANNOTATION,
  SPOT_SHARE_ANNOTATION,
  PREFERENCES_ANNOTATION,
  NODEPOOL_HASH_ANNOTATION,
  NODEPOOL_HASH_VERSION_ANNOTATION,
  TERMINATION_TIMESTAMP_ANNOTATION,
  MAINTENANCE_NOT_BEFORE_ANNOTATION,
  MIN_VALUES_RELAXED_ANNOTATION,
  REBOOT_BOOT_ID_ANNOTATION,
  REQUESTED_DRA_DRIVERS_ANNOTATION,
  ROLLOUT_ANNOTATION,
  SELECTED_NODE_ANNOTATION,
  SURGE_ANNOTATION,
  PRICE_OVERLAY_ANNOTATION,
  CAPACITY_OVERLAY_ANNOTATION,
  CAPACITY_BUFFER_FAKE_POD_ANNOTATION,
  CAPACITY_BUFFER_NAME_ANNOTATION,
  CAPACITY_BUFFER_NAMESPACE_ANNOTATION,
  ...CONSUME_REQUEST_ANNOTATIONS,
  REQUEST_CLASS_ANNOTATION,
  REQUEST_BOOKED_ANNOTATION,
  BALANCED_ZONE_ANNOTATION,
  EC2_NODECLASS_HASH_ANNOTATION,
  EC2_NODECLASS_HASH_VERSION_ANNOTATION,
  INSTANCE_PROFILE_ANNOTATION,
  TAGGED_ANNOTATION,
  CLUSTER_NAME_TAGGED_ANNOTATION,
  DELETION_COST_ANNOTATION,
  DELETION_COST_SINCE_ANNOTATION,
  BIND_COMPLETED_ANNOTATION,
  VPA_CONTAINERS_ANNOTATION,
  BUFFER_CLUSTER_ANNOTATION,
  BUFFER_DURATION_ANNOTATION,
  BUFFER_REFILL_ANNOTATION,
  BUFFER_SCHEDULE_ANNOTATION,
  BUFFER_TIME_ZONE_ANNOTATION,
  GANG_ANNOTATION,
  GANG_DISRUPTION_ANNOTATION,
  GANG_MIN_ANNOTATION,
  GANG_TOPOLOGY_ANNOTATION,
  GANGS_ANNOTATION,
  ...VOLCANO_GROUP_ANNOTATIONS,
  EXCLUSIVE_JOB_ANNOTATION,
  // annotations of earlier versions and of other autoscalers, for `migrate`
  'karpenter.sh/do-not-evict',
  'karpenter.sh/do-not-consolidate',
  'karpenter.sh/provisioner-hash',
  'karpenter.k8s.aws/nodetemplate-hash',
  'compatibility.karpenter.sh/v1beta1-kubelet-conversion',
  'compatibility.karpenter.sh/v1beta1-nodeclass-reference',
  'compatibility.karpenter.k8s.aws/v1beta1-ubuntu',
  'cluster-autoscaler.kubernetes.io/safe-to-evict',
  'cluster-autoscaler.kubernetes.io/scale-down-disabled',
  // Helm release that owns a CustomResourceDefinition
  'meta.helm.sh/release-name',
  'meta.helm.sh/release-namespace',
]);

export const METADATA: FieldsOf<ObjectMeta> = {
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
  ownerReferences: { apiVersion: true, kind: true, name: true, uid: true, controller: true, blockOwnerDeletion: true },
};

export const CONDITION: FieldsOf<Condition> = {
  type: true,
  status: true,
  reason: true,
  // kubelets quote the output of containers
  message: 'private',
  lastTransitionTime: true,
  observedGeneration: true,
};

export const OBJECT_REFERENCE = { apiVersion: true, group: true, kind: true, name: true } as const;

export const SELECTOR_REQUIREMENT: FieldsOf<LabelSelectorRequirement> = { key: true, operator: true, values: true };

const SELECTOR: FieldsOf<LabelSelector> = { matchLabels: 'map', matchExpressions: SELECTOR_REQUIREMENT };

export const TAINT: FieldsOf<Taint> = { key: true, value: true, effect: true, timeAdded: true };

export const RESOURCES: FieldsOf<ResourceRequirements> = {
  requests: 'map',
  limits: 'map',
  claims: { name: true, request: true },
};

export const NODE_TERM: FieldsOf<NodeSelectorTerm> = {
  matchExpressions: SELECTOR_REQUIREMENT,
  matchFields: SELECTOR_REQUIREMENT,
};

const POD_TERM: FieldsOf<PodAffinityTerm> = {
  labelSelector: SELECTOR,
  namespaces: true,
  namespaceSelector: SELECTOR,
  topologyKey: true,
  matchLabelKeys: true,
  mismatchLabelKeys: true,
};

const POD_AFFINITY: FieldsOf<PodAffinity> = {
  requiredDuringSchedulingIgnoredDuringExecution: POD_TERM,
  preferredDuringSchedulingIgnoredDuringExecution: { weight: true, podAffinityTerm: POD_TERM },
};

export const CONTAINER: FieldsOf<Container> = {
  name: true,
  image: false,
  resources: RESOURCES,
  ports: { containerPort: true, hostPort: true, hostIP: true, protocol: true, name: true },
  restartPolicy: true,
};

const CLAIM_SPEC: FieldsOf<PersistentVolumeClaimSpec> = {
  storageClassName: true,
  volumeName: true,
  accessModes: true,
  resources: RESOURCES,
};

export const VOLUME: FieldsOf<PodVolume> = {
  name: true,
  persistentVolumeClaim: { claimName: true, readOnly: true },
  ephemeral: { volumeClaimTemplate: { spec: CLAIM_SPEC } },
  awsElasticBlockStore: { volumeID: true },
};

const POD_SPEC: FieldsOf<PodSpec> = {
  nodeName: true,
  nodeSelector: 'map',
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: NODE_TERM },
      preferredDuringSchedulingIgnoredDuringExecution: { weight: true, preference: NODE_TERM },
    },
    podAffinity: POD_AFFINITY,
    podAntiAffinity: POD_AFFINITY,
  },
  tolerations: { key: true, operator: true, value: true, effect: true, tolerationSeconds: true },
  topologySpreadConstraints: {
    maxSkew: true,
    topologyKey: true,
    whenUnsatisfiable: true,
    labelSelector: SELECTOR,
    minDomains: true,
    nodeAffinityPolicy: true,
    nodeTaintsPolicy: true,
    matchLabelKeys: true,
  },
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
  resourceClaims: { name: true, resourceClaimName: true, resourceClaimTemplateName: true },
  schedulingGroup: { podGroupName: true },
  workloadRef: { name: true, podGroup: true, podGroupReplicaKey: true },
};

export const CONTAINER_STATUS: FieldsOf<ContainerStatus> = {
  name: true,
  ready: true,
  allocatedResources: 'map',
  resources: RESOURCES,
};

export const POD_FIELDS: PartsOf<Pod> = {
  spec: POD_SPEC,
  status: {
    phase: true,
    conditions: CONDITION,
    nominatedNodeName: true,
    resourceClaimStatuses: { name: true, resourceClaimName: true },
    startTime: true,
    podIP: false,
    containerStatuses: CONTAINER_STATUS,
    initContainerStatuses: CONTAINER_STATUS,
    resources: RESOURCES,
    allocatedResources: 'map',
    nodeAllocatableResourceClaimStatuses: { resourceClaimName: true, resources: 'map' },
  },
};

export const NODE_FIELDS: PartsOf<Node> = {
  spec: { providerID: true, taints: TAINT, unschedulable: true },
  status: {
    capacity: 'map',
    allocatable: 'map',
    conditions: CONDITION,
    nodeInfo: { architecture: true, bootID: true, kubeletVersion: true, operatingSystem: true, osImage: true },
    addresses: false,
  },
};

const TEMPLATE: FieldsOf<PodTemplateSpec> = { metadata: METADATA, spec: POD_SPEC };

const WORKLOAD: PartsOf<Workload> = {
  spec: {
    replicas: true,
    paused: true,
    completions: true,
    parallelism: true,
    suspend: true,
    managedBy: true,
    ordinals: { start: true },
    selector: SELECTOR,
    template: TEMPLATE,
    volumeClaimTemplates: { metadata: METADATA, spec: { ...CLAIM_SPEC, volumeName: 'private' } },
  },
  status: { replicas: true, succeeded: true, conditions: CONDITION },
};

const PERSISTENT_VOLUME: PartsOf<PersistentVolume> = {
  spec: {
    nodeAffinity: { required: { nodeSelectorTerms: NODE_TERM } },
    csi: { driver: true, volumeHandle: true },
    awsElasticBlockStore: { volumeID: true },
    // the product reads only if these fields exist
    local: {},
    hostPath: {},
    storageClassName: true,
    claimRef: { namespace: true, name: true, uid: true },
    persistentVolumeReclaimPolicy: true,
  },
  status: { phase: true },
};

const STORAGE_CLASS: PartsOf<StorageClass> = {
  provisioner: true,
  volumeBindingMode: true,
  allowedTopologies: { matchLabelExpressions: { key: true, values: true } },
};

const CSI_NODE: PartsOf<CSINode> = {
  spec: { drivers: { name: true, nodeID: true, allocatable: { count: true } } },
};

const VOLUME_ATTACHMENT: PartsOf<VolumeAttachment> = {
  spec: { nodeName: true, attacher: true, source: { persistentVolumeName: true } },
};

const BUDGET: PartsOf<PodDisruptionBudget> = {
  spec: { selector: SELECTOR, minAvailable: true, maxUnavailable: true, unhealthyPodEvictionPolicy: true },
  status: { disruptionsAllowed: true, currentHealthy: true, desiredHealthy: true, expectedPods: true },
};

const EVENT: PartsOf<KubeEvent> = {
  involvedObject: { apiVersion: true, kind: true, name: true, namespace: true, uid: true },
  reason: true,
  // messages name pods and may quote their output
  message: 'private',
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
  status: { storedVersions: true, conditions: CONDITION },
};

/** Rules by kind. For a kind without a row, redacted snapshots keep only the metadata. */
export const KEPT_FIELDS: Readonly<Record<string, Keep>> = {
  Pod: POD_FIELDS,
  Node: NODE_FIELDS,
  Deployment: WORKLOAD,
  StatefulSet: WORKLOAD,
  ReplicaSet: WORKLOAD,
  Job: WORKLOAD,
  DaemonSet: WORKLOAD,
  PodTemplate: { template: TEMPLATE } satisfies PartsOf<PodTemplate>,
  Namespace: { status: { phase: true } } satisfies PartsOf<Namespace>,
  PriorityClass: { value: true, globalDefault: true, preemptionPolicy: true },
  PersistentVolume: PERSISTENT_VOLUME,
  PersistentVolumeClaim: { spec: CLAIM_SPEC, status: { phase: true } } satisfies PartsOf<PersistentVolumeClaim>,
  StorageClass: STORAGE_CLASS,
  CSINode: CSI_NODE,
  VolumeAttachment: VOLUME_ATTACHMENT,
  PodDisruptionBudget: BUDGET,
  Service: { spec: { selector: 'map' } },
  Event: EVENT,
  ReplicationController: { spec: { replicas: true, selector: 'map' } } satisfies {
    spec: Keep;
  } & PartsOf<ReplicationController>,
  CustomResourceDefinition: DEFINITION,
};

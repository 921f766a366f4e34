/** Labels, annotations, taints and finalizers of the API, and the rules for keys that users may set. */
import { own, parseInteger } from '#lib';
import type { NodeSelectorOperator, Taint } from './kubernetes.ts';
import { labelValueErrors, qualifiedNameErrors } from './names.ts';

export const KARPENTER_GROUP = 'karpenter.sh';
export const AWS_GROUP = 'karpenter.k8s.aws';
/** Group of the kinds that Karpenter does not have. */
export const KARPENTER_TS_GROUP = 'karpenter-ts.sh';

const core = <Name extends string>(name: Name): `karpenter.sh/${Name}` => `karpenter.sh/${name}`;
const aws = <Name extends string>(name: Name): `karpenter.k8s.aws/${Name}` => `karpenter.k8s.aws/${name}`;

export const NODEPOOL_LABEL = core('nodepool');
export const CAPACITY_TYPE_LABEL = core('capacity-type');
export const REGISTERED_LABEL = core('registered');
export const INITIALIZED_LABEL = core('initialized');
export const DO_NOT_SYNC_TAINTS_LABEL = core('do-not-sync-taints');

export const INSTANCE_TYPE_LABEL = 'node.kubernetes.io/instance-type';
export const WINDOWS_BUILD_LABEL = 'node.kubernetes.io/windows-build';
export const EXCLUDE_BALANCERS_LABEL = 'node.kubernetes.io/exclude-from-external-load-balancers';
export const ZONE_LABEL = 'topology.kubernetes.io/zone';
export const REGION_LABEL = 'topology.kubernetes.io/region';
export const ARCH_LABEL = 'kubernetes.io/arch';
export const OS_LABEL = 'kubernetes.io/os';
export const HOSTNAME_LABEL = 'kubernetes.io/hostname';
export const ZONE_ID_LABEL = 'topology.k8s.aws/zone-id';

export const EC2_NODECLASS_LABEL = aws('ec2nodeclass');
export const INSTANCE_CATEGORY_LABEL = aws('instance-category');
export const INSTANCE_FAMILY_LABEL = aws('instance-family');
export const INSTANCE_GENERATION_LABEL = aws('instance-generation');
export const INSTANCE_SIZE_LABEL = aws('instance-size');
export const INSTANCE_CPU_LABEL = aws('instance-cpu');
export const INSTANCE_CPU_MANUFACTURER_LABEL = aws('instance-cpu-manufacturer');
export const INSTANCE_CPU_CLOCK_LABEL = aws('instance-cpu-sustained-clock-speed-mhz');
export const INSTANCE_MEMORY_LABEL = aws('instance-memory');
export const INSTANCE_EBS_BANDWIDTH_LABEL = aws('instance-ebs-bandwidth');
export const INSTANCE_NETWORK_BANDWIDTH_LABEL = aws('instance-network-bandwidth');
export const INSTANCE_GPU_NAME_LABEL = aws('instance-gpu-name');
export const INSTANCE_GPU_MANUFACTURER_LABEL = aws('instance-gpu-manufacturer');
export const INSTANCE_GPU_COUNT_LABEL = aws('instance-gpu-count');
export const INSTANCE_GPU_MEMORY_LABEL = aws('instance-gpu-memory');
export const INSTANCE_ACCELERATOR_NAME_LABEL = aws('instance-accelerator-name');
export const INSTANCE_ACCELERATOR_MANUFACTURER_LABEL = aws('instance-accelerator-manufacturer');
export const INSTANCE_ACCELERATOR_COUNT_LABEL = aws('instance-accelerator-count');
export const INSTANCE_LOCAL_NVME_LABEL = aws('instance-local-nvme');
export const INSTANCE_HYPERVISOR_LABEL = aws('instance-hypervisor');
export const INSTANCE_ENCRYPTION_IN_TRANSIT_LABEL = aws('instance-encryption-in-transit-supported');
export const INSTANCE_CAPABILITY_FLEX_LABEL = aws('instance-capability-flex');
export const NITRO_SANDBOX_LABEL = aws('nitro-sandbox');
export const INSTANCE_TENANCY_LABEL = aws('instance-tenancy');
export const CAPACITY_RESERVATION_ID_LABEL = aws('capacity-reservation-id');
export const CAPACITY_RESERVATION_TYPE_LABEL = aws('capacity-reservation-type');
export const CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL = aws('capacity-reservation-interruptible');
export const PLACEMENT_GROUP_ID_LABEL = aws('placement-group-id');
export const PLACEMENT_GROUP_PARTITION_LABEL = aws('placement-group-partition');

export const DO_NOT_DISRUPT_ANNOTATION = core('do-not-disrupt');
/** Boot ID of the node of a NodeClaim before its reboot. */
/** Set by users on pods: `true` or the maximum time to wait for a new pod before the eviction of the only ready one. */
export const SURGE_ANNOTATION = 'karpenter-ts.sh/surge';
/** Time at which the operator restarted a Deployment. */
export const SURGE_STARTED_ANNOTATION = 'karpenter-ts.sh/surge-started';
/** Annotation of pod templates that `kubectl rollout restart` writes. */
export const RESTARTED_AT_ANNOTATION = 'kubectl.kubernetes.io/restartedAt';
/** Record of the replacement of the drifted nodes of a NodePool in stages. */
export const ROLLOUT_ANNOTATION = 'karpenter-ts.sh/rollout';
/** Start of the next scheduled event of EC2 for the instance of a Node, RFC 3339. */
export const MAINTENANCE_NOT_BEFORE_ANNOTATION = 'karpenter-ts.sh/maintenance-not-before';
export const REBOOT_BOOT_ID_ANNOTATION = 'karpenter-ts.sh/reboot-boot-id';
/** Annotation of a Node that forbids its repair. */
export const DO_NOT_REPAIR_ANNOTATION = core('do-not-repair');
/** Relative cost of deleting a pod, as kube-controller-manager defines it. */
export const DELETION_COST_ANNOTATION = 'controller.kubernetes.io/pod-deletion-cost';
/** Set on a pod whose deletion cost the operator has lowered, with the time. */
export const DELETION_COST_SINCE_ANNOTATION = 'karpenter-ts.sh/pod-deletion-cost-since';
/** Containers of a pod that the admission webhook of the vertical pod autoscaler handled. */
export const VPA_CONTAINERS_ANNOTATION = 'vpaObservedContainers';
/** Set on a PersistentVolumeClaim when it is bound. */
/** Node that kube-scheduler has chosen for the pod of a claim. The volume is created for it before the pod is bound. */
export const SELECTED_NODE_ANNOTATION = 'volume.kubernetes.io/selected-node';
export const BIND_COMPLETED_ANNOTATION = 'pv.kubernetes.io/bind-completed';
/** Set to `true` on the StorageClass of claims without a class. */
export const DEFAULT_STORAGE_CLASS_ANNOTATION = 'storageclass.kubernetes.io/is-default-class';
export const NODEPOOL_HASH_ANNOTATION = core('nodepool-hash');
export const NODEPOOL_HASH_VERSION_ANNOTATION = core('nodepool-hash-version');
export const TERMINATION_TIMESTAMP_ANNOTATION = core('nodeclaim-termination-timestamp');
export const MIN_VALUES_RELAXED_ANNOTATION = core('nodeclaim-min-values-relaxed');
export const REQUESTED_DRA_DRIVERS_ANNOTATION = core('requested-dra-drivers');
export const PRICE_OVERLAY_ANNOTATION = core('price-overlay-applied');
export const CAPACITY_OVERLAY_ANNOTATION = core('capacity-overlay-applied');
/** Annotation of a NodePool: costs of each node that AWS does not charge, in USD per hour. It overrides the setting. */
export const NODE_HOURLY_FEE_ANNOTATION = core('node-hourly-fee');
export const CAPACITY_BUFFER_FAKE_POD_ANNOTATION = core('capacity-buffer-fake-pod');
export const CAPACITY_BUFFER_NAME_ANNOTATION = core('capacity-buffer-name');
export const CAPACITY_BUFFER_NAMESPACE_ANNOTATION = core('capacity-buffer-namespace');
/** Annotation of pods for which the ProvisioningRequest of their namespace with this name has provided capacity. */
export const CONSUME_REQUEST_ANNOTATIONS = [
  'autoscaling.x-k8s.io/consume-provisioning-request',
  'cluster-autoscaler.kubernetes.io/consume-provisioning-request',
] as const;
/** Class of the ProvisioningRequest of a virtual pod. */
export const REQUEST_CLASS_ANNOTATION = 'autoscaling.x-k8s.io/provisioning-class-name';
/** Set on virtual pods that hold the room of a provisioned ProvisioningRequest. */
export const REQUEST_BOOKED_ANNOTATION = 'karpenter-ts.sh/booked';
export const EC2_NODECLASS_HASH_ANNOTATION = aws('ec2nodeclass-hash');
export const EC2_NODECLASS_HASH_VERSION_ANNOTATION = aws('ec2nodeclass-hash-version');
/** Set on a NodeClaim whose zone was chosen for balance, with the price of the choice. */
export const BALANCED_ZONE_ANNOTATION = 'karpenter-ts.sh/balanced-zone';
/** Set on a NodeClaim for pods with preferences, with the price and the worth of the preferences. */
export const PREFERENCES_ANNOTATION = 'karpenter-ts.sh/preferences';
/** Annotation of a pod: worth of a preference with weight 100, as a part of the price of the pod, such as `25%`. */
export const PREFERENCE_WORTH_ANNOTATION = 'karpenter-ts.sh/preference-worth';
/** Annotation of a pod: maximum share of the replicas of its workload on spot nodes, such as `50%`. */
export const SPOT_SHARE_ANNOTATION = 'karpenter-ts.sh/spot-share';
export const INSTANCE_PROFILE_ANNOTATION = aws('instance-profile-name');
export const TAGGED_ANNOTATION = aws('tagged');
export const CLUSTER_NAME_TAGGED_ANNOTATION = 'compatibility.karpenter.k8s.aws/cluster-name-tagged';

export const TERMINATION_FINALIZER = core('termination');
export const EC2_NODECLASS_FINALIZER = aws('termination');

/** Taint of nodes that are being disrupted or terminated. */
export const DISRUPTED_TAINT: Taint = { key: core('disrupted'), effect: 'NoSchedule' };
/** Taint of nodes that kube-scheduler should fill last, so that they become empty. `timeAdded` is the time of the mark. */
export const EMPTYING_TAINT: Taint = { key: 'karpenter-ts.sh/emptying', effect: 'PreferNoSchedule' };
/** Taint with which kubelets register, so that pods are not bound to a node before its labels and taints are synced. */
export const UNREGISTERED_TAINT: Taint = { key: core('unregistered'), effect: 'NoExecute' };

const CAPACITY_TYPES = ['on-demand', 'spot', 'reserved'] as const;

/** Labels of AWS instances that overlays may select, in addition to the labels of the offering. */
const AWS_INSTANCE_LABELS = [
  INSTANCE_ENCRYPTION_IN_TRANSIT_LABEL,
  NITRO_SANDBOX_LABEL,
  INSTANCE_CATEGORY_LABEL,
  INSTANCE_HYPERVISOR_LABEL,
  INSTANCE_FAMILY_LABEL,
  INSTANCE_GENERATION_LABEL,
  INSTANCE_LOCAL_NVME_LABEL,
  INSTANCE_SIZE_LABEL,
  INSTANCE_CPU_LABEL,
  INSTANCE_CPU_MANUFACTURER_LABEL,
  INSTANCE_CPU_CLOCK_LABEL,
  INSTANCE_MEMORY_LABEL,
  INSTANCE_EBS_BANDWIDTH_LABEL,
  INSTANCE_NETWORK_BANDWIDTH_LABEL,
  INSTANCE_GPU_NAME_LABEL,
  INSTANCE_GPU_MANUFACTURER_LABEL,
  INSTANCE_GPU_COUNT_LABEL,
  INSTANCE_GPU_MEMORY_LABEL,
  INSTANCE_ACCELERATOR_NAME_LABEL,
  INSTANCE_ACCELERATOR_MANUFACTURER_LABEL,
  INSTANCE_ACCELERATOR_COUNT_LABEL,
  INSTANCE_CAPABILITY_FLEX_LABEL,
] as const;

const AWS_OFFERING_LABELS = [
  INSTANCE_TENANCY_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
  PLACEMENT_GROUP_ID_LABEL,
  PLACEMENT_GROUP_PARTITION_LABEL,
] as const;

/** Keys of the domain `karpenter.k8s.aws` that the CRD of NodeOverlay, and the CRDs of NodePool and NodeClaim, allow. */
export const OVERLAY_AWS_KEYS: readonly string[] = [EC2_NODECLASS_LABEL, ...AWS_INSTANCE_LABELS];
export const NODEPOOL_AWS_KEYS: readonly string[] = [...OVERLAY_AWS_KEYS, ...AWS_OFFERING_LABELS];

/** Well-known labels, which every instance type or offering defines. */
export const WELL_KNOWN_LABELS: ReadonlySet<string> = new Set([
  NODEPOOL_LABEL,
  CAPACITY_TYPE_LABEL,
  ZONE_LABEL,
  REGION_LABEL,
  INSTANCE_TYPE_LABEL,
  ARCH_LABEL,
  OS_LABEL,
  WINDOWS_BUILD_LABEL,
  ZONE_ID_LABEL,
  ...AWS_INSTANCE_LABELS,
  ...AWS_OFFERING_LABELS,
]);

const RESTRICTED_DOMAINS: readonly string[] = [AWS_GROUP, KARPENTER_GROUP];

/** Labels with a closed set of values. */
const KNOWN_VALUES: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  [CAPACITY_TYPE_LABEL, CAPACITY_TYPES],
  [INSTANCE_TENANCY_LABEL, ['default', 'dedicated']],
]);

/** Label that the volume driver sets when it runs on a node, because volumes cannot be attached earlier. */
const EBS_ZONE_ALIAS = 'topology.ebs.csi.aws.com/zone';

const ALIASES: ReadonlyMap<string, string> = new Map([
  ['failure-domain.beta.kubernetes.io/zone', ZONE_LABEL],
  ['failure-domain.beta.kubernetes.io/region', REGION_LABEL],
  ['beta.kubernetes.io/arch', ARCH_LABEL],
  ['beta.kubernetes.io/os', OS_LABEL],
  ['beta.kubernetes.io/instance-type', INSTANCE_TYPE_LABEL],
  [EBS_ZONE_ALIAS, ZONE_LABEL],
]);

/**
 * Returns the deprecated names of labels with their values. Pods may select them, and some clusters have no cloud controller
 * that sets them on nodes.
 */
export const aliasLabels = (labels: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(
    [...ALIASES].flatMap(([alias, key]) => {
      const value = alias === EBS_ZONE_ALIAS ? undefined : own(labels, key);
      return value === undefined ? [] : [[alias, value]];
    }),
  );

/** Returns the label of a deprecated or driver-specific alias. Returns any other key unchanged. */
export const normalizeLabel = (key: string): string => ALIASES.get(key) ?? key;

/** Returns true if users may not constrain or set the label, because the operator sets its value. */
export function isRestrictedLabel(key: string): boolean {
  if (WELL_KNOWN_LABELS.has(key)) return false;
  const [domain = ''] = key.split('/');
  return (
    key === HOSTNAME_LABEL ||
    RESTRICTED_DOMAINS.some((restricted) => domain === restricted || domain.endsWith(`.${restricted}`))
  );
}

/** Returns the message for a restricted label, with the labels that are allowed. */
export const restrictionText = (key: string): string =>
  `using label ${key} is not allowed as it might interfere with the internal provisioning logic; ` +
  `specify a well known label: [${[...WELL_KNOWN_LABELS].sort().join(' ')}], ` +
  `or a custom label that does not use a restricted domain: [${RESTRICTED_DOMAINS.join(' ')}]`;

const OPERATORS: readonly NodeSelectorOperator[] = ['DoesNotExist', 'Exists', 'Gt', 'Gte', 'In', 'Lt', 'Lte', 'NotIn'];

/** Requirement of a user before validation. */
interface UncheckedRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
  readonly minValues?: number;
}

/** Returns all validation errors of a requirement of a pod, NodePool or NodeOverlay. */
export function requirementErrors(requirement: UncheckedRequirement): string[] {
  const key = normalizeLabel(requirement.key);
  const { operator, values = [] } = requirement;
  const errors: string[] = [];
  if (!OPERATORS.some((known) => known === operator)) {
    errors.push(`key ${key} has an unsupported operator ${operator} not in [${OPERATORS.join(' ')}]`);
  }
  if (isRestrictedLabel(key)) errors.push(restrictionText(key));
  for (const detail of qualifiedNameErrors(key)) errors.push(`key ${key} is not a qualified name, ${detail}`);
  for (const value of values) {
    for (const detail of labelValueErrors(value)) errors.push(`invalid value ${value} for key ${key}, ${detail}`);
  }
  if (operator === 'In') errors.push(...inErrors(key, values, requirement.minValues));
  if (['Gt', 'Lt', 'Gte', 'Lte'].includes(operator) && !isNonNegativeInteger(values)) {
    errors.push(`key ${key} with operator ${operator} must have a single positive integer value`);
  }
  return errors;
}

function inErrors(key: string, values: readonly string[], minValues: number | undefined): string[] {
  if (values.length === 0) return [`key ${key} with operator In must have a value defined`];
  const errors: string[] = [];
  if (minValues !== undefined && values.length < minValues) {
    errors.push(`key ${key} with operator In must have at least minimum number of values defined in 'values' field`);
  }
  return [...errors, ...knownValueErrors(key, values, minValues)];
}

function knownValueErrors(key: string, values: readonly string[], minValues: number | undefined): string[] {
  const known = KNOWN_VALUES.get(key);
  if (!known) return [];
  const { valid, invalid } = partition(values, known);
  const shown = `[${values.join(' ')}] for ${key}`;
  if (valid.length === 0) {
    return [`no valid values found in ${shown}, expected one of: [${known.join(' ')}], got: [${invalid.join(' ')}]`];
  }
  if (minValues !== undefined && valid.length < minValues) {
    return [
      `not enough valid values found in ${shown}, expected at least ${minValues} valid values from: ` +
        `[${known.join(' ')}], got: ${valid.length}`,
    ];
  }
  return [];
}

/** Separates known values of a requirement from values that a node cannot have. */
export function unknownValues(requirement: UncheckedRequirement): { valid: string[]; invalid: string[] } {
  const known = KNOWN_VALUES.get(normalizeLabel(requirement.key));
  if (!known || requirement.operator !== 'In') return { valid: [...(requirement.values ?? [])], invalid: [] };
  return partition(requirement.values ?? [], known);
}

const partition = (values: readonly string[], known: readonly string[]) => ({
  valid: values.filter((value) => known.includes(value)),
  invalid: values.filter((value) => !known.includes(value)),
});

const isNonNegativeInteger = ([value = '', ...others]: readonly string[]): boolean =>
  others.length === 0 && (parseInteger(value) ?? -1) >= 0;

/** Name of the PodGroup of a pod for the Volcano scheduler. */
export const VOLCANO_GROUP_ANNOTATIONS = ['scheduling.k8s.io/group-name', 'scheduling.volcano.sh/group-name'] as const;
/** Set on the pods of a JobSet with exclusive placement. */
export const EXCLUSIVE_JOB_ANNOTATION = 'alpha.jobset.sigs.k8s.io/exclusive-topology';
/** Name of the gang of a pod, in the namespace of the pod. */
export const GANG_ANNOTATION = 'karpenter-ts.sh/gang';
/** Set on a NodeClaim that was launched only for pods of gangs: the ids of the gangs as a JSON list. */
export const GANGS_ANNOTATION = 'karpenter-ts.sh/gangs';
/** Minimum number of pods of the gang that must run together. Default: all existing pods. */
export const GANG_MIN_ANNOTATION = 'karpenter-ts.sh/gang-min';
/** Label that must have the same value on all nodes of the gang. */
export const GANG_TOPOLOGY_ANNOTATION = 'karpenter-ts.sh/gang-topology';
/** Annotation of pods: `Together` or `WhenFinished`, the way to disrupt the nodes of their gang. */
export const GANG_DISRUPTION_ANNOTATION = 'karpenter-ts.sh/gang-disruption';
/** Annotation of CapacityBuffers: share of the requests of all pods of the cluster, in percent. Room is kept for it. */
export const BUFFER_CLUSTER_ANNOTATION = 'karpenter-ts.sh/buffer-cluster-percentage';
/** Annotation of CapacityBuffers: `never`, so that room that pods have taken is not made again. */
export const BUFFER_REFILL_ANNOTATION = 'karpenter-ts.sh/buffer-refill';
/** Annotations of CapacityBuffers: start of the times with room as a cron schedule, their length, and the time zone. */
export const BUFFER_SCHEDULE_ANNOTATION = 'karpenter-ts.sh/buffer-schedule';
export const BUFFER_DURATION_ANNOTATION = 'karpenter-ts.sh/buffer-schedule-duration';
export const BUFFER_TIME_ZONE_ANNOTATION = 'karpenter-ts.sh/buffer-time-zone';

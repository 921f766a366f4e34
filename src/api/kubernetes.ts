/**
 * Built-in Kubernetes objects in their JSON form: times as RFC 3339 text, quantities as text or number. Declares only the
 * fields that this product reads; other fields pass through unchanged. A field of the type `unknown` is written by this
 * product, and not read by the operator. `kept-fields.ts` has a rule for each field.
 */

export type Quantity = string | number;
export type QuantityList = Readonly<Record<string, Quantity>>;
export type StringMap = Readonly<Record<string, string>>;

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: StringMap;
  readonly annotations?: StringMap;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  /** Managers of the fields. Caches keep them only for pods; see `resize.ts`. */
  readonly managedFields?: readonly { readonly manager?: string; readonly subresource?: string }[];
}

/** Any Kubernetes API object. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

export interface KubeList<T extends KubeObject> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly T[];
}

/** Condition in the status of an object. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: TaintEffect;
  readonly timeAdded?: string;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: 'Equal' | 'Exists' | 'Gt' | 'Lt';
  readonly value?: string;
  readonly effect?: TaintEffect;
  readonly tolerationSeconds?: number;
}

export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  readonly values?: readonly string[];
}

export interface LabelSelector {
  readonly matchLabels?: StringMap;
  readonly matchExpressions?: readonly LabelSelectorRequirement[];
}

/** `Gte` and `Lte` exist on NodePool, NodeClaim and NodeOverlay requirements only. */
export type NodeSelectorOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt' | 'Gte' | 'Lte';

export interface NodeSelectorRequirement {
  readonly key: string;
  readonly operator: NodeSelectorOperator;
  readonly values?: readonly string[];
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: readonly NodeSelectorRequirement[];
  readonly matchFields?: readonly NodeSelectorRequirement[];
}

export interface PodAffinityTerm {
  readonly labelSelector?: LabelSelector;
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: LabelSelector;
  readonly topologyKey: string;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
}

export interface WeightedPodAffinityTerm {
  readonly weight: number;
  readonly podAffinityTerm: PodAffinityTerm;
}

export interface PodAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly PodAffinityTerm[];
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly WeightedPodAffinityTerm[];
}

export interface NodeAffinity {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms: readonly NodeSelectorTerm[] };
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly {
    readonly weight: number;
    readonly preference: NodeSelectorTerm;
  }[];
}

export interface Affinity {
  readonly nodeAffinity?: NodeAffinity;
  readonly podAffinity?: PodAffinity;
  readonly podAntiAffinity?: PodAffinity;
}

export interface TopologySpreadConstraint {
  readonly maxSkew: number;
  readonly topologyKey: string;
  readonly whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway';
  readonly labelSelector?: LabelSelector;
  readonly minDomains?: number;
  readonly nodeAffinityPolicy?: 'Honor' | 'Ignore';
  readonly nodeTaintsPolicy?: 'Honor' | 'Ignore';
  readonly matchLabelKeys?: readonly string[];
}

interface ContainerPort {
  readonly containerPort?: number;
  readonly hostPort?: number;
  readonly hostIP?: string;
  readonly protocol?: string;
  readonly name?: string;
}

export interface ResourceRequirements {
  readonly requests?: QuantityList;
  readonly limits?: QuantityList;
  readonly claims?: readonly { readonly name: string; readonly request?: string }[];
}

export interface Container {
  readonly name: string;
  readonly image?: unknown;
  readonly resources?: ResourceRequirements;
  readonly ports?: readonly ContainerPort[];
  /** `Always` on an init container makes it a sidecar. */
  readonly restartPolicy?: string;
}

export interface PodVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string; readonly readOnly?: boolean };
  readonly ephemeral?: { readonly volumeClaimTemplate?: { readonly spec: PersistentVolumeClaimSpec } };
  readonly awsElasticBlockStore?: { readonly volumeID: string };
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly nodeSelector?: StringMap;
  readonly affinity?: Affinity;
  readonly tolerations?: readonly Toleration[];
  readonly topologySpreadConstraints?: readonly TopologySpreadConstraint[];
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly overhead?: QuantityList;
  readonly resources?: ResourceRequirements;
  readonly volumes?: readonly PodVolume[];
  readonly priority?: number;
  readonly priorityClassName?: string;
  readonly preemptionPolicy?: string;
  readonly schedulerName?: string;
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly terminationGracePeriodSeconds?: number;
  readonly hostNetwork?: boolean;
  readonly restartPolicy?: string;
  readonly resourceClaims?: readonly {
    readonly name: string;
    readonly resourceClaimName?: string;
    readonly resourceClaimTemplateName?: string;
  }[];
  /** PodGroup of `scheduling.k8s.io`, from Kubernetes 1.36 on. */
  readonly schedulingGroup?: { readonly podGroupName?: string };
  /** Workload of `scheduling.k8s.io`, in Kubernetes 1.35. */
  readonly workloadRef?: { readonly name: string; readonly podGroup?: string; readonly podGroupReplicaKey?: string };
}

export interface ContainerStatus {
  readonly name: string;
  readonly ready?: boolean;
  /** Requests that the kubelet admitted. They differ from the spec while a resize is pending. */
  readonly allocatedResources?: QuantityList;
  /** Resources in effect. They differ from the spec until a resize is complete. */
  readonly resources?: ResourceRequirements;
}

export interface PodStatus {
  readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  readonly conditions?: readonly Condition[];
  readonly nominatedNodeName?: string;
  readonly resourceClaimStatuses?: readonly { readonly name: string; readonly resourceClaimName?: string }[];
  readonly startTime?: string;
  readonly podIP?: unknown;
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly initContainerStatuses?: readonly ContainerStatus[];
  /** Resources in effect of the pod as a whole, and the requests that the kubelet admitted. */
  readonly resources?: ResourceRequirements;
  readonly allocatedResources?: QuantityList;
  /** Resources of the node that resource claims allocate. */
  readonly nodeAllocatableResourceClaimStatuses?: readonly {
    readonly resourceClaimName: string;
    readonly resources?: QuantityList;
  }[];
}

export interface Pod extends KubeObject {
  readonly spec: PodSpec;
  readonly status?: PodStatus;
}

export interface Node extends KubeObject {
  readonly spec?: {
    readonly providerID?: string;
    readonly taints?: readonly Taint[];
    readonly unschedulable?: boolean;
  };
  readonly status?: {
    readonly capacity?: QuantityList;
    readonly allocatable?: QuantityList;
    readonly conditions?: readonly Condition[];
    readonly nodeInfo?: {
      readonly architecture?: string;
      /** Changes with each boot of the machine. */
      readonly bootID?: string;
      readonly kubeletVersion?: string;
      readonly operatingSystem?: string;
      readonly osImage?: string;
    };
    readonly addresses?: unknown;
  };
}

export interface Namespace extends KubeObject {
  readonly status?: { readonly phase?: string };
}

export interface PodTemplateSpec {
  readonly metadata?: Partial<ObjectMeta>;
  readonly spec: PodSpec;
}

export interface DaemonSet extends KubeObject {
  readonly spec: { readonly selector?: LabelSelector; readonly template: PodTemplateSpec };
}

/** Deployment, StatefulSet, ReplicaSet or Job, with the fields that concern their pods. */
export interface Workload extends KubeObject {
  readonly spec: {
    readonly replicas?: number;
    /** Only Deployments. */
    readonly paused?: boolean;
    /** Only Jobs. */
    readonly completions?: number;
    readonly parallelism?: number;
    readonly suspend?: boolean;
    readonly managedBy?: string;
    readonly selector?: LabelSelector;
    readonly template: PodTemplateSpec;
    /** Only StatefulSets. */
    readonly ordinals?: { readonly start?: number };
    readonly volumeClaimTemplates?: readonly {
      readonly metadata: ObjectMeta;
      readonly spec: PersistentVolumeClaimSpec;
    }[];
  };
  readonly status?: {
    readonly replicas?: number;
    readonly succeeded?: number;
    readonly conditions?: readonly Condition[];
  };
}

export interface ReplicationController extends KubeObject {
  readonly spec?: { readonly selector?: StringMap };
}

/** Devices that pods request, and their allocation. */
/** Pod template as a separate object. No controller runs pods from it. */
export interface PodTemplate extends KubeObject {
  readonly template: PodTemplateSpec;
}

export interface Service extends KubeObject {
  readonly spec?: { readonly selector?: StringMap; readonly clusterIP?: string };
}

export interface PersistentVolumeClaimSpec {
  readonly storageClassName?: string;
  readonly volumeName?: string;
  readonly accessModes?: readonly string[];
  readonly resources?: ResourceRequirements;
}

export interface PersistentVolumeClaim extends KubeObject {
  readonly spec: PersistentVolumeClaimSpec;
  readonly status?: { readonly phase?: string };
}

export interface PersistentVolume extends KubeObject {
  readonly spec: {
    readonly nodeAffinity?: { readonly required?: { readonly nodeSelectorTerms: readonly NodeSelectorTerm[] } };
    readonly csi?: { readonly driver: string; readonly volumeHandle?: string };
    readonly awsElasticBlockStore?: { readonly volumeID?: string };
    readonly local?: unknown;
    readonly hostPath?: unknown;
    readonly storageClassName?: string;
    readonly claimRef?: { readonly namespace?: string; readonly name?: string; readonly uid?: string };
    readonly persistentVolumeReclaimPolicy?: string;
  };
  readonly status?: { readonly phase?: string };
}

export interface StorageClass extends KubeObject {
  readonly provisioner: string;
  readonly volumeBindingMode?: 'Immediate' | 'WaitForFirstConsumer';
  readonly allowedTopologies?: readonly {
    readonly matchLabelExpressions?: readonly { readonly key: string; readonly values: readonly string[] }[];
  }[];
}

export interface CSINode extends KubeObject {
  readonly spec: {
    /** Null until a driver registers, because kubelets create the object without drivers. */
    readonly drivers:
      | readonly {
          readonly name: string;
          readonly nodeID?: string;
          readonly allocatable?: { readonly count?: number };
        }[]
      | null;
  };
}

export interface VolumeAttachment extends KubeObject {
  readonly spec: {
    readonly nodeName: string;
    readonly attacher?: string;
    readonly source?: { readonly persistentVolumeName?: string };
  };
}

/** Devices that a driver offers, on one node or for several nodes. */
export interface PodDisruptionBudget extends KubeObject {
  readonly spec: {
    readonly selector?: LabelSelector;
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
    readonly unhealthyPodEvictionPolicy?: string;
  };
  readonly status?: {
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly expectedPods?: number;
  };
}

/** ConfigMap. The operator stores no text in ConfigMaps, and reads text only of declared devices. */
export interface ConfigMap extends KubeObject {
  readonly data?: StringMap;
  /** Values in base64. */
  readonly binaryData?: Readonly<Record<string, string>>;
}

export interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

export interface KubeEvent extends KubeObject {
  readonly involvedObject: {
    readonly apiVersion?: string;
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
  };
  readonly reason: string;
  readonly message: string;
  readonly type: 'Normal' | 'Warning';
  readonly count?: number;
  readonly firstTimestamp?: string;
  readonly lastTimestamp?: string;
  readonly source?: { readonly component?: string };
  readonly reportingComponent?: string;
}

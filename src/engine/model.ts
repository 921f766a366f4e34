/**
 * Data model of the engine, with its input (`Snapshot`) and its output (`Plan`). All of it is plain, immutable,
 * structured-cloneable data, so that a solve can run in a worker, and a snapshot can be saved and replayed. Compiled forms
 * (interned labels, bit sets, typed arrays) are private to the solver and never appear here.
 */

import type {
  CSINode,
  DeviceClass,
  DeviceTaintRule,
  LabelSelector,
  Namespace,
  Node,
  NodeClaim,
  NodePool,
  NodeSelectorRequirement,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
  StorageClass,
  StringMap,
  Taint,
} from '#api/objects';
import type { PackingMode, PreferencePolicy } from '#api/values';
import type { Cause, CauseCandidates, CeilingObject, GangShortage } from './causes/cause.ts';
import type { CpuBurst } from './cpu-burst.ts';
import type { DefaultSpread } from './default-spread.ts';
import type { DeviceTemplates } from './dra/template-types.ts';
import type { GangGroup } from './gangs/gang-group.ts';
import type { EngineClaim, EngineNodeObject, EnginePod } from './input.ts';
import type { WithheldLaunch } from './launch-causes.ts';
import type { NodeExtras } from './node-extras.ts';
import type { PreferenceTerms } from './preferences/worth-terms.ts';
import type { Commitment } from './price-book/commitment.ts';
import type { IDLE_POOLS } from './reason-codes.ts';
import type { AttachedVolume, VolumeLimits } from './volume-limits.ts';

/**
 * Amounts by resource name in canonical units: `cpu` in millicores, everything else in its base unit (memory and storage in
 * bytes, pods and devices as counts). All amounts are integers, so sums are exact below 2^53.
 */
export type Resources = Readonly<Record<string, number>>;

/** Requirement on a node label in the format of the API, with the `minValues` of NodePools. */
export interface Requirement extends NodeSelectorRequirement {
  readonly minValues?: number;
}

/** One way to launch an instance type: a zone, a capacity type and a price. */
export interface Offering {
  /** Includes at least capacity type and zone. Reserved offerings also have the reservation id. */
  readonly requirements: readonly Requirement[];
  readonly usdPerHour: number;
  /** AWS list price. Present only if a discount of the price book changes the price. */
  readonly listUsdPerHour?: number;
  /**
   * Expected cost of interruptions beyond that of a pool without interruptions, only for spot offerings that were interrupted
   * recently. It affects the choice between offerings, but is not part of the bill.
   */
  readonly spotRiskUsdPerHour?: number;
  /** False while this offering is known to be out of capacity. */
  readonly available: boolean;
  /** Reason why the offering is not available for now. Absent if it is available or never can be launched. */
  readonly outage?: Outage;
  /** Maximum price of spot that this offering exceeds. It is not available while it does. */
  readonly spotLimit?: SpotLimit;
  /** Remaining instances of this reservation. Only for reserved offerings. */
  readonly reservationCapacity?: number;
  /** True if a NodeOverlay changed the price. */
  readonly priceOverlaid?: boolean;
  /** Replaces parts of the type's capacity or overhead for this offering only. */
  readonly capacityOverride?: Resources;
  readonly overheadOverride?: InstanceTypeOverhead;
}

export interface Outage {
  /** Error code of the provider. */
  readonly reason?: string;
  /** Time at which the offering is tried again. */
  readonly untilMs?: number;
}

/** Maximum price of spot offerings. */
export interface SpotLimit {
  /** Name of the NodePolicy. */
  readonly policy: string;
  /** Part of the on-demand price. */
  readonly share: number;
  /** Price of the instance type, in USD per hour. Absent if it is not known. */
  readonly onDemandUsdPerHour?: number;
}

export interface InstanceTypeOverhead {
  readonly kubeReserved: Resources;
  readonly systemReserved: Resources;
  readonly evictionThreshold: Resources;
}

/** Instance type from the perspective of one NodePool. */
export interface InstanceType {
  readonly name: string;
  readonly requirements: readonly Requirement[];
  readonly capacity: Resources;
  readonly overhead: InstanceTypeOverhead;
  readonly offerings: readonly Offering[];
  /** Present only for burstable types whose surplus credits count. */
  readonly cpuBurst?: CpuBurst;
  /** True if a NodeOverlay changed the capacity. */
  readonly capacityOverlaid?: boolean;
  /** Predicted maximum number of volumes that a node attaches, by CSI driver. Absent if the prediction is unknown. */
  readonly volumeLimits?: VolumeLimits;
}

/** NodePool that takes part, with the instance types that its NodeClass allows. */
export interface PoolInput {
  readonly nodePool: NodePool;
  readonly instanceTypes: readonly InstanceType[];
  /** Cost of each of its nodes besides the instance. Default: none. */
  readonly extras?: NodeExtras;
  /** Devices of its new nodes by instance type. Absent while dynamic resources are ignored. */
  readonly deviceTemplates?: ReadonlyMap<string, DeviceTemplates>;
  /** Share of the price that the balance of zones may add to its new nodes. Default: 0, and the cloud chooses among zones. */
  readonly zoneBalance?: number;
  /** Worth of its pods' preferences. Default: `DEFAULT_PREFERENCE_TERMS`. */
  readonly preferences?: PreferenceTerms;
  /** Section `spot` of a NodePolicy. */
  readonly spot?: SpotTerms;
}

/** Use of spot capacity by a NodePool. */
export interface SpotTerms {
  /** Name of the NodePolicy. */
  readonly policy: string;
  /** Maximum price as a part of the on-demand price. */
  readonly maxPrice?: number;
  /** Number of instance types of a replacement of a spot node by a spot node. */
  readonly consolidationTypes?: number;
  /** Maximum share of the replicas of a workload. */
  readonly share?: number;
  /** Time for which pods wait for spot capacity. */
  readonly onDemandAfterMs?: number;
}

/** Rule of a NodePolicy for pods that could run on spot nodes. */
export interface SpotRule {
  /** `share`: the pods need on-demand capacity. `wait`: the pods wait for spot capacity. Codes are public. */
  readonly code: 'share' | 'wait';
  readonly workload: string;
  readonly policy: string;
  /** Namespaced names. */
  readonly pods: readonly string[];
  /** Share of the policy, or the lower share of the workload. */
  readonly share?: number;
  /** Number of replicas with the same controller, including the pods to place. */
  readonly replicas?: number;
  /** Maximum number of replicas on spot. */
  readonly most?: number;
  /** Number of replicas that stay on spot nodes. */
  readonly onSpot?: number;
  /** End of the wait, RFC 3339. */
  readonly until?: string;
}

/** Amounts that some nodes must not exceed together. */
export interface Ceiling {
  readonly object: CeilingObject;
  /** Path of the field with the amounts. */
  readonly field: string;
  readonly limits: Resources;
  /** Amounts of nodes, and the largest possible amounts of NodeClaims without an instance. */
  readonly used: Resources;
  /** Labels of the nodes that count. An empty selector selects all nodes. */
  readonly selector: LabelSelector;
}

/** NodePool that launches no nodes for pods now. */
export interface IdlePool {
  readonly nodePool: string;
  readonly misfit: Misfit;
}

/** Cluster state of one node: a Node, a NodeClaim, or both, joined by provider id. */
export interface EngineNode {
  /** Name of the Node if there is one, otherwise name of the NodeClaim. */
  readonly name: string;
  readonly providerId: string;
  readonly node?: EngineNodeObject;
  readonly nodeClaim?: EngineClaim;
  readonly registered: boolean;
  readonly initialized: boolean;
  /** Effective labels: the Node's labels after registration, otherwise the NodeClaim's labels. */
  readonly labels: StringMap;
  /** Effective taints. Startup and ephemeral taints are omitted until this node is initialized. */
  readonly taints: readonly Taint[];
  readonly capacity: Resources;
  readonly allocatable: Resources;
  /** All pods bound to this node, including terminal pods and daemon pods. */
  readonly pods: readonly EnginePod[];
  readonly markedForDeletion: boolean;
  /** Time until which a pending pod is expected here. Blocks disruption. 0 if this node is not nominated. */
  readonly nominatedUntilMs: number;
  readonly csiNode?: CSINode;
  /** Volumes that are attached to this node, with or without a pod that uses them. Absent if there are none. */
  readonly attachedVolumes?: readonly AttachedVolume[];
  /** Number of virtual capacity-buffer pods that the last solve placed here. */
  readonly bufferPods: number;
}

/** Node with its complete objects, as in cluster state. Engine workers receive the part that is an `EngineNode`. */
export interface StateNode extends EngineNode {
  readonly node?: Node;
  readonly nodeClaim?: NodeClaim;
  readonly pods: readonly Pod[];
  readonly annotations: StringMap;
}

export type EngineSnapshot = Snapshot<EngineNode>;

/** Complete input of the engine. */
export interface Snapshot<N extends EngineNode = StateNode> {
  readonly nowMs: number;
  readonly pools: readonly PoolInput[];
  /** NodePools that take no part, with the reason. Refusals list them after the NodePools that were tried. */
  readonly idlePools?: readonly IdlePool[];
  /** Known objects of these NodePools, for the causes of refusals. */
  readonly idleNodePools?: readonly NodePool[];
  readonly nodes: readonly N[];
  /** Pods to place, in any order. The solver sorts them. */
  readonly pendingPods: N['pods'];
  /** One representative pod per DaemonSet. */
  readonly daemonPods: N['pods'];
  readonly namespaces: readonly Namespace[];
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
  readonly persistentVolumeClaims: readonly PersistentVolumeClaim[];
  readonly persistentVolumes: readonly PersistentVolume[];
  readonly storageClasses: readonly StorageClass[];
  readonly quiet?: Quiet;
  /** Ceilings of NodePolicies and CapacityQuotas. Default: no ceiling. */
  readonly ceilings?: readonly Ceiling[];
  /** Launches that are withheld because earlier launches were unproductive. Absent if there are none. */
  readonly withheld?: readonly WithheldLaunch[];
  /**
   * Complete commitments in the order in which the provider applies them. Their unused part follows from the
   * nodes. Absent if there are none.
   */
  readonly commitments?: readonly Commitment[];
  /** Absent while dynamic resources are ignored. */
  readonly resourceClaims?: readonly ResourceClaim[];
  readonly resourceSlices?: readonly ResourceSlice[];
  readonly deviceClasses?: readonly DeviceClass[];
  readonly deviceTaintRules?: readonly DeviceTaintRule[];
  /** For pods without claims: virtual pods of capacity buffers, and future pods of DaemonSets. */
  readonly resourceClaimTemplates?: readonly ResourceClaimTemplate[];
  /** UIDs of consumers of claims that ended or do not exist. Their claims count as released. */
  readonly vanishedConsumers?: readonly string[];
  /**
   * NodeClaims that previous solves chose for pending pods, by UID of the pod. Contains pods with resource claims. Contains other
   * pods only if pods stay on the nodes that were launched for them.
   */
  readonly nominatedClaims?: ReadonlyMap<string, string>;
  /** Number of pods that StatefulSets are about to create, by UID of the StatefulSet. Absent if there are none. */
  readonly comingReplicas?: ReadonlyMap<string, number>;
  /** Minimum and topology of gangs in the objects that declare them, by id of the gang. */
  readonly gangGroups?: ReadonlyMap<string, GangGroup>;
  /** Reasons why gangs must wait, by id of the gang. */
  readonly gangHolds?: ReadonlyMap<string, string>;
  /** Kinds of dynamic resources that the cluster does not serve, or that the operator may not read. */
  readonly missingDeviceKinds?: readonly string[];
  /** Default for pending pods that declare no spread constraints. */
  readonly defaultSpread?: DefaultSpread;
}

/** Nodes that must not receive existing pods, because they are within their quiet period. */
export interface Quiet {
  /** Provider ids of the nodes. */
  readonly nodes: ReadonlySet<string>;
  /** Namespaced names of pods that may move to these nodes nevertheless, because they need a node in any case. */
  readonly exempt: ReadonlySet<string>;
}

/** Limit that all new nodes together must satisfy to be useful. */
export interface PackingLimit {
  /** Maximum cost including spot risk. */
  readonly usdPerHour: number;
  /** Capacity type that no node may have. */
  readonly avoided?: string;
}

export interface SolveOptions {
  /** With `Priced`, preferences are satisfied if they are worth their price. */
  readonly preferencePolicy: PreferencePolicy;
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  /** Strict in provisioning, fallback in disruption simulations. */
  readonly reservedMode: 'strict' | 'fallback' | 'off';
  readonly ignoreDraRequests: boolean;
  /**
   * If true, nodes that are being removed or replaced do not count toward the limits of their NodePool, as in Karpenter. By
   * default they count until they are gone, so that limits are never exceeded.
   */
  readonly freesLimits?: boolean;
  /**
   * `compatible` fills nodes as Karpenter does. `cheapest`, the default, then searches for cheaper nodes for the same pods in
   * the same NodePools and topology domains.
   */
  readonly packing?: PackingMode;
  /** Work limit of the search for cheaper nodes; see `packing/search.ts`. */
  readonly packingWork?: number | undefined;
  /**
   * If true, cheaper nodes are used only if they also cost less after kube-scheduler has bound the pods; see
   * `packing/binding-cost.ts`. For nodes that will be launched.
   */
  readonly afterBinding?: boolean;
  /**
   * Skips the search for cheaper nodes if even the cheapest nodes would exceed this limit. The extra cost for fewer nodes must
   * not exceed this limit either.
   */
  readonly packingLimit?: PackingLimit | undefined;
  /** Time after which this solve stops with its current result. `Plan.notEvaluated` lists the remaining pods. */
  readonly deadlineMs?: number;
  /**
   * Time in which pods are tried, if it is less than the deadline. The namespaces of the pods share it. The search for cheaper
   * nodes and the search for causes have half of this time each.
   */
  readonly placementMs?: number;
  /** Monotonic clock, only for the deadline. Injected, because the engine reads no clock. */
  readonly elapsedMs?: () => number;
  /** Called with each pod before work on it starts, so that the caller can identify a pod that makes a solve hang. */
  readonly working?: (pod: EnginePod) => void;
  /** Namespaced names of pods to try before all other pods, because an earlier solve did not reach them before its deadline. */
  readonly first?: readonly string[];
  /** If true, the plan lists the effective zones of the pending pods. */
  readonly countZones?: boolean;
  /** If true, refusals have the cause in the NodePool that the pod is meant for. */
  readonly explain?: boolean;
  /**
   * Maximum number of claims. If more are needed, this solve stops, and `Plan.notEvaluated` lists the remaining pods.
   */
  readonly mostClaims?: number;
  /**
   * Maximum number of claims in the plan. The pods of further claims are in `Plan.notEvaluated`. Unlike `mostClaims`, this
   * limit does not change the claims, because all pods are placed first.
   */
  readonly mostLaunches?: number;
}

/** Zone of a node that could be launched in several zones. */
export interface PlannedZone {
  readonly name: string;
  /** Zone with the lowest price. */
  readonly cheapest: string;
  /** Difference to the lowest price including spot risk, in USD per hour. */
  readonly addedUsdPerHour: number;
}

/** Node to launch. */
export interface PlannedClaim {
  readonly nodePool: string;
  /** Namespaced names of the pods for this node. */
  readonly pods: readonly string[];
  /** All types with enough room for the pods, cheapest first. */
  readonly instanceTypes: readonly string[];
  /** Requirements of the new NodeClaim, including the names of the instance types and the capacity types. */
  readonly requirements: readonly Requirement[];
  /** Requests of the pods plus the smallest daemon overhead. */
  readonly requests: Resources;
  /** Labels and annotations of the new NodeClaim, including template and hash annotations. */
  readonly labels: StringMap;
  readonly annotations: StringMap;
  readonly cheapest: string;
  /**
   * Price of the instance for the preferred available offering that the requirements allow. The choice includes spot risk, but
   * this price does not.
   */
  readonly usdPerHour: number;
  /** AWS list price of this offering, if it differs. */
  readonly listUsdPerHour?: number;
  /** Spot risk of this offering. Absent if there is none. */
  readonly spotRiskUsdPerHour?: number;
  /** Expected price of surplus CPU for the requests. Absent if there is none. */
  readonly surplusUsdPerHour?: number;
  /** Part of the price that commitments cover. Absent if they cover no part. */
  readonly coveredUsdPerHour?: number;
  /** Cost of the node besides its instance for decisions, including the fee. Default: 0. */
  readonly extrasUsdPerHour?: number;
  /** Volumes and public IPv4 address, which AWS bills. Default: 0. */
  readonly chargesUsdPerHour?: number;
  /** Present if the balance of zones chose the zone. */
  readonly zone?: PlannedZone;
}

/** Pods that were placed on existing or launching capacity. */
export interface Placement {
  readonly node: string;
  readonly providerId: string;
  readonly pods: readonly string[];
}

/** Reason why one NodePool cannot place a pod. Codes are public. */
export type Misfit =
  | { readonly code: 'taint'; readonly taint: Taint }
  | { readonly code: 'requirements'; readonly text: string; readonly key: string }
  | { readonly code: 'limits'; readonly text: string }
  | {
      readonly code: 'instance-types';
      readonly text: string;
      /** Tests that no type passed together. */
      readonly incompatible: boolean;
      readonly tooSmall: boolean;
      readonly notOffered: boolean;
    }
  | { readonly code: 'min-values'; readonly text: string }
  | { readonly code: 'topology'; readonly text: string }
  | { readonly code: 'volume'; readonly text: string }
  /** The pod has more volumes than a node of any of its instance types can attach. */
  | {
      readonly code: 'volume-limit';
      readonly text: string;
      readonly driver: string;
      /** Number of volumes of the pod, and the maximum number on a node. */
      readonly wanted: number;
      readonly most: number;
    }
  | { readonly code: 'host-port'; readonly text: string }
  /** The devices of its nodes do not satisfy the resource claims. */
  | { readonly code: 'devices'; readonly text: string }
  | { readonly code: 'reserved-capacity'; readonly text: string }
  /** Nodes that the NodePool launched for such pods were unproductive. */
  | { readonly code: 'launch-withheld'; readonly text: string }
  /** For NodePools that take no part, regardless of the pod. */
  | { readonly code: IdleCode; readonly text: string };

/** Reason why a NodePool launches no nodes for any pod. */
export type IdleCode = (typeof IDLE_POOLS)[number];

export interface Rejection {
  readonly nodePool: string;
  readonly misfit: Misfit;
  /**
   * Result of a trial without limits and without holds of launches. Absent if neither restricts the NodePool, or if no cause is
   * requested.
   */
  readonly otherwise?: Misfit | 'fits';
}

/** Reason why a pod stays pending. */
export type PodRefusal =
  /** Refused before the solve because of an invalid volume, an unsupported term, or an opt-out. */
  | { readonly code: 'ignored'; readonly text: string; readonly optedOut: boolean }
  /** Feature that this version does not support. The pod is never placed incorrectly. */
  | { readonly code: 'unsupported'; readonly text: string }
  | { readonly code: 'no-pools'; readonly text: string }
  /** Reason per NodePool, in order of trial. `text` is the text of the event. */
  | {
      readonly code: 'no-fit';
      readonly text: string;
      readonly pools: readonly Rejection[];
      /** Cause in the NodePool that the pod is meant for. Only on request. */
      readonly cause?: Cause;
      /** If the cause is a limit: the NodePools that would launch a node for the pod without their limits. */
      readonly limits?: readonly Cause[];
      /** Gang of the pod that did not find room for its minimum number of pods. */
      readonly gang?: GangShortage;
      /** Rule of a NodePolicy that keeps the pod off spot or off on-demand nodes. */
      readonly spot?: string;
      /** Equally close causes, until `checkRemedies` has chosen one of them. */
      readonly candidates?: CauseCandidates;
    }
  /** The gang of the pod is not complete, is held, or has a mark that is not valid. */
  | { readonly code: 'gang'; readonly text: string }
  /** The pod is not valid, or an unexpected error occurred. Other pods are still placed. */
  | { readonly code: 'failed'; readonly text: string }
  /** The pod waits for reserved capacity in a later run. Never reported to the user as a failure. */
  | { readonly code: 'reserved-capacity'; readonly text: string };

/** Object that is not valid or not usable. Only this object was omitted. */
export interface LeftOut {
  readonly kind: 'NodePool' | 'Node' | 'DaemonSet' | 'Pod';
  readonly namespace?: string;
  readonly name: string;
  /** Error in the object. */
  readonly text: string;
}

/** Actions to take, and the reasons for pods without an action. The same snapshot gives the same plan, byte for byte. */
export interface Plan {
  readonly claims: readonly PlannedClaim[];
  readonly placements: readonly Placement[];
  readonly refusals: ReadonlyMap<string, PodRefusal>;
  /** Pods that were not reached before the deadline, in the order for the next solve. */
  readonly notEvaluated: readonly string[];
  /** NodePools whose requirements allow no instance type. */
  readonly emptyPools: readonly { readonly nodePool: string; readonly dueToMinValues: boolean }[];
  /** Objects that this solve omitted. Absent if there are none. */
  readonly leftOut?: readonly LeftOut[];
  /** Number of pods in phase Pending by their only possible zone, `flexible` or `none`. Only on request. */
  readonly effectiveZones?: ReadonlyMap<string, number>;
  /** NodePools that keep the nodes of first-fit because packing reached a limit. Absent if packing completed. */
  readonly unpacked?: readonly UnpackedPool[];
  /** Work for the devices of pods. Absent if no pod claims devices. */
  readonly allocation?: AllocationWork;
  /** Present if pods have preferences with a price. */
  readonly preferences?: PlannedPreferences;
  /** Rules for spot in force. */
  readonly spot?: readonly SpotRule[];
}

export interface PlannedPreferences {
  /**
   * Amount that this plan costs more than a plan without preferences, in USD per hour. If there was no such plan, than the lowest
   * possible price.
   */
  readonly addedUsdPerHour: number;
  /** Worth of the preferences that this plan satisfies in addition to such a plan. */
  readonly gainedUsdPerHour: number;
  /** Worth of preferences that running pods would lose by their move, in USD per hour. */
  readonly lostUsdPerHour: number;
  readonly groups: readonly PreferenceDecision[];
  /** Reason for preferences that the plan does not consider. Absent if it considers all. */
  readonly omitted?: string;
}

/** Decision on the preferences of equal pods. */
export interface PreferenceDecision {
  /** Namespaced names, sorted. */
  readonly pods: readonly string[];
  /** Preferences of each of the pods. */
  readonly preferences: readonly string[];
  /** Number of satisfied preferences of all pods together, and of all their preferences. */
  readonly satisfied: number;
  readonly wanted: number;
  /**
   * Price that the preferences add, in USD per hour: in this plan if all are satisfied, otherwise in a plan with all preferences.
   * Absent without such a plan.
   */
  readonly addedUsdPerHour?: number;
  /** Worth of the preferences that the same plan satisfies in addition. */
  readonly worthUsdPerHour?: number;
  /** Error in the annotation for the worth of the first pod with one. Absent if there is none. */
  readonly invalidWorth?: string;
}

export interface AllocationWork {
  /** 0 if the caller passed no clock. */
  readonly ms: number;
  /** Number of pods for which the search reached its limit. */
  readonly expired: number;
}

export interface UnpackedPool {
  /** Absent if packing failed before it reached a NodePool. */
  readonly nodePool?: string;
  /** `time`: the solve reached its deadline. `work`: the search reached its work limit. `error`: unexpected error. */
  readonly reason: 'time' | 'work' | 'error';
  readonly text: string;
}

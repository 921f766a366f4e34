/**
 * The engine's data model: what goes in (`Snapshot`) and what comes out (`Plan`). All of it is plain, immutable,
 * structured-cloneable data, so that a solve can run in a worker and a snapshot can be saved and replayed.
 * Compiled forms (interned labels, bit sets, typed arrays) are private to the solver and never appear here.
 */
import type {
  CSINode,
  Namespace,
  Node,
  NodeSelectorRequirement,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  ResourceClaim,
  StorageClass,
  StringMap,
  Taint,
} from '../api/kubernetes.ts';
import type { NodeClaim } from '../api/nodeclaim.ts';
import type { NodePool } from '../api/nodepool.ts';
import type { DefaultSpread } from './default-spread.ts';
import type { EngineClaim, EngineNodeObject, EnginePod } from './input.ts';
import type { WithheldLaunch } from './launch-causes.ts';
import type { NodeExtras } from './node-extras.ts';
import type { Commitment } from './price-book/commitment.ts';

/**
 * Amounts by resource name in canonical units: `cpu` in milli-cores, everything else in its base unit (memory and
 * storage in bytes, pods and devices as counts). All are integers, so sums are exact below 2^53.
 */
export type Resources = Readonly<Record<string, number>>;

/** A requirement on a node label, as the API spells it, with NodePool's `minValues`. */
export interface Requirement extends NodeSelectorRequirement {
  readonly minValues?: number;
}

/** One way to buy an instance type: a zone, a capacity type and a price. */
export interface Offering {
  /** At least capacity type and zone; reserved offerings add the reservation id. */
  readonly requirements: readonly Requirement[];
  readonly usdPerHour: number;
  /** AWS's list price, only where a discount of the price book makes it another. */
  readonly listUsdPerHour?: number;
  /**
   * What interruptions are expected to cost beyond those of a pool without history, only on spot offerings that were
   * interrupted of late. It counts where offerings are chosen between; nobody pays it.
   */
  readonly spotRiskUsdPerHour?: number;
  /** False while the offering is known to be out of capacity. */
  readonly available: boolean;
  /** Instances left in the reservation; only on reserved offerings. */
  readonly reservationCapacity?: number;
  /** Set where a NodeOverlay changed the price. */
  readonly priceOverlaid?: boolean;
  /** Replaces parts of the type's capacity or overhead for this offering alone. */
  readonly capacityOverride?: Resources;
  readonly overheadOverride?: InstanceTypeOverhead;
}

export interface InstanceTypeOverhead {
  readonly kubeReserved: Resources;
  readonly systemReserved: Resources;
  readonly evictionThreshold: Resources;
}

/** An instance type as one NodePool sees it. */
export interface InstanceType {
  readonly name: string;
  readonly requirements: readonly Requirement[];
  readonly capacity: Resources;
  readonly overhead: InstanceTypeOverhead;
  readonly offerings: readonly Offering[];
  /** Set where a NodeOverlay changed the capacity. */
  readonly capacityOverlaid?: boolean;
}

/** A NodePool that takes part, with the instance types that its NodeClass allows. */
export interface PoolInput {
  readonly nodePool: NodePool;
  readonly instanceTypes: readonly InstanceType[];
  /** What each of its nodes costs besides the instance; nothing when left out. */
  readonly extras?: NodeExtras;
}

/** A NodePool that buys nothing for pods now. */
export interface IdlePool {
  readonly nodePool: string;
  readonly misfit: Misfit;
}

/** What cluster state knows of one node: a Node, a NodeClaim, or both, joined by provider id. */
export interface EngineNode {
  /** Node name when there is a Node, else the NodeClaim's name. */
  readonly name: string;
  readonly providerId: string;
  readonly node?: EngineNodeObject;
  readonly nodeClaim?: EngineClaim;
  readonly registered: boolean;
  readonly initialized: boolean;
  /** Labels that count now: the Node's once registered, else the NodeClaim's. */
  readonly labels: StringMap;
  /** Effective taints: startup and ephemeral ones are left out until the node is initialised. */
  readonly taints: readonly Taint[];
  readonly capacity: Resources;
  readonly allocatable: Resources;
  /** Every pod bound to the node, terminal and daemon pods included. */
  readonly pods: readonly EnginePod[];
  readonly markedForDeletion: boolean;
  /** Time until which a pending pod is expected here; blocks disruption. 0 when not nominated. */
  readonly nominatedUntilMs: number;
  readonly csiNode?: CSINode;
  /** Number of virtual capacity-buffer pods that the last solve put here. */
  readonly bufferPods: number;
}

/** A node with its whole objects, as cluster state has it. Engine workers receive the part that is an `EngineNode`. */
export interface StateNode extends EngineNode {
  readonly node?: Node;
  readonly nodeClaim?: NodeClaim;
  readonly pods: readonly Pod[];
  readonly annotations: StringMap;
}

export type EngineSnapshot = Snapshot<EngineNode>;

/** Everything the engine may look at. */
export interface Snapshot<N extends EngineNode = StateNode> {
  readonly nowMs: number;
  readonly pools: readonly PoolInput[];
  /** Those that take no part, and why: what is said of a pod that fits nowhere names them after the others. */
  readonly idlePools?: readonly IdlePool[];
  readonly nodes: readonly N[];
  /** Pods to place. Order does not matter: the solver sorts them. */
  readonly pendingPods: N['pods'];
  /** One representative pod per DaemonSet. */
  readonly daemonPods: N['pods'];
  readonly namespaces: readonly Namespace[];
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
  readonly persistentVolumeClaims: readonly PersistentVolumeClaim[];
  readonly persistentVolumes: readonly PersistentVolume[];
  readonly storageClasses: readonly StorageClass[];
  readonly quiet?: Quiet;
  /** Launches that wait because earlier ones served no purpose. Absent when there are none. */
  readonly withheld?: readonly WithheldLaunch[];
  /**
   * Savings Plans and reserved instances in the order in which AWS applies them, whole: what is left of them follows from the
   * nodes. Absent when there are none.
   */
  readonly commitments?: readonly Commitment[];
  /** Absent while dynamic resources are ignored. */
  readonly resourceClaims?: readonly ResourceClaim[];
  /** Given to pending pods that declare no spread of their own. */
  readonly defaultSpread?: DefaultSpread;
}

/** Nodes that existing pods may not be moved onto, because they were promised some quiet. */
export interface Quiet {
  /** Their provider ids. */
  readonly nodes: ReadonlySet<string>;
  /** Namespaced names of the pods that may go there all the same: they need a place in any case. */
  readonly exempt: ReadonlySet<string>;
}

/** What nodes to buy must be together, so that there is a use for them. */
export interface PackingLimit {
  /** They cost no more than this, spot risk included. */
  readonly usdPerHour: number;
  /** None of them may be of this capacity type. */
  readonly avoided?: string;
}

export interface SolveOptions {
  readonly preferencePolicy: 'Respect' | 'Ignore';
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  /** Strict in provisioning, fallback in disruption simulations. */
  readonly reservedMode: 'strict' | 'fallback' | 'off';
  readonly ignoreDraRequests: boolean;
  /**
   * `compatible` fills nodes as Karpenter does. `cheapest`, the default, then looks for a cheaper way to house the same
   * pods in the same pools and topology domains.
   */
  readonly packing?: 'cheapest' | 'compatible';
  /** How much work the search for cheaper nodes may be; see `packing/search.ts`. */
  readonly packingWork?: number | undefined;
  /**
   * Cheaper nodes are not looked for where even the cheapest ones would be too dear for whoever asks, and nothing more is paid for
   * fewer of them where that would be too dear.
   */
  readonly packingLimit?: PackingLimit | undefined;
  /** Time after which solving stops with what it has; the pods left are listed in `Plan.notEvaluated`. */
  readonly deadlineMs?: number;
  /** Monotonic clock for the deadline alone. Injected, because the engine reads no clock. */
  readonly elapsedMs?: () => number;
  /** Called with each pod before work on it starts, so that somebody knows which one a solve does not come back from. */
  readonly working?: (pod: EnginePod) => void;
  /** Pods to try before all others, by namespaced name: those that the deadline of an earlier solve left over. */
  readonly first?: readonly string[];
  /** Have the plan list the effective zones of the pending pods. */
  readonly countZones?: boolean;
  /** Stops when more claims than these would be needed; the pods left are listed in `Plan.notEvaluated`. */
  readonly mostClaims?: number;
}

/** A node to buy. */
export interface PlannedClaim {
  readonly nodePool: string;
  /** Namespaced names of the pods it is for. */
  readonly pods: readonly string[];
  /** All types that can hold the pods, cheapest first. */
  readonly instanceTypes: readonly string[];
  /** What the NodeClaim to create asks for: the instance types by name and the capacity types are among it. */
  readonly requirements: readonly Requirement[];
  /** Pods' requests and the least daemon overhead. */
  readonly requests: Resources;
  /** Labels and annotations of the NodeClaim to create, template and hash annotations included. */
  readonly labels: StringMap;
  readonly annotations: StringMap;
  readonly cheapest: string;
  /** Price of the cheapest available offering that the requirements allow, its spot risk counted in choosing it: of the instance alone. */
  readonly usdPerHour: number;
  /** AWS's list price of that offering, where it differs. */
  readonly listUsdPerHour?: number;
  /** The spot risk of that offering; absent when it has none. */
  readonly spotRiskUsdPerHour?: number;
  /** The part of it that commitments cover; absent when they cover nothing. */
  readonly coveredUsdPerHour?: number;
  /** What the node costs besides its instance; nothing when left out. */
  readonly extrasUsdPerHour?: number;
}

/** Pods put on capacity that exists or is launching. */
export interface Placement {
  readonly node: string;
  readonly providerId: string;
  readonly pods: readonly string[];
}

/** Why one NodePool cannot take a pod. Codes are public. */
export type Misfit =
  | { readonly code: 'taint'; readonly taint: Taint }
  | { readonly code: 'requirements'; readonly text: string; readonly key: string }
  | { readonly code: 'limits'; readonly text: string }
  | {
      readonly code: 'instance-types';
      readonly text: string;
      /** Which of the three tests no type passed together. */
      readonly incompatible: boolean;
      readonly tooSmall: boolean;
      readonly notOffered: boolean;
    }
  | { readonly code: 'min-values'; readonly text: string }
  | { readonly code: 'topology'; readonly text: string }
  | { readonly code: 'volume'; readonly text: string }
  | { readonly code: 'host-port'; readonly text: string }
  | { readonly code: 'reserved-capacity'; readonly text: string }
  /** Nodes that the NodePool launched for such pods served no purpose. */
  | { readonly code: 'launch-withheld'; readonly text: string }
  /** Of NodePools that take no part, whatever the pod asks for. */
  | { readonly code: IdleCode; readonly text: string };

/**
 * Why a NodePool buys nothing for any pod: its conditions, its fixed number of nodes, its deletion, requirements that
 * leave no instance type, or a field that cannot be read.
 */
export type IdleCode = 'not-ready' | 'static' | 'deleting' | 'no-instance-types' | 'unreadable';

/** Why a pod stays pending. */
export type PodRefusal =
  /** Refused before solving: an invalid volume, an unsupported term, opted out. */
  | { readonly code: 'ignored'; readonly text: string; readonly optedOut: boolean }
  /** A feature that this version cannot honour; the pod is never placed wrongly. */
  | { readonly code: 'unsupported'; readonly text: string }
  | { readonly code: 'no-pools'; readonly text: string }
  /** Per NodePool, in the order in which they were tried. `text` is the event's. */
  | { readonly code: 'no-fit'; readonly text: string; readonly pools: readonly { nodePool: string; misfit: Misfit }[] }
  /** The pod cannot be read, or placing it failed in a way that is not foreseen. Others are placed all the same. */
  | { readonly code: 'failed'; readonly text: string }
  /** Waits for reserved capacity in a later run; never shown to the user as a failure. */
  | { readonly code: 'reserved-capacity'; readonly text: string };

/** An object that cannot be read or used, and was left out alone. */
export interface LeftOut {
  readonly kind: 'NodePool' | 'Node' | 'DaemonSet' | 'Pod';
  readonly namespace?: string;
  readonly name: string;
  /** What is wrong with it. */
  readonly text: string;
}

/** What to do, and why the rest is not done. Same snapshot, same plan, byte for byte. */
export interface Plan {
  readonly claims: readonly PlannedClaim[];
  readonly placements: readonly Placement[];
  readonly refusals: ReadonlyMap<string, PodRefusal>;
  /** Pods that the deadline left over, in the order in which they should go first next time. */
  readonly notEvaluated: readonly string[];
  /** NodePools whose requirements leave no instance type. */
  readonly emptyPools: readonly { readonly nodePool: string; readonly dueToMinValues: boolean }[];
  /** Objects that the solve did without; absent when there are none. */
  readonly leftOut?: readonly LeftOut[];
  /** Numbers of pods in phase Pending by the one zone where they can be, `flexible` or `none`; on demand. */
  readonly effectiveZones?: ReadonlyMap<string, number>;
  /** Why the nodes are not packed more cheaply, if that failed: they are those that were found first. */
  readonly packingError?: string;
}

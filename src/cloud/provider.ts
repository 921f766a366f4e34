/** Contract between the operator and a cloud provider. */
import type { Conditioned, ConditionSet, Kind, NodeClaim, NodePool } from '#api/objects';
import type { Commitment, NodeCharges } from '#engine/costs';
import type { DriverTemplate } from '#engine/devices';
import type { RepairRule } from '#engine/disruption';
import type { LaunchAnswer } from '#engine/explanations';
import type { InstanceType, TypeTerms } from '#engine/model';

/** Drift reason of the provider, such as `AMIDrift`; also the Drifted condition's reason. */
export type DriftReason = string;

/** Result of a registration hook: registration may continue, optionally with additional labels of the claim, or must wait. */
export type HookAnswer =
  | { readonly done: true; readonly labels?: Readonly<Record<string, string>> }
  | { readonly done: false; readonly waitMs: number };

/** Requirement that must be met before a node that has joined counts as registered. */
export interface RegistrationHook {
  /** Name that the claim's Registered condition shows during the wait. */
  readonly name: string;
  ask(claim: NodeClaim): Promise<HookAnswer>;
}

/** Changes instance types according to the user's configuration. */
export type AdjustTypes = (types: readonly InstanceType[]) => Promise<readonly InstanceType[]>;

/** Kind of NodeClass with the conditions of its objects, including conditions behind feature gates. */
export interface NodeClassKind extends Kind<Conditioned> {
  readonly conditions: ConditionSet;
  /** Annotation of NodeClasses and NodeClaims with a hash of the fields that new nodes depend on. */
  readonly hashAnnotation: string;
  /** Returns the resources that the NodeClass has selected, with a heading for each list. */
  selectionsOf(nodeClass: Conditioned): readonly (readonly [heading: string, items: readonly string[]])[];
}

export interface CloudProvider {
  readonly name: string;
  /** NodeClass kinds that this provider serves. Objects with references to other kinds are ignored. */
  readonly nodeClassKinds: readonly NodeClassKind[];
  readonly repairPolicies: readonly RepairRule[];
  /** Hooks that run in parallel. Default: no hooks. */
  readonly registrationHooks?: readonly RegistrationHook[];

  /**
   * Commitments, which are paid regardless of use and cover instances. Returns the same list until they change. If absent, there
   * are no commitments.
   */
  commitments?(): readonly Commitment[];

  /** Returns every instance type that the pool's NodeClass allows, with offerings. Empty if the NodeClass is missing. */
  instanceTypes(nodePool: NodePool): Promise<readonly InstanceType[]>;

  /**
   * Returns the computation of the capacity of an instance type, without NodeOverlays. If absent or undefined, it is not known.
   * @throws Error if the NodeClass cannot be read
   */
  typeTerms?(nodePool: NodePool, instanceType: string): TypeTerms | undefined;

  /**
   * Returns the currently known charges for each node of the pool in addition to its instance. If absent, there are no charges.
   * @throws Error if the NodeClass cannot be read
   */
  charges?(nodePool: NodePool): NodeCharges;

  /**
   * Returns the devices that the provider knows of new nodes of a type, by driver. Returns the same objects for equal devices. If
   * absent, no devices are known.
   */
  deviceTemplates?(nodePool: NodePool, type: InstanceType): readonly DriverTemplate[];

  /**
   * Launches one instance for a claim. Returns the claim's labels, annotations and status after the launch (provider id, image,
   * capacity, allocatable). The call is idempotent per claim UID: a retry after a crash finds the instance of the first call.
   * Prices and capacities are used as `adjust` returns them.
   * @throws InsufficientCapacity, NodeClassNotReady, CreateFailed
   */
  create(claim: NodeClaim, adjust?: AdjustTypes): Promise<NodeClaim>;

  /** Returns the cloud's response to the launch of a claim. If absent or undefined, the response is not known. */
  launchAnswer?(claim: NodeClaim): LaunchAnswer | undefined;

  /** Terminates the claim's instance. @throws NodeClaimNotFound if the instance no longer exists */
  delete(claim: NodeClaim): Promise<void>;

  /** Restarts the claim's instance, which keeps its addresses and disks. @throws NodeClaimNotFound if it no longer exists */
  reboot(claim: NodeClaim): Promise<void>;

  /** @throws NodeClaimNotFound if the instance does not exist */
  get(providerId: string): Promise<NodeClaim>;

  /**
   * Returns every instance of this cluster that is not terminated, as a claim. A claim of an instance that is shutting down has a
   * deletion time.
   */
  list(): Promise<readonly NodeClaim[]>;

  /** Returns the first reason why a claim does not match its NodeClass, or undefined if the claim matches. */
  isDrifted(claim: NodeClaim): Promise<DriftReason | undefined>;
}

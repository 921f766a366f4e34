/** The contract between the operator and the cloud that sells it instances. */
import type { NodeClaim } from '../api/nodeclaim.ts';
import type { NodePool } from '../api/nodepool.ts';
import type { InstanceType } from '../engine/model.ts';
import type { NodeCharges } from '../engine/node-extras.ts';
import type { Commitment } from '../engine/price-book/commitment.ts';

/** Drift reason of the provider, such as `AMIDrift`; also the Drifted condition's reason. */
export type DriftReason = string;

export interface RepairPolicy {
  readonly conditionType: string;
  readonly conditionStatus: 'True' | 'False' | 'Unknown';
  readonly tolerationMs: number;
}

/** Whether a node may be registered now, with labels of its claim that have been found out meanwhile; or when to ask. */
export type HookAnswer =
  | { readonly done: true; readonly labels?: Readonly<Record<string, string>> }
  | { readonly done: false; readonly waitMs: number };

/** Something that must be known or done before a node that has joined is declared registered. */
export interface RegistrationHook {
  /** Shown in the claim's Registered condition while it waits. */
  readonly name: string;
  ask(claim: NodeClaim): Promise<HookAnswer>;
}

/** Makes of instance types what users want them to be seen as. */
export type AdjustTypes = (types: readonly InstanceType[]) => Promise<readonly InstanceType[]>;

export interface CloudProvider {
  readonly name: string;
  /** NodeClass kinds that this provider serves; objects that refer to others are ignored. */
  readonly nodeClassKinds: readonly { readonly group: string; readonly kind: string }[];
  readonly repairPolicies: readonly RepairPolicy[];
  /** Asked in parallel; none when absent. */
  readonly registrationHooks?: readonly RegistrationHook[];

  /** What is paid for whether it is used or not, and covers instances; the same list until that changes. None when absent. */
  commitments?(): readonly Commitment[];

  /** Every instance type that the pool's NodeClass allows, offerings attached. Empty when the NodeClass is missing. */
  instanceTypes(nodePool: NodePool): Promise<readonly InstanceType[]>;

  /**
   * What each node of the pool is charged besides its instance, as far as it is known now; nothing when absent.
   * @throws Error when the NodeClass cannot be read
   */
  charges?(nodePool: NodePool): NodeCharges;

  /**
   * Buys one instance for a claim. Answers the claim's labels, annotations and status as launched (provider id, image,
   * capacity, allocatable). Idempotent per claim UID: a retry after a crash finds the instance that was bought. Prices
   * and capacities count as `adjust` makes them.
   * @throws InsufficientCapacity, NodeClassNotReady, CreateFailed
   */
  create(claim: NodeClaim, adjust?: AdjustTypes): Promise<NodeClaim>;

  /** Terminates the claim's instance. @throws NodeClaimNotFound once the instance is gone. */
  delete(claim: NodeClaim): Promise<void>;

  /** @throws NodeClaimNotFound */
  get(providerId: string): Promise<NodeClaim>;

  /** Every instance of this cluster that is not terminated, as claims; those that are ending have a deletion time. */
  list(): Promise<readonly NodeClaim[]>;

  /** The first reason why a claim no longer matches its NodeClass. */
  isDrifted(claim: NodeClaim): Promise<DriftReason | undefined>;
}

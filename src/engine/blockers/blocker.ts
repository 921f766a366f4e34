/** What stands in the way of a node's drain, or of its disruption. All of it is of public form. */
import type { BlockCode } from '../disruption/reasons.ts';

/**
 * Codes are never renamed or used for something else. Those of a node that stays are the verdicts' and `budget`; the
 * others are of a node that is being drained.
 */
type BlockerCode =
  | BlockCode
  | 'budget'
  | 'deadline-unreadable'
  | 'pod-terminating'
  | 'pod-eviction'
  | 'volume-attached'
  | 'instance'
  | 'node-finalizer'
  | 'nodeclaim-finalizer';

interface BlockingObject {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface Blocker {
  readonly code: BlockerCode;
  readonly text: string;
  readonly object?: BlockingObject;
  /** `namespace/name` of the node's pods that it is about. */
  readonly pods?: readonly string[];
  /** Of a PodDisruptionBudget: healthy pods, how many of them there must be, and how many may go now. */
  readonly healthy?: { readonly current: number; readonly desired: number; readonly allowed: number };
  /** RFC 3339. */
  readonly since?: string;
  /** RFC 3339. When it ends by itself. */
  readonly until?: string;
}

/**
 * `drain`: the node is being drained. `drift`: it is drifted, and is to be replaced. `consolidation`: consolidation may
 * take it. `nothing`: no one wants to take it; what is listed would be in the way.
 */
export type WaitingFor = 'drain' | 'drift' | 'consolidation' | 'nothing';

export interface NodeBlockers {
  readonly node: string;
  readonly nodeClaim?: string;
  readonly nodePool?: string;
  readonly waitsFor: WaitingFor;
  /** RFC 3339. Since when it waits, or was first reported to be kept; absent when nobody knows. */
  readonly since?: string;
  /** USD per hour that the node costs; absent when its price is not known. */
  readonly usdPerHour?: number;
  /** USD that it has cost since then; absent where nobody wants to take it. */
  readonly usdSoFar?: number;
  /** How long a drain lasts at most, as the NodeClaim says it. */
  readonly terminationGracePeriod?: string;
  /** RFC 3339. When what is left on a node that is being drained is deleted. */
  readonly endsAt?: string;
  readonly blockers: readonly Blocker[];
}

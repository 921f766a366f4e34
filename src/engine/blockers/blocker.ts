/** Obstacles to the drain or the disruption of a node. All types of this file are public formats. */
import type { MoveWorth } from '../disruption/move-worth.ts';
import type { BlockCode } from '../disruption/reasons.ts';
import type { DRAIN_BLOCKERS } from '../reason-codes.ts';

/**
 * Code of an obstacle. Codes are never renamed or reused. The block codes, `budget`, `rollout` and `claims-ignored` apply to
 * nodes that are not drained; the remaining codes apply to nodes that are being drained.
 */
type BlockerCode = BlockCode | (typeof DRAIN_BLOCKERS)[number];

/**
 * Condition that ends an obstacle without intervention. `never`: only a change of the object helps. `does-not-block`: the drain
 * continues, but has an effect that its user should know.
 */
export const BLOCKER_ENDS = ['never', 'pods-ready', 'time', 'detached', 'does-not-block'] as const;
type BlockerEnd = (typeof BLOCKER_ENDS)[number];

interface BlockingObject {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface Blocker {
  readonly code: BlockerCode;
  readonly text: string;
  readonly object?: BlockingObject;
  /** `namespace/name` of the affected pods of the node. */
  readonly pods?: readonly string[];
  /** State of a PodDisruptionBudget: healthy pods, required healthy pods, and currently allowed disruptions. */
  readonly healthy?: { readonly current: number; readonly desired: number; readonly allowed: number };
  /** RFC 3339. */
  readonly since?: string;
  /** Absent if it is unknown. */
  readonly ends?: BlockerEnd;
  /** RFC 3339. Time at which the obstacle ends without intervention. */
  readonly until?: string;
}

/**
 * `drain`: the node is being drained. `drift`: the node has drifted and must be replaced. `consolidation`: consolidation may
 * disrupt the node. `nothing`: no disruption is pending; the listed obstacles would block one.
 */
export type WaitingFor = 'drain' | 'drift' | 'consolidation' | 'nothing';

export interface NodeBlockers {
  readonly node: string;
  readonly nodeClaim?: string;
  readonly nodePool?: string;
  readonly waitsFor: WaitingFor;
  /** RFC 3339. Start of the wait, or time of the first report. Absent if it is unknown. */
  readonly since?: string;
  /** Cost of the node in USD per hour. Absent if the price is unknown. */
  readonly usdPerHour?: number;
  /** Cost in USD since then. Absent if no disruption is pending. */
  readonly usdSoFar?: number;
  /**
   * Comparison of benefit and price if consolidation removed the node without a replacement. Absent if the node does not wait for
   * consolidation, or if moves have no price.
   */
  readonly worth?: MoveWorth;
  /** Maximum duration of a drain, from the NodeClaim. */
  readonly terminationGracePeriod?: string;
  /** RFC 3339. Time at which the remaining pods of a draining node are deleted. */
  readonly endsAt?: string;
  readonly blockers: readonly Blocker[];
}

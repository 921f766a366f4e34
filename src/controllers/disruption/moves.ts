/**
 * Remembers what consolidation has moved, in this process: whether it lasted, what it saved, and which moves are not to
 * be repeated soon. `move-watch.ts` follows the moves.
 *
 *   watched ──30 minutes──▶ kept
 *      └──capacity bought again for its pods, or a replacement gone──▶ undone
 */
import type { NodePool } from '../../api/nodepool.ts';
import { type Decision, decisionOf, savingsOf, shortText } from '../../engine/disruption/command.ts';
import { repeated, type Undone, workloadsOf } from '../../engine/disruption/pricing/churn.ts';
import { type Given, predictedUsd, realisedUsd, type Taken } from '../../engine/disruption/pricing/savings.ts';
import type { DisruptionReason } from '../../engine/disruption/reasons.ts';
import { timestamp } from '../../lib/times.ts';
import type { Order } from './order.ts';

/** A move that lasts this long has succeeded, and its savings are reported. */
export const WATCH_MS = 30 * 60_000;
/** How long an undone move makes its repetition dearer. */
const MEMORY_MS = 60 * 60_000;
const MOST_MOVES = 200;
const MOST_EXCUSED = 5_000;

/** Why a move did not last. */
export interface Undoing {
  readonly atMs: number;
  /** `bought-again`: one more node was bought for its pods; `replacement-gone`: one of its own nodes was deleted again. */
  readonly code: 'bought-again' | 'replacement-gone';
  readonly nodeClaim: string;
}

/** A command that was carried out. Of its objects only what is needed, or the pods of long ago would stay in memory. */
export interface Move {
  readonly id: string;
  readonly command: string;
  readonly method: string;
  readonly decision: Decision;
  readonly reason: DisruptionReason;
  /** Names of the NodeClaims that were created for it. */
  readonly replacements: readonly string[];
  readonly predictedUsdPerHour: number;
  /** NodePool of its first node, on which events are published. */
  readonly nodePool: NodePool | undefined;
  /** When its candidates were marked. */
  readonly orderedMs: number;
  /** When its candidates were deleted. */
  readonly startedMs: number;
  readonly endsMs: number;
  readonly nodePools: ReadonlySet<string>;
  readonly workloads: ReadonlySet<string>;
  /** How often it had been undone before it was made once more. */
  readonly level: number;
  /** NodeClaims of its NodePools after it, its replacements included. */
  readonly nodesLeft: number;
  /** Candidates by the name of their NodeClaim. */
  readonly given: Map<string, Given>;
  /** What was bought for it and after it, by the name of the NodeClaim. */
  readonly taken: Map<string, Taken>;
  undoing?: Undoing;
  isOver: boolean;
}

/** A move at `/debug/moves`. Money is in USD; `engine/disruption/pricing/savings.ts` defines `realisedUsd`. */
export interface MoveView {
  readonly id: string;
  readonly command: string;
  readonly method: string;
  readonly decision: string;
  readonly state: 'watched' | 'kept' | 'undone';
  readonly startedAt: string;
  /** Until when it is watched, and up to when its savings count. */
  readonly endsAt: string;
  readonly nodePools: readonly string[];
  readonly workloads: readonly string[];
  readonly undoneBefore: number;
  readonly undone?: { readonly at: string; readonly because: Undoing['code']; readonly nodeClaim: string };
  /** Until when a repetition has to be worth more. */
  readonly dearerUntil?: string;
  readonly predictedUsdPerHour: number;
  readonly predictedUsd: number;
  readonly realisedUsd: number;
}

export class MoveHistory {
  #moves: readonly Move[] = [];
  readonly #replacements = new Set<string>();
  readonly #excused = new Set<string>();

  /** Claims that a command of any method created: they are bought in place of others. */
  created(claims: readonly string[]): void {
    for (const name of claims) this.#replacements.add(name);
  }

  /** Claims that a command takes away without undoing the move that bought them: they are empty, or drifted. */
  excused(claims: readonly string[]): void {
    for (const name of claims) this.#excused.add(name);
    for (const name of this.#excused) {
      if (this.#excused.size <= MOST_EXCUSED) break;
      this.#excused.delete(name);
    }
  }

  isExcused(claim: string): boolean {
    return this.#excused.has(claim);
  }

  isReplacement(claim: string): boolean {
    return this.#replacements.has(claim);
  }

  /** Forgets replacements that are gone. */
  forget(isGone: (claim: string) => boolean): void {
    for (const name of this.#replacements) if (isGone(name)) this.#replacements.delete(name);
  }

  /** A command whose candidates have just been deleted, and the number of nodes that its NodePools keep. */
  enter(order: Order, nodesLeft: number, nowMs: number): void {
    const { candidates, reason } = order.command;
    const undone = this.undone(nowMs);
    const levels = candidates.map((candidate) => repeated(candidate, undone, nowMs)?.level ?? 0);
    const move: Move = {
      id: order.id,
      command: shortText(order.command),
      method: order.method.name,
      decision: decisionOf(order.command),
      reason,
      replacements: order.replacements,
      predictedUsdPerHour: savingsOf(order.command),
      nodePool: candidates[0]?.nodePool,
      orderedMs: order.startedMs,
      startedMs: nowMs,
      endsMs: nowMs + WATCH_MS,
      nodePools: new Set(candidates.map(({ nodePool }) => nodePool.metadata.name)),
      workloads: workloadsOf(candidates.flatMap(({ reschedulablePods }) => reschedulablePods)),
      level: reason === 'Underutilized' ? Math.max(0, ...levels) : 0,
      nodesLeft,
      given: new Map(candidates.map(({ nodeClaim, usdPerHour }) => [nodeClaim.metadata.name, { usdPerHour }])),
      taken: new Map(),
      isOver: false,
    };
    this.#moves = [...this.#moves, move].slice(-MOST_MOVES);
  }

  /** Those that are still watched, oldest first. */
  get watched(): readonly Move[] {
    return this.#moves.filter(({ isOver }) => !isOver);
  }

  /** Moves whose repetition is dearer now. Emptiness moves nothing, so it may be repeated as often as nodes are empty. */
  undone(nowMs: number): readonly Undone[] {
    const undone: Undone[] = [];
    for (const move of this.#moves) {
      const untilMs = dearerUntilMs(move);
      if (untilMs === undefined || untilMs <= nowMs) continue;
      const { nodePools, workloads, level } = move;
      undone.push({ nodePools, workloads, level: level + 1, untilMs });
    }
    return undone;
  }

  /** Latest first. */
  views(nowMs: number): readonly MoveView[] {
    return this.#moves.toReversed().map((move) => viewOf(move, nowMs));
  }
}

/** Predicted and realised savings up to now, or to the end of the watch. */
export function savingsUntil(move: Move, nowMs: number): { readonly predicted: number; readonly realised: number } {
  const account = {
    predictedUsdPerHour: move.predictedUsdPerHour,
    startedMs: move.startedMs,
    given: [...move.given.values()],
    taken: [...move.taken.values()],
  };
  const untilMs = Math.min(nowMs, move.endsMs);
  return { predicted: predictedUsd(account, untilMs), realised: realisedUsd(account, untilMs) };
}

/** Until when the move makes its repetition dearer; undefined when it does not. */
export const dearerUntilMs = ({ undoing, reason }: Move): number | undefined =>
  undoing && reason === 'Underutilized' ? undoing.atMs + MEMORY_MS : undefined;

function viewOf(move: Move, nowMs: number): MoveView {
  const { id, command, method, decision, undoing, startedMs, endsMs, predictedUsdPerHour } = move;
  const { predicted, realised } = savingsUntil(move, nowMs);
  const dearerMs = dearerUntilMs(move);
  return {
    id,
    command,
    method,
    decision,
    state: undoing ? 'undone' : move.isOver ? 'kept' : 'watched',
    startedAt: timestamp(startedMs),
    endsAt: timestamp(endsMs),
    nodePools: [...move.nodePools],
    workloads: [...move.workloads],
    undoneBefore: move.level,
    ...(undoing && {
      undone: { at: timestamp(undoing.atMs), because: undoing.code, nodeClaim: undoing.nodeClaim },
    }),
    ...(dearerMs === undefined ? {} : { dearerUntil: timestamp(dearerMs) }),
    predictedUsdPerHour,
    predictedUsd: predicted,
    realisedUsd: realised,
  };
}

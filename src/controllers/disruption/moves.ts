/**
 * Keeps the moves of consolidation by this process: duration and savings.
 * `move-watch.ts` follows the moves.
 *
 *   watched ──30 minutes──▶ kept
 *      └──capacity launched again for its pods, or a replacement gone──▶ undone
 */
import type { NodePool } from '#api/objects';
import {
  billedSavingsOf,
  type Command,
  type Decision,
  type DisruptionReason,
  decisionOf,
  type Method,
  shortText,
} from '#engine/disruption';
import { workloadsOf } from '#engine/model';
import { timestamp } from '#lib';

/** Observation period of a move. A move that lasts this long has succeeded, and its savings are reported. */
export const WATCH_MS = 30 * 60_000;
const MOST_MOVES = 200;
const MOST_EXCUSED = 5_000;

/** Node that a move removes, or that was launched because of the move. */
export interface MovedNode {
  readonly usdPerHour: number;
  /** Time at which its NodeClaim and instance were gone. Undefined while they exist. */
  readonly goneMs?: number;
}

/** Reason why a move did not last. */
interface Undoing {
  readonly atMs: number;
  /** `bought-again`: another node was launched for its pods; `replacement-gone`: one of its replacements was deleted. */
  readonly code: 'bought-again' | 'replacement-gone';
  readonly nodeClaim: string;
}

/**
 * Command that was carried out. Keeps only the required fields of its objects, because whole objects would keep old pods in
 * memory.
 */
export interface Move {
  readonly id: string;
  readonly command: string;
  readonly method: string;
  readonly decision: Decision;
  readonly reason: DisruptionReason;
  /** Names of the NodeClaims that the command created. */
  readonly replacements: readonly string[];
  readonly predictedUsdPerHour: number;
  /** NodePool of its first node, on which events are published. */
  readonly nodePool: NodePool | undefined;
  /** Time at which the candidates were marked. */
  readonly orderedMs: number;
  /** Time at which the candidates were deleted. */
  readonly startedMs: number;
  readonly endsMs: number;
  readonly nodePools: ReadonlySet<string>;
  readonly workloads: ReadonlySet<string>;
  /** Number of NodeClaims of its NodePools after this move, including its replacements. */
  readonly nodesLeft: number;
  /** Candidates by the name of their NodeClaim. */
  readonly given: Map<string, MovedNode>;
  /**
   * NodeClaims that were launched for this move and after it, by name. Replacements are launched before the start of
   * the move.
   */
  readonly taken: Map<string, MovedNode & { readonly launchedMs: number }>;
  undoing?: Undoing;
  isOver: boolean;
}

/** Move as `/debug/moves` shows it. Amounts are in USD; `savingsUntil` computes `realisedUsd`. */
export interface MoveView {
  readonly id: string;
  readonly command: string;
  readonly method: string;
  readonly decision: string;
  readonly state: 'watched' | 'kept' | 'undone';
  readonly startedAt: string;
  /** End of the observation period and of the savings that count. */
  readonly endsAt: string;
  readonly nodePools: readonly string[];
  readonly workloads: readonly string[];
  readonly undone?: { readonly at: string; readonly because: Undoing['code']; readonly nodeClaim: string };
  readonly predictedUsdPerHour: number;
  readonly predictedUsd: number;
  readonly realisedUsd: number;
}

/** Facts about a command that was carried out. */
interface Execution extends Pick<Move, 'id' | 'replacements' | 'nodesLeft'> {
  readonly method: Method;
  readonly startedMs: number;
}

export class MoveHistory {
  #moves: readonly Move[] = [];
  readonly #replacements = new Set<string>();
  readonly #excused = new Set<string>();

  /** Records the NodeClaims that a command of any method created as replacements. */
  created(claims: readonly string[]): void {
    for (const name of claims) this.#replacements.add(name);
  }

  /**
   * Records NodeClaims that a command deletes because they are empty or drifted. Such a deletion does not undo the move that
   * launched them.
   */
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

  /** Removes replacements that no longer exist. */
  forget(isGone: (claim: string) => boolean): void {
    for (const name of this.#replacements) if (isGone(name)) this.#replacements.delete(name);
  }

  /** Records a command whose candidates were just deleted. */
  enter(command: Command, { id, method, replacements, startedMs, nodesLeft }: Execution, nowMs: number): void {
    const { candidates, reason } = command;
    const move: Move = {
      id,
      command: shortText(command),
      method: method.name,
      decision: decisionOf(command),
      reason,
      replacements,
      predictedUsdPerHour: billedSavingsOf(command),
      nodePool: candidates[0]?.nodePool,
      orderedMs: startedMs,
      startedMs: nowMs,
      endsMs: nowMs + WATCH_MS,
      nodePools: new Set(candidates.map(({ nodePool }) => nodePool.metadata.name)),
      workloads: workloadsOf(candidates.flatMap(({ reschedulablePods }) => reschedulablePods)),
      nodesLeft,
      given: new Map(
        candidates.map(({ nodeClaim, billedUsdPerHour }) => [
          nodeClaim.metadata.name,
          { usdPerHour: billedUsdPerHour },
        ]),
      ),
      taken: new Map(),
      isOver: false,
    };
    this.#moves = [...this.#moves, move].slice(-MOST_MOVES);
  }

  /** Moves in their observation period, oldest first. */
  get watched(): readonly Move[] {
    return this.#moves.filter(({ isOver }) => !isOver);
  }

  /** Returns all moves, latest first. */
  views(nowMs: number): readonly MoveView[] {
    return this.#moves.toReversed().map((move) => viewOf(move, nowMs));
  }
}

const HOUR_MS = 3_600_000;
const hours = (fromMs: number, toMs: number): number => Math.max(0, toMs - fromMs) / HOUR_MS;
const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

/**
 * Returns predicted and realised savings in USD until now, or until the end of the observation period if it is earlier. The
 * realised savings are the cost of every removed node from the time at which it was gone, minus the cost of every added node from
 * its launch until it was gone. They therefore include the cost of the time in which both ran, of launches of a type that is not
 * the cheapest, and of capacity that was launched again. They may be negative.
 */
export function savingsUntil(
  { predictedUsdPerHour, startedMs, endsMs, given, taken }: Accounts,
  nowMs: number,
): { readonly predicted: number; readonly realised: number } {
  const untilMs = Math.min(nowMs, endsMs);
  const saved = [...given.values()].map(({ usdPerHour, goneMs = untilMs }) => usdPerHour * hours(goneMs, untilMs));
  const spent = [...taken.values()].map(
    ({ usdPerHour, launchedMs, goneMs = untilMs }) => usdPerHour * hours(launchedMs, Math.min(goneMs, untilMs)),
  );
  return { predicted: predictedUsdPerHour * hours(startedMs, untilMs), realised: sum(saved) - sum(spent) };
}

type Accounts = Pick<Move, 'predictedUsdPerHour' | 'startedMs' | 'endsMs' | 'given' | 'taken'>;

function viewOf(move: Move, nowMs: number): MoveView {
  const { id, command, method, decision, undoing, startedMs, endsMs, predictedUsdPerHour } = move;
  const { predicted, realised } = savingsUntil(move, nowMs);
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
    ...(undoing && {
      undone: { at: timestamp(undoing.atMs), because: undoing.code, nodeClaim: undoing.nodeClaim },
    }),
    predictedUsdPerHour,
    predictedUsd: predicted,
    realisedUsd: realised,
  };
}

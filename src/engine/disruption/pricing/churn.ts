/**
 * Detects moves that do not last. A consolidation moves the pods of some workloads off nodes of some NodePools. If the capacity
 * is launched again for these pods soon, the disruption was useless, and a repetition would be useless, too. A repetition must
 * therefore save more: as much as the Balanced policy requires, and twice that for every time that the move was undone before.
 */
import { formatDuration } from '../../../api/duration.ts';
import { remembering } from '../../../lib/remembering.ts';
import type { EnginePod } from '../../input.ts';
import { type Candidate, type Command, savingsOf } from '../command.ts';
import type { DeclineCode, Reason } from '../reasons.ts';
import { type PoolTotals, THRESHOLD } from './balance.ts';
import { type Forecast, notWorthMoving } from './move-price.ts';

/** Move that was undone and is still remembered. */
export interface Undone {
  /** Names of the NodePools of the removed nodes. */
  readonly nodePools: ReadonlySet<string>;
  /** Workloads of the moved pods; see `workloadOf`. */
  readonly workloads: ReadonlySet<string>;
  /** Number of consecutive times that the move was undone, starting at 1. */
  readonly level: number;
  readonly untilMs: number;
}

/**
 * Returns `namespace/Kind/name` of the workload that controls a pod: the Deployment for a pod of its ReplicaSet, or the pod
 * itself if it has no owner.
 */
export function workloadOf({ metadata }: EnginePod): string {
  const { name, namespace = '', labels = {}, ownerReferences = [] } = metadata;
  const owner = ownerReferences.find(({ controller }) => controller) ?? ownerReferences[0];
  if (owner === undefined) return `${namespace}/Pod/${name}`;
  const suffix = `-${labels['pod-template-hash']}`;
  if (owner.kind !== 'ReplicaSet' || !owner.name.endsWith(suffix)) return `${namespace}/${owner.kind}/${owner.name}`;
  return `${namespace}/Deployment/${owner.name.slice(0, -suffix.length)}`;
}

/** Returns one workload for each pod of a node. */
const workloadPerPod = remembering((pods: readonly EnginePod[]): readonly string[] => pods.map(workloadOf));

export const workloadsOf = (pods: readonly EnginePod[]): ReadonlySet<string> => new Set(pods.map(workloadOf));

/**
 * Returns the undone move that the removal of the candidate would repeat: a move in the same NodePool that moved the workloads
 * of at least half of the candidate's pods.
 */
export function repeated(candidate: Candidate, undone: readonly Undone[], nowMs: number): Undone | undefined {
  if (undone.length === 0) return undefined;
  const workloads = workloadPerPod(candidate.reschedulablePods);
  const repeats = ({ nodePools, workloads: moved, untilMs }: Undone): boolean =>
    untilMs > nowMs &&
    workloads.length > 0 &&
    nodePools.has(candidate.nodePool.metadata.name) &&
    2 * workloads.filter((workload) => moved.has(workload)).length >= workloads.length;
  return undone.filter(repeats).sort((a, b) => b.level - a.level || b.untilMs - a.untilMs)[0];
}

/** Tolerance for rounding errors in the shares of equal nodes. */
const EPSILON = 1e-9;

/** Data for decisions about repetitions. */
interface Memory {
  readonly undone: readonly Undone[];
  readonly nowMs: number;
  /** Totals of the NodePools that have candidates, by name. */
  readonly totals: ReadonlyMap<string, PoolTotals>;
  readonly forecasts?: ReadonlyMap<string, Forecast> | undefined;
}

/**
 * Returns the reason why the candidate must not be moved again now, regardless of the savings of a command. Returns undefined if
 * it may be moved.
 */
export const notWorthRepeating = (candidate: Candidate, memory: Memory): Reason<DeclineCode> | undefined =>
  // removal without a replacement saves most
  notWorthMoving({ candidates: [candidate], replacements: [] }, candidate.usdPerHour, memory) ??
  notWorthIt([candidate], candidate.usdPerHour, memory);

/** Returns the reason why the command, which repeats an undone move, does not save enough. Returns undefined if it does. */
export const commandNotWorthRepeating = (command: Command, memory: Memory): Reason<DeclineCode> | undefined =>
  notWorthMoving(command, savingsOf(command), memory) ?? notWorthIt(command.candidates, savingsOf(command), memory);

/**
 * Computes the score as under the Balanced policy: the saved share of the NodePools' cost divided by the moved share of their
 * disruption cost. The score must be at least `0.5 × 2^level`. Nodes with an unknown price always pass.
 */
function notWorthIt(
  candidates: readonly Candidate[],
  savedUsdPerHour: number,
  { undone, nowMs, totals }: Memory,
): Reason<DeclineCode> | undefined {
  const before = candidates
    .flatMap((candidate) => repeated(candidate, undone, nowMs) ?? [])
    .sort((a, b) => b.level - a.level || b.untilMs - a.untilMs)[0];
  if (before === undefined) return undefined;
  const pools = [...new Set(candidates.map(({ nodePool }) => nodePool.metadata.name))].map((name) => totals.get(name));
  const usdPerHour = sum(pools.map((total) => total?.usdPerHour ?? 0));
  const disruption = sum(pools.map((total) => total?.disruption ?? 0));
  if (usdPerHour <= 0 || disruption <= 0) return undefined;
  const moved = sum(candidates.map(({ rescheduleCost }) => rescheduleCost));
  const score = savedUsdPerHour / usdPerHour / (moved / disruption);
  const needed = THRESHOLD * 2 ** before.level;
  if (score >= needed - EPSILON) return undefined;
  const times = before.level === 1 ? 'once' : `${before.level} times`;
  return {
    code: 'churn',
    text: `a similar consolidation of its pods was undone ${times} recently, and the savings do not justify a repetition`,
    nearestMiss:
      `score ${score.toFixed(2)}, at least ${needed.toFixed(2)} needed ` +
      `for another ${formatDuration(Math.ceil((before.untilMs - nowMs) / 1000) * 1000)}`,
  };
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

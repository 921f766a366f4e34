/**
 * Moves that do not last. A consolidation moves the pods of some workloads off nodes of some NodePools; when the
 * capacity is bought again for them soon, the disruption was for nothing, and the same would happen once more. A
 * repetition therefore has to be worth more: as much as the Balanced policy asks for, and twice that for every time
 * that the move was undone before.
 */
import { formatDuration } from '../../../api/duration.ts';
import type { Pod } from '../../../api/kubernetes.ts';
import { remembering } from '../../../lib/remembering.ts';
import type { Candidate } from '../candidates/candidates.ts';
import { type Command, savingsOf } from '../command.ts';
import type { DeclineCode, Reason } from '../reasons.ts';
import { type PoolTotals, THRESHOLD } from './balance.ts';

/** A move that was undone, as long as it is remembered. */
export interface Undone {
  /** NodePools of the nodes that it took away, by name. */
  readonly nodePools: ReadonlySet<string>;
  /** Whose pods it moved; see `workloadOf`. */
  readonly workloads: ReadonlySet<string>;
  /** How often the move was undone in a row: 1 for the first time. */
  readonly level: number;
  readonly untilMs: number;
}

/** `namespace/Kind/name` of what keeps a pod running: the Deployment of a ReplicaSet's pod; the pod when it is alone. */
export function workloadOf({ metadata }: Pod): string {
  const { name, namespace = '', labels = {}, ownerReferences = [] } = metadata;
  const owner = ownerReferences.find(({ controller }) => controller) ?? ownerReferences[0];
  if (owner === undefined) return `${namespace}/Pod/${name}`;
  const suffix = `-${labels['pod-template-hash']}`;
  if (owner.kind !== 'ReplicaSet' || !owner.name.endsWith(suffix)) return `${namespace}/${owner.kind}/${owner.name}`;
  return `${namespace}/Deployment/${owner.name.slice(0, -suffix.length)}`;
}

/** One for each of a node's pods. */
const workloadPerPod = remembering((pods: readonly Pod[]): readonly string[] => pods.map(workloadOf));

export const workloadsOf = (pods: readonly Pod[]): ReadonlySet<string> => new Set(pods.map(workloadOf));

/** The move that taking the candidate would repeat: one of its NodePool that moved the workloads of half its pods. */
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

/** Shares of equal nodes are equal but for their last bits. */
const EPSILON = 1e-9;

/** What repetitions are judged by. */
export interface Memory {
  readonly undone: readonly Undone[];
  readonly nowMs: number;
  /** Of the NodePools that have candidates, by name. */
  readonly totals: ReadonlyMap<string, PoolTotals>;
}

/** Why the candidate is not to be moved again now, whatever a command for it saves; undefined when it may be. */
export const notWorthRepeating = (candidate: Candidate, memory: Memory): Reason<DeclineCode> | undefined =>
  // a plain deletion saves most
  notWorthIt([candidate], candidate.usdPerHour, memory);

/** Why the command, which moves pods that were moved in vain, does not save enough; undefined when it does. */
export const commandNotWorthRepeating = (command: Command, memory: Memory): Reason<DeclineCode> | undefined =>
  notWorthIt(command.candidates, savingsOf(command), memory);

/**
 * The score is the share that is saved of what the NodePools cost, divided by the share that is moved of their disruption
 * cost, as under the Balanced policy. It must be at least `0.5 × 2^level`. Nodes whose price is not known are not held back.
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
    text: `moving its pods was undone ${times} a short while ago, and is not worth a repetition`,
    nearestMiss:
      `score ${score.toFixed(2)}, at least ${needed.toFixed(2)} needed ` +
      `for another ${formatDuration(Math.ceil((before.untilMs - nowMs) / 1000) * 1000)}`,
  };
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

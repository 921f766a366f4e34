/** Compares the runs of a replay in numbers and in sentences. */
import type { ReplayResult, ReplayRun } from '#replay/run';
import { livesSentences, missingLives } from './lives.ts';
import { amount, spanText } from './units.ts';

/** Relative difference below which two costs are described as equal. */
const SAME_SHARE = 0.0005;

/** Returns true if both runs have the same length, because only such runs can be compared. */
const isComparable = (first: ReplayRun, other: ReplayRun): boolean => first.playedSeconds === other.playedSeconds;

/**
 * Returns the relative additional cost of a run compared with the first run, or undefined if they cannot be compared.
 */
export function costDifference(first: ReplayRun, other: ReplayRun): number | undefined {
  const base = first.cost.effectiveUsd;
  return isComparable(first, other) && base > 0 ? other.cost.effectiveUsd / base - 1 : undefined;
}

/** Returns one sentence for each run after the first, one for failed Jobs, and one for each unfinished run. */
export const sentences = (result: ReplayResult): readonly string[] => {
  const [first, ...others] = result.runs;
  if (first === undefined) return ['No run was replayed.'];
  const compared = result.lives ? livesSentences(result.lives) : others.map((other) => comparison(first, other));
  return [...compared, ...missingWork(result), ...unfinishedSentences(result)];
};

/** Returns a sentence if Jobs failed in one run more than in another. The costs of different work cannot be compared. */
function missingWork({ runs, lives }: ReplayResult): readonly string[] {
  const pods = lives
    ? lives.sets.map(({ name, mean }) => ({ name, count: mean?.unfinishedPods ?? 0 }))
    : runs.map(({ name, failedJobs }) => ({ name, count: failedJobs.pods }));
  if (pods.every(({ count }) => count === pods[0]?.count)) return [];
  const counts = pods.map(({ name, count }) => `${name} ${amount(count)}`).join(', ');
  return [`Failed Jobs left pods that never succeeded, and costs do not include their work: ${counts}.`];
}

/** Returns a sentence for each run that was stopped early, or for the lives that are missing. */
export const unfinishedSentences = ({ runs, trace, lives }: ReplayResult): readonly string[] =>
  lives !== undefined
    ? missingLives(lives)
    : runs
        .filter(({ isComplete }) => !isComplete)
        .map(
          ({ name, playedSeconds }) =>
            `${name} is incomplete: it was stopped after ${spanText(playedSeconds)} of ${spanText(trace.seconds)}, and its figures cover only this time.`,
        );

function comparison(first: ReplayRun, other: ReplayRun): string {
  if (!isComparable(first, other))
    return `${other.name} and ${first.name} cannot be compared, because they cover ${spanText(other.playedSeconds)} and ${spanText(first.playedSeconds)} of the trace.`;
  const clauses = [`${other.name} ${costClause(first, other)}`, evictionClause(first.evictions, other.evictions)];
  const waiting = waitingClause(first, other);
  return `${clauses.join(waiting === undefined ? ' and ' : ', ')}${waiting === undefined ? '' : ` and ${waiting}`}.`;
}

function costClause(first: ReplayRun, other: ReplayRun): string {
  const difference = costDifference(first, other);
  if (difference === undefined)
    return other.cost.effectiveUsd > 0 ? `costs money, unlike ${first.name}` : `costs $0, as ${first.name} does`;
  if (Math.abs(difference) < SAME_SHARE) return `costs the same as ${first.name}`;
  return `costs ${Math.abs(difference * 100).toFixed(1)} % ${difference < 0 ? 'less' : 'more'} than ${first.name}`;
}

function evictionClause(first: number, other: number): string {
  if (first === other) return first === 0 ? 'evicts no pods either' : 'evicts as many pods';
  if (first === 0) return `evicts ${other} ${other === 1 ? 'pod' : 'pods'} instead of none`;
  if (other === 0) return 'evicts no pods';
  const ratio = other / first;
  const times = ratio >= 10 ? Math.round(ratio) : Number(ratio.toFixed(ratio < 0.1 ? 2 : 1));
  return times === 1 ? 'evicts about as many pods' : `evicts ${times} times as many pods`;
}

/** Ratio of waiting times above which a sentence mentions them. */
const NOTABLE = 2;

function waitingClause(first: ReplayRun, other: ReplayRun): string | undefined {
  const [before, after] = [first.waiting.p95, other.waiting.p95];
  const isNotable = Math.max(before, after) >= 1 && (after > before * NOTABLE || before > after * NOTABLE);
  return isNotable ? `95 % of its pods wait at most ${spanText(after)} instead of ${spanText(before)}` : undefined;
}

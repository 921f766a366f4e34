/** Sets of candidates that contain all nodes of the gangs that run on them. */
import type { Candidate } from './command.ts';
import type { DeclineCode, Reason } from './reasons.ts';

/** Nodes that must be disrupted together, because they run the pods of one or several gangs. */
export interface GangNodes {
  /** The gangs, for reasons. */
  readonly text: string;
  readonly candidates: readonly Candidate[];
}

export type Gangs = ReadonlyMap<string, GangNodes>;

export const NO_GANGS: Gangs = new Map();

const poolOf = ({ nodePool }: Candidate): string => nodePool.metadata.name;

/** Returns the nodes that must be disrupted together with a candidate, with the candidate. */
export const unitOf = (candidate: Candidate, gangs: Gangs | undefined): readonly Candidate[] =>
  gangs?.get(candidate.providerId)?.candidates ?? [candidate];

/** Returns true if the budgets allow the disruption of all nodes of a unit. */
export function fitsBudgets(unit: readonly Candidate[], budgets: ReadonlyMap<string, number>): boolean {
  if (unit.length === 1) return unit.every((only) => (budgets.get(poolOf(only)) ?? 0) > 0);
  return [...Map.groupBy(unit, poolOf)].every(([pool, { length }]) => length <= (budgets.get(pool) ?? 0));
}

/** Returns the candidates, except for members of gangs with nodes that are not candidates. */
export function wholeGangs(
  candidates: readonly Candidate[],
  gangs: Gangs = NO_GANGS,
  left: Candidate[] = [],
): readonly Candidate[] {
  if (gangs.size === 0) return candidates;
  const ids = new Set(candidates.map(({ providerId }) => providerId));
  return candidates.filter((candidate) => {
    const isWhole = unitOf(candidate, gangs).every(({ providerId }) => ids.has(providerId));
    if (!isWhole) left.push(candidate);
    return isWhole;
  });
}

/** Returns the first candidates, at least `count`, so that they include whole gangs. The nodes of a gang are adjacent. */
export function wholePrefix(
  candidates: readonly Candidate[],
  count: number,
  gangs: Gangs | undefined,
): readonly Candidate[] {
  let end = Math.min(count, candidates.length);
  const last = candidates[end - 1];
  const unit = new Set(last === undefined ? [] : unitOf(last, gangs));
  for (let next = candidates[end]; next !== undefined && unit.has(next); next = candidates[end]) end++;
  return candidates.slice(0, end);
}

/** Returns the reason for a node that moves only together with the remaining nodes of its gang. */
export const withGang = ({ providerId }: Candidate, gangs: Gangs | undefined, why: string): Reason<DeclineCode> => ({
  code: 'gang',
  text: wholeText(gangs?.get(providerId)?.text ?? '', why),
});

export const wholeText = (gang: string, why: string): string => `${gang} moves only as a whole: ${why}`;

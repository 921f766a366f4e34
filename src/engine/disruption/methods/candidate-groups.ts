/** Groups candidates that can probably be disrupted together, by NodePool, zone and capacity type. */
import type { Candidate } from '../command.ts';
import { type Gangs, wholeGangs } from '../gang-nodes.ts';

type Trait = (candidate: Candidate) => string;

const poolOf: Trait = ({ nodePool }) => nodePool.metadata.name;
const zoneOf: Trait = ({ zone }) => zone ?? '';
const capacityTypeOf: Trait = ({ capacityType }) => capacityType ?? '';

const TRAITS: readonly Trait[] = [
  poolOf,
  zoneOf,
  capacityTypeOf,
  (candidate) => `${poolOf(candidate)} ${zoneOf(candidate)} ${capacityTypeOf(candidate)}`,
];

/**
 * Returns distinct groups of at least two candidates, without the group of all candidates. Groups are sorted by cost, highest
 * first. Within a group, candidates keep their order. Groups have only whole gangs.
 */
export function groupsOf(candidates: readonly Candidate[], gangs?: Gangs): readonly (readonly Candidate[])[] {
  const byTrait = TRAITS.flatMap((trait) => [...Map.groupBy(candidates, trait).values()]);
  const groups = byTrait.map((group) => wholeGangs(group, gangs));
  const distinct = new Map<string, readonly Candidate[]>();
  for (const group of groups)
    if (group.length > 1 && group.length < candidates.length)
      distinct.set(group.map(({ providerId }) => providerId).join(' '), group);
  return [...distinct.values()].sort((a, b) => costOf(b) - costOf(a) || compareNames(a, b));
}

export const costOf = (candidates: readonly Candidate[]): number =>
  candidates.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0);

/** Fixed cost of each simulation, in moved pods. */
const MOVES_PER_SIMULATION = 20;

/**
 * Returns the work of a simulation in moved pods. Searches are limited by work instead of time, so that their results do not
 * depend on speed.
 */
export const movesOf = (candidates: readonly Candidate[]): number =>
  candidates.reduce((sum, { reschedulablePods }) => sum + reschedulablePods.length, MOVES_PER_SIMULATION);

const compareNames = ([a]: readonly Candidate[], [b]: readonly Candidate[]): number =>
  (a?.name ?? '') < (b?.name ?? '') ? -1 : 1;

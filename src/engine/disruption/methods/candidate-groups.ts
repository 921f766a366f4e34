/** Candidates that are likely to go together: those of a NodePool, of a zone, of a capacity type. */
import type { Candidate } from '../candidates/candidates.ts';

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

/** Groups of at least two, other than all of them, each once; those that cost most first, and in the order given within. */
export function groupsOf(candidates: readonly Candidate[]): readonly (readonly Candidate[])[] {
  const groups = TRAITS.flatMap((trait) => [...Map.groupBy(candidates, trait).values()]);
  const distinct = new Map<string, readonly Candidate[]>();
  for (const group of groups)
    if (group.length > 1 && group.length < candidates.length)
      distinct.set(group.map(({ providerId }) => providerId).join(' '), group);
  return [...distinct.values()].sort((a, b) => costOf(b) - costOf(a) || compareNames(a, b));
}

export const costOf = (candidates: readonly Candidate[]): number =>
  candidates.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0);

/** Something counts for each simulation, whatever it moves. */
const MOVES_PER_SIMULATION = 20;

/** Work of a simulation, by which searches are bounded, so that they find the same in any time: pods moved. */
export const movesOf = (candidates: readonly Candidate[]): number =>
  candidates.reduce((sum, { reschedulablePods }) => sum + reschedulablePods.length, MOVES_PER_SIMULATION);

const compareNames = ([a]: readonly Candidate[], [b]: readonly Candidate[]): number =>
  (a?.name ?? '') < (b?.name ?? '') ? -1 : 1;

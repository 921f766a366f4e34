/** What the methods that make the cluster cheaper have in common. */
import { isTrue } from '../../api/conditions.ts';
import { NEVER } from '../../api/duration.ts';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL } from '../../api/labels.ts';
import type { InstanceType, PlannedClaim } from '../model.ts';
import { type Candidate, isEmpty } from './candidates.ts';
import { type Command, decisionOf, savingsText, shortText } from './command.ts';
import { type Deliberation, type FilterVerdict, type Note, type Validated, withinBudgets } from './method.ts';
import { Replacement } from './pricefilter.ts';
import { strandedText } from './simulation.ts';

/** A spot node is replaced by a spot node only when so many cheaper types make it unlikely to happen again soon. */
const SPOT_FLEXIBILITY = 15;

const no = (because?: string): FilterVerdict => ({ eligible: false, ...(because === undefined ? {} : { because }) });

/** Whether a node may be consolidated while pods run on it. */
export function consolidationFilter(candidate: Candidate): FilterVerdict {
  const { nodePool, nodeClaim, instanceType, capacityType, zone, stateNode } = candidate;
  const { consolidateAfter, consolidationPolicy } = nodePool.spec.disruption ?? {};
  const pool = `NodePool "${nodePool.metadata.name}"`;
  if (nodePool.spec.replicas !== undefined) return no();
  if (instanceType === undefined) {
    return no(`Instance Type "${stateNode.labels[INSTANCE_TYPE_LABEL] ?? ''}" not found`);
  }
  if (!capacityType) return no(`Node does not have label "${CAPACITY_TYPE_LABEL}"`);
  if (!zone) return no(`Node does not have label "${ZONE_LABEL}"`);
  if (consolidateAfter === NEVER) return no(`${pool} has consolidation disabled`);
  if (isEmpty(candidate)) return no();
  if (consolidationPolicy === 'WhenEmpty') {
    return no(`${pool} has consolidation policy WhenEmpty, but node is not empty`);
  }
  return { eligible: isTrue(nodeClaim, 'Consolidatable') };
}

export interface Consolidation {
  readonly command?: Command;
  /** Instance types of the replacement's NodePool. */
  readonly types?: readonly InstanceType[];
  readonly notes: readonly Note[];
}

/** The command that takes these candidates away for less money than they cost, if there is one. */
export async function consolidate(
  candidates: readonly Candidate[],
  { simulate, spotToSpot }: Deliberation,
): Promise<Consolidation> {
  const [only, ...others] = candidates;
  const cannot = (message: string): Consolidation => ({
    notes: only && others.length === 0 ? [{ kind: 'Unconsolidatable', candidate: only, message }] : [],
  });
  const simulation = await simulate(candidates, { sparesQuietNodes: true });
  if (simulation === undefined) return { notes: [] };
  const { claims, plan, pools, stranded } = simulation;
  if (stranded.size > 0) return cannot(strandedText(stranded));
  const base = { reason: 'Underutilized' as const, candidates, plan };
  const [claim] = claims;
  if (claim === undefined) return { command: { ...base, replacements: [] }, notes: [] };
  if (claims.length > 1) return cannot(`Can't remove without creating ${claims.length} candidates`);
  const types = pools.find(({ nodePool }) => nodePool.metadata.name === claim.nodePool)?.instanceTypes ?? [];
  const found = cheaper(Replacement.of(claim, types), candidates, spotToSpot);
  if (typeof found === 'string') return cannot(found);
  const command: Command = { ...base, replacements: [found] };
  return {
    command,
    types,
    notes: candidates.map((candidate) => ({
      kind: 'ConsolidationCandidate',
      candidate,
      message: `Consolidation candidate: ${eventText(command, candidate)} ${savingsText(command)}`,
      dedupe: [shortText(command)],
    })),
  };
}

/** For a node's own events: of a command for many nodes, its part. */
const eventText = (command: Command, { name }: Candidate): string =>
  command.candidates.length === 1
    ? shortText(command)
    : `${decisionOf(command)}: [${name}] (part of ${command.candidates.length}-node consolidation)`;

/** The replacement narrowed to what saves money, or why it cannot. */
function cheaper(
  replacement: Replacement,
  candidates: readonly Candidate[],
  spotToSpot: boolean,
): PlannedClaim | string {
  const price = candidates.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0);
  const allSpot = candidates.every(({ capacityType }) => capacityType === 'spot');
  if (allSpot && replacement.admits('spot')) {
    if (spotToSpot) return cheaperSpot(replacement.only('spot'), price, candidates.length);
    return "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node";
  }
  const kept = filtered(replacement, price);
  if (typeof kept === 'string') return kept;
  // A spot launch that fails must not fall through to a dearer on-demand node.
  return (kept.admits('spot') && kept.admits('on-demand') ? kept.only('spot') : kept).claim;
}

function filtered(replacement: Replacement, price: number): Replacement | string {
  const kept = replacement.cheaperThan(price);
  if (typeof kept === 'string') return `Filtering by price: ${kept}`;
  return kept.types.length === 0 ? "Can't replace with a cheaper node" : kept;
}

function cheaperSpot(replacement: Replacement, price: number, candidates: number): PlannedClaim | string {
  const kept = filtered(replacement, price);
  if (typeof kept === 'string') return kept;
  if (candidates > 1) return kept.claim;
  if (kept.types.length < SPOT_FLEXIBILITY) {
    return `SpotToSpotConsolidation requires ${SPOT_FLEXIBILITY} cheaper instance type options than the current candidate to consolidate, got ${kept.types.length}`;
  }
  return kept.first(SPOT_FLEXIBILITY).claim;
}

/** Whether the candidates are still there, undisturbed and within budget; and then whether the plan still works. */
export async function validateConsolidation(command: Command, later: Deliberation): Promise<Validated> {
  const before = stillEligible(command, later);
  if ('failure' in before) return before;
  const simulation = await later.simulate(before.candidates, { sparesQuietNodes: true });
  const claims = simulation?.claims ?? [];
  const holds = simulation !== undefined && simulation.stranded.size === 0 && matches(command, claims);
  if (!holds) {
    const text = 'scheduling simulation produced new results';
    return { failure: { category: 'scheduling', text, failed: 0 }, dropped: 0 };
  }
  const after = stillEligible(command, await later.refresh());
  return 'failure' in after ? after : { command, dropped: 0 };
}

/** The planned types must still all be possible: anything may be launched of them. */
function matches({ replacements }: Command, claims: readonly PlannedClaim[]): boolean {
  const [planned] = replacements;
  const [now] = claims;
  if (planned === undefined || now === undefined) return replacements.length === claims.length;
  const possible = new Set(now.instanceTypes);
  return claims.length === 1 && planned.instanceTypes.every((name) => possible.has(name));
}

function stillEligible(
  command: Command,
  { candidates, budgets, nowMs }: Deliberation,
): { readonly candidates: readonly Candidate[] } | (Validated & { readonly failure: object }) {
  const failed = command.candidates.length;
  const proposed = new Set(command.candidates.map(({ name }) => name));
  const still = candidates.filter(({ name }) => proposed.has(name));
  if (still.length !== failed) {
    return { failure: { category: 'churn', text: `${failed} candidates are no longer valid`, failed }, dropped: 0 };
  }
  if (still.some(({ stateNode }) => stateNode.nominatedUntilMs > nowMs)) {
    return { failure: { category: 'budget', text: 'a candidate was nominated during validation', failed }, dropped: 0 };
  }
  if (withinBudgets(still, budgets).constrained) {
    const text = 'a candidate can no longer be disrupted without violating budgets';
    return { failure: { category: 'budget', text, failed }, dropped: 0 };
  }
  return { candidates: still };
}

/** Shared code of the methods that reduce the cost of the cluster. */

import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, isTrue, ZONE_LABEL } from '#api/objects';
import { consolidationPolicy, NEVER } from '#api/values';
import { RESERVED } from '../../instance-types.ts';
import type { InstanceType, PlannedClaim } from '../../model.ts';
import { coveredTypes } from '../../price-book/covered-types.ts';
import { nodeUsdPerHour } from '../../purchase.ts';
import { singleZone, worsensBalance } from '../../zone-balance.ts';
import { consolidateAfterOf } from '../candidates/consolidate-after.ts';
import {
  addedRiskOf,
  billedSavingsOf,
  type Candidate,
  type Command,
  decisionOf,
  isEmpty,
  isTooRisky,
  savingsOf,
  savingsText,
  shortText,
} from '../command.ts';
import {
  type DisruptionEvent,
  declined,
  type Method,
  type MethodInput,
  refusalBy,
  unconsolidatable,
  type Validated,
  withinBudgets,
} from '../method.ts';
import type { Evaluation } from '../pricing/balance.ts';
import { Replacement } from '../pricing/price-filter.ts';
import type { DeclineCode, Reason } from '../reasons.ts';
import { type SimulationOptions, strandedReason } from '../simulations/simulation.ts';
import { costOf } from './candidate-groups.ts';

/**
 * Minimum number of cheaper types for the replacement of a spot node by a spot node. Fewer types would make another replacement
 * soon too likely.
 */
const SPOT_FLEXIBILITY = 15;

/** Returns the minimum number of cheaper types for a spot node of the NodePool that replaces spot nodes. */
export const spotFlexibility = ({ nodePool }: Pick<PlannedClaim, 'nodePool'>, { pools }: Pick<MethodInput, 'pools'>) =>
  pools.get(nodePool)?.spot?.consolidationTypes ?? SPOT_FLEXIBILITY;

/** Decides if a node may be consolidated while pods run on it. */
export function consolidationFilter(candidate: Candidate): ReturnType<Method['filter']> {
  const { nodePool, nodeClaim, instanceType, capacityType, zone, stateNode } = candidate;
  const { consolidationPolicy } = nodePool.spec.disruption ?? {};
  const pool = `NodePool "${nodePool.metadata.name}"`;
  const type = stateNode.labels[INSTANCE_TYPE_LABEL] ?? '';
  const whenEmpty = `${pool} has consolidation policy WhenEmpty, but node is not empty`;
  const unlabelled = (label: string): string => `Node does not have label "${label}"`;
  return refusalBy([
    [nodePool.spec.replicas === undefined, declined('static-pool', 'its NodePool has a fixed number of nodes')],
    [instanceType !== undefined, unconsolidatable('unknown-instance-type', `Instance Type "${type}" not found`)],
    [Boolean(capacityType), unconsolidatable('no-capacity-type', unlabelled(CAPACITY_TYPE_LABEL))],
    [Boolean(zone), unconsolidatable('no-zone', unlabelled(ZONE_LABEL))],
    [
      consolidateAfterOf(nodePool) !== NEVER,
      unconsolidatable('consolidation-disabled', `${pool} has consolidation disabled`),
    ],
    [!isEmpty(candidate), declined('empty', 'the node has no pods that must be rescheduled')],
    [consolidationPolicy !== 'WhenEmpty', unconsolidatable('only-when-empty', whenEmpty)],
    [isTrue(nodeClaim, 'Consolidatable'), declined('not-consolidatable', 'its NodeClaim is not Consolidatable yet')],
  ]);
}

export interface Consolidation {
  readonly command?: Command;
  /** Instance types of the replacement's NodePool. */
  readonly types?: readonly InstanceType[];
  /** Names of the types that would be cheaper, before the replacement was narrowed to one capacity type. */
  readonly cheaper?: readonly string[];
  /** Reason why there is no command. */
  readonly reason?: Reason<DeclineCode>;
  readonly events: readonly DisruptionEvent[];
}

/** Computes the command that removes these candidates and reduces the cost, if there is such a command. */
export async function consolidate(candidates: readonly Candidate[], input: MethodInput): Promise<Consolidation> {
  const { simulate, spotToSpot, consolidation, committed } = input;
  const [only, ...others] = candidates;
  const cannot = (reason: Reason<DeclineCode>): Consolidation => ({
    reason,
    events: only && others.length === 0 ? [{ kind: 'Unconsolidatable', candidate: only, message: reason.text }] : [],
  });
  // for several nodes, the exact number of replacements does not matter if it is above one
  const options = { sparesQuietNodes: true, ...(others.length > 0 ? { mostClaims: 1 } : {}) };
  const simulation = await simulate(candidates, options);
  if (simulation === undefined) return { events: [] };
  const { claims, plan, pools, stranded } = simulation;
  if (stranded.size > 0) return cannot(strandedReason(stranded));
  const lostUsdPerHour = lostBy(candidates, committed);
  const preferencesUsdPerHour = plan.preferences?.lostUsdPerHour ?? 0;
  const base = {
    reason: 'Underutilized' as const,
    candidates,
    plan,
    ...(lostUsdPerHour > 0 && { lostUsdPerHour }),
    ...(preferencesUsdPerHour > 0 && { preferencesUsdPerHour }),
  };
  const [claim] = claims;
  if (claim === undefined) {
    const command: Command = { ...base, replacements: [] };
    const reason = savesNothing(command);
    return reason === undefined ? { command, events: [] } : cannot(reason);
  }
  if (claims.length > 1) {
    const text = `Can't remove without creating ${claims.length} candidates`;
    return cannot({ code: 'several-replacements', text });
  }
  const listed = pools.find(({ nodePool }) => nodePool.metadata.name === claim.nodePool)?.instanceTypes ?? [];
  const types = committed ? coveredTypes(listed, committed.leftWithout(idsOf(candidates))) : listed;
  const replacement = Replacement.of(claim, types);
  const share = zoneShare(candidates, [claim], input);
  const usdPerHour = (costOf(candidates) - lostUsdPerHour) * (1 - share) - preferencesUsdPerHour;
  if (usdPerHour <= 0) return cannot(keepsPreferences(preferencesUsdPerHour, costOf(candidates)));
  const flexibility = candidates.length > 1 ? undefined : spotFlexibility(claim, input);
  const found =
    (types === listed ? undefined : coveredReplacement(replacement, usdPerHour)) ??
    narrowed(replacement, candidates, { usdPerHour, spotToSpot, consolidation, flexibility });
  if ('code' in found) return cannot(share > 0 ? withZoneShare(found, share) : found);
  const command: Command = { ...base, replacements: [found.replacement.claim] };
  if (isTooRisky(command)) return cannot(tooRisky(command));
  return {
    command,
    types,
    cheaper: found.cheaper.names,
    events: candidateEvents(command),
  };
}

/** Returns events for the NodePools that score commands. */
export const poolApprovals = (views: readonly Evaluation[]): readonly DisruptionEvent[] =>
  views
    .filter(({ score }) => score !== undefined)
    .map(({ nodePool, text }) => ({ kind: 'ConsolidationApproved', nodePool, message: text }));

/** Returns events for the nodes of a command under evaluation. */
export const candidateEvents = (command: Command): readonly DisruptionEvent[] =>
  command.candidates.map((candidate) => ({
    kind: 'ConsolidationCandidate',
    candidate,
    message: `Consolidation candidate: ${eventText(command, candidate)} ${savingsText(command)}`,
    dedupe: [shortText(command)],
  }));

/** Returns the text for an event on one node. For a command with many nodes, describes only this node's part. */
const eventText = (command: Command, { name }: Candidate): string =>
  command.candidates.length === 1
    ? shortText(command)
    : `${decisionOf(command)}: [${name}] (part of ${command.candidates.length}-node consolidation)`;

interface Narrowed {
  /** Replacement with all types that would be cheaper. */
  readonly cheaper: Replacement;
  /** Replacement with only the cheaper types that may be launched. */
  readonly replacement: Replacement;
}

/** Minimum savings in USD per hour. Smaller values are rounding errors of sums. */
const LEAST_SAVINGS = 1e-6;

const NOTHING_SAVED: Reason<DeclineCode> = {
  code: 'not-cheaper',
  text: 'Savings Plans or reserved instances cover the node, and their cost remains after its removal',
};

/** Returns the reason why a removal without replacement does not save money, if it does not. */
function savesNothing(command: Command): Reason<DeclineCode> | undefined {
  const { candidates, lostUsdPerHour = 0, preferencesUsdPerHour = 0 } = command;
  if (lostUsdPerHour + preferencesUsdPerHour === 0 || savingsOf(command) > LEAST_SAVINGS) return undefined;
  return preferencesUsdPerHour > 0 ? keepsPreferences(preferencesUsdPerHour, costOf(candidates)) : NOTHING_SAVED;
}

const keepsPreferences = (usdPerHour: number, price: number): Reason<DeclineCode> => ({
  code: 'preferences',
  text: `Pods would lose preferences that are worth $${usdPerHour.toFixed(4)}/h`,
  nearestMiss: `the node costs $${price.toFixed(4)}/h`,
});

function tooRisky(command: Command): Reason<DeclineCode> {
  const risk = `$${addedRiskOf(command).toFixed(4)}/h`;
  return {
    code: 'spot-risk',
    text: `Interruptions of its replacement are expected to cost ${risk} more, because its spot pool was interrupted recently`,
    nearestMiss: `savings of $${billedSavingsOf(command).toFixed(4)}/h`,
  };
}

const idsOf = (candidates: readonly Candidate[]): readonly string[] => candidates.map(({ providerId }) => providerId);

/** Returns the part of the candidates' price that their removal does not save, in USD per hour. */
export const lostBy = (candidates: readonly Candidate[], committed: MethodInput['committed']): number =>
  committed?.lost(idsOf(candidates)) ?? 0;

/**
 * Returns the share of the nodes' price that a move must save because it makes the zones of a NodePool less even. Returns 0 for
 * other moves.
 */
export function zoneShare(
  candidates: readonly Candidate[],
  claims: readonly PlannedClaim[],
  { pools, totals }: Pick<MethodInput, 'pools' | 'totals'>,
): number {
  const shares = [...new Set(claims.map(({ nodePool }) => nodePool))].map((name) => {
    const { zoneBalance = 0 } = pools.get(name) ?? {};
    if (zoneBalance === 0) return 0;
    const leaving = candidates.flatMap(({ nodePool, zone }) => (nodePool.metadata.name === name ? (zone ?? []) : []));
    const arriving = claims.flatMap((claim) => (claim.nodePool === name ? (singleZone(claim) ?? []) : []));
    return worsensBalance(totals.get(name)?.zones, { leaving, arriving }) ? zoneBalance : 0;
  });
  return Math.max(0, ...shares);
}

const withZoneShare = (reason: Reason<DeclineCode>, share: number): Reason<DeclineCode> => ({
  ...reason,
  text: `${reason.text} that saves more than ${Number((share * 100).toFixed(2))} %, as a move to a zone with more nodes must`,
});

/** Returns an on-demand replacement if free commitments make it cheaper than the candidates and than all alternatives. */
function coveredReplacement(replacement: Replacement, usdPerHour: number): Narrowed | undefined {
  if (!replacement.admits('on-demand')) return undefined;
  const others = ['spot', RESERVED].filter((capacityType) => replacement.admits(capacityType));
  const limit = Math.min(usdPerHour, ...others.map((capacityType) => replacement.only(capacityType).worstOf(1)));
  const covered = replacement.only('on-demand').cheaperThan(limit);
  return typeof covered === 'string' || covered.count === 0 ? undefined : { cheaper: covered, replacement: covered };
}

interface NarrowingOptions extends Pick<MethodInput, 'spotToSpot' | 'consolidation'> {
  /** Part of the candidates' cost that their removal saves. */
  readonly usdPerHour: number;
  /** Minimum number of cheaper types if a spot node replaces spot nodes. Undefined for several candidates. */
  readonly flexibility: number | undefined;
}

/** Narrows the replacement to the types that reduce the cost. Returns the reason if this is not possible. */
function narrowed(
  replacement: Replacement,
  candidates: readonly Candidate[],
  { usdPerHour: price, spotToSpot, consolidation, flexibility }: NarrowingOptions,
): Narrowed | Reason<DeclineCode> {
  const allSpot = candidates.every(({ capacityType }) => capacityType === 'spot');
  if (allSpot && replacement.admits('spot')) {
    if (spotToSpot) return narrowedSpot(replacement.only('spot'), price, flexibility);
    const text = "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node";
    return { code: 'spot-to-spot-disabled', text };
  }
  const cheaper = filtered(replacement, price);
  if ('code' in cheaper) return cheaper;
  const { fallsBackToOnDemand } = consolidationPolicy(consolidation);
  const one = fallsBackToOnDemand ? cheaper.spotOrOnDemand(price) : cheaper.spotAlone();
  return typeof one === 'string' ? tooFew(one) : { cheaper, replacement: one };
}

function filtered(replacement: Replacement, price: number): Replacement | Reason<DeclineCode> {
  const kept = replacement.cheaperThan(price);
  if (typeof kept === 'string') return tooFew(kept);
  if (kept.count > 0) return kept;
  const { cheapest } = replacement.claim;
  const usdPerHour = nodeUsdPerHour(replacement.claim);
  const nearestMiss = `the cheapest replacement is ${cheapest} at $${usdPerHour.toFixed(4)}/h, the node costs $${price.toFixed(4)}/h`;
  return { code: 'not-cheaper', text: "Can't replace with a cheaper node", nearestMiss };
}

const tooFew = (text: string): Reason<DeclineCode> => ({ code: 'min-values', text: `Filtering by price: ${text}` });

function narrowedSpot(
  replacement: Replacement,
  price: number,
  flexibility: number | undefined,
): Narrowed | Reason<DeclineCode> {
  const cheaper = filtered(replacement, price);
  if ('code' in cheaper) return cheaper;
  if (flexibility === undefined) return { cheaper, replacement: cheaper };
  const { count } = cheaper;
  if (count < flexibility) {
    const text = `SpotToSpotConsolidation requires ${flexibility} cheaper instance type options than the current candidate to consolidate, got ${count}`;
    return { code: 'spot-to-spot-flexibility', text, nearestMiss: `${count} of ${flexibility} types` };
  }
  return { cheaper, replacement: cheaper.first(flexibility) };
}

/** Checks that the candidates still exist, are not nominated and are within budget, and then that the plan is still valid. */
export async function validateConsolidation(
  command: Command,
  later: MethodInput,
  how: Pick<SimulationOptions, 'packing' | 'packingWork'> = {},
): Promise<Validated> {
  const before = stillEligible(command, later);
  if ('failure' in before) return before;
  const simulation = await later.simulate(before.candidates, { sparesQuietNodes: true, ...how });
  const claims = simulation?.claims ?? [];
  const holds = simulation !== undefined && simulation.stranded.size === 0 && matches(command, claims);
  if (!holds) {
    const text = 'scheduling simulation produced new results';
    return { failure: { category: 'scheduling', text, failed: 0 }, dropped: 0 };
  }
  const after = stillEligible(command, await later.refresh());
  return 'failure' in after ? after : { command, dropped: 0 };
}

/**
 * Checks that the number of nodes is as planned, and that all planned types of each replacement are still possible, because any
 * of them may be launched.
 */
function matches({ replacements }: Command, claims: readonly PlannedClaim[]): boolean {
  if (replacements.length !== claims.length) return false;
  const left = claims.map(({ instanceTypes }) => new Set(instanceTypes));
  // replacements with more types are harder to match
  const inOrder = replacements.toSorted((a, b) => b.instanceTypes.length - a.instanceTypes.length);
  return inOrder.every(({ instanceTypes }) => {
    const at = left.findIndex((possible) => instanceTypes.every((name) => possible.has(name)));
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

function stillEligible(
  command: Command,
  { candidates, budgets, gangs, nowMs }: MethodInput,
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
  if (withinBudgets(still, budgets, gangs).constrained) {
    const text = 'a candidate can no longer be disrupted without violating budgets';
    return { failure: { category: 'budget', text, failed }, dropped: 0 };
  }
  return { candidates: still };
}

/** Computes the cost and the savings of the removal of a node. */

import { CAPACITY_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import { readDurationOrNever } from '#api/values';
import { own, remembering, timeOf } from '#lib';
import { billedUsdPerHour } from '../../billed-price.ts';
import { surplusUsdPerHour } from '../../cpu-burst.ts';
import type { EngineClaim, EnginePod } from '../../input.ts';
import { requirementsOf } from '../../instance-types.ts';
import type { EngineNode, InstanceType, Offering, StateNode } from '../../model.ts';
import { evictionCost, isTerminal } from '../../pods.ts';
import { amountIn, podRequests, resourcesOf } from '../../resources.ts';

/** Cost of the removal of a node without pods. */
export const BASE_COST = 1;

/**
 * Returns the remaining part of the NodeClaim's lifetime, from 1 at creation to 0 at expiry. Returns 1 if the NodeClaim never
 * expires or its age is unknown.
 */
export function lifetimeRemaining(claim: EngineClaim, nowMs: number): number {
  const lifeMs = readDurationOrNever(claim.spec.expireAfter) ?? Number.POSITIVE_INFINITY;
  if (lifeMs === Number.POSITIVE_INFINITY) return 1;
  if (lifeMs <= 0) return 0;
  const ageMs = nowMs - (timeOf(claim.metadata.creationTimestamp) || nowMs);
  return Math.min(1, Math.max(0, (lifeMs - ageMs) / lifeMs));
}

export const disruptionCost = (pods: readonly EnginePod[], claim: EngineClaim, nowMs: number): number =>
  pods.reduce((sum, pod) => sum + evictionCost(pod), 0) * lifetimeRemaining(claim, nowMs);

/** Returns the cost of moving the pods. Pods with a negative eviction cost count as 0. */
export const rescheduleCost = (pods: readonly EnginePod[]): number =>
  pods.reduce((sum, pod) => sum + Math.max(0, evictionCost(pod)), BASE_COST);

/** Returns the offering with which the node was launched, or undefined if it is unknown. */
const offeringOfNode = ({ labels }: Pick<EngineNode, 'labels'>, type: InstanceType | undefined): Offering | undefined =>
  type?.offerings.find((candidate) => {
    const requirements = requirementsOf(candidate);
    return [ZONE_LABEL, CAPACITY_TYPE_LABEL].every((key) => requirements.get(key).has(own(labels, key) ?? ''));
  });

/** Returns the expected cost of interruptions of a node in USD per hour. Most nodes have 0. */
export const nodeSpotRisk = (node: Pick<EngineNode, 'labels'>, type: InstanceType | undefined): number =>
  offeringOfNode(node, type)?.spotRiskUsdPerHour ?? 0;

/**
 * Returns the billed price of a node without commitments, in USD per hour. Returns 0 if the price of the instance is unknown.
 */
export function billedNodePrice(
  node: Pick<EngineNode, 'labels'>,
  type: InstanceType | undefined,
  chargesUsdPerHour: number,
): number {
  const usdPerHour = offeringOfNode(node, type)?.usdPerHour ?? Number.NaN;
  return Number.isNaN(usdPerHour) ? 0 : billedUsdPerHour({ usdPerHour, chargesUsdPerHour });
}

/**
 * Returns the cost of a node for decisions in USD per hour, by its type, zone and capacity type, including the surplus CPU
 * credits of its pods and costs besides the instance. Returns 0 if the price of the instance is unknown.
 */
export const nodePrice = remembering(
  (
    node: Pick<EngineNode, 'labels'> & Partial<Pick<EngineNode, 'pods'>>,
    type: InstanceType | undefined,
    extrasUsdPerHour: number,
  ): number => {
    const offering = offeringOfNode(node, type);
    if (type === undefined || offering === undefined || Number.isNaN(offering.usdPerHour)) return 0;
    return offering.usdPerHour + nodeSurplus(node.pods ?? [], type) + extrasUsdPerHour;
  },
);

/** Returns the expected price of the surplus CPU of a node, in USD per hour. */
export function nodeSurplus(pods: readonly EnginePod[], type: InstanceType): number {
  if (type.cpuBurst === undefined) return 0;
  const requested = pods.reduce((sum, pod) => sum + (isTerminal(pod) ? 0 : cpuRequestOf(pod)), 0);
  return surplusUsdPerHour(type, requested);
}

/**
 * Returns the expected price of the surplus CPU of a node for reports, in USD per hour. Until the node is
 * initialized, the requests for which it was launched count, because its pods are not bound yet.
 */
export const reportedSurplus = (
  { pods, initialized, nodeClaim }: Pick<StateNode, 'pods' | 'initialized' | 'nodeClaim'>,
  type: InstanceType,
): number =>
  initialized || nodeClaim === undefined
    ? nodeSurplus(pods, type)
    : surplusUsdPerHour(type, amountIn(resourcesOf(nodeClaim.spec.resources?.requests), 'cpu'));

/** Returns 0 if the pod is not valid, because kube-scheduler would not have placed it. */
function cpuRequestOf(pod: EnginePod): number {
  try {
    return amountIn(podRequests(pod), 'cpu');
  } catch {
    return 0;
  }
}

/** What it costs to take a node away, and what it brings. */

import { readDurationOrNever } from '../../../api/duration.ts';
import type { Pod } from '../../../api/kubernetes.ts';
import { CAPACITY_TYPE_LABEL, ZONE_LABEL } from '../../../api/labels.ts';
import type { NodeClaim } from '../../../api/nodeclaim.ts';
import { own } from '../../../lib/own.ts';
import { remembering } from '../../../lib/remembering.ts';
import { timeOf } from '../../../lib/times.ts';
import { requirementsOf } from '../../instance-types.ts';
import type { InstanceType, Offering, StateNode } from '../../model.ts';
import { evictionCost } from '../../pods.ts';

/** Taking a node away costs something even when nothing runs on it. */
export const BASE_COST = 1;

/** The part of the claim's life that is left, from 1 at creation to 0 at expiry; always 1 for one that never expires, or whose age cannot be read. */
export function lifetimeRemaining(claim: NodeClaim, nowMs: number): number {
  const lifeMs = readDurationOrNever(claim.spec.expireAfter) ?? Number.POSITIVE_INFINITY;
  if (lifeMs === Number.POSITIVE_INFINITY) return 1;
  if (lifeMs <= 0) return 0;
  const ageMs = nowMs - (timeOf(claim.metadata.creationTimestamp) || nowMs);
  return Math.min(1, Math.max(0, (lifeMs - ageMs) / lifeMs));
}

export const disruptionCost = (pods: readonly Pod[], claim: NodeClaim, nowMs: number): number =>
  pods.reduce((sum, pod) => sum + evictionCost(pod), 0) * lifetimeRemaining(claim, nowMs);

/** Cost of moving the pods; those that would gladly go cost nothing. */
export const rescheduleCost = (pods: readonly Pod[]): number =>
  pods.reduce((sum, pod) => sum + Math.max(0, evictionCost(pod)), BASE_COST);

/** The offering that a node was bought as; undefined when it is not known. */
const offeringOfNode = ({ labels }: Pick<StateNode, 'labels'>, type: InstanceType | undefined): Offering | undefined =>
  type?.offerings.find((candidate) => {
    const requirements = requirementsOf(candidate);
    return [ZONE_LABEL, CAPACITY_TYPE_LABEL].every((key) => requirements.get(key).has(own(labels, key) ?? ''));
  });

/** What interruptions of a node are expected to cost, USD per hour; 0 for most. */
export const nodeSpotRisk = (node: Pick<StateNode, 'labels'>, type: InstanceType | undefined): number =>
  offeringOfNode(node, type)?.spotRiskUsdPerHour ?? 0;

/**
 * USD per hour that a node costs, by its type, zone and capacity type, with what it costs besides its instance; 0 when
 * the price of the instance is not known.
 */
export const nodePrice = remembering(
  (node: Pick<StateNode, 'labels'>, type: InstanceType | undefined, extrasUsdPerHour: number): number => {
    const offering = offeringOfNode(node, type);
    return offering === undefined || Number.isNaN(offering.usdPerHour) ? 0 : offering.usdPerHour + extrasUsdPerHour;
  },
);

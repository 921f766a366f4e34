/** Which of two ways to house the same pods is the better one. */
import type { PlannedClaim } from './model.ts';

export interface Purchase {
  /** Of all nodes, with what each costs besides its instance. */
  readonly usdPerHour: number;
  readonly nodes: number;
  /** How many different instance types the nodes are, each as its cheapest. */
  readonly instanceTypes: number;
}

/** Prices that differ less than this part count as equal. */
const SIGNIFICANT = 1e-6;
/** Plans whose prices differ by up to this part are practically equal to somebody who has to look after nodes. */
const INDIFFERENCE = 0.005;

/**
 * Up to which part prices are practically equal. Where nodes cost nothing besides their instances there is no reason to
 * pay for fewer of them.
 * @param extrasUsdPerHour what a node costs besides its instance
 */
export const indifferenceOf = (extrasUsdPerHour: number): number => (extrasUsdPerHour > 0 ? INDIFFERENCE : 0);

/** What it may cost to have fewer nodes. */
export interface NodeSaving {
  /** For each node saved, USD per hour. */
  readonly usdPerNode: number;
  /** For all nodes that are bought then, USD per hour. */
  readonly mostUsdPerHour: number;
}

/** Whether the one has fewer nodes, and these are worth what they cost more. */
export const savesNodes = (one: Purchase, other: Purchase, { usdPerNode, mostUsdPerHour }: NodeSaving): boolean =>
  one.nodes < other.nodes &&
  one.usdPerHour <= mostUsdPerHour &&
  one.usdPerHour - other.usdPerHour <= (other.nodes - one.nodes) * usdPerNode;

/** Whether the one is cheaper; of practically equal prices, whether it has fewer nodes, then fewer instance types. */
export function isBetter(one: Purchase, other: Purchase, indifference: number): boolean {
  const margin = Math.max(indifference, SIGNIFICANT) * other.usdPerHour;
  const cheaperBy = other.usdPerHour - one.usdPerHour;
  if (Math.abs(cheaperBy) > margin) return cheaperBy > 0;
  if (indifference > 0) {
    if (one.nodes !== other.nodes) return one.nodes < other.nodes;
    if (one.instanceTypes !== other.instanceTypes) return one.instanceTypes < other.instanceTypes;
  }
  return cheaperBy > SIGNIFICANT * other.usdPerHour;
}

/** USD per hour that a node to buy adds to the bill: everything included, but for what commitments cover. */
export const nodeUsdPerHour = ({
  usdPerHour,
  coveredUsdPerHour = 0,
  extrasUsdPerHour: extras = 0,
}: Pick<PlannedClaim, 'usdPerHour' | 'coveredUsdPerHour' | 'extrasUsdPerHour'>): number =>
  usdPerHour - coveredUsdPerHour + extras;

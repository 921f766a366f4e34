/** Compares two sets of nodes for the same pods. */
import type { PlannedClaim } from './model.ts';

export interface Purchase {
  /** Price of all nodes, including their costs besides the instance. */
  readonly usdPerHour: number;
  readonly nodes: number;
  /** Number of distinct instance types, with the cheapest type of each node. */
  readonly instanceTypes: number;
}

/** Relative difference in price below which prices count as equal. */
const SIGNIFICANT = 1e-6;
/** Relative difference in price that an administrator would accept for fewer nodes. */
const INDIFFERENCE = 0.005;

/**
 * Returns the relative difference within which prices count as practically equal. If nodes have no costs besides their
 * instances, returns 0, because fewer nodes then have no value.
 * @param extrasUsdPerHour cost of a node besides its instance
 */
export const indifferenceOf = (extrasUsdPerHour: number): number => (extrasUsdPerHour > 0 ? INDIFFERENCE : 0);

/** Acceptable extra cost of fewer nodes. */
export interface NodeSaving {
  /** Extra cost for each saved node, in USD per hour. */
  readonly usdPerNode: number;
  /** Maximum cost of all resulting nodes, in USD per hour. */
  readonly mostUsdPerHour: number;
}

/** Returns true if the first set has fewer nodes and its extra cost is acceptable. */
export const savesNodes = (one: Purchase, other: Purchase, { usdPerNode, mostUsdPerHour }: NodeSaving): boolean =>
  one.nodes < other.nodes &&
  one.usdPerHour <= mostUsdPerHour &&
  one.usdPerHour - other.usdPerHour <= (other.nodes - one.nodes) * usdPerNode;

/**
 * Returns true if the first set is cheaper. If the prices are practically equal, compares the number of nodes, then the number
 * of instance types.
 */
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

/** Returns the amount that a new node adds to the bill, in USD per hour: its full cost minus the part that commitments cover. */
export const nodeUsdPerHour = ({
  usdPerHour,
  surplusUsdPerHour = 0,
  coveredUsdPerHour = 0,
  extrasUsdPerHour: extras = 0,
}: Pick<PlannedClaim, 'usdPerHour' | 'surplusUsdPerHour' | 'coveredUsdPerHour' | 'extrasUsdPerHour'>): number =>
  usdPerHour + surplusUsdPerHour - coveredUsdPerHour + extras;

/**
 * Price of a node as AWS bills it: the instance after discounts and commitments, its volumes and its public IPv4 address. Every
 * report uses this price. Decisions add planning figures: the fee, spot risk and expected surplus CPU (`purchase.ts`).
 */

/** Parts of the price, in USD per hour. */
export interface BilledParts {
  /** Price of the instance, including discounts. */
  readonly usdPerHour: number;
  /** Part of this price that commitments cover. */
  readonly coveredUsdPerHour?: number | undefined;
  /** Volumes and public IPv4 address. */
  readonly chargesUsdPerHour?: number | undefined;
}

/** Returns the billed price of a node, in USD per hour. */
export const billedUsdPerHour = ({ usdPerHour, coveredUsdPerHour = 0, chargesUsdPerHour = 0 }: BilledParts): number =>
  usdPerHour - coveredUsdPerHour + chargesUsdPerHour;

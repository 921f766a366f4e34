/** Costs of a node besides its instance. */

/** Charges of the cloud for every node of a NodePool, independent of its instance type, in USD per hour. */
export interface NodeCharges {
  /** Volumes of the NodeClass, or the default volumes if it specifies none. */
  readonly volumesUsdPerHour: number;
  /** Public IPv4 address, if nodes have one. */
  readonly publicIpv4UsdPerHour: number;
}

export const NO_CHARGES: NodeCharges = { volumesUsdPerHour: 0, publicIpv4UsdPerHour: 0 };

/** All costs of a node of a NodePool besides its instance, in USD per hour. */
export interface NodeExtras extends NodeCharges {
  /**
   * Costs that are not in the price lists of the cloud: licenses and agents per node, addresses, maintenance. If it is 0,
   * decisions compare only the prices of instances.
   */
  readonly feeUsdPerHour: number;
}

/** Returns the charges that the cloud bills for a node besides its instance. */
export const chargesUsdPerHour = (charges: NodeCharges | undefined): number =>
  charges === undefined ? 0 : charges.volumesUsdPerHour + charges.publicIpv4UsdPerHour;

/** Returns the amount that decisions add to the price of an instance: the charges and the fee, or 0 without a fee. */
export const extrasUsdPerHour = (extras: NodeExtras | undefined): number =>
  extras === undefined || extras.feeUsdPerHour === 0 ? 0 : extras.feeUsdPerHour + chargesUsdPerHour(extras);

/** Returns the fields of a planned NodeClaim for these costs. Costs of 0 are absent. */
export function claimExtras(extras: NodeExtras | undefined): {
  readonly extrasUsdPerHour?: number;
  readonly chargesUsdPerHour?: number;
} {
  const [planned, charges] = [extrasUsdPerHour(extras), chargesUsdPerHour(extras)];
  return {
    ...(planned > 0 && { extrasUsdPerHour: planned }),
    ...(charges > 0 && { chargesUsdPerHour: charges }),
  };
}

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
  /** Costs that are not in the price lists of the cloud: licenses and agents per node, addresses, maintenance. */
  readonly feeUsdPerHour: number;
}

/** Returns the sum of all extras. */
export const extrasUsdPerHour = (extras: NodeExtras | undefined): number =>
  extras === undefined ? 0 : extras.feeUsdPerHour + extras.volumesUsdPerHour + extras.publicIpv4UsdPerHour;

/** What a node costs besides its instance. */

/** What the cloud charges for every node of a NodePool, whatever its instance type; USD per hour. */
export interface NodeCharges {
  /** The volumes of the NodeClass, or those that nodes get when it names none. */
  readonly volumesUsdPerHour: number;
  /** A public IPv4 address, where nodes get one. */
  readonly publicIpv4UsdPerHour: number;
}

export const NO_CHARGES: NodeCharges = { volumesUsdPerHour: 0, publicIpv4UsdPerHour: 0 };

/** All that every node of a NodePool costs besides its instance, USD per hour. */
export interface NodeExtras extends NodeCharges {
  /** What no price list of the cloud knows: licences and agents by the node, addresses, attention. */
  readonly feeUsdPerHour: number;
}

/** All of it together. */
export const extrasUsdPerHour = (extras: NodeExtras | undefined): number =>
  extras === undefined ? 0 : extras.feeUsdPerHour + extras.volumesUsdPerHour + extras.publicIpv4UsdPerHour;

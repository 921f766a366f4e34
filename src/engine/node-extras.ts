/** What a node costs besides its instance. */
import type { PlannedClaim } from './model.ts';

/** USD per hour for every node of a NodePool, whatever its instance type. */
export interface NodeExtras {
  /** What a node costs in ways that no price list knows: licences and agents by the node, addresses, attention. */
  readonly feeUsdPerHour: number;
  /** The volumes of the EC2NodeClass's `blockDeviceMappings`. */
  readonly volumesUsdPerHour: number;
  /** A public IPv4 address, where nodes get one. */
  readonly publicIpv4UsdPerHour: number;
}

/** USD per hour of all of them together. */
export const extrasUsdPerHour = (extras: NodeExtras | undefined): number =>
  extras === undefined ? 0 : extras.feeUsdPerHour + extras.volumesUsdPerHour + extras.publicIpv4UsdPerHour;

/** USD per hour of a node to buy, everything included. */
export const nodeUsdPerHour = ({
  usdPerHour,
  extrasUsdPerHour: extras = 0,
}: Pick<PlannedClaim, 'usdPerHour' | 'extrasUsdPerHour'>): number => usdPerHour + extras;

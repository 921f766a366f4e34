import type { EC2NodeClass } from '#api/objects';

/** A zone in which a NodeClass has subnets. */
export interface Zone {
  readonly name: string;
  /** Empty if AWS did not report it. */
  readonly id: string;
  readonly subnetIds: readonly string[];
}

/** Returns the zones of the NodeClass's subnets, one per zone ID. */
export function zonesOf(nodeClass: EC2NodeClass): readonly Zone[] {
  const groups = Map.groupBy(nodeClass.status?.subnets ?? [], (subnet) => subnet.zoneID ?? '');
  return [...groups].map(([id, subnets]) => ({
    name: subnets[0]?.zone ?? '',
    id,
    subnetIds: subnets.map((subnet) => subnet.id),
  }));
}

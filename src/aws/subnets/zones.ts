import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';

/** A zone in which a NodeClass has subnets. */
export interface Zone {
  readonly name: string;
  /** Empty when AWS did not report it. */
  readonly id: string;
  readonly subnetIds: readonly string[];
}

/** The zones of a NodeClass's subnets, one per zone id. */
export function zonesOf(nodeClass: EC2NodeClass): readonly Zone[] {
  const groups = Map.groupBy(nodeClass.status?.subnets ?? [], (subnet) => subnet.zoneID ?? '');
  return [...groups].map(([id, subnets]) => ({
    name: subnets[0]?.zone ?? '',
    id,
    subnetIds: subnets.map((subnet) => subnet.id),
  }));
}

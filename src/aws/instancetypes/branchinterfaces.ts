/** How many branch network interfaces (security groups for pods) an instance type carries. */
import { BRANCH_INTERFACES } from './branchinterfacetable.ts';

const FAMILIES: ReadonlyMap<string, ReadonlyMap<string, number>> = new Map(
  Object.entries(BRANCH_INTERFACES).map(([family, sizes]) => [
    family,
    new Map(sizes.split(' ').map((entry) => [entry.slice(0, entry.indexOf(':')), Number(entry.split(':')[1])])),
  ]),
);

/** 0 for types that cannot trunk, and for those that AWS's table does not have: none can be counted on there. */
export function branchInterfaces(instanceType: string): number {
  const [family = '', size = ''] = instanceType.split('.');
  return FAMILIES.get(family)?.get(size) ?? 0;
}

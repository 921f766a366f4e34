/** Identifiers of EC2, and EC2's errors for unknown and malformed identifiers. */
import { AwsError } from '../wire/error.ts';

export type IdPrefix = 'i' | 'ami' | 'subnet' | 'sg' | 'vpc' | 'lt' | 'cr' | 'pg' | 'vol' | 'eni' | 'sir';

const KINDS: Readonly<Record<IdPrefix, { readonly code: string; readonly noun: string; readonly type: string }>> = {
  i: { code: 'InvalidInstanceID', noun: 'instance ID', type: 'instance' },
  ami: { code: 'InvalidAMIID', noun: 'image id', type: 'image' },
  subnet: { code: 'InvalidSubnetID', noun: 'subnet ID', type: 'subnet' },
  sg: { code: 'InvalidGroup', noun: 'security group', type: 'security-group' },
  vpc: { code: 'InvalidVpcID', noun: 'vpc ID', type: 'vpc' },
  lt: { code: 'InvalidLaunchTemplateId', noun: 'launch template ID', type: 'launch-template' },
  cr: { code: 'InvalidCapacityReservationId', noun: 'capacity reservation ID', type: 'capacity-reservation' },
  pg: { code: 'InvalidPlacementGroupId', noun: 'placement group ID', type: 'placement-group' },
  vol: { code: 'InvalidVolume', noun: 'volume', type: 'volume' },
  sir: {
    code: 'InvalidSpotInstanceRequestID',
    noun: 'spot instance request ID',
    type: 'spot-instances-request',
  },
  eni: { code: 'InvalidNetworkInterfaceID', noun: 'network interface ID', type: 'network-interface' },
};

export const resourceTypeOf = (prefix: IdPrefix): string => KINDS[prefix].type;

export function prefixOf(id: string): IdPrefix | undefined {
  const prefix = id.slice(0, id.lastIndexOf('-')) as IdPrefix;
  return Object.hasOwn(KINDS, prefix) ? prefix : undefined;
}

/** Creates the error for an id that does not exist or is malformed. */
export function unknownId(id: string, prefix: IdPrefix): AwsError {
  const { code, noun } = KINDS[prefix];
  return id.startsWith(`${prefix}-`)
    ? new AwsError(`${code}.NotFound`, `The ${noun} '${id}' does not exist`)
    : new AwsError(`${code}.Malformed`, `Invalid id: "${id}" (expecting "${prefix}-...")`);
}

/**
 * Returns objects by id, in the order of the ids, or all objects without ids.
 * @throws AwsError `….NotFound` for the first unknown id
 */
export function byIds<T>(
  all: Iterable<T>,
  ids: readonly string[] | undefined,
  prefix: IdPrefix,
  idOf: (item: T) => string,
): T[] {
  const items = [...all];
  if (!ids || ids.length === 0) return items;
  const known = new Map(items.map((item) => [idOf(item), item]));
  return [...new Set(ids)].map((id) => {
    const item = known.get(id);
    if (!item) throw unknownId(id, prefix);
    return item;
  });
}

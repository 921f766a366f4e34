/** The kind EC2NodeClass, as provider-neutral code uses it. */
import {
  type Conditioned,
  EC2_NODE_CLASS,
  EC2_NODECLASS_HASH_ANNOTATION,
  EC2NODECLASS_RESERVED_CONDITIONS,
  type EC2NodeClassStatus,
} from '#api/objects';
import type { NodeClassKind } from '#cloud';

/** User data may contain secrets and is not shown. */
function selectionsOf({
  status,
}: Conditioned & { readonly status?: EC2NodeClassStatus }): ReturnType<NodeClassKind['selectionsOf']> {
  const { subnets = [], securityGroups = [], amis = [], capacityReservations = [], instanceProfile } = status ?? {};
  return [
    ['Subnets', subnets.map(({ id, zone }) => `${id} in ${zone}`)],
    ['Security groups', securityGroups.map((group) => [group.id, group.name].filter(Boolean).join(' '))],
    ['Images', amis.map((image) => [image.id, image.name].filter(Boolean).join(' '))],
    ['Capacity reservations', capacityReservations.map(({ id, instanceType }) => `${id} ${instanceType}`)],
    ['Instance profile', instanceProfile === undefined ? [] : [instanceProfile]],
  ];
}

export const NODE_CLASS_KIND: NodeClassKind = {
  ...EC2_NODE_CLASS,
  conditions: EC2NODECLASS_RESERVED_CONDITIONS,
  hashAnnotation: EC2_NODECLASS_HASH_ANNOTATION,
  selectionsOf,
};

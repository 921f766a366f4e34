/** Why a NodeClaim no longer matches its NodeClass. */
import type { EC2NodeClass } from '../api/ec2nodeclass.ts';
import {
  EC2_NODECLASS_HASH_ANNOTATION,
  EC2_NODECLASS_HASH_VERSION_ANNOTATION,
  INSTANCE_TYPE_LABEL,
  PLACEMENT_GROUP_ID_LABEL,
} from '../api/labels.ts';
import type { NodeClaim } from '../api/nodeclaim.ts';
import type { InstanceType } from '../engine/model.ts';
import { amiForType } from './amis/amis.ts';
import type { Instance } from './instances/instance.ts';

/** The NodeClass's own settings changed. Hashes of different versions, or missing ones, say nothing. */
export function isStaticallyDrifted(claim: NodeClaim, nodeClass: EC2NodeClass): boolean {
  const ours = claim.metadata.annotations ?? {};
  const wanted = nodeClass.metadata.annotations ?? {};
  const [hash, wantedHash] = [ours[EC2_NODECLASS_HASH_ANNOTATION], wanted[EC2_NODECLASS_HASH_ANNOTATION]];
  const version = ours[EC2_NODECLASS_HASH_VERSION_ANNOTATION];
  if (hash === undefined || wantedHash === undefined || version === undefined) return false;
  return version === wanted[EC2_NODECLASS_HASH_VERSION_ANNOTATION] && hash !== wantedHash;
}

/** @throws Error when the claim's type or image is not known */
export function isImageDrifted(claim: NodeClaim, nodeClass: EC2NodeClass, types: readonly InstanceType[]): boolean {
  const name = claim.metadata.labels?.[INSTANCE_TYPE_LABEL] ?? '';
  const type = types.find((each) => each.name === name);
  if (type === undefined) throw new Error(`finding node instance type (instance-type=${name})`);
  const amis = nodeClass.status?.amis ?? [];
  if (amis.length === 0) throw new Error('no amis exist given constraints');
  const image = claim.status?.imageID ?? '';
  if (image === '') throw new Error(`NodeClaim ${claim.metadata.name} has no image id`);
  return amiForType(amis, type)?.id !== image;
}

/** @throws Error when the NodeClass has no security groups */
export function isSecurityGroupDrifted(instance: Instance, { status }: EC2NodeClass): boolean {
  const wanted = new Set((status?.securityGroups ?? []).map(({ id }) => id));
  if (wanted.size === 0) throw new Error('no security groups are present in the status');
  const actual = new Set(instance.securityGroupIds);
  return wanted.symmetricDifference(actual).size > 0;
}

/** @throws Error when the NodeClass has no subnets */
export function isSubnetDrifted(instance: Instance, { status }: EC2NodeClass): boolean {
  const wanted = (status?.subnets ?? []).map(({ id }) => id);
  if (wanted.length === 0) throw new Error('no subnets are discovered');
  return !wanted.includes(instance.subnetId);
}

export const isReservationDrifted = ({ reservation }: Instance, { status }: EC2NodeClass): boolean =>
  reservation !== undefined && !(status?.capacityReservations ?? []).some(({ id }) => id === reservation.id);

export const isPlacementGroupDrifted = (claim: NodeClaim, groupId: string): boolean =>
  (claim.metadata.labels?.[PLACEMENT_GROUP_ID_LABEL] ?? '') !== groupId;

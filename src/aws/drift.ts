/**
 * Detects NodeClaims that no longer match their NodeClass. Only facts from AWS count: if a fact cannot be requested,
 * the check throws, and the drift status does not change.
 */
import {
  EC2_NODECLASS_HASH_ANNOTATION,
  EC2_NODECLASS_HASH_VERSION_ANNOTATION,
  type EC2NodeClass,
  INSTANCE_TYPE_LABEL,
  labelOf,
  type NodeClaim,
  PLACEMENT_GROUP_ID_LABEL,
} from '#api/objects';
import type { DriftReason } from '#cloud';
import type { InstanceType } from '#engine/model';
import { amiForType } from './amis/ami-for-type.ts';
import type { Instance } from './instances/instance.ts';
import type { PlacementGroup } from './placementgroups.ts';

/** Differences that EC2 shows between an instance and its NodeClass. */
interface InstanceDrift {
  readonly securityGroups: boolean;
  readonly subnet: boolean;
  readonly reservation: boolean;
  readonly placementGroup: boolean;
}

/** Facts about a NodeClaim that are requested only if the checks before them find no drift. */
interface DriftFacts {
  readonly instanceTypes: () => Promise<readonly InstanceType[]>;
  readonly instance: () => Promise<InstanceDrift>;
}

/**
 * Returns the reason that a NodeClaim has drifted from its NodeClass, from the first check that finds one.
 * @throws Error if a fact is unknown, in which case the remaining checks do not run
 */
export async function nodeClassDrift(
  claim: NodeClaim,
  nodeClass: EC2NodeClass,
  { instanceTypes, instance }: DriftFacts,
): Promise<DriftReason | undefined> {
  if (isStaticallyDrifted(claim, nodeClass)) return 'NodeClassDrift';
  if (isImageDrifted(claim, nodeClass, await instanceTypes())) return 'AMIDrift';
  const { securityGroups, subnet, reservation, placementGroup } = await instance();
  if (securityGroups) return 'SecurityGroupDrift';
  if (subnet) return 'SubnetDrift';
  if (reservation) return 'CapacityReservationDrift';
  return placementGroup ? 'PlacementGroupDrift' : undefined;
}

/**
 * Reports whether the settings of the NodeClass changed. Missing hashes and hashes of different versions are not
 * compared.
 */
function isStaticallyDrifted(claim: NodeClaim, nodeClass: EC2NodeClass): boolean {
  const ours = claim.metadata.annotations ?? {};
  const wanted = nodeClass.metadata.annotations ?? {};
  const [hash, wantedHash] = [ours[EC2_NODECLASS_HASH_ANNOTATION], wanted[EC2_NODECLASS_HASH_ANNOTATION]];
  const version = ours[EC2_NODECLASS_HASH_VERSION_ANNOTATION];
  if (hash === undefined || wantedHash === undefined || version === undefined) return false;
  return version === wanted[EC2_NODECLASS_HASH_VERSION_ANNOTATION] && hash !== wantedHash;
}

/**
 * Reports whether the image has drifted. This includes a node whose instance type no image of the NodeClass supports any more. An
 * image leaves the status of the NodeClass only if it is absent from two responses in a row.
 * @throws Error if the type or the image of the claim is unknown
 */
export function isImageDrifted(claim: NodeClaim, nodeClass: EC2NodeClass, types: readonly InstanceType[]): boolean {
  const name = labelOf(claim, INSTANCE_TYPE_LABEL);
  const type = types.find((each) => each.name === name);
  if (type === undefined) throw new Error(`finding node instance type (instance-type=${name})`);
  const amis = nodeClass.status?.amis ?? [];
  if (amis.length === 0) throw new Error('no amis exist given constraints');
  const image = claim.status?.imageID ?? '';
  if (image === '') throw new Error(`NodeClaim ${claim.metadata.name} has no image ID`);
  const wanted = amiForType(amis, type);
  return wanted?.id !== image;
}

/** @throws Error if the NodeClass has no security groups, or EC2 reports none for the instance */
export function isSecurityGroupDrifted(instance: Instance, { status }: EC2NodeClass): boolean {
  const wanted = new Set((status?.securityGroups ?? []).map(({ id }) => id));
  if (wanted.size === 0) throw new Error('no security groups are present in the status');
  const actual = new Set(instance.securityGroupIds);
  if (actual.size === 0) throw new Error(`EC2 returned no security groups for instance ${instance.id}`);
  return wanted.symmetricDifference(actual).size > 0;
}

/** @throws Error if the NodeClass has no subnets, or EC2 reports no subnet for the instance */
export function isSubnetDrifted(instance: Instance, { status }: EC2NodeClass): boolean {
  const wanted = (status?.subnets ?? []).map(({ id }) => id);
  if (wanted.length === 0) throw new Error('no subnets are discovered');
  if (instance.subnetId === '') throw new Error(`EC2 returned no subnet for instance ${instance.id}`);
  return !wanted.includes(instance.subnetId);
}

export const isReservationDrifted = ({ reservation }: Instance, { status }: EC2NodeClass): boolean =>
  reservation !== undefined && !(status?.capacityReservations ?? []).some(({ id }) => id === reservation.id);

/** `group` is undefined if no placement group matches the NodeClass. Its nodes cannot move to another group then. */
export function isPlacementGroupDrifted(
  claim: NodeClaim,
  { spec }: EC2NodeClass,
  group: PlacementGroup | undefined,
): boolean {
  if (spec.placementGroupSelector !== undefined && group === undefined) return false;
  return labelOf(claim, PLACEMENT_GROUP_ID_LABEL) !== (group?.id ?? '');
}

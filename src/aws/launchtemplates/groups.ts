/** Groups of instance types that can share a launch template. */
import {
  type AmiStatus,
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_TYPE_LABEL,
} from '#api/objects';
import { type InstanceType, requirementsOf } from '#engine/model';
import { amiForType } from '../amis/ami-for-type.ts';
import { canonicalJson } from '../fingerprint.ts';
import { EFA_RESOURCE } from '../instancetypes/capacity.ts';
import type { Reserved } from '../kubelet/expressions.ts';
import type { TemplateReservation } from './content.ts';

export interface TemplateGroup {
  readonly imageId: string;
  readonly types: readonly InstanceType[];
  readonly efaCount: number;
  readonly pods: number;
  readonly reserved: Reserved;
  readonly reservation: TemplateReservation | undefined;
}

interface Member {
  readonly type: InstanceType;
  readonly imageId: string;
  readonly efaCount: number;
  readonly pods: number;
  readonly reserved: Reserved;
  readonly reservations: readonly TemplateReservation[];
}

function reservationsOf(type: InstanceType): readonly TemplateReservation[] {
  const reserved = type.offerings
    .map(requirementsOf)
    .filter((offering) => offering.get(CAPACITY_TYPE_LABEL).has('reserved'));
  return reserved.map((offering) => ({
    id: offering.get(CAPACITY_RESERVATION_ID_LABEL).any(),
    type: offering.get(CAPACITY_RESERVATION_TYPE_LABEL).any(),
    interruptible: offering.get(CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL).any() === 'true',
  }));
}

interface Grouping {
  readonly capacityType: string;
  readonly wantsEfa: boolean;
  /** Returns the resources that the kubelet reserves on nodes of a type. */
  readonly reservedOf: (instanceType: string) => Reserved;
}

/**
 * Groups types by all properties that differ between templates. For a reserved launch, returns one group per
 * reservation. Types without a compatible AMI are left out.
 */
export function groupTypes(
  types: readonly InstanceType[],
  amis: readonly AmiStatus[],
  { capacityType, wantsEfa, reservedOf }: Grouping,
): readonly TemplateGroup[] {
  const members = types.flatMap((type): Member[] => {
    const ami = amiForType(amis, type);
    if (ami === undefined) return [];
    return [
      {
        type,
        imageId: ami.id,
        efaCount: wantsEfa ? (type.capacity[EFA_RESOURCE] ?? 0) : 0,
        pods: type.capacity.pods ?? 0,
        reserved: reservedOf(type.name),
        reservations: capacityType === 'reserved' ? reservationsOf(type) : [],
      },
    ];
  });
  const groups = Map.groupBy(members, ({ imageId, efaCount, pods, reserved, reservations }) =>
    canonicalJson([imageId, efaCount, pods, reserved, reservations]),
  );
  return [...groups.values()].flatMap((group): TemplateGroup[] => {
    const [first] = group;
    if (first === undefined) return [];
    const { imageId, efaCount, pods, reserved, reservations } = first;
    const common = { imageId, efaCount, pods, reserved, types: group.map((member) => member.type) };
    if (capacityType !== 'reserved') return [{ ...common, reservation: undefined }];
    return reservations.map((reservation) => ({ ...common, reservation }));
  });
}

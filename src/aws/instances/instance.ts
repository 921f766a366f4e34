/** An EC2 instance with the properties that the provider reads. */
import type { Instance as Described } from '@aws-sdk/client-ec2';
import type { Node, NodeClaim } from '#api/objects';
import { quoted, remembering } from '#lib';
import { tagMap } from '../tags.ts';

export interface Instance {
  readonly id: string;
  readonly state: string;
  readonly launchedMs: number;
  readonly imageId: string;
  readonly type: string;
  readonly zone: string;
  /** Empty until this instance has been described. */
  readonly zoneId: string;
  readonly subnetId: string;
  readonly securityGroupIds: readonly string[];
  readonly capacityType: 'on-demand' | 'spot' | 'reserved';
  readonly tags: Readonly<Record<string, string>>;
  readonly tenancy: string;
  readonly reservation?: { readonly id: string; readonly type: string; readonly interruptible: boolean } | undefined;
  readonly placementGroupId?: string | undefined;
  /** 0 if this instance is not in a partition. */
  readonly partition: number;
  readonly efaCount: number;
  /** Name of the instance profile. Undefined until the instance has been described. */
  readonly profile?: string | undefined;
}

export const isTerminating = ({ state }: Instance): boolean => state === 'shutting-down' || state === 'terminated';

const PROVIDER_ID = /^[^/]*:\/\/\/(?:[^/]*\/)+([^/\s]+)$/;

export const providerId = ({ zone, id }: Pick<Instance, 'zone' | 'id'>): string => `aws:///${zone}/${id}`;

/** @throws Error if the text is not a valid provider ID */
export function instanceIdOf(text = ''): string {
  const id = PROVIDER_ID.exec(text)?.[1];
  if (id === undefined) throw new Error(`provider id does not match known format: ${quoted(text)}`);
  return id;
}

/** Returns the instance ID of a NodeClaim, or undefined before its launch. Accepts malformed provider IDs. */
export const instanceIdOfClaim = ({ status }: NodeClaim): string | undefined => lastPart(status?.providerID);

export const instanceIdOfNode = ({ spec }: Node): string | undefined => lastPart(spec?.providerID);

const lastPart = (id: string | undefined): string | undefined => id?.split('/').at(-1);

function capacityTypeOf(described: Described, reservedCapacity: boolean): Instance['capacityType'] {
  if (described.SpotInstanceRequestId !== undefined) return 'spot';
  const { CapacityReservationPreference: preference } = described.CapacityReservationSpecification ?? {};
  const reserved = described.CapacityReservationId !== undefined && preference === 'capacity-reservations-only';
  // an instance that uses an open reservation without a selector stays on-demand
  return reservedCapacity && reserved ? 'reserved' : 'on-demand';
}

/** @param reservedCapacity value of the feature gate */
export const fromDescription = remembering((described: Described, reservedCapacity: boolean): Instance => {
  const capacityType = capacityTypeOf(described, reservedCapacity);
  const lifecycle: string | undefined = described.InstanceLifecycle;
  const interfaces = described.NetworkInterfaces ?? [];
  return {
    id: described.InstanceId ?? '',
    state: described.State?.Name ?? 'pending',
    launchedMs: described.LaunchTime?.getTime() ?? 0,
    imageId: described.ImageId ?? '',
    type: described.InstanceType ?? '',
    zone: described.Placement?.AvailabilityZone ?? '',
    zoneId: described.Placement?.AvailabilityZoneId ?? '',
    subnetId: described.SubnetId ?? '',
    securityGroupIds: (described.SecurityGroups ?? []).map((group) => group.GroupId ?? ''),
    capacityType,
    tags: tagMap(described.Tags),
    tenancy: described.Placement?.Tenancy ?? 'default',
    reservation:
      capacityType === 'reserved'
        ? {
            id: described.CapacityReservationId ?? '',
            type: lifecycle === 'capacity-block' ? 'capacity-block' : 'default',
            interruptible: lifecycle === 'interruptible-capacity-reservation',
          }
        : undefined,
    placementGroupId: described.Placement?.GroupId,
    partition: described.Placement?.PartitionNumber ?? 0,
    efaCount: interfaces.filter(({ InterfaceType = '' }) => InterfaceType === 'efa' || InterfaceType === 'efa-only')
      .length,
    profile: lastPart(described.IamInstanceProfile?.Arn),
  };
});

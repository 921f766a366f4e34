/** Conversion of an instance to a NodeClaim. */

import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_TYPE_LABEL,
  EC2_NODECLASS_LABEL,
  INSTANCE_TENANCY_LABEL,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  type NodeClaim,
  PLACEMENT_GROUP_ID_LABEL,
  PLACEMENT_GROUP_PARTITION_LABEL,
  ZONE_ID_LABEL,
  ZONE_LABEL,
} from '#api/objects';
import { allocatable, type InstanceType, quantityList, type Resources, requirementsOf } from '#engine/model';
import { put, remembering } from '#lib';
import { EFA_RESOURCE } from '../instancetypes/capacity.ts';
import type { PlacementGroup } from '../placementgroups.ts';
import { type Instance, isTerminating, providerId } from './instance.ts';

interface ClaimContext {
  /** Undefined if the NodePool or NodeClass of the instance no longer exists. */
  readonly type?: InstanceType | undefined;
  readonly zoneId?: string | undefined;
  readonly placementGroup?: PlacementGroup | undefined;
  /** Partition that the launch requested. */
  readonly partition?: string | undefined;
  readonly nowMs: number;
}

/** Labels of reservations. An instance has them only if it was launched into a reservation. */
const RESERVATION_LABELS = new Set<string>([
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL,
]);

/** Returns every label of the type. A pod that selects a label is never bound to a node without this label. */
const typeLabels = remembering((type: InstanceType): Readonly<Record<string, string>> => {
  const labels: Record<string, string> = {};
  for (const [key, set] of requirementsOf(type).entries())
    if (!set.complement && set.values.size === 1 && !RESERVATION_LABELS.has(key)) put(labels, key, set.any());
  return labels;
});

export function instanceLabels(instance: Instance, context: ClaimContext): Record<string, string> {
  const { placementGroup, zoneId } = context;
  const { reservation } = instance;
  const nodePool = instance.tags[NODEPOOL_LABEL];
  return {
    ...(context.type === undefined ? {} : typeLabels(context.type)),
    [INSTANCE_TYPE_LABEL]: instance.type,
    [ZONE_LABEL]: instance.zone,
    ...(zoneId === undefined || zoneId === '' ? {} : { [ZONE_ID_LABEL]: zoneId }),
    [CAPACITY_TYPE_LABEL]: instance.capacityType,
    [INSTANCE_TENANCY_LABEL]: instance.tenancy,
    ...(reservation === undefined
      ? {}
      : {
          [CAPACITY_RESERVATION_ID_LABEL]: reservation.id,
          [CAPACITY_RESERVATION_TYPE_LABEL]: reservation.type,
          [CAPACITY_RESERVATION_INTERRUPTIBLE_LABEL]: String(reservation.interruptible),
        }),
    ...(placementGroup === undefined ? {} : { [PLACEMENT_GROUP_ID_LABEL]: placementGroup.id }),
    ...(placementGroup?.strategy === 'partition' ? { [PLACEMENT_GROUP_PARTITION_LABEL]: context.partition ?? '' } : {}),
    ...(nodePool === undefined ? {} : { [NODEPOOL_LABEL]: nodePool }),
  };
}

/** Omits zeros. Omits EFA interfaces unless the instance was launched with them. */
const omitZeros = (resources: Resources, hasEfa: boolean): Readonly<Record<string, string>> =>
  quantityList(
    Object.fromEntries(
      Object.entries(resources).filter(([name, amount]) => amount !== 0 && (name !== EFA_RESOURCE || hasEfa)),
    ),
  );

/** Cached, because every list of instances reads the same types. */
const amountsOf = remembering((type: InstanceType, hasEfa: boolean) => ({
  capacity: omitZeros(type.capacity, hasEfa),
  allocatable: omitZeros(allocatable(type), hasEfa),
}));

export function claimStatus(instance: Instance, type: InstanceType | undefined): NonNullable<NodeClaim['status']> {
  return {
    providerID: providerId(instance),
    imageID: instance.imageId,
    ...(type === undefined ? {} : amountsOf(type, instance.efaCount > 0)),
  };
}

/**
 * Returns a NodeClaim for an instance that AWS listed. The name and requirements of the original NodeClaim are
 * unknown.
 */
export function claimOf(instance: Instance, context: ClaimContext): NodeClaim {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name: '',
      labels: instanceLabels(instance, context),
      creationTimestamp: new Date(instance.launchedMs).toISOString(),
      ...(isTerminating(instance) ? { deletionTimestamp: new Date(context.nowMs).toISOString() } : {}),
    },
    spec: {
      nodeClassRef: {
        group: 'karpenter.k8s.aws',
        kind: 'EC2NodeClass',
        name: instance.tags[EC2_NODECLASS_LABEL] ?? '',
      },
      requirements: [],
    },
    status: claimStatus(instance, context.type),
  };
}

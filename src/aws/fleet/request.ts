/** The CreateFleet request of a launch. */
import type {
  CreateFleetCommandInput,
  DefaultTargetCapacityType,
  FleetLaunchTemplateConfigRequest,
  FleetLaunchTemplateOverridesRequest,
} from '@aws-sdk/client-ec2';
import type { StringMap } from '../../api/kubernetes.ts';
import { CAPACITY_RESERVATION_ID_LABEL, CAPACITY_TYPE_LABEL, ZONE_LABEL } from '../../api/labels.ts';
import { compatibleOfferings, requirementsOf, weighedUsdPerHour } from '../../engine/instance-types.ts';
import type { InstanceType, Offering } from '../../engine/model.ts';
import type { Requirements } from '../../engine/requirements.ts';
import { ValueSet } from '../../engine/value-set.ts';
import { defined } from '../../lib/defined.ts';
import type { TemplateReservation } from '../launchtemplates/content.ts';
import type { TemplateConfig } from '../launchtemplates/plan.ts';
import type { ZonalSubnet } from '../subnets/subnets.ts';
import { tagList } from '../tags.ts';

/** One override per type and zone with a subnet; the price, with its spot risk on top, is its priority. */
export function overridesOf(
  config: TemplateConfig,
  requirements: Requirements,
  capacityType: string,
  subnets: ReadonlyMap<string, ZonalSubnet>,
): FleetLaunchTemplateOverridesRequest[] {
  let narrowed = requirements.with(CAPACITY_TYPE_LABEL, ValueSet.in([capacityType]));
  if (config.reservation !== undefined)
    narrowed = narrowed.with(CAPACITY_RESERVATION_ID_LABEL, ValueSet.in([config.reservation.id]));
  return config.types.flatMap((type) => {
    const zones = new Set<string>();
    return compatibleOfferings(type, narrowed).flatMap((offering) => {
      const zone = requirementsOf(offering).get(ZONE_LABEL).any();
      const subnet = subnets.get(zone);
      // Partitions of a placement group repeat type and zone.
      if (subnet === undefined || zones.has(zone)) return [];
      zones.add(zone);
      return [
        {
          InstanceType: type.name as NonNullable<FleetLaunchTemplateOverridesRequest['InstanceType']>,
          SubnetId: subnet.id,
          ImageId: config.imageId,
          AvailabilityZone: zone,
          Priority: weighedUsdPerHour(offering),
        },
      ];
    });
  });
}

/** The reservation that a launch of the type in the zone was for; there is one at most for both. */
export const reservationFor = (
  configs: readonly TemplateConfig[],
  instanceType: string,
  zone: string,
): TemplateReservation | undefined =>
  configs.find(({ types, reservation }) =>
    types.some(
      ({ name, offerings }) =>
        name === instanceType &&
        offerings
          .map(requirementsOf)
          .some(
            (offering) =>
              offering.get(ZONE_LABEL).has(zone) &&
              offering.get(CAPACITY_RESERVATION_ID_LABEL).any() === reservation?.id,
          ),
    ),
  )?.reservation;

/**
 * Whether discounts or spot risks put the offerings of a launch into another order than AWS's list prices do. AWS chooses by
 * the latter unless it is given priorities.
 */
export function isReordered(types: readonly InstanceType[], requirements: Requirements, capacityType: string): boolean {
  if (!types.some(({ offerings }) => offerings.some(isOtherThanListed))) return false;
  const narrowed = requirements.with(CAPACITY_TYPE_LABEL, ValueSet.in([capacityType]));
  const listPrices = types
    .flatMap((type) => compatibleOfferings(type, narrowed))
    .map((offering) => ({
      weighed: weighedUsdPerHour(offering),
      listUsdPerHour: offering.listUsdPerHour ?? offering.usdPerHour,
    }))
    .sort((a, b) => a.weighed - b.weighed || a.listUsdPerHour - b.listUsdPerHour)
    .map(({ listUsdPerHour }) => listUsdPerHour);
  return listPrices.some((price, at) => price < (listPrices[at - 1] ?? 0));
}

const isOtherThanListed = ({ listUsdPerHour, spotRiskUsdPerHour }: Offering): boolean =>
  listUsdPerHour !== undefined || spotRiskUsdPerHour !== undefined;

interface FleetParameters {
  readonly configs: readonly FleetLaunchTemplateConfigRequest[];
  readonly capacityType: string;
  readonly reservation: TemplateReservation | undefined;
  /** The order of prices is not AWS's own, because of a NodeOverlay, the price book or spot risks: priorities count. */
  readonly prioritized: boolean;
  readonly tags: StringMap;
  readonly context: string | undefined;
}

export type FleetRequest = Omit<CreateFleetCommandInput, 'TargetCapacitySpecification' | 'ClientToken'> & {
  readonly TargetCapacitySpecification: { readonly DefaultTargetCapacityType: DefaultTargetCapacityType };
};

function targetType({ capacityType, reservation }: FleetParameters): DefaultTargetCapacityType {
  if (capacityType === 'spot') return 'spot';
  if (capacityType !== 'reserved') return 'on-demand';
  if (reservation?.type === 'capacity-block') return 'capacity-block';
  // Newer than the SDK's list of target types.
  return reservation?.interruptible === true ? ('reserved-capacity' as DefaultTargetCapacityType) : 'on-demand';
}

function strategy(parameters: FleetParameters, target: string): Partial<FleetRequest> {
  if (target === 'spot')
    return {
      SpotOptions: {
        AllocationStrategy: parameters.prioritized ? 'capacity-optimized-prioritized' : 'price-capacity-optimized',
      },
    };
  if (target === 'on-demand')
    return { OnDemandOptions: { AllocationStrategy: parameters.prioritized ? 'prioritized' : 'lowest-price' } };
  if (target === 'reserved-capacity')
    return { ReservedCapacityOptions: { ReservationTypes: ['interruptible-capacity-reservation'] } };
  return {};
}

/** Without the number of instances, which batching decides. */
export function fleetRequest(parameters: FleetParameters): FleetRequest {
  const target = targetType(parameters);
  return {
    Type: 'instant',
    LaunchTemplateConfigs: [...parameters.configs],
    TargetCapacitySpecification: { DefaultTargetCapacityType: target },
    ...strategy(parameters, target),
    TagSpecifications: (['instance', 'volume', 'fleet'] as const).map((ResourceType) => ({
      ResourceType,
      Tags: tagList(parameters.tags),
    })),
    ...defined({ Context: parameters.context }),
  };
}

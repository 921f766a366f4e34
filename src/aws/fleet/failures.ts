/** Records fleet errors as shortages of offerings, and converts them to the error of a launch. */
import type { CreateFleetError } from '@aws-sdk/client-ec2';
import { CreateFailed, InsufficientCapacity } from '../../cloud/errors.ts';
import { explainLaunchFailure, isNoCapacity, SPOT_ROLE_MISSING, SUBNET_FULL } from '../errors.ts';
import type { AwsMetrics } from '../metrics.ts';
import type { OfferingKey, UnavailableOfferings } from '../offerings/unavailable.ts';
import type { SpotPool } from '../spot-risk/spot-pools.ts';

const SPREAD_LIMIT = 'limit of instances in this spread placement group';

/** Error codes for a lack of capacity in AWS, as opposed to account limits or an invalid request. */
const POOL_EMPTY: ReadonlySet<string> = new Set(['InsufficientInstanceCapacity', 'UnfulfillableCapacity']);

export interface FleetContext {
  readonly capacityType: string;
  /** Names of all instance types of the launch. */
  readonly instanceTypes: readonly string[];
  readonly placementGroup: OfferingKey['placementGroup'];
  readonly zoneId: (zone: string) => string;
  readonly unavailable: UnavailableOfferings;
  readonly metrics: AwsMetrics;
  /** Called if a spot pool without a recorded shortage has no capacity. */
  readonly spotPoolEmpty?: (pool: SpotPool) => void;
  readonly subnetExhausted: (subnetId: string) => void;
  readonly reservationExhausted: (instanceType: string, zone: string) => void;
  /** Called if spot's service-linked role is missing and the account may not create it. */
  readonly spotRoleMissing: () => void;
}

const errorText = ({ ErrorCode = '', ErrorMessage = '' }: CreateFleetError): string => `${ErrorCode}: ${ErrorMessage}`;

/** Records shortages, even if the fleet launched an instance in another pool. */
export function recordFleetErrors(
  errors: readonly CreateFleetError[],
  fleetId: string | undefined,
  context: FleetContext,
): void {
  for (const error of errors) {
    const zone = error.LaunchTemplateAndOverrides?.Overrides?.AvailabilityZone ?? '';
    context.metrics.launchFailures.inc({
      zone,
      zone_id: context.zoneId(zone),
      capacity_type: context.capacityType,
      reason: explainLaunchFailure(errorText(error)).reason,
    });
    recordFleetError(error, fleetId, context);
  }
}

function recordFleetError(error: CreateFleetError, fleetId: string | undefined, context: FleetContext): void {
  const { capacityType, unavailable, placementGroup } = context;
  const { ErrorCode: code = '', ErrorMessage: message = '' } = error;
  const {
    InstanceType: instanceType = '',
    AvailabilityZone: zone = '',
    SubnetId,
  } = error.LaunchTemplateAndOverrides?.Overrides ?? {};
  if (code === SPOT_ROLE_MISSING) {
    if (capacityType !== 'reserved') unavailable.markCapacityType(code, 'spot');
    context.spotRoleMissing();
    return;
  }
  if (!isNoCapacity(code)) return;
  if (code === SUBNET_FULL && SubnetId !== undefined) {
    unavailable.markSubnet(code, SubnetId);
    context.subnetExhausted(SubnetId);
  }
  const spreadFull = message.includes(SPREAD_LIMIT);
  if (capacityType === 'reserved') {
    if (!spreadFull) context.reservationExhausted(instanceType, zone);
    return;
  }
  const types = spreadFull && placementGroup !== undefined ? context.instanceTypes : [instanceType];
  const pool = { instanceType, zone };
  const isNews =
    capacityType === 'spot' && unavailable.shortage({ ...pool, capacityType, placementGroup }) === undefined;
  if (isNews && POOL_EMPTY.has(code) && !spreadFull) context.spotPoolEmpty?.(pool);
  for (const type of types) unavailable.mark(code, { instanceType: type, zone, capacityType, placementGroup }, fleetId);
}

/** Returns the error of a launch if the fleet launched no instance. */
export function launchError(errors: readonly CreateFleetError[]): InsufficientCapacity | CreateFailed {
  const text = [...new Set(errors.map(errorText))].join('; ');
  const noCapacity = errors.every(({ ErrorCode = '' }) => isNoCapacity(ErrorCode) || ErrorCode === SPOT_ROLE_MISSING);
  if (noCapacity) return new InsufficientCapacity(`with fleet error(s), ${text}`);
  const { reason, message } = explainLaunchFailure(text);
  return new CreateFailed(reason, message, { cause: new Error(`with fleet error(s), ${text}`) });
}

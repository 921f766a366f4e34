/** Records errors of EC2 as shortages of offerings, and converts them to the error of a launch. */
import type { CreateFleetError } from '@aws-sdk/client-ec2';
import { CreateFailed, InsufficientCapacity } from '#cloud';
import { classOf, effectOf } from '../error-codes.ts';
import { explainLaunchFailure } from '../errors.ts';
import type { AwsMetrics } from '../metrics.ts';
import type { OfferingKey, UnavailableOfferings } from '../offerings/unavailable.ts';
import type { SpotPool } from '../spot-risk/spot-pools.ts';

const SPREAD_LIMIT = 'limit of instances in this spread placement group';

export interface FleetContext {
  readonly capacityType: string;
  /** Names of all instance types of the launch. */
  readonly instanceTypes: readonly string[];
  /** All overrides of the request. Errors without an override apply to all of them. */
  readonly pools: readonly SpotPool[];
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

/** Errors whose shortages are recorded. Each requester of a fleet receives the same errors. */
const recorded = new WeakSet<CreateFleetError>();

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
    recordError(error, fleetId, context);
  }
}

/**
 * Records a refused request as an error of all its overrides. A refused caller and a failure of EC2 do not depend on the
 * overrides, so they are not recorded.
 */
export function recordRequestError(error: CreateFleetError, context: FleetContext): void {
  const errorClass = classOf(error.ErrorCode ?? '');
  if (errorClass !== 'permission' && errorClass !== 'transient') recordError(error, undefined, context);
}

function recordError(error: CreateFleetError, fleetId: string | undefined, context: FleetContext): void {
  const { capacityType, unavailable } = context;
  const { ErrorCode: code = '', ErrorMessage: message = '' } = error;
  const { SubnetId } = error.LaunchTemplateAndOverrides?.Overrides ?? {};
  const errorClass = classOf(code);
  if (errorClass === 'capacity-type') {
    if (capacityType !== 'reserved') unavailable.markCapacityType(code, 'spot');
    context.spotRoleMissing();
    if (capacityType === 'spot') return;
  }
  if (errorClass === 'subnet' && SubnetId !== undefined) {
    unavailable.markSubnet(code, SubnetId);
    context.subnetExhausted(SubnetId);
  }
  const isSpreadFull = message.includes(SPREAD_LIMIT);
  const pools = poolsOf(error, context);
  if (capacityType === 'reserved') {
    if (!isSpreadFull) for (const { instanceType, zone } of pools) context.reservationExhausted(instanceType, zone);
    return;
  }
  if (errorClass === 'capacity' && !isSpreadFull) for (const pool of pools) reportEmptyPool(pool, context);
  if (recorded.has(error)) return;
  recorded.add(error);
  for (const pool of pools) markPool(code, pool, fleetId, context);
}

/** Returns the capacity pools of an error. */
function poolsOf(error: CreateFleetError, { instanceTypes, placementGroup, pools }: FleetContext): readonly SpotPool[] {
  const { InstanceType, AvailabilityZone } = error.LaunchTemplateAndOverrides?.Overrides ?? {};
  if (InstanceType === undefined || AvailabilityZone === undefined)
    return pools.filter(
      ({ instanceType, zone }) =>
        (InstanceType ?? instanceType) === instanceType && (AvailabilityZone ?? zone) === zone,
    );
  const isSpreadFull = placementGroup !== undefined && error.ErrorMessage?.includes(SPREAD_LIMIT) === true;
  const types = isSpreadFull ? instanceTypes : [InstanceType];
  return types.map((instanceType) => ({ instanceType, zone: AvailabilityZone }));
}

function reportEmptyPool(pool: SpotPool, { capacityType, placementGroup, unavailable, spotPoolEmpty }: FleetContext) {
  if (capacityType !== 'spot') return;
  if (unavailable.shortage({ ...pool, capacityType, placementGroup }) === undefined) spotPoolEmpty?.(pool);
}

function markPool(
  code: string,
  pool: SpotPool,
  fleetId: string | undefined,
  { capacityType, placementGroup, unavailable }: FleetContext,
): void {
  const offering = { ...pool, capacityType, placementGroup };
  const { pause } = effectOf(code);
  if (pause === 'fixed') unavailable.mark(code, offering, fleetId);
  else unavailable.markFailed(code, offering, { tolerated: pause === 'lenient' ? 1 : 0, fleetId });
}

/** Returns the error of a launch if the fleet launched no instance. */
export function launchError(errors: readonly CreateFleetError[]): InsufficientCapacity | CreateFailed {
  const text = [...new Set(errors.map(errorText))].join('; ');
  if (!errors.some(({ ErrorCode = '' }) => effectOf(ErrorCode).keepsClaim))
    return new InsufficientCapacity(`with fleet error(s), ${text}`);
  const { reason, message } = explainLaunchFailure(text);
  return new CreateFailed(reason, message, { cause: new Error(`with fleet error(s), ${text}`) });
}

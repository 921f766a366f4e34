/**
 * Every error of a fleet response: the shortage that is recorded, the metric that is counted, and the failure of the
 * launch.
 */
import type { CreateFleetError } from '@aws-sdk/client-ec2';
import { describe, expect, it } from '@jest/globals';
import { CreateFailed, InsufficientCapacity } from '#cloud';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { explainLaunchFailure } from '../../../../src/aws/errors.ts';
import { type FleetContext, launchError, recordFleetErrors } from '../../../../src/aws/fleet/failures.ts';
import { awsMetrics } from '../../../../src/aws/metrics.ts';
import { type OfferingKey, UnavailableOfferings } from '../../../../src/aws/offerings/unavailable.ts';

const clock = { now: () => 0, sleep: async () => undefined, after: () => () => undefined };
const SPOT_ROLE = 'AuthFailure.ServiceLinkedRoleCreationNotPermitted';
const GROUP = { id: 'pg-1', partition: '2' };

const POOLS = [
  { instanceType: 'm5.large', zone: 'us-west-2a' },
  { instanceType: 'c5.large', zone: 'us-west-2b' },
];

const fleetError = (ErrorCode: string, ErrorMessage = 'because'): CreateFleetError => ({
  ErrorCode,
  ErrorMessage,
  LaunchTemplateAndOverrides: {
    Overrides: { InstanceType: 'm5.large', AvailabilityZone: 'us-west-2a', SubnetId: 'subnet-1' },
  },
});

/** Returns the recorded state after an error of a launch of `m5.large` and `c5.large`. */
function noted(error: CreateFleetError, overrides: Partial<FleetContext> = {}) {
  const metrics = createMetrics();
  const unavailable = overrides.unavailable ?? new UnavailableOfferings(clock, silent);
  const told: string[] = [];
  recordFleetErrors([error], 'fleet-1', {
    capacityType: 'on-demand',
    instanceTypes: ['m5.large', 'c5.large'],
    pools: POOLS,
    placementGroup: undefined,
    zoneId: () => 'usw2-az1',
    unavailable,
    metrics: awsMetrics(metrics),
    subnetExhausted: (id) => void told.push(`no address left in ${id}`),
    reservationExhausted: (type, zone) => void told.push(`reservation of ${type} in ${zone} is used up`),
    spotRoleMissing: () => void told.push('spot role is missing'),
    ...overrides,
  });
  const isOut = (key: Partial<OfferingKey> = {}, subnets: readonly string[] = []): boolean =>
    unavailable.shortage(
      { instanceType: 'm5.large', zone: 'us-west-2a', capacityType: 'on-demand', ...key },
      subnets,
    ) !== undefined;
  return { isOut, told, metrics };
}

const NO_CAPACITY = [
  'InsufficientInstanceCapacity',
  'MaxSpotInstanceCountExceeded',
  'VcpuLimitExceeded',
  'UnfulfillableCapacity',
  'Unsupported',
  'InsufficientFreeAddressesInSubnet',
  'MaxFleetCountExceeded',
  'ReservationCapacityExceeded',
];
const OTHERS = ['UnauthorizedOperation', 'InvalidParameterValue', 'InvalidAMIID.NotFound'];

describe.each(NO_CAPACITY)('%s', (code) => {
  it.each(['on-demand', 'spot'])('makes only the offering of a launch on %s unavailable', (capacityType) => {
    const { isOut, told } = noted(fleetError(code), { capacityType });
    expect(isOut({ capacityType })).toBe(true);
    expect(isOut({ capacityType, zone: 'us-west-2b' })).toBe(false);
    expect(isOut({ capacityType, instanceType: 'c5.large' })).toBe(false);
    expect(isOut({ capacityType: capacityType === 'spot' ? 'on-demand' : 'spot' })).toBe(false);
    expect(told).toEqual(code === 'InsufficientFreeAddressesInSubnet' ? ['no address left in subnet-1'] : []);
  });

  it('uses up the reservation of a reserved launch instead', () => {
    const { isOut, told } = noted(fleetError(code), { capacityType: 'reserved' });
    expect(isOut({ capacityType: 'reserved' })).toBe(false);
    expect(told).toContain('reservation of m5.large in us-west-2a is used up');
  });

  it('applies only within the placement group', () => {
    const { isOut } = noted(fleetError(code), { placementGroup: { id: 'pg-1' } });
    expect(isOut()).toBe(false);
    expect(isOut({ placementGroup: { id: 'pg-1' } })).toBe(true);
  });

  it('is a shortage as the end of a launch', () => {
    const failed = launchError([fleetError(code), fleetError(code), fleetError(SPOT_ROLE)]);
    expect(failed).toBeInstanceOf(InsufficientCapacity);
    expect(failed.message).toBe(`insufficient capacity, with fleet error(s), ${code}: because; ${SPOT_ROLE}: because`);
  });
});

describe('a spot pool without capacity', () => {
  const emptied = (code: string, overrides: Partial<FleetContext> = {}): readonly string[] => {
    const pools: string[] = [];
    const spotPoolEmpty: FleetContext['spotPoolEmpty'] = ({ instanceType, zone }) =>
      void pools.push(`${instanceType}/${zone}`);
    noted(fleetError(code), { capacityType: 'spot', spotPoolEmpty, ...overrides });
    return pools;
  };

  it.each(NO_CAPACITY)('is reported for %s only if AWS has no capacity, and not for limits', (code) => {
    const isOfAws = ['InsufficientInstanceCapacity', 'UnfulfillableCapacity'].includes(code);
    expect(emptied(code)).toEqual(isOfAws ? ['m5.large/us-west-2a'] : []);
    expect(emptied(code, { capacityType: 'on-demand' })).toEqual([]);
  });

  it.each([undefined, { id: 'pg-1' }])('is reported once while it lasts, in placement group %j', (placementGroup) => {
    const unavailable = new UnavailableOfferings(clock, silent);
    const overrides = { unavailable, placementGroup };
    expect(emptied('InsufficientInstanceCapacity', overrides)).toHaveLength(1);
    expect(emptied('InsufficientInstanceCapacity', overrides)).toEqual([]);
  });
});

describe('InsufficientFreeAddressesInSubnet', () => {
  it('makes all offerings in the subnet unavailable, unless the zone has another subnet', () => {
    const { isOut } = noted(fleetError('InsufficientFreeAddressesInSubnet'));
    expect(isOut({ instanceType: 'r5.large' }, ['subnet-1'])).toBe(true);
    expect(isOut({ instanceType: 'r5.large' }, ['subnet-1', 'subnet-2'])).toBe(false);
  });
});

describe('a full spread placement group', () => {
  const error = fleetError(
    'InsufficientInstanceCapacity',
    'You have exceeded the limit of instances in this spread placement group',
  );

  it('makes every type of the launch unavailable in the zone, within the group', () => {
    const { isOut } = noted(error, { placementGroup: { id: 'pg-1' } });
    const placementGroup = { id: 'pg-1' };
    expect(isOut({ placementGroup })).toBe(true);
    expect(isOut({ placementGroup, instanceType: 'c5.large' })).toBe(true);
    expect(isOut({ placementGroup, zone: 'us-west-2b' })).toBe(false);
    expect(isOut({ instanceType: 'c5.large' })).toBe(false);
  });

  it('leaves the reservation unchanged', () => {
    expect(noted(error, { capacityType: 'reserved', placementGroup: GROUP }).told).toEqual([]);
  });
});

describe('a shortage in a partition', () => {
  it('is recorded for the requested partition', () => {
    const { isOut } = noted(fleetError('InsufficientInstanceCapacity'), { placementGroup: GROUP });
    expect(isOut({ placementGroup: GROUP })).toBe(true);
    expect(isOut({ placementGroup: { id: 'pg-1' } })).toBe(false);
  });
});

describe(SPOT_ROLE, () => {
  it.each(['spot', 'on-demand'])('disables spot for all launches after one on %s, and is reported', (capacityType) => {
    const { isOut, told } = noted(fleetError(SPOT_ROLE), { capacityType });
    expect(isOut({ capacityType: 'spot', instanceType: 'r5.large' })).toBe(true);
    expect(isOut({ capacityType: 'on-demand', instanceType: 'r5.large' })).toBe(false);
    expect(told).toEqual(['spot role is missing']);
  });

  it('leaves spot enabled after a reserved launch', () => {
    expect(noted(fleetError(SPOT_ROLE), { capacityType: 'reserved' }).isOut({ capacityType: 'spot' })).toBe(false);
  });

  it('is a shortage as the end of a launch', () => {
    expect(launchError([fleetError(SPOT_ROLE)])).toBeInstanceOf(InsufficientCapacity);
  });
});

describe.each(OTHERS)('%s', (code) => {
  it('pauses only the offering, and keeps the NodeClaim with its reason', () => {
    const { isOut, told } = noted(fleetError(code));
    expect(isOut()).toBe(true);
    expect(isOut({ instanceType: 'c5.large' })).toBe(false);
    expect(told).toEqual([]);
    expect(launchError([fleetError(code), fleetError('InsufficientInstanceCapacity')])).toBeInstanceOf(CreateFailed);
  });
});

describe('RequestLimitExceeded', () => {
  it('pauses the offering after the second failure, so that one throttled request does not lead to other types', () => {
    const unavailable = new UnavailableOfferings(clock, silent);
    expect(noted(fleetError('RequestLimitExceeded'), { unavailable }).isOut()).toBe(false);
    noted(fleetError('RequestLimitExceeded'), { unavailable });
    expect(unavailable.shortage({ instanceType: 'm5.large', zone: 'us-west-2a', capacityType: 'on-demand' })).toEqual({
      of: 'offering',
      reason: 'RequestLimitExceeded',
      untilMs: 10_000,
    });
  });
});

describe('a code that is not classified', () => {
  it('pauses its offering, and the pods are planned again', () => {
    const { isOut } = noted(fleetError('SomeNewCode'));
    expect(isOut()).toBe(true);
    expect(isOut({ zone: 'us-west-2b' })).toBe(false);
    expect(launchError([fleetError('SomeNewCode')])).toBeInstanceOf(InsufficientCapacity);
  });

  it('counts once for all NodeClaims of a fleet', () => {
    const unavailable = new UnavailableOfferings(clock, silent);
    const error = fleetError('SomeNewCode');
    const key = { instanceType: 'm5.large', zone: 'us-west-2a', capacityType: 'on-demand' };
    for (let requester = 0; requester < 5; requester++) noted(error, { unavailable });
    expect(unavailable.shortage(key)?.untilMs).toBe(10_000);
  });
});

describe('an error without an override', () => {
  it('applies to all overrides of the request', () => {
    const { isOut } = noted({ ErrorCode: 'InsufficientInstanceCapacity', ErrorMessage: 'none' });
    expect(isOut()).toBe(true);
    expect(isOut({ instanceType: 'c5.large', zone: 'us-west-2b' })).toBe(true);
    expect(isOut({ instanceType: 'c5.large' })).toBe(false);
  });
});

describe('the counter of launch failures', () => {
  it.each([
    ['InsufficientInstanceCapacity', 'LaunchFailed'],
    ['VcpuLimitExceeded', 'VCPULimitExceeded'],
    ['InsufficientFreeAddressesInSubnet', 'InsufficientFreeAddressesInSubnet'],
    ['UnauthorizedOperation', 'Unauthorized'],
    [SPOT_ROLE, 'SpotSLRCreationFailed'],
  ])('contains the zone and the reason of %s', async (code, reason) => {
    const { metrics } = noted(fleetError(code), { capacityType: 'spot' });
    expect(await metrics.text()).toContain(
      `karpenter_cloudprovider_instance_launch_failures_total{zone="us-west-2a",zone_id="usw2-az1",capacity_type="spot",reason="${reason}"} 1`,
    );
  });
});

describe('the reason and message on a NodeClaim', () => {
  const noPolicy = 'User is not authorized to perform this operation because no identity-based policy allows it';
  const boundary = 'User is not authorized to perform this operation due to a permission boundary';
  const controlPolicy = 'User is not authorized to perform this operation due to a service control policy';
  const image = 'User is not authorized for AMI used in instance launch';
  const unauthorized = ['UnauthorizedOperation', 'AccessDenied', 'AuthFailure'].flatMap((code): Row[] => [
    [`${code}: with an explicit deny in a permissions boundary`, 'Unauthorized', boundary],
    [`${code}: with an explicit deny in a service control policy`, 'Unauthorized', controlPolicy],
    [`${code}: no`, 'Unauthorized', noPolicy],
    [`${code}: Not authorized for images: [ami-1]`, 'AMIAuthorizationFailure', image],
    [`${code}: with an explicit deny in a permissions boundary. Not authorized for images`, 'Unauthorized', boundary],
  ]);
  type Row = [text: string, reason: string, message: string];
  it.each<Row>([
    [
      `${SPOT_ROLE}: The provided credentials do not have permission`,
      'SpotSLRCreationFailed',
      'User does not have sufficient permission to create the Spot ServiceLinkedRole to launch spot instances',
    ],
    ...unauthorized,
    [
      'InvalidParameter: Security group sg-1 and subnet subnet-1 belong to different networks.',
      'SecurityGroupSubnetVPCMismatch',
      'Security groups and subnets must be in the same VPC.',
    ],
    ['InvalidParameter: something else', 'LaunchFailed', 'Instance launch failed'],
    [
      'InvalidParameterValue: Value (x) for parameter iamInstanceProfile.name is invalid.',
      'InstanceProfileNameInvalid',
      'Instance profile name used from EC2NodeClass status does not exist',
    ],
    [
      'InvalidLaunchTemplateId.NotFound: gone',
      'LaunchTemplateNotFound',
      "Launch template used for instance launch wasn't found",
    ],
    [
      'InvalidUserData.Malformed: User data is limited to 16384 bytes',
      'UserDataSizeLimitExceeded',
      'Rendered user data exceeds the EC2 user data size limit',
    ],
    ['InvalidAMIID.Malformed: ami', 'InvalidAMIID', 'AMI used for instance launch is invalid'],
    [
      'InvalidAMIID.NotFound: ami-1',
      'AMINotFound',
      "AMI used for instance launch either does not exist or you don't have permissions to use it",
    ],
    ['RequestLimitExceeded: slow down', 'RequestLimitExceeded', 'Request limit exceeded'],
    ['InternalError: oops', 'InternalError', 'An internal error has occurred'],
    [
      'InvalidParameterCombination: The specified instance type is not eligible for Free Tier.',
      'FreeTierIneligible',
      'The specified instance type is not eligible for Free Tier',
    ],
    [
      'MaxFleetCountExceeded: too many',
      'FleetQuotaExceeded',
      'A fleet launch was requested but this would exceed your fleet request quota',
    ],
    [
      'PendingVerification: wait',
      'AccountPendingVerification',
      'An instance launch was requested but the request for launching resources in this region is still being verified',
    ],
    [
      'MaxSpotInstanceCountExceeded: quota',
      'SpotQuotaExceeded',
      'A spot instance launch was requested but this would exceed your spot instance quota',
    ],
    ['VcpuLimitExceeded: quota', 'VCPULimitExceeded', 'An instance was requested that would exceed your VCPU quota'],
    [
      'InsufficientFreeAddressesInSubnet: full',
      'InsufficientFreeAddressesInSubnet',
      'There are not enough free IP addresses to launch an instance in this subnet',
    ],
    ['InsufficientInstanceCapacity: none', 'LaunchFailed', 'Instance launch failed'],
    ['InvalidLaunchTemplateName.NotFoundException: gone', 'LaunchFailed', 'Instance launch failed'],
  ])('names the failure: %s', (text, reason, message) => {
    expect(explainLaunchFailure(text)).toEqual({ reason, message });
  });

  it('names the failure that has priority in the table', () => {
    const failed = launchError([fleetError('VcpuLimitExceeded'), fleetError('UnauthorizedOperation', 'no')]);
    expect(failed).toMatchObject({ reason: 'Unauthorized', conditionMessage: noPolicy });
  });
});

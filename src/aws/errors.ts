/** Classifies errors of AWS by their code, and explains failed launches to users. `error-codes.ts` has the codes of launches. */

import { CreateFailed } from '#cloud';
import { messageOf } from '#lib';
import { isThrottle, UnusableAnswer } from './answers/unusable.ts';
import { SPOT_ROLE_MISSING } from './error-codes.ts';

const NOT_FOUND = new Set([
  'InvalidCapacityReservationId.NotFound',
  'InvalidInstanceID.NotFound',
  'InvalidLaunchTemplateName.NotFoundException',
  'InvalidLaunchTemplateId.NotFound',
  'InvalidPlacementGroup.Unknown',
  'QueueDoesNotExist',
  'AWS.SimpleQueueService.NonExistentQueue',
  'NoSuchEntity',
  'NoSuchEntityException',
  'ParameterNotFound',
]);

const SUBNET_FULL = 'InsufficientFreeAddressesInSubnet';

/** Returns the error code of the service from the chain of causes, or an empty string if AWS did not respond. */
export function codeOf(error: unknown): string {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('Code' in at && typeof at.Code === 'string') return at.Code;
    if ('$metadata' in at) return at.name;
  }
  return '';
}

/** Codes for authenticated callers without permission. */
const DENIED = new Set(['AccessDenied', 'AccessDeniedException', 'UnauthorizedOperation']);

/** Codes for expired credentials or signatures, which do not depend on the request. */
const EXPIRED = new Set(['ExpiredToken', 'ExpiredTokenException', 'RequestExpired']);

export const isNotFound = (error: unknown): boolean => NOT_FOUND.has(codeOf(error));
export const isDryRun = (error: unknown): boolean => codeOf(error) === 'DryRunOperation';
export const isDenied = (error: unknown): boolean => DENIED.has(codeOf(error));
export const isExpired = (error: unknown): boolean => EXPIRED.has(codeOf(error));
export const isThrottled = (error: unknown): boolean => isThrottle(codeOf(error));

/** Returns true if the service itself failed with HTTP 5xx. */
export const isServerFault = (error: unknown): boolean => isFaultOf('server', error);

/** Returns true if the service rejected the request with HTTP 4xx. */
export const isClientFault = (error: unknown): boolean => isFaultOf('client', error);

function isFaultOf(side: 'client' | 'server', error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    if ('$fault' in at && at.$fault === side) return true;
  return false;
}

/** Returns true if AWS gave no usable response: it was unreachable, busy, or its response was unusable. */
export function isUnanswered(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return isServerFault(error) || isThrottled(error) || error instanceof UnusableAnswer || isOutOfReach(error);
}

/** Returns true for Node's error codes and the SDK's timeout. */
const isOutOfReach = (error: Error): boolean =>
  error.name === 'TimeoutError' || ('code' in error && typeof error.code === 'string' && error.code.startsWith('E'));

/** Returns true if a retry may succeed, because the error or one of its causes is an unusable response. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const inner: readonly unknown[] = error instanceof AggregateError ? error.errors : [error.cause];
  return isUnanswered(error) || inner.some(mayPass);
}

/** Returns `code: message`. */
export function describeError(error: unknown): string {
  const code = codeOf(error);
  const message = messageOf(error);
  return code === '' || message.includes(code) ? message : `${code}: ${message}`;
}

/** EC2 appends an encoded message that differs for each response. */
const ENCODED = 'Encoded authorization failure message:';

/** Returns the stable part of an AWS error, for texts that are compared with earlier ones. */
export function lastingText(error: unknown): string {
  const text = [describeError(error), ...firstOfSeveral(error)].join(': ');
  const end = text.indexOf(ENCODED);
  return (end < 0 ? text : text.slice(0, end)).trim();
}

/** Returns the message of the first error in an AggregateError, which the outer error does not contain. */
function firstOfSeveral(error: unknown): readonly string[] {
  for (let at = error; at instanceof Error; at = at.cause)
    if (at instanceof AggregateError) return at.errors.slice(0, 1).map(describeError);
  return [];
}

const UNAUTHORIZED = /UnauthorizedOperation|AccessDenied|AuthFailure/;
const has = (part: string) => (text: string) => text.includes(part);
const isUnauthorizedWith = (part: string) => (text: string) => UNAUTHORIZED.test(text) && text.includes(part);

interface Explanation {
  readonly reason: string;
  readonly message: string;
}

/** The first match applies. The Launched condition contains these texts. */
const EXPLANATIONS: readonly (readonly [(text: string) => boolean, string, string])[] = [
  [
    has(SPOT_ROLE_MISSING),
    'SpotSLRCreationFailed',
    'User does not have sufficient permission to create the Spot ServiceLinkedRole to launch spot instances',
  ],
  [
    isUnauthorizedWith('with an explicit deny in a permissions boundary'),
    'Unauthorized',
    'User is not authorized to perform this operation due to a permission boundary',
  ],
  [
    isUnauthorizedWith('with an explicit deny in a service control policy'),
    'Unauthorized',
    'User is not authorized to perform this operation due to a service control policy',
  ],
  [
    isUnauthorizedWith('Not authorized for images'),
    'AMIAuthorizationFailure',
    'User is not authorized for AMI used in instance launch',
  ],
  [
    (text) => UNAUTHORIZED.test(text),
    'Unauthorized',
    'User is not authorized to perform this operation because no identity-based policy allows it',
  ],
  [
    (text) => text.includes('InvalidParameter') && text.includes('belong to different networks'),
    'SecurityGroupSubnetVPCMismatch',
    'Security groups and subnets must be in the same VPC.',
  ],
  [
    has('iamInstanceProfile.name is invalid'),
    'InstanceProfileNameInvalid',
    'Instance profile name used from EC2NodeClass status does not exist',
  ],
  [
    has('InvalidLaunchTemplateId.NotFound'),
    'LaunchTemplateNotFound',
    "Launch template used for instance launch wasn't found",
  ],
  [
    has('User data is limited to'),
    'UserDataSizeLimitExceeded',
    'Rendered user data exceeds the EC2 user data size limit',
  ],
  [has('InvalidAMIID.Malformed'), 'InvalidAMIID', 'AMI used for instance launch is invalid'],
  [
    has('InvalidAMIID.NotFound'),
    'AMINotFound',
    "AMI used for instance launch either does not exist or you don't have permissions to use it",
  ],
  [has('RequestLimitExceeded'), 'RequestLimitExceeded', 'Request limit exceeded'],
  [has('InternalError'), 'InternalError', 'An internal error has occurred'],
  [
    has('not eligible for Free Tier'),
    'FreeTierIneligible',
    'The specified instance type is not eligible for Free Tier',
  ],
  [
    has('MaxFleetCountExceeded'),
    'FleetQuotaExceeded',
    'A fleet launch was requested but this would exceed your fleet request quota',
  ],
  [
    has('PendingVerification'),
    'AccountPendingVerification',
    'An instance launch was requested but the request for launching resources in this region is still being verified',
  ],
  [
    has('MaxSpotInstanceCountExceeded'),
    'SpotQuotaExceeded',
    'A spot instance launch was requested but this would exceed your spot instance quota',
  ],
  [has('VcpuLimitExceeded'), 'VCPULimitExceeded', 'An instance was requested that would exceed your VCPU quota'],
  [has(SUBNET_FULL), SUBNET_FULL, 'There are not enough free IP addresses to launch an instance in this subnet'],
];

/** Returns the reason and message of a failed launch for the conditions of its NodeClaim. */
export function explainLaunchFailure(errorText: string): Explanation {
  const found = EXPLANATIONS.find(([matches]) => matches(errorText));
  return found === undefined
    ? { reason: 'LaunchFailed', message: 'Instance launch failed' }
    : { reason: found[1], message: found[2] };
}

/**
 * Returns a CreateFailed whose condition message is `prefix: explanation`. The error text contains the original AWS
 * error.
 */
export function launchFailure(prefix: string, error: unknown): CreateFailed {
  const { reason, message } = explainLaunchFailure(describeError(error));
  return new CreateFailed(reason, `${prefix}: ${message}`, { cause: error });
}

/** Returns the message for a dry run that AWS rejected. */
export function explainRefusal(error: unknown): string {
  const text = describeError(error);
  if (text.includes('with an explicit deny in a permissions boundary'))
    return 'User is not authorized to perform this operation due to a permission boundary';
  if (text.includes('with an explicit deny in a service control policy'))
    return 'User is not authorized to perform this operation due to a service control policy';
  if (text.includes('Not authorized for images')) return 'User is not authorized for AMI used in instance launch';
  return 'User is not authorized to perform this operation because no identity-based policy allows it';
}

/** Combines several errors into one with a context. */
export function combineErrors(context: string, failures: readonly unknown[]): Error {
  const [only] = failures;
  if (failures.length === 1 && only instanceof Error) return new Error(`${context}, ${only.message}`, { cause: only });
  return new AggregateError(failures, context);
}

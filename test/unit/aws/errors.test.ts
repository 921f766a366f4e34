import { describe, expect, it } from '@jest/globals';
import { CreateFailed, InsufficientCapacity } from '#cloud';
import { codeOf, explainLaunchFailure, isNotFound, isServerFault, launchFailure } from '../../../src/aws/errors.ts';
import { launchError } from '../../../src/aws/fleet/failures.ts';

describe('explainLaunchFailure', () => {
  it.each([
    ['AuthFailure.ServiceLinkedRoleCreationNotPermitted: no', 'SpotSLRCreationFailed'],
    ['UnauthorizedOperation: with an explicit deny in a permissions boundary', 'Unauthorized'],
    ['UnauthorizedOperation: Not authorized for images: [ami-1]', 'AMIAuthorizationFailure'],
    ['AccessDenied: with an explicit deny in a service control policy. Not authorized for images', 'Unauthorized'],
    ['InvalidParameter: sg-1 and subnet-1 belong to different networks', 'SecurityGroupSubnetVPCMismatch'],
    ['InvalidParameterValue: iamInstanceProfile.name is invalid', 'InstanceProfileNameInvalid'],
    ['InvalidUserData.Malformed: User data is limited to 16384 bytes', 'UserDataSizeLimitExceeded'],
    ['InvalidAMIID.NotFound: gone', 'AMINotFound'],
    ['RequestLimitExceeded: slow down', 'RequestLimitExceeded'],
    ['MaxSpotInstanceCountExceeded: quota', 'SpotQuotaExceeded'],
    ['VcpuLimitExceeded: quota', 'VCPULimitExceeded'],
    ['InsufficientFreeAddressesInSubnet: full', 'InsufficientFreeAddressesInSubnet'],
    ['InsufficientInstanceCapacity: none', 'LaunchFailed'],
  ])('reads %s as %s', (text, reason) => {
    expect(explainLaunchFailure(text).reason).toBe(reason);
  });
});

const awsError = (name: string, fault: 'client' | 'server' = 'client'): Error =>
  Object.assign(new Error(`${name} happened`), { name, $metadata: {}, $fault: fault });

describe('an AWS error', () => {
  it('is recognized through wrapping', () => {
    const wrapped = new Error('outer', { cause: new Error('middle', { cause: awsError('NoSuchEntityException') }) });
    expect(codeOf(wrapped)).toBe('NoSuchEntityException');
    expect(isNotFound(wrapped)).toBe(true);
    expect(codeOf(new Error('plain'))).toBe('');
    expect(isServerFault(new Error('outer', { cause: awsError('InternalError', 'server') }))).toBe(true);
  });

  it('keeps its message in a failed launch', () => {
    const failed = launchFailure('Error creating fleet request', awsError('RequestLimitExceeded'));
    expect(failed.conditionMessage).toBe('Error creating fleet request: Request limit exceeded');
    expect(failed.message).toContain('RequestLimitExceeded happened');
  });
});

describe('launchError', () => {
  const error = (ErrorCode: string) => ({ ErrorCode, ErrorMessage: 'because' });

  it('is a shortage only when every error is one', () => {
    const shortage = launchError([error('InsufficientInstanceCapacity'), error('InsufficientInstanceCapacity')]);
    expect(shortage).toBeInstanceOf(InsufficientCapacity);
    expect(shortage.message).toBe('insufficient capacity, with fleet error(s), InsufficientInstanceCapacity: because');
    const mixed = launchError([error('InsufficientInstanceCapacity'), error('UnauthorizedOperation')]);
    expect(mixed).toBeInstanceOf(CreateFailed);
    expect(mixed).toMatchObject({ reason: 'Unauthorized' });
  });
});

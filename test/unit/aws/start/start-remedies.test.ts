import { describe, expect, it } from '@jest/globals';
import { StartError } from '#process/life';
import { failedStart, startRemedy } from '../../../../src/aws/start/start-remedies.ts';

const FACTS = { region: 'us-west-2', clusterName: 'demo' };

const failure = (name: string, message = 'no', more: object = {}): Error =>
  Object.assign(new Error(message), { name, $service: 'EC2', $operation: 'DescribeInstanceTypes', ...more });
const refusal = (name: string, message?: string, more: object = {}): Error =>
  failure(name, message, { $fault: 'client', $metadata: { httpStatusCode: 403 }, ...more });
const EKS = { $service: 'EKS', $operation: 'DescribeCluster' };

describe('the remedy for a failed start', () => {
  it.each([
    ['no credentials', failure('CredentialsProviderError'), /role-arn \(IRSA\).*Pod Identity.*rollout restart/],
    [
      'a role that does not trust the service account',
      refusal('AccessDenied', 'Not authorized to perform sts:AssumeRoleWithWebIdentity'),
      /trust policy/,
    ],
    ['credentials that have expired', refusal('ExpiredTokenException'), /^renew the credentials/],
    [
      'credentials of another partition',
      refusal('AuthFailure'),
      /^correct the credentials, or AWS_REGION if region us-west-2/,
    ],
    [
      'EC2 that denies the call',
      refusal('UnauthorizedOperation'),
      /^allow ec2:DescribeInstanceTypes in the policies of the operator's role$/,
    ],
    [
      'EKS that denies the call',
      refusal('AccessDeniedException', 'no', EKS),
      /^allow eks:DescribeCluster .* or set CLUSTER_ENDPOINT/,
    ],
    [
      'a cluster that does not exist',
      refusal('ResourceNotFoundException', 'no', EKS),
      /^set CLUSTER_NAME .* cluster in region us-west-2, which has no cluster "demo"/,
    ],
    [
      'an endpoint that cannot be reached',
      failure('Error', 'connect', { code: 'ECONNREFUSED' }),
      /^allow the pods to reach EC2 in region us-west-2: check .*AWS_ENDPOINT_URL/,
    ],
    ['an endpoint that does not answer', failure('TimeoutError'), /^allow the pods to reach EC2/],
    ['another failure', new Error('odd'), /^correct the cause/],
  ])('is specific to %s', (_, error, remedy) => {
    expect(startRemedy(error, FACTS)).toMatch(remedy);
    expect(startRemedy(new Error('outer', { cause: error }), FACTS)).toMatch(remedy);
  });

  it('is the remedy for the first step that failed', () => {
    const inner = new StartError('inner', { cause: new Error('x'), remedy: 'r' });
    expect(() => failedStart('outer', FACTS)(inner)).toThrow(inner);
    expect(() => failedStart('outer', FACTS)(new Error('y'))).toThrow(StartError);
  });
});

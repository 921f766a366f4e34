/** STS: identity of the caller, and roles for service accounts. */
import type {
  AssumeRoleRequest,
  AssumeRoleResponse,
  AssumeRoleWithWebIdentityRequest,
  AssumeRoleWithWebIdentityResponse,
  Credentials,
  GetCallerIdentityResponse,
} from '@aws-sdk/client-sts';
import type { Account } from '../state/account.ts';
import { AwsError } from '../wire/error.ts';
import type { Handlers } from '../wire/service.ts';

const DEFAULT_SECONDS = 3600;

export function stsHandlers(account: Account): Handlers {
  const credentials = (seconds = DEFAULT_SECONDS): Credentials => ({
    AccessKeyId: account.random.id('ASIA').replaceAll('-', '').slice(0, 20).toUpperCase(),
    SecretAccessKey: account.random.uuid(),
    SessionToken: account.random.uuid(),
    Expiration: new Date(account.clock.now() + seconds * 1000),
  });
  const assumed = (roleArn = '', session = ''): { Arn: string; AssumedRoleId: string } => {
    const role = /^arn:aws[a-z-]*:iam::\d{12}:role\/(.+)$/.exec(roleArn)?.[1];
    if (!role) throw new AwsError('ValidationError', `${roleArn} is invalid`);
    return {
      Arn: `arn:aws:sts::${account.id}:assumed-role/${role}/${session}`,
      AssumedRoleId: `${account.random.id('AROA').replaceAll('-', '').toUpperCase()}:${session}`,
    };
  };
  return {
    GetCallerIdentity: (): GetCallerIdentityResponse => ({
      Account: account.id,
      Arn: `arn:aws:sts::${account.id}:assumed-role/local/local`,
      UserId: 'AROALOCALLOCALLOCAL01:local',
    }),
    AssumeRole: (input: AssumeRoleRequest): AssumeRoleResponse => ({
      AssumedRoleUser: assumed(input.RoleArn, input.RoleSessionName),
      Credentials: credentials(input.DurationSeconds),
    }),
    AssumeRoleWithWebIdentity: (input: AssumeRoleWithWebIdentityRequest): AssumeRoleWithWebIdentityResponse => {
      if (input.WebIdentityToken?.split('.').length !== 3) {
        throw new AwsError('InvalidIdentityToken', 'The ID Token provided is not a valid JWT.');
      }
      return {
        AssumedRoleUser: assumed(input.RoleArn, input.RoleSessionName),
        Credentials: credentials(input.DurationSeconds),
        Audience: 'sts.amazonaws.com',
      };
    },
  };
}

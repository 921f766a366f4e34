/** SSM Parameter Store, with the calls that resolve images. */
import type {
  GetParameterRequest,
  GetParameterResult,
  GetParametersByPathRequest,
  GetParametersByPathResult,
  GetParametersRequest,
  GetParametersResult,
  Parameter,
} from '@aws-sdk/client-ssm';
import { page } from '../filters.ts';
import type { Account } from '../state/account.ts';
import { AwsError } from '../wire/error.ts';
import type { Handlers } from '../wire/service.ts';

export function ssmHandlers(account: Account): Handlers {
  const find = (asked: string): Parameter | undefined => {
    // A parameter may be identified by its ARN, too.
    const name = asked.startsWith('arn:') ? asked.slice(asked.indexOf(':parameter') + ':parameter'.length) : asked;
    if (!account.parameters.has(name)) account.publishRelease(name);
    const stored = account.parameters.get(name);
    if (!stored) return undefined;
    return {
      Name: name,
      Type: 'String',
      Value: stored.value,
      Version: stored.version,
      LastModifiedDate: new Date(stored.changedAt),
      ARN: `arn:aws:ssm:${account.region}:${name.startsWith('/aws/') ? '' : account.id}:parameter${name}`,
      DataType: stored.value.startsWith('ami-') ? 'aws:ec2:image' : 'text',
    };
  };

  return {
    GetParameter: ({ Name: name = '' }: GetParameterRequest): GetParameterResult => {
      const parameter = find(name);
      if (!parameter) throw new AwsError('ParameterNotFound', `Parameter ${name} not found.`);
      return { Parameter: parameter };
    },

    GetParameters: ({ Names: names = [] }: GetParametersRequest): GetParametersResult => {
      if (names.length === 0 || names.length > 10) {
        throw new AwsError('ValidationException', `Names must have 1 to 10 members, not ${names.length}`);
      }
      return {
        Parameters: names.flatMap((name) => find(name) ?? []),
        InvalidParameters: names.filter((name) => !find(name)),
      };
    },

    GetParametersByPath: (input: GetParametersByPathRequest): GetParametersByPathResult => {
      const path = input.Path ?? '';
      if (!path.startsWith('/')) {
        throw new AwsError('ValidationException', `The parameter path "${path}" must start with a slash`);
      }
      const prefix = path.endsWith('/') ? path : `${path}/`;
      const names = [...account.parameters.keys()]
        .filter((name) => name.startsWith(prefix))
        .filter((name) => input.Recursive || !name.slice(prefix.length).includes('/'))
        .sort();
      const { items, next } = page(names, input, { max: 10, fallback: 10 });
      return { Parameters: items.flatMap((name) => find(name) ?? []), NextToken: next };
    },
  };
}

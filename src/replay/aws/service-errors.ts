/** Errors of AWS services, with the classes and members of the SDK clients. */
import * as ec2 from '@aws-sdk/client-ec2';
import * as eks from '@aws-sdk/client-eks';
import * as iam from '@aws-sdk/client-iam';
import * as pricing from '@aws-sdk/client-pricing';
import * as sqs from '@aws-sdk/client-sqs';
import * as ssm from '@aws-sdk/client-ssm';
import { own } from '../../lib/own.ts';
import type { CallError } from '../../local/aws/options.ts';

interface Metadata {
  readonly httpStatusCode: number;
  readonly requestId: string;
}

/** Class for one error of a service. The class sets its name and its fault. */
type ModelledError = new (facts: { readonly message: string; readonly $metadata: Metadata }) => Error;

/** Class for errors without a class of their own. */
type AnyError = new (facts: {
  readonly name: string;
  readonly $fault: 'client' | 'server';
  readonly message: string;
  readonly $metadata: Metadata;
}) => Error;

interface Service {
  readonly base: AnyError;
  readonly exported: Readonly<Record<string, unknown>>;
}

/** Services by the prefix of the client's class name. In a bundle, a CommonJS package has only a default export. */
const SERVICES: Readonly<Record<string, Service>> = {
  EC2: { base: ec2.EC2ServiceException, exported: { ...ec2 } },
  EKS: { base: eks.EKSServiceException, exported: { ...eks } },
  IAM: { base: iam.IAMServiceException, exported: { ...iam } },
  Pricing: { base: pricing.PricingServiceException, exported: { ...pricing } },
  SQS: { base: sqs.SQSServiceException, exported: { ...sqs } },
  SSM: { base: ssm.SSMServiceException, exported: { ...ssm } },
};

/**
 * Creates the error that an SDK client would throw. Only IAM has codes that differ from the names of its errors.
 * @param service prefix of the client's class name, for example `EC2`
 */
export function serviceError(service: string, error: CallError, requestId: string): Error {
  const { code, shownCode, message, status, details } = error;
  const { base, exported } = own(SERVICES, service) ?? { base: ec2.EC2ServiceException, exported: {} };
  const $metadata: Metadata = { httpStatusCode: status, requestId };
  const Modelled = findModelled(exported, service === 'IAM' ? `${code}Exception` : code, base);
  const made = Modelled
    ? new Modelled({ message, $metadata })
    : new base({ name: code, $fault: status < 500 ? 'client' : 'server', message, $metadata });
  return Object.assign(made, details, shownCode === undefined ? {} : { Code: shownCode });
}

function findModelled(
  exported: Readonly<Record<string, unknown>>,
  name: string,
  base: AnyError,
): ModelledError | undefined {
  const found = own(exported, name);
  return typeof found === 'function' && found.prototype instanceof base ? (found as ModelledError) : undefined;
}

/**
 * SDK clients of the operator, connected to the local AWS in the same process. Requests are not signed, encoded, sent
 * or parsed.
 * The steps of the SDK and of the operator around each attempt remain, for example retries and the names of calls in
 * errors.
 */

import * as ec2 from '@aws-sdk/client-ec2';
import * as eks from '@aws-sdk/client-eks';
import * as iam from '@aws-sdk/client-iam';
import * as pricing from '@aws-sdk/client-pricing';
import type { ReceiveMessageRequest, ReceiveMessageResult } from '@aws-sdk/client-sqs';
import * as sqs from '@aws-sdk/client-sqs';
import * as ssm from '@aws-sdk/client-ssm';
import {
  type Call,
  type ClientOptions,
  type Clients,
  clientsIn,
  NEEDS,
  problemOf,
  type ServiceEndpoints,
  UnusableAnswer,
} from '#aws/clients';
import { openFence } from '#kube/client';
import { own } from '#lib';
import type { CallAnswer, CallError, OpenAws } from '#local/aws';

/**
 * Step that each command adds to find its endpoint. No request is sent to the endpoint, but other steps are placed
 * relative to this one.
 */
const ENDPOINT = 'endpointV2Middleware';
/**
 * Fixed settings for every client. Without them the SDK would look for settings in the environment and in files. This
 * takes real time.
 */
const ENDPOINTS: ServiceEndpoints = {
  endpoint: 'http://in-process.invalid',
  useFipsEndpoint: false,
  useDualstackEndpoint: false,
};

/**
 * Steps of the SDK and of the operator that build the HTTP request from the input and the output from the HTTP
 * response.
 */
const OF_THE_WIRE = [
  'httpAuthSchemeMiddleware',
  'serializerMiddleware',
  'contentLengthMiddleware',
  'getUserAgentMiddleware',
  'hostHeaderMiddleware',
  'recursionDetectionMiddleware',
  'httpSigningMiddleware',
  'deserializerMiddleware',
  'wholeAndFormed',
  // Responses of the local AWS need this check only if a fault empties them. `toAnswered` runs the check in this case.
  'usable',
] as const;

/** Part of an SDK client that this module needs. */
interface Stacked {
  readonly middlewareStack: Stack;
}

interface Stack {
  add(
    middleware: (next: Answering, context: Context) => Answering,
    at: { readonly step: 'serialize' | 'deserialize'; readonly name: string; readonly priority: 'low' | 'normal' },
  ): void;
  remove(name: string): boolean;
  /** Returns a stack with these steps and the steps of a command. */
  concat(ofCommand: Stack): Stack;
}

type Answering = (args: { readonly input: object }) => Promise<Answered>;

/** Context of a command, as the SDK sets it. */
interface Context {
  readonly clientName?: string;
  readonly commandName?: string;
  readonly __smithy_context?: { readonly abortSignal?: AbortSignal };
}

interface Answered {
  readonly output: object;
  readonly response: object;
}

/**
 * Creates the SDK clients for `aws`. Pauses between attempts follow the given clock. Zonal shifts are disabled.
 * @throws Error if the SDK's clients do not consist of the expected steps
 */
export function inProcessClients(aws: OpenAws, options: Pick<ClientOptions, 'clock' | 'random'>): Clients {
  const clients: Clients = {
    ...clientsIn(aws.region, { ...options, fence: openFence(), endpoints: ENDPOINTS, cacheMiddleware: true }),
    shifts: { shifts: async () => [] },
  };
  const { ec2, ec2Once, sqs, ssm, iam, eks, pricing } = clients;
  for (const client of [ec2, ec2Once, sqs, ssm, iam, eks, pricing]) shorten(client as unknown as Stacked, aws);
  return clients;
}

function shorten({ middlewareStack: stack }: Stacked, aws: OpenAws): void {
  for (const name of OF_THE_WIRE) removeFrom(stack, name);
  stack.add(answering(aws), { step: 'deserialize', name: 'inProcess', priority: 'low' });
  const { concat } = stack;
  stack.concat = (ofCommand) => {
    const whole = concat(ofCommand);
    removeFrom(whole, ENDPOINT);
    whole.add((next) => next, { step: 'serialize', name: ENDPOINT, priority: 'normal' });
    return whole;
  };
}

function removeFrom(stack: Stack, name: string): void {
  if (!stack.remove(name)) throw new Error(`the AWS SDK has no step ${name}: in-process responses are not supported`);
}

const answering =
  (aws: OpenAws) =>
  (_next: Answering, { clientName = '', commandName = '', __smithy_context: smithy }: Context) => {
    const service = clientName.replace(/Client$/, '');
    const operation = commandName.replace(/Command$/, '');
    const signal = smithy?.abortSignal;
    return async ({ input }: { readonly input: object }): Promise<Answered> => {
      if (signal?.aborted) throw abortError();
      let answer: CallAnswer;
      do answer = await aws.call(service.toLowerCase(), operation, input, signal);
      while (isInVain(operation, input, answer) && !signal?.aborted);
      if (signal?.aborted) throw abortError();
      return toAnswered({ service, operation }, answer);
    };
  };

/** Returns true for a long poll that received no message. The operator would repeat the poll at the same moment. */
const isInVain = (operation: string, input: object, { output, error, broken }: CallAnswer): boolean =>
  operation === 'ReceiveMessage' &&
  Boolean((input as ReceiveMessageRequest).WaitTimeSeconds) &&
  error === undefined &&
  broken === undefined &&
  (output as ReceiveMessageResult).Messages === undefined;

/** @throws the error of the SDK or of a failed check */
function toAnswered(call: Call, answer: CallAnswer): Answered {
  const { requestId, output, error, broken } = answer;
  if (error !== undefined) throw serviceError(call.service, error, requestId);
  if (broken === 'unheard' || broken === 'unanswered') throw reset();
  const check = broken === 'empty' ? NEEDS[call.service]?.[call.operation] : undefined;
  const problem = broken === 'cut' ? 'the response is truncated' : check && problemOf(check, output);
  if (problem !== undefined) throw new UnusableAnswer(call, problem);
  return { output: { ...output, $metadata: { httpStatusCode: 200, requestId } }, response: {} };
}

const abortError = (): Error => Object.assign(new Error('Request aborted'), { name: 'AbortError' });

/** Returns a connection reset, with the code of Node and the name of the SDK. */
const reset = (): Error =>
  Object.assign(new Error('read ECONNRESET'), { name: 'TimeoutError', code: 'ECONNRESET', syscall: 'read' });

/** Errors of AWS services, with the classes and members of the SDK clients. */
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
function serviceError(service: string, error: CallError, requestId: string): Error {
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

/**
 * The operator's SDK clients, answered by an AWS in the same process: nothing is signed, encoded, sent or parsed. What
 * the SDK and the operator do around each attempt stays: retries, names of calls in errors.
 */

import type { ReceiveMessageRequest, ReceiveMessageResult } from '@aws-sdk/client-sqs';
import { problemOf } from '../../aws/answers/checks.ts';
import { NEEDS } from '../../aws/answers/needs.ts';
import { type Call, UnusableAnswer } from '../../aws/answers/unusable.ts';
import { type ClientOptions, type Clients, clientsIn, type ServiceEndpoints } from '../../aws/clients.ts';
import { openFence } from '../../kube/fence.ts';
import type { CallAnswer, OpenAws } from '../../local/aws/options.ts';
import { serviceError } from './service-errors.ts';

/** Each command brings this step, which finds the endpoint. Nothing is sent there, but other steps stand beside it. */
const ENDPOINT = 'endpointV2Middleware';
/** Given all of them, nobody looks for any in the environment or in files, which would take real time. */
const ENDPOINTS: ServiceEndpoints = {
  endpoint: 'http://in-process.invalid',
  useFipsEndpoint: false,
  useDualstackEndpoint: false,
};

/** Steps of the SDK's and of our own that make an HTTP request of the input, and an output of the HTTP response. */
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
  // Answers of the local AWS need no check but where a fault empties them, and then it is done here.
  'usable',
] as const;

/** What is needed of any SDK client. */
interface Stacked {
  readonly middlewareStack: Stack;
}

interface Stack {
  add(
    middleware: (next: Answering, context: Context) => Answering,
    at: { readonly step: 'serialize' | 'deserialize'; readonly name: string; readonly priority: 'low' | 'normal' },
  ): void;
  remove(name: string): boolean;
  /** These steps with those of a command. */
  concat(ofCommand: Stack): Stack;
}

type Answering = (args: { readonly input: object }) => Promise<Answered>;

/** What the SDK says of a command. */
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
 * The clients of `aws`. Pauses between attempts follow the clock that is given; no zone is ever shifted away from.
 * @throws Error when the SDK's clients are made of other steps than is known here
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
  if (!stack.remove(name))
    throw new Error(`the AWS SDK has no step ${name}: its clients cannot be answered in process`);
}

const answering =
  (aws: OpenAws) =>
  (_next: Answering, { clientName = '', commandName = '', __smithy_context: smithy }: Context) => {
    const service = clientName.replace(/Client$/, '');
    const operation = commandName.replace(/Command$/, '');
    const signal = smithy?.abortSignal;
    return async ({ input }: { readonly input: object }): Promise<Answered> => {
      if (signal?.aborted) throw aborted();
      let answer: CallAnswer;
      do answer = await aws.call(service.toLowerCase(), operation, input, signal);
      while (isInVain(operation, input, answer) && !signal?.aborted);
      if (signal?.aborted) throw aborted();
      return received({ service, operation }, answer);
    };
  };

/** A long poll to which no message came: whoever made it would only make it anew, at the same moment. */
const isInVain = (operation: string, input: object, { output, error, broken }: CallAnswer): boolean =>
  operation === 'ReceiveMessage' &&
  Boolean((input as ReceiveMessageRequest).WaitTimeSeconds) &&
  error === undefined &&
  broken === undefined &&
  (output as ReceiveMessageResult).Messages === undefined;

/** @throws what the SDK or a check would throw */
function received(call: Call, answer: CallAnswer): Answered {
  const { requestId, output, error, broken } = answer;
  if (error !== undefined) throw serviceError(call.service, error, requestId);
  if (broken === 'unheard' || broken === 'unanswered') throw reset();
  const check = broken === 'empty' ? NEEDS[call.service]?.[call.operation] : undefined;
  const problem = broken === 'cut' ? 'it ends in the middle' : check && problemOf(check, output);
  if (problem !== undefined) throw new UnusableAnswer(call, problem);
  return { output: { ...output, $metadata: { httpStatusCode: 200, requestId } }, response: {} };
}

const aborted = (): Error => Object.assign(new Error('Request aborted'), { name: 'AbortError' });

/** As Node reports it, and the SDK names it. */
const reset = (): Error =>
  Object.assign(new Error('read ECONNRESET'), { name: 'TimeoutError', code: 'ECONNRESET', syscall: 'read' });

/** Middleware that rejects unusable AWS responses and adds the name of the call to errors. */
import { checkForm, wholeBody } from './body.ts';
import { problemOf } from './checks.ts';
import { NEEDS } from './needs.ts';
import { type Call, isParseError, nameFailure, UnusableAnswer, unreadable } from './unusable.ts';

interface Context {
  readonly clientName?: string;
  readonly commandName?: string;
}

interface Received {
  readonly response: unknown;
  readonly output?: unknown;
}

type Step<Result> = (next: (args: never) => Promise<Result>, context: Context) => (args: never) => Promise<Result>;

interface Position<Name extends string> {
  readonly step: Name;
  readonly name: string;
  readonly priority: 'high' | 'low';
}

/** The part of an SDK client that this module uses. */
export interface Stacked {
  readonly middlewareStack: {
    add(middleware: Step<{ readonly output: object }>, at: Position<'initialize'>): void;
    add(middleware: Step<Received>, at: Position<'deserialize'>): void;
  };
}

const callOf = ({ clientName = '', commandName = '' }: Context): Call => ({
  service: clientName.replace(/Client$/, ''),
  operation: commandName.replace(/Command$/, ''),
});

const checkOf = ({ service, operation }: Call) => NEEDS[service]?.[operation];

interface HttpResponse {
  readonly statusCode: number;
  body: unknown;
}

/** Runs before the SDK parses the response. */
const wholeAndFormed: Step<Received> = (next, context) => async (args) => {
  const call = callOf(context);
  const result = await next(args);
  const response = result.response as HttpResponse;
  response.body = await wholeBody(call, response.body);
  if (response.statusCode >= 300) return result;
  if (checkOf(call) !== undefined) checkForm(call, response.body);
  response.body = withoutUnread(call, response.body);
  return result;
};

/** Runs after the SDK has parsed the response. */
const usable: Step<Received> = (next, context) => async (args) => {
  const call = callOf(context);
  let result: Received;
  try {
    result = await next(args);
  } catch (error) {
    throw isParseError(error) ? unreadable(call, error) : error;
  }
  const check = checkOf(call);
  const problem = check && problemOf(check, result.output);
  if (problem !== undefined) throw new UnusableAnswer(call, problem);
  return result;
};

/** Runs once around all attempts. */
const failuresNamed: Step<{ readonly output: object }> = (next, context) => async (args) => {
  try {
    return await next(args);
  } catch (error) {
    throw nameFailure(error, callOf(context));
  }
};

export function withChecks<C extends Stacked>(client: C): C {
  const { middlewareStack: stack } = client;
  stack.add(wholeAndFormed, { step: 'deserialize', name: 'wholeAndFormed', priority: 'low' });
  stack.add(usable, { step: 'deserialize', name: 'usable', priority: 'high' });
  stack.add(failuresNamed, { step: 'initialize', name: 'named', priority: 'high' });
  return client;
}

/** Text elements that are not read. No other element that is read has one of these names. */
export const TEXTS = [
  'currentGeneration',
  'freeTierEligible',
  'instanceStorageSupported',
  'hibernationSupported',
  'dedicatedHostsSupported',
  'autoRecoverySupported',
  'nitroTpmSupport',
  'phcSupport',
  'rebootMigrationSupport',
  'defaultCores',
  'defaultThreadsPerCore',
  'encryptionSupport',
  'maximumEbsCards',
  'baselineBandwidthInMbps',
  'baselineThroughputInMBps',
  'baselineIops',
  'maximumThroughputInMBps',
  'maximumIops',
  'networkPerformance',
  'peakBandwidthInGbps',
  'maximumNetworkCards',
  'ipv6AddressesPerInterface',
  'ipv6Supported',
  'enaSrdSupported',
  'efaSupported',
  'flexibleEnaQueuesSupport',
];
/** Lists of texts that are not read. */
export const LISTS = [
  'supportedRootDeviceTypes',
  'supportedBootModes',
  'validCores',
  'validThreadsPerCore',
  'bandwidthWeightings',
];

const UNREAD = new RegExp(
  `<(${TEXTS.join('|')})>[^<]*</\\1>|<(${LISTS.join('|')})>(?:\\s*<item>[^<]*</item>)*\\s*</\\2>`,
  'g',
);

/**
 * Returns the body without the unused elements. They are more than half of several megabytes, and parsing them took half of
 * the processor time of the start. Elements that are not listed above are kept.
 */
export function withoutUnread({ service, operation }: Call, body: unknown): unknown {
  if (service !== 'EC2' || operation !== 'DescribeInstanceTypes' || !(body instanceof Uint8Array)) return body;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  return Buffer.from(text.replace(UNREAD, ''));
}

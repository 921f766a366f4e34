/** SDK clients on the default credential chain. `AWS_ENDPOINT_URL` and `AWS_REGION` steer them as usual. */
import { EC2Client } from '@aws-sdk/client-ec2';
import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import { PricingClient } from '@aws-sdk/client-pricing';
import { SQSClient } from '@aws-sdk/client-sqs';
import { SSMClient } from '@aws-sdk/client-ssm';
import { closedFence, type Fence } from '../kube/fence.ts';
import { type Clock, realClock } from '../lib/clock.ts';
import { checked, type Stacked } from './answers/checked.ts';
import { renewCredentialsBy } from './credentials.ts';
import { type Fenceable, fenced } from './fenced.ts';
import { standardRetries } from './retries.ts';
import type { AwsStart } from './start/aws-start.ts';
import type { ShiftSource } from './zonalshift/client.ts';

/** Longer than any answer takes, a long poll of the queue included. An AWS that never answers must not hold us up. */
const ANSWER_MS = 60_000;
const ATTEMPTS = 6;
const METADATA_ENDPOINT = 'http://169.254.169.254';
/** Where there is no instance nothing may answer at all, and someone waits for an error. */
const METADATA_ANSWER_MS = 1_000;
/** It becomes part of the names of hosts. */
const REGION = /^[a-z][a-z0-9-]{1,62}$/;

export interface Clients {
  readonly ec2: EC2Client;
  /** For dry runs, where a throttle is an answer rather than something to wait for. */
  readonly ec2Once: EC2Client;
  readonly sqs: SQSClient;
  readonly ssm: SSMClient;
  readonly iam: IAMClient;
  readonly eks: EKSClient;
  readonly pricing: PricingClient;
  readonly region: string;
  /** Of zonal shifts, instead of Application Recovery Controller, which has no client here. */
  readonly shifts?: ShiftSource;
}

/** The region whose Pricing API serves a region. */
export function pricingRegion(region: string): string {
  if (region.startsWith('ap-')) return 'ap-south-1';
  if (region.startsWith('cn-')) return 'cn-northwest-1';
  if (region.startsWith('eu-')) return 'eu-central-1';
  return 'us-east-1';
}

/**
 * The region of the SDK's configuration, else that of the instance.
 * @throws Error that says where a region can be set
 */
async function regionOf(configured: () => Promise<string>): Promise<string> {
  try {
    return await configured();
  } catch (error) {
    const region = await instanceRegion();
    if (region !== undefined) return region;
    throw new Error(
      'the AWS region is not known: set AWS_REGION, or region for the profile in ~/.aws/config' +
        ' (neither is set, and no EC2 instance metadata answers here)',
      { cause: error },
    );
  }
}

/** The region of the instance that this process runs on; undefined elsewhere. */
async function instanceRegion(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<string | undefined> {
  if (env.AWS_EC2_METADATA_DISABLED?.toLowerCase() === 'true') return undefined;
  const endpoint = env.AWS_EC2_METADATA_SERVICE_ENDPOINT || METADATA_ENDPOINT;
  const ask = async (method: 'GET' | 'PUT', path: string, headers: Record<string, string>): Promise<string> => {
    const response = await fetch(new URL(path, endpoint), {
      method,
      headers,
      signal: AbortSignal.timeout(METADATA_ANSWER_MS),
    });
    if (!response.ok) throw new Error(`instance metadata answers ${response.status}`);
    return (await response.text()).trim();
  };
  try {
    const token = await ask('PUT', '/latest/api/token', { 'x-aws-ec2-metadata-token-ttl-seconds': '60' });
    const region = await ask('GET', '/latest/meta-data/placement/region', { 'x-aws-ec2-metadata-token': token });
    return REGION.test(region) ? region : undefined;
  } catch {
    return undefined;
  }
}

export interface ServiceEndpoints {
  readonly endpoint: string;
  readonly useFipsEndpoint: boolean;
  readonly useDualstackEndpoint: boolean;
}

export interface ClientOptions {
  /** Permits calls that change anything. Default: the clients only read. */
  readonly fence?: Fence;
  /** That pauses between attempts follow. Default: the machine's. */
  readonly clock?: Clock;
  /** How long each attempt waits for its answer, in real time. */
  readonly answerMs?: number;
  /** Jitters those pauses, in [0, 1). Default: the machine's. */
  readonly random?: () => number;
  /** Where services are. Default: what the SDK finds in the environment and in the shared config, else AWS. */
  readonly endpoints?: ServiceEndpoints;
  /** Whether the steps around a call are put together once for each kind of call. They must not be changed after that. */
  readonly cacheMiddleware?: boolean;
  /** Shortens attempts and lengthens retries until it is over. */
  readonly start?: AwsStart | undefined;
}

/**
 * Throttling and transient errors are retried with jittered back-off, as in the SDK's standard mode.
 * @throws Error when neither the environment, the shared config nor the instance names a region
 */
export async function createClients(options: ClientOptions = {}): Promise<Clients> {
  const probe = new EC2Client({ maxAttempts: 1, requestHandler: requestLimits(options.answerMs) });
  const region = await regionOf(probe.config.region);
  probe.destroy();
  return clientsIn(region, options);
}

/** The same in a region that is known. */
export function clientsIn(
  region: string,
  {
    clock = realClock(),
    answerMs = ANSWER_MS,
    random = Math.random,
    fence = closedFence(),
    ...options
  }: ClientOptions = {},
): Clients {
  const { endpoints, cacheMiddleware = false, start } = options;
  const trying = (maxAttempts: number) => ({
    region,
    maxAttempts,
    retryStrategy: standardRetries({ clock, maxAttempts, random, start: maxAttempts > 1 ? start : undefined }),
    requestHandler: requestLimits(answerMs),
    cacheMiddleware,
    ...endpoints,
  });
  const bounded = <C extends Bounded>(client: C): C => {
    // It makes a copy of each input and output for a logger that nobody has given.
    client.middlewareStack.remove('loggerMiddleware');
    renewCredentialsBy(clock, client);
    return fenced(
      withDeadline(checked(client), () => start?.answerMs ?? answerMs),
      fence,
    );
  };
  return {
    ec2: bounded(new EC2Client(trying(ATTEMPTS))),
    ec2Once: bounded(new EC2Client(trying(1))),
    // A long poll holds its connection for 20 s, so the queue has a client of its own. The host of a queue's URL is not
    // the endpoint: it would bypass AWS_ENDPOINT_URL, VPC endpoints, FIPS and dual-stack.
    sqs: bounded(new SQSClient({ ...trying(ATTEMPTS), useQueueUrlAsEndpoint: false })),
    ssm: bounded(new SSMClient(trying(ATTEMPTS))),
    iam: bounded(new IAMClient(trying(ATTEMPTS))),
    eks: bounded(new EKSClient(trying(ATTEMPTS))),
    pricing: bounded(new PricingClient({ ...trying(ATTEMPTS), region: pricingRegion(region) })),
    region,
  };
}

const requestLimits = (answerMs = ANSWER_MS) => ({
  connectionTimeout: 5_000,
  requestTimeout: answerMs,
  throwOnRequestTimeout: true,
});

interface Bounded extends Stacked {
  readonly middlewareStack: Stacked['middlewareStack'] &
    Fenceable['middlewareStack'] & { remove(name: string): boolean };
  readonly config: Pick<EC2Client['config'], 'requestHandler' | 'credentials'>;
}

/** The part of an open answer that can be given up. */
interface Body {
  destroy?(error: Error): void;
  once?(event: 'close', listener: () => void): void;
}

/** Ends answers that take longer to come in whole: the SDK's own time-out is over with their first byte. */
function withDeadline<C extends Bounded>(client: C, longestMs: () => number): C {
  const { requestHandler } = client.config;
  const handle = requestHandler.handle.bind(requestHandler);
  requestHandler.handle = async (request, options) => {
    const answerMs = longestMs();
    const result = await handle(request, { ...options, requestTimeout: answerMs });
    const body = result.response.body as Body | undefined;
    if (body?.destroy === undefined || body.once === undefined) return result;
    const text = `the answer of AWS did not end within ${answerMs} ms`;
    const late = Object.assign(new Error(text), { name: 'TimeoutError' });
    const timer = setTimeout(() => body.destroy?.(late), answerMs).unref();
    body.once('close', () => clearTimeout(timer));
    return result;
  };
  return client;
}

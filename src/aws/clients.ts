/** SDK clients with the default credential chain. `AWS_ENDPOINT_URL` and `AWS_REGION` apply as usual. */

import { EC2Client } from '@aws-sdk/client-ec2';
import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import { PricingClient } from '@aws-sdk/client-pricing';
import { SQSClient } from '@aws-sdk/client-sqs';
import { SSMClient } from '@aws-sdk/client-ssm';
import { closedFence, type Fence } from '#kube/client';
import { type Clock, realClock, type Timepiece } from '#lib/clock';
import { type Stacked, withChecks } from './answers/checked.ts';
import { standardRetries } from './retries.ts';
import type { AwsStart } from './start/aws-start.ts';
import type { ShiftSource } from './zonalshift/client.ts';

/**
 * Longer than any response takes, including a long poll of the queue. Without it, a call without a response would block
 * the operator.
 */
const ANSWER_MS = 60_000;
const ATTEMPTS = 6;
const METADATA_ENDPOINT = 'http://169.254.169.254';
/** Outside EC2, the metadata endpoint may not respond at all, and a user waits for the error. */
const METADATA_ANSWER_MS = 1_000;
/** The region becomes part of host names. */
const REGION = /^[a-z][a-z0-9-]{1,62}$/;

export interface Clients {
  readonly ec2: EC2Client;
  /** For dry runs, in which a throttled request is a result and is not retried. */
  readonly ec2Once: EC2Client;
  readonly sqs: SQSClient;
  readonly ssm: SSMClient;
  readonly iam: IAMClient;
  readonly eks: EKSClient;
  readonly pricing: PricingClient;
  readonly region: string;
  /** Replaces Application Recovery Controller as the source of zonal shifts. It has no SDK client here. */
  readonly shifts?: ShiftSource;
}

/** Returns the region whose Pricing API covers a region. */
export function pricingRegion(region: string): string {
  if (region.startsWith('ap-')) return 'ap-south-1';
  if (region.startsWith('cn-')) return 'cn-northwest-1';
  if (region.startsWith('eu-')) return 'eu-central-1';
  return 'us-east-1';
}

/**
 * Returns the region of the SDK configuration, or else that of the instance.
 * @throws Error that names the places where a region can be set
 */
async function regionOf(configured: () => Promise<string>): Promise<string> {
  try {
    return await configured();
  } catch (error) {
    const region = await instanceRegion();
    if (region !== undefined) return region;
    throw new Error(
      'the AWS region is unknown; set AWS_REGION, or region for the profile in ~/.aws/config' +
        ' (neither is set, and the EC2 instance metadata service cannot be reached)',
      { cause: error },
    );
  }
}

/** Returns the region of the instance that runs this process, or undefined outside EC2. */
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
    if (!response.ok) throw new Error(`the instance metadata service returned HTTP status ${response.status}`);
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
  /** Permits mutating calls. Default: the clients only read. */
  readonly fence?: Fence;
  /** Clock of the pauses between attempts. Default: the machine's clock. */
  readonly clock?: Clock;
  /** Timeout of each attempt, in real time. */
  readonly answerMs?: number;
  /** Jitter of these pauses, in [0, 1). Default: `Math.random`. */
  readonly random?: () => number;
  /** Endpoints of services. Default: those of the environment and the shared config, or else of AWS. */
  readonly endpoints?: ServiceEndpoints;
  /** Builds the middleware once per kind of call. It must not be changed afterwards. */
  readonly cacheMiddleware?: boolean;
  /** Shortens timeouts and extends retries until the start is over. */
  readonly start?: AwsStart | undefined;
}

/**
 * Creates clients that retry throttling and transient errors with jittered back-off, like the SDK's standard mode.
 * @throws Error if neither the environment, the shared config nor the instance has a region
 */
export async function createClients(options: ClientOptions = {}): Promise<Clients> {
  const probe = new EC2Client({ maxAttempts: 1, requestHandler: requestLimits(options.answerMs) });
  const region = await regionOf(probe.config.region);
  probe.destroy();
  return clientsIn(region, options);
}

/** Creates the clients for a known region. */
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
    // This middleware copies each input and output for a logger, even if there is none.
    client.middlewareStack.remove('loggerMiddleware');
    renewCredentialsBy(clock, client);
    return addFence(
      withDeadline(withChecks(client), () => start?.answerMs ?? answerMs),
      fence,
    );
  };
  return {
    ec2: bounded(new EC2Client(trying(ATTEMPTS))),
    ec2Once: bounded(new EC2Client(trying(1))),
    // A long poll holds its connection for 20 s, so the queue has a separate client. The host of a queue's URL is not
    // used as endpoint, because it would bypass AWS_ENDPOINT_URL, VPC endpoints, FIPS and dual-stack.
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

/** The part of an open response that is needed to abort it. */
interface Body {
  destroy?(error: Error): void;
  once?(event: 'close', listener: () => void): void;
}

/** Aborts responses whose body takes longer than the timeout, because the SDK's timeout ends with the first byte. */
function withDeadline<C extends Bounded>(client: C, longestMs: () => number): C {
  const { requestHandler } = client.config;
  const handle = requestHandler.handle.bind(requestHandler);
  requestHandler.handle = async (request, options) => {
    const answerMs = longestMs();
    const result = await handle(request, { ...options, requestTimeout: answerMs });
    const body = result.response.body as Body | undefined;
    if (body?.destroy === undefined || body.once === undefined) return result;
    const text = `the response of AWS did not end within ${answerMs} ms`;
    const late = Object.assign(new Error(text), { name: 'TimeoutError' });
    const timer = setTimeout(() => body.destroy?.(late), answerMs).unref();
    body.once('close', () => clearTimeout(timer));
    return result;
  };
  return client;
}

type Provider = EC2Client['config']['credentials'];
type Credentials = Awaited<ReturnType<Provider>>;

/** Credentials that end sooner are renewed, as the SDK does. */
const EARLY_MS = 300_000;

/** Client whose credentials can be replaced. */
interface Signing {
  readonly config: { credentials: Provider };
}

/**
 * Renews the client's credentials when they expire by `clock`. The SDK compares their expiration with the machine's clock: a
 * machine that is behind would sign with expired credentials, and a machine that is ahead would get new ones for each request.
 */
function renewCredentialsBy<C extends Signing>(clock: Timepiece, { config }: C): void {
  const load = config.credentials;
  let known: Credentials | undefined;
  let loading: Promise<Credentials> | undefined;
  const isCurrent = ({ expiration }: Credentials): boolean =>
    expiration === undefined || expiration.getTime() - clock.now() >= EARLY_MS;

  const provide: Provider = async (options) => {
    if (known !== undefined && isCurrent(known) && options?.forceRefresh !== true) return known;
    // Without force the SDK compares its own copy with the machine's clock: it returns expired credentials, or loads
    // new ones in an endless loop if all are expired by that clock.
    loading ??= load({ ...options, forceRefresh: true }).finally(() => {
      loading = undefined;
    });
    known = await loading;
    return known;
  };
  // the SDK would otherwise put its own memory around it
  config.credentials = Object.assign(provide, { memoized: true });
}

/** Prefixes of read-only calls. Every other call counts as mutating, including ReceiveMessage, which hides messages. */
const READS = /^(?:Describe|Get|List|Simulate)/;

interface Received {
  readonly response: unknown;
}

type Next = (args: never) => Promise<Received>;
type Middleware = (next: Next, context: { readonly commandName?: string }) => Next;

interface HandlerOptions {
  readonly abortSignal?: AbortSignal;
}

/** The parts of an SDK client that are needed here. */
interface Fenceable {
  readonly middlewareStack: {
    add(
      middleware: Middleware,
      at: { readonly step: 'deserialize'; readonly name: string; readonly priority: 'low' },
    ): void;
  };
  readonly config: {
    readonly requestHandler: { handle(request: never, options?: HandlerOptions): Promise<Received> };
  };
}

/**
 * Returns the client with the fence as the last step before each attempt is sent, after retries and signing. The end of the
 * fence cuts off open calls.
 */
function addFence<C extends Fenceable>(client: C, fence: Fence): C {
  const { middlewareStack, config } = client;
  middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args: { readonly input: object }) => {
        if (isMutating(commandName, args.input)) fence.check();
        return next(args as never);
      },
    { step: 'deserialize', name: 'fence', priority: 'low' },
  );
  const { requestHandler } = config;
  const handle = requestHandler.handle.bind(requestHandler);
  requestHandler.handle = (request, options = {}) => {
    const { abortSignal = fence.signal } = options;
    const signal = abortSignal === fence.signal ? abortSignal : AbortSignal.any([abortSignal, fence.signal]);
    return handle(request, { ...options, abortSignal: signal });
  };
  return client;
}

/** Returns true if a call changes something in AWS. */
export const isMutating = (command: string, input: object): boolean =>
  !READS.test(command) && !('DryRun' in input && input.DryRun === true);

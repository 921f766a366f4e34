/**
 * The SDK's standard retries, by the operator's clock: the SDK's own pauses follow the machine's timers, so that wherever
 * time runs faster than those a call would seem to take minutes.
 */
import type { EC2ClientConfig } from '@aws-sdk/client-ec2';
import type { Clock } from '../lib/clock.ts';
import type { AwsStart } from './start/aws-start.ts';

/** What a client is given as its `retryStrategy`. */
export type Retries = Extract<
  NonNullable<EC2ClientConfig['retryStrategy']>,
  { readonly refreshRetryTokenForRetry: unknown }
>;
type Token = Awaited<ReturnType<Retries['acquireInitialRetryToken']>>;
type Kind = Parameters<Retries['refreshRetryTokenForRetry']>[1]['errorType'];

const FIRST_PAUSE_MS: Readonly<Record<'TRANSIENT' | 'THROTTLING', number>> = { TRANSIENT: 50, THROTTLING: 1_000 };
const LONGEST_PAUSE_MS = 20_000;
/** During the start, when a replica is not ready for as long as AWS is out of reach. */
const LONGEST_START_PAUSE_MS = 5_000;
/** How much longer than by itself a client waits where the service says when to come back. */
const MOST_MORE_MS = 5_000;
/** What a client may spend on retries. Successes bring it back, so that an outage is not made worse by retries. */
const CAPACITY = 500;
const COST: Readonly<Record<'TRANSIENT' | 'THROTTLING', number>> = { TRANSIENT: 14, THROTTLING: 5 };

const isWorthRetrying = (kind: Kind): kind is 'TRANSIENT' | 'THROTTLING' =>
  kind === 'TRANSIENT' || kind === 'THROTTLING';

/** Whether the SDK has corrected the time that it signs with since it sent the request. */
const isClockCorrected = (error: unknown): boolean =>
  (error as { $metadata?: { clockSkewCorrected?: boolean } } | undefined)?.$metadata?.clockSkewCorrected === true;

interface Attempt extends Token {
  readonly cost: number;
}

const attempt = (count: number, cost: number): Attempt => ({
  cost,
  getRetryCount: () => count,
  // the pause is over when the token is handed out
  getRetryDelay: () => 0,
});

interface RetryOptions {
  readonly clock: Clock;
  readonly maxAttempts: number;
  readonly random?: () => number;
  /** Repeats calls without a bound of their own until the start is over; its signal ends that. */
  readonly start?: Pick<AwsStart, 'isOver' | 'signal'> | undefined;
}

/** Of one client. @throws when a call is not to be tried again; the SDK then reports the call's own error */
export function standardRetries({ clock, maxAttempts, random = Math.random, start }: RetryOptions): Retries {
  let capacity = CAPACITY;
  const isSpent = (cost: number, count: number): boolean => count + 1 >= maxAttempts || capacity < cost;
  return {
    acquireInitialRetryToken: async () => attempt(0, 0),
    async refreshRetryTokenForRetry(token, { error, errorType, retryAfterHint }) {
      const count = token.getRetryCount();
      // a request that was signed with a wrong time is signed anew, also by clients that try once
      if (count === 0 && isClockCorrected(error)) return attempt(1, 0);
      const isStarting = start?.isOver === false;
      if (!isWorthRetrying(errorType) || (!isStarting && isSpent(COST[errorType], count)))
        throw new Error('the call is not tried again');
      if (!isStarting) capacity -= COST[errorType];
      const longestMs = isStarting ? LONGEST_START_PAUSE_MS : LONGEST_PAUSE_MS;
      const ownMs = random() * Math.min(FIRST_PAUSE_MS[errorType] * 2 ** count, longestMs);
      // the header's moment is one of the machine's time
      const hintMs = retryAfterHint === undefined ? 0 : retryAfterHint.getTime() - Date.now();
      await clock.sleep(Math.max(ownMs, Math.min(hintMs, ownMs + MOST_MORE_MS)), isStarting ? start.signal : undefined);
      if (isStarting) start.signal.throwIfAborted();
      return attempt(count + 1, isStarting ? 0 : COST[errorType]);
    },
    recordSuccess(token) {
      capacity = Math.min(CAPACITY, capacity + ((token as Attempt).cost || 1));
    },
  };
}

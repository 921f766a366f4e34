/**
 * The SDK's standard retries on the operator's clock. The SDK uses the machine's timers, so on an accelerated clock a
 * call would seem to take minutes.
 */
import type { EC2ClientConfig } from '@aws-sdk/client-ec2';
import type { Clock } from '#lib/clock';
import type { AwsStart } from './start/aws-start.ts';

/** Type of a client's `retryStrategy`. */
export type Retries = Extract<
  NonNullable<EC2ClientConfig['retryStrategy']>,
  { readonly refreshRetryTokenForRetry: unknown }
>;
type Token = Awaited<ReturnType<Retries['acquireInitialRetryToken']>>;
type Kind = Parameters<Retries['refreshRetryTokenForRetry']>[1]['errorType'];

const FIRST_PAUSE_MS: Readonly<Record<'TRANSIENT' | 'THROTTLING', number>> = { TRANSIENT: 50, THROTTLING: 1_000 };
const LONGEST_PAUSE_MS = 20_000;
/** Shorter pauses during the start, because the replica is not ready while AWS is unreachable. */
const LONGEST_START_PAUSE_MS = 5_000;
/** Maximum extension of a pause by the Retry-After header. */
const MOST_MORE_MS = 5_000;
/** Retry budget of a client. Successful calls refill it, so that retries do not make an outage worse. */
const CAPACITY = 500;
const COST: Readonly<Record<'TRANSIENT' | 'THROTTLING', number>> = { TRANSIENT: 14, THROTTLING: 5 };

const isWorthRetrying = (kind: Kind): kind is 'TRANSIENT' | 'THROTTLING' =>
  kind === 'TRANSIENT' || kind === 'THROTTLING';

/** Reports whether the SDK has corrected its signing time since the request. */
const isClockCorrected = (error: unknown): boolean =>
  (error as { $metadata?: { clockSkewCorrected?: boolean } } | undefined)?.$metadata?.clockSkewCorrected === true;

interface Attempt extends Token {
  readonly cost: number;
}

const attempt = (count: number, cost: number): Attempt => ({
  cost,
  getRetryCount: () => count,
  // The pause is over when the token is returned.
  getRetryDelay: () => 0,
});

interface RetryOptions {
  readonly clock: Clock;
  readonly maxAttempts: number;
  readonly random?: () => number;
  /** Retries calls without a limit until the start is over. Its signal ends the retries. */
  readonly start?: Pick<AwsStart, 'isOver' | 'signal'> | undefined;
}

/**
 * Returns the retry strategy of one client. @throws Error if a call must not be retried, and the SDK then reports the
 * error of the call
 */
export function standardRetries({ clock, maxAttempts, random = Math.random, start }: RetryOptions): Retries {
  let capacity = CAPACITY;
  const isSpent = (cost: number, count: number): boolean => count + 1 >= maxAttempts || capacity < cost;
  return {
    acquireInitialRetryToken: async () => attempt(0, 0),
    async refreshRetryTokenForRetry(token, { error, errorType, retryAfterHint }) {
      const count = token.getRetryCount();
      // A request with a wrong signing time is signed again, even by clients without retries.
      if (count === 0 && isClockCorrected(error)) return attempt(1, 0);
      const isStarting = start?.isOver === false;
      if (!isWorthRetrying(errorType) || (!isStarting && isSpent(COST[errorType], count)))
        throw new Error('the call is not retried');
      if (!isStarting) capacity -= COST[errorType];
      const longestMs = isStarting ? LONGEST_START_PAUSE_MS : LONGEST_PAUSE_MS;
      const ownMs = random() * Math.min(FIRST_PAUSE_MS[errorType] * 2 ** count, longestMs);
      // The header contains a time of the machine's clock.
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

/**
 * Request throttling of EC2. Each action of an account has a bucket of tokens that refills at a constant rate. Some
 * actions have a second bucket, from which every instance takes a token.
 *
 * @see https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
 */

import { own } from '#lib';
import type { Clock } from '#lib/clock';
import type { RateLimiter } from '#local/testing';

export interface TokenBucket {
  /** Capacity of this bucket. */
  readonly size: number;
  /** Tokens per second. */
  readonly refill: number;
}

export interface RateLimits {
  /** Bucket of read actions with filters, ids or a page size. */
  readonly reads: TokenBucket;
  /** Bucket of read actions without filters, ids and page size. */
  readonly unboundedReads: TokenBucket;
  readonly writes: TokenBucket;
  /** Buckets of single actions, which replace the buckets above. */
  readonly actions: Readonly<Record<string, TokenBucket>>;
  /** Buckets with one token for each instance of a request. */
  readonly instances: Readonly<Record<string, TokenBucket>>;
}

/** Limits that AWS publishes for an account in a region. */
export const EC2_RATE_LIMITS: RateLimits = {
  reads: { size: 100, refill: 20 },
  unboundedReads: { size: 50, refill: 10 },
  writes: { size: 50, refill: 5 },
  actions: {
    RunInstances: { size: 5, refill: 2 },
    TerminateInstances: { size: 100, refill: 5 },
    CreateTags: { size: 100, refill: 10 },
    DeleteTags: { size: 100, refill: 10 },
  },
  instances: {
    RunInstances: { size: 1000, refill: 2 },
    TerminateInstances: { size: 1000, refill: 20 },
  },
};

/** Limits the calls of an account to the rates that AWS publishes. */
export const ec2RateLimiter = (clock: Clock): RateLimiter => rateLimiter(clock, EC2_RATE_LIMITS);

export function rateLimiter(clock: Clock, limits: RateLimits): RateLimiter {
  const levels = new Map<string, { tokens: number; atMs: number }>();
  const levelOf = (key: string, { size, refill }: TokenBucket): { tokens: number; atMs: number } => {
    const atMs = clock.now();
    const before = levels.get(key) ?? { tokens: size, atMs };
    const level = { tokens: Math.min(size, before.tokens + ((atMs - before.atMs) / 1000) * refill), atMs };
    levels.set(key, level);
    return level;
  };
  return (action, input) => {
    const wanted = [{ level: levelOf(action, bucketOf(limits, action, input)), tokens: 1 }];
    const perInstance = own(limits.instances, action);
    if (perInstance !== undefined)
      wanted.push({ level: levelOf(`${action} instances`, perInstance), tokens: instancesIn(input) });
    if (wanted.some(({ level, tokens }) => level.tokens < tokens)) return false;
    for (const { level, tokens } of wanted) level.tokens -= tokens;
    return true;
  };
}

function bucketOf(limits: RateLimits, action: string, input: Readonly<Record<string, unknown>>): TokenBucket {
  const ofAction = own(limits.actions, action);
  if (ofAction !== undefined) return ofAction;
  if (!/^(Describe|Get|List)/.test(action)) return limits.writes;
  const isBounded = Object.entries(input).some(([name, value]) => name !== 'DryRun' && value !== undefined);
  return isBounded ? limits.reads : limits.unboundedReads;
}

function instancesIn({ InstanceIds: ids, MaxCount: count }: Readonly<Record<string, unknown>>): number {
  if (Array.isArray(ids)) return ids.length;
  return typeof count === 'number' ? count : 1;
}

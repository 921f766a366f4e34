/**
 * EC2's request throttling: each action of an account has a bucket of tokens that refills at a steady rate, and some
 * have a second one from which every instance takes a token.
 *
 * @see https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
 */

import type { Clock } from '../../lib/clock.ts';
import { own } from '../../lib/own.ts';

export interface TokenBucket {
  /** Tokens that a full bucket holds. */
  readonly size: number;
  /** Tokens a second. */
  readonly refill: number;
}

export interface RateLimits {
  /** Of actions that only read and say how much of what. */
  readonly reads: TokenBucket;
  /** Of reads with neither filters nor ids nor a page size. */
  readonly unboundedReads: TokenBucket;
  readonly writes: TokenBucket;
  /** Of single actions, instead of the above. */
  readonly actions: Readonly<Record<string, TokenBucket>>;
  /** One token for each instance of a request. */
  readonly instances: Readonly<Record<string, TokenBucket>>;
}

/** What AWS publishes for an account in a region. */
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

/** Takes the tokens of a call; false when there are too few, and then none are taken. */
export type RateLimiter = (action: string, input: Readonly<Record<string, unknown>>) => boolean;

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

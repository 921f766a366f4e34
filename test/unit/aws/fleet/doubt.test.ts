/** A lost response of EC2 neither launches an instance twice nor leaks one. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, type NodeClaim } from '#api/objects';
import { CreateFailed, causeOf, InsufficientCapacity, NodeClaimNotFound } from '#cloud';
import type { FaultRule } from '#local/aws';
import { Account, only } from '../support/account.ts';

const ON_DEMAND = only(CAPACITY_TYPE_LABEL, 'on-demand');
const TYPES = only(INSTANCE_TYPE_LABEL, 'm5.large', 'm5.xlarge');
/** Number of attempts that the SDK makes. */
const ALL_TRIES = 6;

let account: Account;
beforeEach(async () => {
  account = await Account.open({ longestSleepMs: 50 });
});
afterEach(() => account.close());

const claims = (count: number): NodeClaim[] => Array.from({ length: count }, () => account.claim(TYPES, ON_DEMAND));
const create = (all: readonly NodeClaim[]) => Promise.allSettled(all.map((claim) => account.provider.create(claim)));
const boughtBy = (results: Awaited<ReturnType<typeof create>>): string[] =>
  results.flatMap((result) =>
    result.status === 'fulfilled' ? [result.value.status?.providerID?.split('/').at(-1) ?? ''] : [],
  );
const breakFleets = (rule: FaultRule): void => void account.aws.faults.add(rule);

describe('a fleet with a lost response', () => {
  it.each<{ readonly what: string; readonly rule: FaultRule }>([
    { what: 'resets', rule: { kind: 'reset', action: 'CreateFleet', times: ALL_TRIES } },
    { what: 'broken XML', rule: { kind: 'malformed', action: 'CreateFleet', times: 1 } },
  ])('is found again by its NodeClaims, independent of the time of their retries, after $what', async ({ rule }) => {
    const all = claims(3);
    breakFleets(rule);
    const failed = await create(all);
    for (const result of failed)
      expect(result.status === 'rejected' && causeOf(result.reason, CreateFailed)?.reason).toBe('LaunchFailed');
    const bought = account.running();
    expect(bought).toHaveLength(3);

    // The NodeClaims retry in other groups than at first.
    const first = boughtBy(await create(all.slice(0, 1)));
    const rest = boughtBy(await create(all.slice(1)));
    expect([...first, ...rest].sort()).toEqual([...bought].sort());
    expect(account.running()).toEqual(bought);
  }, 60_000);

  it('is found again although prices and shortages have changed the order in the meantime', async () => {
    const all = claims(2);
    breakFleets({ kind: 'malformed', action: 'CreateFleet', times: 1 });
    await create(all);
    const bought = account.running();
    account.aws.faults.add({ kind: 'capacity', instanceType: 'm5.large' });
    await account.provider.create(account.claim(TYPES, ON_DEMAND));
    expect(boughtBy(await create(all)).sort()).toEqual([...bought].sort());
    expect(account.running()).toHaveLength(3);
  });

  it('stays in doubt while EC2 does not respond, and is requested with one call for all NodeClaims', async () => {
    const all = claims(3);
    breakFleets({ kind: 'error', action: 'CreateFleet', code: 'InternalError', times: 2 * ALL_TRIES });
    await create(all);
    account.aws.calls.clear();
    expect(boughtBy(await create(all))).toEqual([]);
    expect(account.aws.calls.counts().CreateFleet).toBe(ALL_TRIES);
    expect(new Set(boughtBy(await create(all))).size).toBe(3);
    expect(account.running()).toHaveLength(3);
  }, 60_000);

  it.each<{ readonly what: string; readonly rule: FaultRule }>([
    { what: 'throttled', rule: { kind: 'throttle', action: 'CreateFleet', times: ALL_TRIES } },
    { what: 'told that its credentials are too old', rule: { kind: 'expired-credentials' } },
  ])('is found again by a NodeClaim that is $what at first when it retries', async ({ rule }) => {
    const all = claims(2);
    breakFleets({ kind: 'malformed', action: 'CreateFleet', times: 1 });
    await create(all);
    const bought = account.running();
    breakFleets(rule);
    expect(boughtBy(await create(all))).toEqual([]);
    account.aws.faults.clear();
    expect(boughtBy(await create(all)).sort()).toEqual([...bought].sort());
    expect(account.running()).toEqual(bought);
  });

  it('is found again although the next attempt of the same call was throttled', async () => {
    const all = claims(2);
    breakFleets({ kind: 'reset', action: 'CreateFleet', times: 1 });
    breakFleets({ kind: 'throttle', action: 'CreateFleet', times: ALL_TRIES - 1 });
    expect(boughtBy(await create(all))).toEqual([]);
    const bought = account.running();
    expect(bought).toHaveLength(2);
    expect(boughtBy(await create(all)).sort()).toEqual([...bought].sort());
    expect(account.running()).toEqual(bought);
  });

  it('is requested with a new token if every response was a throttle', async () => {
    const all = claims(2);
    breakFleets({ kind: 'throttle', action: 'CreateFleet', times: ALL_TRIES });
    await create(all);
    account.aws.faults.add({ kind: 'capacity', instanceType: 'm5.large' });
    account.aws.calls.clear();
    const [first] = all;
    expect(boughtBy(await create(first === undefined ? [] : [first]))).toHaveLength(1);
    expect(account.running()).toHaveLength(1);
  });

  it('returns the reason if it launched no instances', async () => {
    const [claim] = claims(1);
    if (claim === undefined) throw new Error('no claim');
    account.aws.faults.add({ kind: 'capacity', instanceType: 'm5.*' });
    breakFleets({ kind: 'malformed', action: 'CreateFleet', times: 1 });
    await create([claim]);
    const [result] = await create([claim]);
    expect(result?.status === 'rejected' && causeOf(result.reason, InsufficientCapacity)).toBeDefined();
    account.aws.faults.clear();
    account.clock.forward(3 * 60_000 + 1);
    expect(boughtBy(await create([claim]))).toHaveLength(1);
  });
});

describe('an instance that EC2 does not return yet', () => {
  it('does not count as terminated, and is terminated after it appears', async () => {
    account.aws.faults.add({ kind: 'invisible', ms: 30_000 });
    const claim = account.write(await account.provider.create(account.claim(TYPES, ON_DEMAND)));
    const early = await account.provider.delete(claim).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(early).toBeInstanceOf(Error);
    expect(causeOf(early, NodeClaimNotFound)).toBeUndefined();
    account.clock.forward(30_000);
    await account.provider.delete(claim);
    expect(account.running()).toEqual([]);
  });

  it('is listed once', async () => {
    account.aws.faults.add({ kind: 'invisible', ms: 10_000 });
    account.aws.faults.add({ kind: 'late-tags', ms: 10_000 });
    await account.provider.create(account.claim(TYPES, ON_DEMAND));
    for (let second = 0; second < 30; second += 5) {
      expect(await account.provider.list()).toHaveLength(1);
      account.clock.forward(5_000);
    }
  });

  it('counts as terminated if it never appears', async () => {
    account.aws.faults.add({ kind: 'invisible', ms: 3_600_000 });
    const claim = account.write(await account.provider.create(account.claim(TYPES, ON_DEMAND)));
    account.clock.forward(61_000);
    await expect(account.provider.delete(claim)).rejects.toThrow(NodeClaimNotFound);
  });
});

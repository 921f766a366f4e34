import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL } from '#api/objects';
import { Account, only } from './support/account.ts';
import { launchAll, terminateAll } from './support/burst.ts';

const CLAIMS = 1_000;
const TYPES = only(INSTANCE_TYPE_LABEL, 'm5.large', 'm5.xlarge', 'm6i.large', 'c5.xlarge');

let account: Account;
beforeEach(async () => {
  account = await Account.open({ rateLimits: true });
});
afterEach(() => account.close());

describe('a burst of a thousand NodeClaims', () => {
  it('launches and terminates with few calls, within the limits of EC2', async () => {
    const spot = only(CAPACITY_TYPE_LABEL, 'spot');
    const onDemand = only(CAPACITY_TYPE_LABEL, 'on-demand');
    const claims = Array.from({ length: CLAIMS }, (_, n) => account.claim(TYPES, n % 2 === 0 ? spot : onDemand));
    const [launched, launching] = await launchAll(account, claims);
    const ids = launched.map(({ status }) => status?.providerID?.split('/').at(-1));
    expect(new Set(ids).size).toBe(CLAIMS);
    expect(account.running()).toHaveLength(CLAIMS);
    expect(launching.throttled).toEqual([]);
    const fleets = account.aws.calls.recorded('CreateFleet').map(({ input }) => input);
    // Two kinds of requests are sent in each window of at most one second.
    expect(fleets.length).toBeLessThanOrEqual(2 * Math.ceil(launching.milliseconds / 1_000 + 1));
    const targets = fleets.map((input) => input.TargetCapacitySpecification as { TotalTargetCapacity: number });
    expect(targets.reduce((sum, { TotalTargetCapacity }) => sum + TotalTargetCapacity, 0)).toBe(CLAIMS);

    const ending = await terminateAll(account, launched);
    expect(account.running()).toEqual([]);
    expect(ending.throttled).toEqual([]);
    expect(ending.calls.TerminateInstances).toBeLessThanOrEqual(10);
    expect(ending.calls.DescribeInstances).toBeLessThanOrEqual(40);
    process.stdout.write(`${JSON.stringify({ claims: CLAIMS, launching, ending })}\n`);
  }, 240_000);
});

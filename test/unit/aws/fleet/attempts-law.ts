/** Law of all error codes of EC2: no code ends in a wait without another attempt. The provider uses the local AWS over HTTP. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, type NodeClaim } from '#api/objects';
import { CreateFailed, causeOf, InsufficientCapacity } from '#cloud';
import { classOf } from '../../../../src/aws/error-codes.ts';
import { Account, only } from '../support/account.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** Longest pause of an offering, and longest back-off of a NodeClaim. */
const LONGEST_PAUSE_MS = 3 * MINUTE;
const LONGEST_BACK_OFF_MS = MINUTE;
const TYPE = only(INSTANCE_TYPE_LABEL, 'm5.large');

let account: Account;
const fleets = (): number => account.aws.calls.counts().CreateFleet ?? 0;

/** Launches as the operator does: a NodeClaim that stays is retried with back-off, and a deleted one is replaced. */
class Launching {
  #claim: NodeClaim | undefined;
  #failures = 0;

  /** Returns the launched NodeClaim, or undefined after the wait until the next attempt. */
  async attempt(): Promise<NodeClaim | undefined> {
    this.#claim ??= account.claim(TYPE);
    try {
      return await account.provider.create(this.#claim);
    } catch (error) {
      if (causeOf(error, InsufficientCapacity)) {
        this.#claim = undefined;
        this.#failures = 0;
        account.clock.forward(10 * SECOND);
      } else if (causeOf(error, CreateFailed)) {
        account.clock.forward(Math.min(LONGEST_BACK_OFF_MS, SECOND * 2 ** this.#failures++));
      } else throw error;
      return undefined;
    }
  }
}

/** Declares the tests of the law for each code. */
export function describeAttempts(codes: readonly string[]): void {
  beforeAll(async () => {
    account = await Account.open();
  });
  afterEach(() => {
    account.aws.faults.clear();
    account.clock.forward(10 * MINUTE);
  });
  afterAll(() => account.close());

  describe.each(codes)('%s', (code) => {
    // subnets are shared by all capacity types
    const isOfSubnet = classOf(code) === 'subnet';

    (isOfSubnet ? it.skip : it)('of a spot offering leads to on-demand within seconds', async () => {
      account.aws.faults.add({ kind: 'capacity', instanceType: 'm5.*', capacityType: 'spot', code });
      const startedMs = account.clock.now();
      const launching = new Launching();
      let launched: NodeClaim | undefined;
      while (launched === undefined && account.clock.now() - startedMs < MINUTE) launched = await launching.attempt();
      expect(launched?.metadata.labels?.[CAPACITY_TYPE_LABEL]).toBe('on-demand');
    });

    it('of all offerings leads to further attempts, neither many nor rare, and to a node when it ends', async () => {
      const fault = account.aws.faults.add({ kind: 'capacity', code });
      const launching = new Launching();
      const startedMs = account.clock.now();
      const before = fleets();
      let lastMs = startedMs;
      let known = before;
      while (account.clock.now() - startedMs < 8 * MINUTE) {
        expect(await launching.attempt()).toBeUndefined();
        if (fleets() === known)
          expect(account.clock.now() - lastMs).toBeLessThan(LONGEST_PAUSE_MS + LONGEST_BACK_OFF_MS);
        else lastMs = account.clock.now();
        known = fleets();
      }
      // spot and on-demand each: at most seven pauses of growing length
      expect(known - before).toBeLessThanOrEqual(2 * 10);
      account.aws.faults.clear(fault);
      const endedMs = account.clock.now();
      let launched: NodeClaim | undefined;
      while (launched === undefined && account.clock.now() - endedMs < 5 * MINUTE) launched = await launching.attempt();
      expect(launched).toBeDefined();
    });
  });
}

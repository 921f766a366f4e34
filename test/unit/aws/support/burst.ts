/** Many concurrent launches and terminations, against the published rate limits of EC2. */
import type { NodeClaim } from '#api/objects';
import { causeOf, NodeClaimNotFound } from '#cloud';
import type { RecordedCall } from '#local/testing';
import type { Account } from './account.ts';

export interface Burst {
  readonly milliseconds: number;
  /** Calls that reached EC2, by action. */
  readonly calls: Readonly<Record<string, number>>;
  /** Actions that EC2 throttled. */
  readonly throttled: readonly string[];
}

async function measured<T>(account: Account, work: () => Promise<T>): Promise<[T, Burst]> {
  account.aws.calls.clear();
  const started = performance.now();
  const result = await work();
  const milliseconds = Math.round(performance.now() - started);
  const throttled = account.aws.calls
    .recorded()
    .filter(({ errorCode }: RecordedCall) => errorCode === 'RequestLimitExceeded')
    .map(({ action }) => action);
  return [result, { milliseconds, calls: account.aws.calls.counts(), throttled }];
}

/** Launches all NodeClaims concurrently and records the calls. */
export async function launchAll(
  account: Account,
  claims: readonly NodeClaim[],
): Promise<[readonly NodeClaim[], Burst]> {
  return measured(account, async () => {
    const launched = await Promise.all(claims.map((claim) => account.provider.create(claim)));
    return launched.map((claim) => account.write(claim));
  });
}

/** Terminates all instances and retries until each has terminated. */
export async function terminateAll(account: Account, claims: readonly NodeClaim[]): Promise<Burst> {
  const untilGone = async (claim: NodeClaim): Promise<void> => {
    for (;;) {
      try {
        await account.provider.delete(claim);
      } catch (error) {
        if (causeOf(error, NodeClaimNotFound)) return;
        throw error;
      }
      // The NodeClaim controller retries every five seconds.
      await account.clock.sleep(1_100);
    }
  };
  const [, burst] = await measured(account, () => Promise.all(claims.map(untilGone)));
  return burst;
}

/** Many launches and terminations at once, against EC2's published rate limits. */
import type { NodeClaim } from '../../../../src/api/nodeclaim.ts';
import { causeOf, NodeClaimNotFound } from '../../../../src/cloud/errors.ts';
import type { RecordedCall } from '../../../../src/local/aws/types.ts';
import type { Account } from './account.ts';

export interface Burst {
  readonly milliseconds: number;
  /** Calls that reached EC2, by action. */
  readonly calls: Readonly<Record<string, number>>;
  /** Actions that EC2 refused because there were too many. */
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

/** Launches for all claims at once, and writes down what came of it. */
export async function launchAll(
  account: Account,
  claims: readonly NodeClaim[],
): Promise<[readonly NodeClaim[], Burst]> {
  return measured(account, async () => {
    const launched = await Promise.all(claims.map((claim) => account.provider.create(claim)));
    return launched.map((claim) => account.write(claim));
  });
}

/** Asks for the end of all instances, again and again, until each is gone. */
export async function terminateAll(account: Account, claims: readonly NodeClaim[]): Promise<Burst> {
  const untilGone = async (claim: NodeClaim): Promise<void> => {
    for (;;) {
      try {
        await account.provider.delete(claim);
      } catch (error) {
        if (causeOf(error, NodeClaimNotFound)) return;
        throw error;
      }
      // The controller of the claim asks every five seconds.
      await account.clock.sleep(1_100);
    }
  };
  const [, burst] = await measured(account, () => Promise.all(claims.map(untilGone)));
  return burst;
}

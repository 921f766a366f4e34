/** Runs the provider's registration hooks, which decide if a node that has joined may be registered. */

import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { CloudProvider } from '../../cloud/provider.ts';
import { defined } from '../../lib/defined.ts';
import { messageOf } from '../../lib/error-message.ts';

export interface HookResults {
  /** NodeClaim with the labels that the hooks returned. */
  readonly claim: NodeClaim;
  /** Names of hooks that wait or failed, in the order of the provider. */
  readonly pending: readonly string[];
  /** Time until the first waiting hook must run again, in milliseconds. Undefined if no hook waits. */
  readonly waitMs: number | undefined;
  readonly error: Error | undefined;
}

/** Runs all hooks concurrently. Never throws: the result contains the errors of hooks. */
export async function askHooks({ registrationHooks = [] }: CloudProvider, claim: NodeClaim): Promise<HookResults> {
  const answers = await Promise.allSettled(registrationHooks.map((hook) => hook.ask(claim)));
  const pending: string[] = [];
  const waits: number[] = [];
  const errors: Error[] = [];
  let labels = claim.metadata.labels;
  registrationHooks.forEach(({ name }, at) => {
    const answer = answers[at];
    if (answer?.status === 'fulfilled' && answer.value.done) {
      labels = { ...labels, ...answer.value.labels };
      return;
    }
    pending.push(name);
    if (answer?.status === 'fulfilled' && !answer.value.done) waits.push(answer.value.waitMs);
    if (answer?.status !== 'rejected') return;
    const { reason } = answer;
    errors.push(new Error(`registration hook "${name}" failed, ${messageOf(reason)}`, { cause: reason }));
  });
  const [first, ...more] = errors;
  return {
    claim:
      labels === claim.metadata.labels ? claim : { ...claim, metadata: { ...claim.metadata, ...defined({ labels }) } },
    pending,
    waitMs: waits.length === 0 ? undefined : Math.min(...waits),
    error: more.length === 0 ? first : new AggregateError(errors, errors.map(messageOf).join('; ')),
  };
}

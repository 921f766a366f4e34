/** Asks the provider's registration hooks whether a node that has joined may be declared registered. */

import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { CloudProvider } from '../../cloud/provider.ts';
import { defined } from '../../lib/defined.ts';
import { messageOf } from '../../lib/error-message.ts';

export interface HookResults {
  /** The claim with the labels that hooks found out. */
  readonly claim: NodeClaim;
  /** Names of hooks that wait or failed, in the provider's order. */
  readonly pending: readonly string[];
  /** Until the first of the waiting hooks wants to run again; undefined when none waits. */
  readonly waitMs: number | undefined;
  readonly error: Error | undefined;
}

/** Asks all hooks at the same time. Never throws: what a hook throws is in the results. */
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

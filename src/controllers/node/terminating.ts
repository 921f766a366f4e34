/** Last step of a node's end: its instance is terminated. */
import { causeOf, NodeClaimNotFound } from '../../cloud/errors.ts';
import type { Deps } from '../deps.ts';
import { conditioned, type Step } from './step.ts';

const POLL_MS = 5_000;

export function terminating({ clock, cloud }: Deps): Step {
  return async ({ claim }) => {
    if (claim === undefined) return { claim };
    let isGone = false;
    try {
      await cloud.delete(claim);
    } catch (error) {
      if (!causeOf(error, NodeClaimNotFound)) throw error;
      isGone = true;
    }
    const marked = conditioned(claim, { type: 'InstanceTerminating', status: 'True' }, clock.now());
    return isGone ? { claim: marked } : { claim: marked, waitMs: POLL_MS };
  };
}

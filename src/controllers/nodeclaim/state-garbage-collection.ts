/**
 * Forgets claims that this process created and that were deleted before the informers could show them. Without it
 * cluster state would wait for their launch for ever.
 */
import { NODE_CLAIM } from '../../api/kinds.ts';
import { after, type Singleton } from '../../kube/reconciler.ts';
import type { Deps } from '../deps.ts';

const AGE_MS = 15_000;

export function stateGarbageCollection({ client, cluster }: Deps): Singleton {
  return {
    name: 'state.nodeclaimgc',
    singleton: true,
    backOff: { baseMs: 1000, maxMs: AGE_MS },
    async reconcile() {
      for (const name of cluster.trackedLongerThan(AGE_MS)) {
        if (!(await client.find(NODE_CLAIM, { name }))) cluster.untrack(name);
      }
      return after(AGE_MS);
    },
  };
}

/** Tells users whose static NodePools get no nodes that the operator does not act on them. */
import { NODE_POOL } from '../../api/kinds.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { type Reconciler, settled } from '../../kube/reconciler.ts';
import type { Deps } from '../deps.ts';
import { isStaticPool } from './census.ts';

/** Runs in place of the controllers of static NodePools while their feature gate is closed. */
export function staticHint(deps: Deps): Reconciler<NodePool> {
  return {
    name: 'static.hint',
    watches: NODE_POOL,
    filter: (pool, event) => event === 'added' && isStaticPool(deps, pool),

    async reconcile(pool, { log }) {
      const message = 'spec.replicas has no effect: the operator runs without the feature gate StaticCapacity';
      log.info('ignoring static nodepool', { error: message });
      deps.events.publish({
        object: pool,
        type: 'Warning',
        reason: 'StaticCapacityDisabled',
        message,
        dedupe: [pool.metadata.uid ?? ''],
      });
      return settled;
    },
  };
}

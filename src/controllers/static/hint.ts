/** Reports that the operator ignores static NodePools if their feature gate is disabled. */
import { NODE_POOL } from '../../api/kinds.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { uidOf } from '../../api/object-fields.ts';
import { type Reconciler, settled } from '../../kube/reconciler.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { STATIC_CAPACITY_DISABLED } from '../../observe/events/nodepools.ts';
import type { Deps } from '../deps.ts';
import { isStaticPool } from './static-claims.ts';

/** Replaces the controllers of static NodePools if their feature gate is disabled. */
export function staticHint(deps: Deps): Reconciler<NodePool> {
  return {
    name: 'static.hint',
    watches: NODE_POOL,
    filter: (pool, event) => event === 'added' && isStaticPool(deps, pool),

    async reconcile(pool, { log }) {
      const message = STATIC_CAPACITY_DISABLED.message();
      log.info('ignoring static nodepool', { error: message });
      const dedupe = [uidOf(pool)];
      deps.events.publish(eventOf(STATIC_CAPACITY_DISABLED, pool, { message, dedupe }));
      return settled;
    },
  };
}

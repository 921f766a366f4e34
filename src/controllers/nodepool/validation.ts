/** Checks what the API server's own validation of a NodePool cannot. */
import { type ConditionUpdate, NODEPOOL_CONDITIONS, setCondition } from '../../api/conditions.ts';
import { NODE_POOL } from '../../api/kinds.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { nodePoolErrors } from '../../api/nodepool-validation.ts';
import { writeChanges } from '../../kube/patch.ts';
import { type Reconciler, settled } from '../../kube/reconciler.ts';
import type { Deps } from '../deps.ts';

const TYPE = 'ValidationSucceeded';

export function validation({ client, clock, cluster }: Deps): Reconciler<NodePool> {
  return {
    name: 'nodepool.validation',
    watches: NODE_POOL,
    concurrency: 10,
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),

    async reconcile(pool) {
      const errors = nodePoolErrors(pool);
      const update: ConditionUpdate =
        errors.length === 0
          ? { type: TYPE, status: 'True' }
          : { type: TYPE, status: 'False', reason: 'NodePoolValidationFailed', message: errors.join('; ') };
      const after = setCondition(pool, NODEPOOL_CONDITIONS, update, clock.now());
      await writeChanges(client, NODE_POOL, { before: pool, after }, { part: 'status', lock: true });
      return settled;
    },
  };
}

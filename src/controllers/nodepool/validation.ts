/** Checks the parts of a NodePool that the API server cannot validate. */
import { NODEPOOL_CONDITIONS, setCondition } from '../../api/conditions.ts';
import { NODE_POOL } from '../../api/kinds.ts';
import { normalizeLabel, unknownValues } from '../../api/labels.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { validationOf } from '../../api/nodepool-readiness.ts';
import { writeChanges } from '../../kube/patch.ts';
import { type Reconciler, settled } from '../../kube/reconciler.ts';
import type { Deps } from '../deps.ts';

export function validation({ client, clock, cluster }: Deps): Reconciler<NodePool> {
  return {
    name: 'nodepool.validation',
    watches: NODE_POOL,
    concurrency: 10,
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),

    async reconcile(pool, { log }) {
      for (const requirement of pool.spec.template.spec.requirements) {
        const { valid, invalid } = unknownValues(requirement);
        if (valid.length === 0 || invalid.length === 0) continue;
        log.error('please correct found invalid values, proceeding with valid values', {
          key: normalizeLabel(requirement.key),
          'valid-values': valid,
          'invalid-values': invalid,
        });
      }
      const after = setCondition(pool, NODEPOOL_CONDITIONS, validationOf(pool), clock.now());
      await writeChanges(client, NODE_POOL, { before: pool, after }, { part: 'status', lock: true });
      return settled;
    },
  };
}

/** Reports if the NodeClass of a NodePool is ready. */
import { NODEPOOL_CONDITIONS, setCondition } from '../../api/conditions.ts';
import { NODE_POOL } from '../../api/kinds.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { nodeClassReadiness } from '../../api/nodepool-readiness.ts';
import { writeChanges } from '../../kube/patch.ts';
import { type Reconciler, settled } from '../../kube/reconciler.ts';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { findNodeClass } from '../node-classes.ts';
import { nodeClassesOfPools } from './triggers.ts';

export function readiness(deps: Deps): Reconciler<NodePool> {
  const { client, clock, cluster, informers, settings } = deps;
  return {
    name: 'nodepool.readiness',
    watches: NODE_POOL,
    concurrency: concurrency(settings, { min: 10, max: 1000 }),
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),
    triggers: nodeClassesOfPools(deps),

    async reconcile(pool) {
      const update = nodeClassReadiness(findNodeClass(informers, pool.spec.template.spec.nodeClassRef));
      const after = setCondition(pool, NODEPOOL_CONDITIONS, update, clock.now());
      await writeChanges(client, NODE_POOL, { before: pool, after }, { part: 'status', lock: true });
      return settled;
    },
  };
}

/** Clears the registration results of a NodePool if the NodePool or its NodeClass changes, and restores them after a restart. */
import { getCondition, isTrue, NODEPOOL_CONDITIONS, setCondition } from '../../api/conditions.ts';
import { NODE_POOL } from '../../api/kinds.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { writeChanges } from '../../kube/patch.ts';
import { type Reconciler, settled } from '../../kube/reconciler.ts';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { findNodeClass } from '../node-classes.ts';
import { nodeClassesOfPools } from './triggers.ts';

const TYPE = 'NodeRegistrationHealthy';

export function registrationHealth(deps: Deps): Reconciler<NodePool> {
  const { client, clock, cluster, informers, settings } = deps;
  const health = cluster.registrationHealth;

  function recall(pool: NodePool, uid: string): void {
    if (health.status(uid) !== 'unknown') return;
    const condition = getCondition(pool, TYPE);
    if (isTrue(pool, TYPE)) health.record(uid, true);
    if (condition?.status === 'False') for (let failures = 0; failures < 2; failures += 1) health.record(uid, false);
  }

  return {
    name: 'nodepool.registrationhealth',
    watches: NODE_POOL,
    concurrency: concurrency(settings, { min: 10, max: 1000 }),
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),
    triggers: nodeClassesOfPools(deps),

    async reconcile(pool) {
      const nodeClass = findNodeClass(informers, pool.spec.template.spec.nodeClassRef);
      const { uid, generation } = pool.metadata;
      const nodeClassGeneration = nodeClass?.metadata.generation;
      if (uid === undefined || nodeClassGeneration === undefined) return settled;
      const condition = getCondition(pool, TYPE);
      const isOutdated =
        condition === undefined ||
        condition.observedGeneration !== generation ||
        pool.status?.nodeClassObservedGeneration !== nodeClassGeneration;
      const unknown = {
        type: TYPE,
        status: 'Unknown',
        reason: 'AwaitingReconciliation',
        message: 'object is awaiting reconciliation',
      } as const;
      if (!isOutdated) recall(pool, uid);
      const judged = isOutdated ? setCondition(pool, NODEPOOL_CONDITIONS, unknown, clock.now()) : pool;
      const after: NodePool = {
        ...judged,
        status: { ...judged.status, nodeClassObservedGeneration: nodeClassGeneration },
      };
      await writeChanges(client, NODE_POOL, { before: pool, after }, { part: 'status', lock: true });
      if (isOutdated) health.clear(uid);
      return settled;
    },
  };
}

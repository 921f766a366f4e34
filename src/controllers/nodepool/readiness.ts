/** Says whether a NodePool's NodeClass can be used. */
import {
  type Conditioned,
  type ConditionUpdate,
  causesOf,
  getCondition,
  NODEPOOL_CONDITIONS,
  READY,
  setCondition,
} from '../../api/conditions.ts';
import { NODE_POOL } from '../../api/kinds.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { writeChanges } from '../../kube/patch.ts';
import { type Reconciler, settled } from '../../kube/reconciler.ts';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { findNodeClass } from '../node-classes.ts';
import { nodeClassesOfPools } from './triggers.ts';

const TYPE = 'NodeClassReady';

export function readiness(deps: Deps): Reconciler<NodePool> {
  const { client, clock, cluster, informers, settings } = deps;
  return {
    name: 'nodepool.readiness',
    watches: NODE_POOL,
    concurrency: concurrency(settings, { min: 10, max: 1000 }),
    filter: (pool) => cluster.manages(pool.spec.template.spec.nodeClassRef),
    triggers: nodeClassesOfPools(deps),

    async reconcile(pool) {
      const update = judge(findNodeClass(informers, pool.spec.template.spec.nodeClassRef));
      const after = setCondition(pool, NODEPOOL_CONDITIONS, update, clock.now());
      await writeChanges(client, NODE_POOL, { before: pool, after }, { part: 'status', lock: true });
      return settled;
    },
  };
}

function judge(nodeClass: Conditioned | undefined): ConditionUpdate {
  const not = (reason: string, message: string): ConditionUpdate => ({ type: TYPE, status: 'False', reason, message });
  if (nodeClass === undefined) return not('NodeClassNotFound', 'NodeClass not found on cluster');
  if (nodeClass.metadata.deletionTimestamp) return not('NodeClassTerminating', 'NodeClass is Terminating');
  const ready = getCondition(nodeClass, READY);
  if (ready === undefined || ready.status === 'Unknown') {
    return not('NodeClassReadinessUnknown', `Node Class Readiness Unknown${why(nodeClass)}`);
  }
  return ready.status === 'True'
    ? { type: TYPE, status: 'True' }
    : not(ready.reason ?? 'NodeClassNotReady', `${ready.message ?? ''}${why(nodeClass)}`);
}

/** What the conditions behind Ready say, for a reader who sees the NodePool alone. */
function why(nodeClass: Conditioned): string {
  const texts = causesOf(nodeClass).map(({ reason, message }) => `${reason}: ${message}`);
  return texts.length === 0 ? '' : ` (${texts.join('; ')})`;
}

/** Publishes the resources of a NodePool's nodes in its status, and reports limits that stop launches. */
import { getCondition, isTrue, NODE_POOL, NODEPOOL_CONDITIONS, type NodePool, setCondition, uidOf } from '#api/objects';
import { type Cause, ONE_MORE_NODE } from '#engine/explanations';
import { quantityList, type Resources } from '#engine/model';
import { writeChanges } from '#kube/client';
import { after, type Reconciler } from '#kube/reconcilers';
import { remembering } from '#lib';
import { eventOf, LIMIT_REACHED } from '#observe/events';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import type { PodVerdicts } from '../provisioning/pod-verdicts.ts';

/**
 * Condition of a NodePool that is False while the limits stop the launch of a node for a pending pod. The NodePool stays
 * Ready.
 */
const WITHIN_LIMITS = 'WithinLimits';

interface LimitState {
  /** Usage and limits if they stop the launch of a node for a pending pod, otherwise undefined. */
  readonly exceeded: string | undefined;
  readonly nowMs: number;
}

/** Returns the usage and the limits of a NodePool, and the fields to change. */
const limitText = ({ offered, wanted, remedy }: Cause): string =>
  `${offered}${wanted === ONE_MORE_NODE ? '' : `, but ${wanted}`}; no node is launched for pending pods. ${remedy}`;

/** Returns the NodePool with the condition. A NodePool whose limits never stopped a launch does not get it. */
function withLimitCondition(pool: NodePool, { exceeded, nowMs }: LimitState): NodePool {
  if (exceeded === undefined && (getCondition(pool, WITHIN_LIMITS) === undefined || isTrue(pool, WITHIN_LIMITS)))
    return pool;
  const update =
    exceeded === undefined
      ? ({ type: WITHIN_LIMITS, status: 'True' } as const)
      : ({ type: WITHIN_LIMITS, status: 'False', reason: 'LimitReached', message: exceeded } as const);
  return setCondition(pool, NODEPOOL_CONDITIONS, update, nowMs);
}

const INTERVAL_MS = 5000;
const UNSYNCED_MS = 1000;
const ALWAYS_SHOWN = { cpu: 0, memory: 0, pods: 0, 'ephemeral-storage': 0, nodes: 0 };

/** Cached, because the totals are the same object until a value changes. */
const shownOf = remembering((held: Resources): Pick<NonNullable<NodePool['status']>, 'resources' | 'nodes'> => {
  const totals = { ...ALWAYS_SHOWN, ...held };
  return { resources: quantityList(totals), nodes: totals.nodes };
});

/** @param verdicts decisions on pending pods */
export function nodePoolCounter(deps: Deps, verdicts: Pick<PodVerdicts, 'limitOf'>): Reconciler<NodePool> {
  const { client, clock, cluster, events, settings } = deps;

  function exceededLimits(pool: NodePool): string | undefined {
    const cause = pool.spec.limits === undefined ? undefined : verdicts.limitOf(pool.metadata.name);
    if (cause === undefined) return undefined;
    const text = limitText(cause);
    events.publish(eventOf(LIMIT_REACHED, pool, { message: LIMIT_REACHED.message(text), dedupe: [uidOf(pool)] }));
    return text;
  }

  return {
    name: 'nodepool.counter',
    watches: NODE_POOL,
    concurrency: concurrency(settings, { min: 10, max: 1000 }),
    filter: (pool, event) => event === 'added' && cluster.manages(pool.spec.template.spec.nodeClassRef),

    async reconcile(pool) {
      if (!cluster.synced()) return after(UNSYNCED_MS);
      const judged = withLimitCondition(pool, { exceeded: exceededLimits(pool), nowMs: clock.now() });
      const status = { ...judged.status, ...shownOf(cluster.poolTotals(pool.metadata.name)) };
      const versions = { before: pool, after: { ...pool, status } };
      // a patch replaces all conditions, also those that another controller has just written
      await writeChanges(client, NODE_POOL, versions, { part: 'status', lock: judged !== pool });
      return after(INTERVAL_MS);
    },
  };
}

/** First step of node termination: drains the node. */
import { getCondition } from '../../api/conditions.ts';
import type { Condition } from '../../api/kubernetes.ts';
import { timeOf } from '../../lib/times.ts';
import { PODS_BY_NODE } from '../../state/stores.ts';
import type { Deps } from '../deps.ts';
import { planDrain } from './drain.ts';
import { failedDraining } from './drain-events.ts';
import type { Evictions } from './pending-evictions.ts';
import { conditioned, type TerminationStep } from './step.ts';

const POLL_MS = 1_000;
/** Minimum duration of a drain, because pods that were scheduled just before the taint may not be visible yet. */
const SHORTEST_DRAIN_MS = 5_000;

export function draining({ clock, cluster, events }: Deps, evictions: Evictions): TerminationStep {
  return ({ node, claim, deadlineMs }) => {
    const nowMs = clock.now();
    const begun =
      claim && getCondition(claim, 'Drained') === undefined
        ? conditioned(claim, { type: 'Drained', status: 'Unknown', reason: 'Draining', message: 'Draining' }, nowMs)
        : claim;
    const pods = cluster.stores.pods.byIndex(PODS_BY_NODE, node.metadata.name);
    const { next, waiting } = planDrain(pods, deadlineMs, nowMs);
    evictions.add(next, deadlineMs);
    if (waiting > 0) {
      events.publish(failedDraining(node, 'waiting', `${waiting} pods are waiting to be evicted`));
      return { claim: begun, waitMs: POLL_MS };
    }
    if (begun && isYoung(getCondition(begun, 'Drained'), nowMs)) return { claim: begun, waitMs: POLL_MS };
    return { claim: conditioned(begun, { type: 'Drained', status: 'True' }, nowMs) };
  };
}

/** Returns true if the drain has just started. A start in the future does not count, because the clock was set back. */
function isYoung(drained: Condition | undefined, nowMs: number): boolean {
  const ageMs = nowMs - timeOf(drained?.lastTransitionTime);
  return drained?.status === 'Unknown' && ageMs >= 0 && ageMs < SHORTEST_DRAIN_MS;
}

/** First step of a node's end: its pods leave. */
import { getCondition } from '../../api/conditions.ts';
import { PODS_BY_NODE } from '../../state/stores.ts';
import type { Deps } from '../deps.ts';
import { planDrain } from './drain.ts';
import type { Evictions } from './evictions.ts';
import { failedDraining } from './notes.ts';
import { conditioned, type Step } from './step.ts';

const POLL_MS = 1_000;
/** Pods that were scheduled just before the taint still have to show up. */
const SHORTEST_DRAIN_MS = 5_000;

export function draining({ clock, cluster, events }: Deps, evictions: Evictions): Step {
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
    const condition = begun && getCondition(begun, 'Drained');
    const isYoung =
      condition?.status === 'Unknown' && nowMs - Date.parse(condition.lastTransitionTime ?? '') < SHORTEST_DRAIN_MS;
    if (isYoung) return { claim: begun, waitMs: POLL_MS };
    return { claim: conditioned(begun, { type: 'Drained', status: 'True' }, nowMs) };
  };
}

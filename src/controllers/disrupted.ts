/** Counting the NodeClaims that the operator takes out of service, and the pods that have to move for it. */
import { readDurationOrNever } from '../api/duration.ts';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL } from '../api/labels.ts';
import type { NodeClaim } from '../api/nodeclaim.ts';
import { labelOf, poolNameOf } from '../api/object-fields.ts';
import { isReschedulable } from '../engine/pods.ts';
import { timestamp } from '../lib/times.ts';
import { NODECLAIMS_DISRUPTED } from '../observe/metrics/nodeclaims.ts';
import { PODS_DISRUPTION_INITIATED } from '../observe/metrics/pods.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Deps } from './deps.ts';

interface DisruptedCount {
  /** Such as `expired`, in snake case. */
  readonly reason: string;
  /** Pods that have to move; left out for disruptions that no pod counts are kept of. */
  readonly pods?: number;
  /** The NodePool's policy in snake case; only for consolidation. */
  readonly policy?: string;
}

export function countDisrupted(
  metrics: Metrics,
  claim: NodeClaim,
  { reason, pods, policy = '' }: DisruptedCount,
): void {
  const labels = {
    reason,
    nodepool: poolNameOf(claim),
    capacity_type: labelOf(claim, CAPACITY_TYPE_LABEL),
    consolidation_policy: policy,
    termination_mode: terminationMode(claim),
  };
  metrics.counter(NODECLAIMS_DISRUPTED).inc(labels);
  if (pods === undefined) return;
  metrics.counter(PODS_DISRUPTION_INITIATED).inc(labels, pods);
}

/** Counts a NodeClaim that was deleted for a reason of its own, in no command of disruption, and logs the decision. */
export function recordDeleted(
  { metrics, clock, cluster, decisions }: Pick<Deps, 'metrics' | 'clock' | 'cluster' | 'decisions'>,
  claim: NodeClaim,
  count: Omit<DisruptedCount, 'policy'>,
): void {
  countDisrupted(metrics, claim, count);
  cluster.deletionReasons.set(claim.metadata.name, count.reason);
  decisions?.record({
    kind: 'deleted',
    at: timestamp(clock.now()),
    nodeClaim: claim.metadata.name,
    nodePool: poolNameOf(claim),
    reason: count.reason,
    pods: count.pods ?? 0,
  });
}

/** Logs that AWS takes the instance of a NodeClaim, which has just been deleted for that. */
export function recordInterrupted(
  { clock, cluster, decisions }: Pick<Deps, 'clock' | 'cluster' | 'decisions'>,
  claim: NodeClaim,
  reason: string,
): void {
  cluster.deletionReasons.set(claim.metadata.name, 'interrupted');
  decisions?.record({
    kind: 'interrupted',
    at: timestamp(clock.now()),
    nodeClaim: claim.metadata.name,
    nodePool: poolNameOf(claim),
    reason,
    pods: reschedulablePods({ cluster }, claim),
    instanceType: labelOf(claim, INSTANCE_TYPE_LABEL),
    zone: labelOf(claim, ZONE_LABEL),
    capacityType: labelOf(claim, CAPACITY_TYPE_LABEL),
  });
}

/** Number of pods on the claim's node that need another place. */
export const reschedulablePods = ({ cluster }: Pick<Deps, 'cluster'>, claim: NodeClaim): number =>
  (cluster.nodeOfClaim(claim)?.pods ?? []).filter(isReschedulable).length;

function terminationMode(claim: NodeClaim): string {
  const grace = claim.spec.terminationGracePeriod;
  if (grace === undefined) return 'graceful';
  // one that cannot be read is treated as none
  const graceMs = readDurationOrNever(grace) ?? Number.POSITIVE_INFINITY;
  if (graceMs === Number.POSITIVE_INFINITY) return 'graceful';
  return graceMs <= 0 ? 'forceful' : 'eventual';
}

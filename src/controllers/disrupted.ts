/** Counts the NodeClaims that the operator disrupts, and the pods that must move because of it. */

import {
  CAPACITY_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  labelOf,
  type NodeClaim,
  poolNameOf,
  ZONE_LABEL,
} from '#api/objects';
import { readDurationOrNever } from '#api/values';
import { isReschedulable, podKey } from '#engine/model';
import { timestamp } from '#lib';
import { type Deleted, namespacesOf } from '#observe/history';
import { type Metrics, NODECLAIMS_DISRUPTED, PODS_DISRUPTION_INITIATED } from '#observe/metrics';
import type { Deps } from './deps.ts';

interface DisruptedCount {
  /** Reason in snake case, for example `expired`. */
  readonly reason: string;
  /** Number of pods that must move. Undefined for disruptions without pod counts. */
  readonly pods?: number;
  /** Consolidation policy of the NodePool in snake case. Only for consolidation. */
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

/** Counts a NodeClaim that was deleted outside a disruption command, and logs the decision. */
export function recordDeleted(
  { metrics, clock, cluster, decisions }: Pick<Deps, 'metrics' | 'clock' | 'cluster' | 'decisions'>,
  claim: NodeClaim,
  count: Omit<DisruptedCount, 'policy'>,
): void {
  countDisrupted(metrics, claim, count);
  logDeleted({ clock, cluster, decisions }, claim, count);
}

/** Logs that a NodeClaim was deleted outside a disruption command. */
export function logDeleted(
  deps: Pick<Deps, 'clock' | 'cluster' | 'decisions'>,
  claim: NodeClaim,
  { reason, pods = 0 }: Omit<DisruptedCount, 'policy'>,
): void {
  logRemoval(deps, { ...removalOf(deps, claim), reason, pods });
}

/** Description of a deleted NodeClaim for the log of decisions. */
export type Removal = Omit<Deleted, 'kind' | 'at'>;

export function logRemoval(
  { clock, cluster, decisions }: Pick<Deps, 'clock' | 'cluster' | 'decisions'>,
  removal: Removal,
): void {
  const { nodeClaim, reason } = removal;
  cluster.deletionReasons.set(nodeClaim, reason);
  decisions?.record({ kind: 'deleted', at: timestamp(clock.now()), ...removal }, { removed: [nodeClaim] });
}

/** Returns the names of a NodeClaim and of its node, and the namespaces of its pods. */
export function removalOf(
  { cluster }: Pick<Deps, 'cluster'>,
  claim: NodeClaim,
): Pick<Deleted, 'nodeClaim' | 'nodePool' | 'node' | 'namespaces'> {
  const node = cluster.nodeOfClaim(claim);
  const namespaces = namespacesOf((node?.pods ?? []).filter(isReschedulable).map(podKey));
  return {
    nodeClaim: claim.metadata.name,
    nodePool: poolNameOf(claim),
    ...(node !== undefined && node.name !== '' ? { node: node.name } : {}),
    ...(namespaces.length > 0 ? { namespaces } : {}),
  };
}

/** Logs that AWS interrupts the instance of a NodeClaim, which was just deleted for this reason. */
export function recordInterrupted(
  { clock, cluster, decisions }: Pick<Deps, 'clock' | 'cluster' | 'decisions'>,
  claim: NodeClaim,
  reason: string,
): void {
  cluster.deletionReasons.set(claim.metadata.name, 'interrupted');
  cluster.interruptions.set(claim.metadata.name, reason);
  decisions?.record(
    {
      kind: 'interrupted',
      at: timestamp(clock.now()),
      reason,
      pods: reschedulablePods({ cluster }, claim),
      instanceType: labelOf(claim, INSTANCE_TYPE_LABEL),
      zone: labelOf(claim, ZONE_LABEL),
      capacityType: labelOf(claim, CAPACITY_TYPE_LABEL),
      ...removalOf({ cluster }, claim),
    },
    { removed: [claim.metadata.name] },
  );
}

/** Returns the number of pods on the node of a NodeClaim that need another place. */
export const reschedulablePods = ({ cluster }: Pick<Deps, 'cluster'>, claim: NodeClaim): number =>
  (cluster.nodeOfClaim(claim)?.pods ?? []).filter(isReschedulable).length;

function terminationMode(claim: NodeClaim): string {
  const grace = claim.spec.terminationGracePeriod;
  if (grace === undefined) return 'graceful';
  // a value that cannot be parsed counts as no grace period
  const graceMs = readDurationOrNever(grace) ?? Number.POSITIVE_INFINITY;
  if (graceMs === Number.POSITIVE_INFINITY) return 'graceful';
  return graceMs <= 0 ? 'forceful' : 'eventual';
}

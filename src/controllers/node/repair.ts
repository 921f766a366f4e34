/** Determines if a node is unhealthy. Has no side effects. */
import { getCondition } from '../../api/conditions.ts';
import type { Condition, Node } from '../../api/kubernetes.ts';
import type { RepairPolicy } from '../../cloud/provider.ts';
import { timeOf } from '../../lib/times.ts';

interface Ailment {
  readonly condition: Condition;
  /** Time from which the node may be replaced for this condition. */
  readonly dueMs: number;
}

/** Returns the ailment of a node that is due first, or undefined for a healthy node. */
export function ailmentOf(node: Node, policies: readonly RepairPolicy[]): Ailment | undefined {
  const ailments = policies.flatMap((policy): readonly Ailment[] => {
    const condition = getCondition(node, policy.conditionType);
    if (condition === undefined || condition.status !== policy.conditionStatus) return [];
    // a condition without a transition time is as old as its node
    const since = condition.lastTransitionTime ?? node.metadata.creationTimestamp;
    return [{ condition, dueMs: timeOf(since) + policy.tolerationMs }];
  });
  return ailments.sort((left, right) => left.dueMs - right.dueMs)[0];
}

/**
 * Maximum share of unhealthy nodes of a NodePool or cluster. Above this share, repairs stop because the nodes are probably not
 * the cause.
 */
const TOLERATED_SHARE = 0.2;

/**
 * Returns true if too many nodes are unhealthy to replace any. Counts all nodes that are unhealthy now, even before the end of
 * their toleration.
 */
export function isRepairBlocked(nodes: readonly Node[], policies: readonly RepairPolicy[]): boolean {
  const broken = nodes.filter((node) => ailmentOf(node, policies) !== undefined).length;
  return broken > Math.ceil(nodes.length * TOLERATED_SHARE);
}

/** Returns true if a change of a node may affect its repair: a condition was added, removed, changed or renewed. */
export function conditionsChanged(before: Node, now: Node): boolean {
  const old = before.status?.conditions ?? [];
  if (old.length !== (now.status?.conditions ?? []).length) return true;
  return old.some((condition) => {
    const current = getCondition(now, condition.type);
    return current?.status !== condition.status || current.lastTransitionTime !== condition.lastTransitionTime;
  });
}

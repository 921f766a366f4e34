/** When a node counts as broken. Pure. */
import { getCondition } from '../../api/conditions.ts';
import type { Condition, Node } from '../../api/kubernetes.ts';
import type { RepairPolicy } from '../../cloud/provider.ts';
import { timeOf } from '../../lib/times.ts';

interface Ailment {
  readonly condition: Condition;
  /** When the node may be replaced for it. */
  readonly dueMs: number;
}

/** The ailment of a node that is due first; undefined for a healthy node. */
export function ailmentOf(node: Node, policies: readonly RepairPolicy[]): Ailment | undefined {
  const ailments = policies.flatMap((policy): readonly Ailment[] => {
    const condition = getCondition(node, policy.conditionType);
    if (condition === undefined || condition.status !== policy.conditionStatus) return [];
    // a condition that does not say since when is as old as its node
    const since = condition.lastTransitionTime ?? node.metadata.creationTimestamp;
    return [{ condition, dueMs: timeOf(since) + policy.tolerationMs }];
  });
  return ailments.sort((left, right) => left.dueMs - right.dueMs)[0];
}

/** Part of a pool's or cluster's nodes that may be broken before repair stops: then something else is wrong. */
const TOLERATED_SHARE = 0.2;

/** Whether too many nodes are broken to replace any. Tolerations do not count here: all that are broken now do. */
export function isRepairBlocked(nodes: readonly Node[], policies: readonly RepairPolicy[]): boolean {
  const broken = nodes.filter((node) => ailmentOf(node, policies) !== undefined).length;
  return broken > Math.ceil(nodes.length * TOLERATED_SHARE);
}

/** Whether a change of a node could matter to its repair: some condition came, went, changed or was renewed. */
export function conditionsChanged(before: Node, now: Node): boolean {
  const old = before.status?.conditions ?? [];
  if (old.length !== (now.status?.conditions ?? []).length) return true;
  return old.some((condition) => {
    const current = getCondition(now, condition.type);
    return current?.status !== condition.status || current.lastTransitionTime !== condition.lastTransitionTime;
  });
}

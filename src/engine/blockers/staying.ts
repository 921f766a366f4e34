/** Finds the obstacles to the disruption of a node that is not being drained. */

import type { PodDisruptionBudget } from '../../api/kubernetes.ts';
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import type { Allowance } from '../disruption/budgets/budgets.ts';
import { candidateOf, isBlock } from '../disruption/pass.ts';
import type { BlockCode, DisruptionReason } from '../disruption/reasons.ts';
import type { PoolInput, StateNode } from '../model.ts';
import { doNotDisrupt, isActive, isReschedulable } from '../pods.ts';
import type { Blocker, WaitingFor } from './blocker.ts';
import { budgetedPods, protectedPods } from './pods.ts';

export interface StayContext {
  readonly nowMs: number;
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
  /** Managed NodePools by name. */
  readonly pools: ReadonlyMap<string, PoolInput>;
  /** Returns the use of the NodePools' budgets for a reason, by name. */
  readonly allowances: (reason: DisruptionReason) => ReadonlyMap<string, Allowance>;
}

/** Codes that are not obstacles: the node has no pending disruption, is not managed, or is being removed. */
const BESIDE_THE_POINT: ReadonlySet<BlockCode> = new Set(['unmanaged', 'no-node', 'in-progress', 'deleting']);
/** Codes that are reported for each pod, because the verdict contains only the first pod. */
const BY_PODS: ReadonlySet<BlockCode> = new Set(['pod-do-not-disrupt', 'pdb', 'several-pdbs']);

export function stayBlockers(node: StateNode, waitsFor: WaitingFor, context: StayContext): readonly Blocker[] {
  const { nowMs, pools, podDisruptionBudgets } = context;
  // drift continues if the terminationGracePeriod will eventually remove protected pods
  const disruption = waitsFor === 'drift' ? 'eventual' : 'graceful';
  const found = candidateOf(node, { nowMs, class: disruption, inProgress: new Set(), pools, podDisruptionBudgets });
  const budget = budgetBlocker(node, waitsFor, context);
  if (!isBlock(found)) return budget;
  if (BESIDE_THE_POINT.has(found.code)) return [];
  const { code, text, object } = found;
  const own: readonly Blocker[] = BY_PODS.has(code)
    ? []
    : [{ code, text, ...(object === undefined ? {} : { object }) }];
  const byPods = isCleared(node, waitsFor) ? [] : podBlockers(node, context);
  return [...own, ...byPods, ...budget];
}

const isCleared = ({ nodeClaim }: StateNode, waitsFor: WaitingFor): boolean =>
  waitsFor === 'drift' && nodeClaim?.spec.terminationGracePeriod !== undefined;

const podBlockers = ({ pods }: StateNode, { podDisruptionBudgets, nowMs }: StayContext): readonly Blocker[] => [
  ...protectedPods(
    pods.filter((pod) => isActive(pod) && doNotDisrupt(pod, nowMs)),
    nowMs,
  ),
  ...budgetedPods(pods, podDisruptionBudgets, nowMs),
];

function budgetBlocker(node: StateNode, waitsFor: WaitingFor, { allowances }: StayContext): readonly Blocker[] {
  const reason = reasonOf(node, waitsFor);
  const name = node.labels[NODEPOOL_LABEL] ?? '';
  const allowance = reason && allowances(reason).get(name);
  if (reason === undefined || allowance === undefined || allowance.remaining > 0) return [];
  const { allowed, disrupting, total } = allowance;
  const text = `budgets of NodePool ${name} allow ${allowed} of ${total} nodes to be disrupted for reason ${reason}, and ${disrupting} are; karpenter explain budgets shows when this changes`;
  return [{ code: 'budget', text, object: { kind: 'NodePool', name } }];
}

function reasonOf({ pods }: StateNode, waitsFor: WaitingFor): DisruptionReason | undefined {
  if (waitsFor === 'drift') return 'Drifted';
  if (waitsFor !== 'consolidation') return undefined;
  return pods.some(isReschedulable) ? 'Underutilized' : 'Empty';
}

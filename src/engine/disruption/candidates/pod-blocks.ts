/** Decides if a pod must stay on its node because of its annotation or of PodDisruptionBudgets. */
import { getCondition, type ObjectMeta, type PodDisruptionBudget } from '#api/objects';
import { remembering } from '#lib';
import type { EnginePod } from '../../input.ts';
import { compareText } from '../../instance-types.ts';
import type { EngineNode } from '../../model.ts';
import { doNotDisrupt, isActive, isEverEvictable, isEvictable, isReschedulable, podKey } from '../../pods.ts';
import type { BlockCode, ObjectName, Reason } from '../reasons.ts';
import { atPositions, type BudgetIndex, budgetIndex, budgetsOf, isReadable, namespaceOf } from './pdb-index.ts';
import { annotatedPods, protectionOf } from './protection.ts';

/** Test for blocking budgets: they allow no eviction now, or they can never allow an eviction. */
type BudgetTest = 'no-disruption-now' | 'never-any-disruption';

/**
 * Returns the budgets that prevent the eviction of a pod, as `namespace/name`. Returns an empty list if there are none. Budgets
 * never block a pod that is removed without the eviction API. Two budgets on one pod always block, because the API rejects the
 * eviction. A budget that is not valid also blocks.
 */
export function blockingBudgets(
  pod: EnginePod,
  budgets: readonly PodDisruptionBudget[],
  { nowMs, test }: { readonly nowMs: number; readonly test: BudgetTest },
): readonly string[] {
  return isEvictable(pod, nowMs) ? blockingOf(pod, budgetsOf(pod, budgets), test) : [];
}

/** Returns the blocking budgets for a pod that must be evicted with the eviction API, from all budgets that select the pod. */
function blockingOf(pod: EnginePod, matching: readonly PodDisruptionBudget[], test: BudgetTest): readonly string[] {
  const [budget, ...others] = matching;
  if (budget === undefined) return [];
  const blocked = others.length > 0 || (!sparesUnhealthy(budget, pod) && blocks(budget, test));
  return blocked ? matching.map(({ metadata }) => keyOf(metadata)) : [];
}

const keyOf = (metadata: ObjectMeta): string => `${namespaceOf(metadata)}/${metadata.name}`;

const sparesUnhealthy = (budget: PodDisruptionBudget, pod: EnginePod): boolean =>
  budget.spec.unhealthyPodEvictionPolicy === 'AlwaysAllow' && getCondition(pod, 'Ready')?.status === 'False';

function blocks(budget: PodDisruptionBudget, test: BudgetTest): boolean {
  const { spec, status } = budget;
  if (!isReadable(budget)) return true;
  if (test === 'no-disruption-now') return (status?.disruptionsAllowed ?? 0) === 0;
  return spec.maxUnavailable === 0 || spec.maxUnavailable === '0%' || spec.minAvailable === '100%';
}

/** Returns true if a pod on a node that is being removed can be rescheduled now. */
export const currentlyReschedulable = (
  pod: EnginePod,
  budgets: readonly PodDisruptionBudget[],
  nowMs: number,
): boolean =>
  isReschedulable(pod) &&
  !(isActive(pod) && doNotDisrupt(pod, nowMs)) &&
  blockingBudgets(pod, budgets, { nowMs, test: 'never-any-disruption' }).length === 0;

/** Returns the pods of nodes that are being removed. These pods will be pending soon, so capacity for them is prepared now. */
export const podsOfLeavingNodes = (
  nodes: readonly EngineNode[],
  budgets: readonly PodDisruptionBudget[],
  nowMs: number,
): readonly EnginePod[] =>
  nodes
    .filter((node) => node.markedForDeletion && node.node !== undefined)
    .flatMap(({ pods }) => pods.filter((pod) => currentlyReschedulable(pod, budgets, nowMs)));

/** Returns the reason why the pods prevent a graceful disruption of their node, or undefined if they do not. */
export function podBlock(
  pods: readonly EnginePod[],
  budgets: readonly PodDisruptionBudget[],
  nowMs: number,
): Reason<BlockCode> | undefined {
  const untouchable = firstByName(annotatedPods(pods).filter((pod) => doNotDisrupt(pod, nowMs)));
  return untouchable ? protectedBlock(untouchable, nowMs) : blockByBudgets(pods, budgets);
}

/** Returns the pods of a node that budgets select, with the positions of these budgets in their list. */
const selectedPods = remembering((pods: readonly EnginePod[], index: BudgetIndex) =>
  pods.filter(isEverEvictable).flatMap((pod) => {
    const positions = index.matching(pod);
    return positions.length === 0 ? [] : { pod, positions };
  }),
);

/** Returns the reason why budgets block a node without protected pods. The result does not depend on time. */
const blockByBudgets = remembering(
  (pods: readonly EnginePod[], budgets: readonly PodDisruptionBudget[]): Reason<BlockCode> | undefined => {
    const blocked = new Map<EnginePod, readonly string[]>();
    for (const { pod, positions } of selectedPods(pods, budgetIndex(budgets))) {
      const keys = blockingOf(pod, atPositions(budgets, positions), 'no-disruption-now');
      if (keys.length > 0) blocked.set(pod, keys);
    }
    const held = firstByName([...blocked.keys()]);
    if (held === undefined) return undefined;
    const keys = blocked.get(held) ?? [];
    const [only, ...others] = keys;
    if (only !== undefined && others.length === 0) return budgetBlock(only, budgets);
    return {
      code: 'several-pdbs',
      text: `eviction does not support multiple PDBs (PodDisruptionBudget(s)=[${keys.join(' ')}])`,
      object: podName(held),
    };
  },
);

/** Returns the first pod by name, so that the text names the same pod each time. */
const firstByName = (pods: readonly EnginePod[]): EnginePod | undefined =>
  pods.length < 2 ? pods[0] : pods.toSorted((a, b) => compareText(podKey(a), podKey(b)))[0];

const podName = ({ metadata }: EnginePod): ObjectName => ({
  kind: 'Pod',
  namespace: namespaceOf(metadata),
  name: metadata.name,
});

function protectedBlock(pod: EnginePod, nowMs: number): Reason<BlockCode> {
  const text = `pod has "karpenter.sh/do-not-disrupt" annotation (Pod=${podKey(pod)})`;
  const protection = protectionOf(pod, nowMs);
  const block = { code: 'pod-do-not-disrupt' as const, text, object: podName(pod) };
  return protection.kind === 'until'
    ? { ...block, nearestMiss: `until ${new Date(protection.ms).toISOString()}` }
    : block;
}

function budgetBlock(key: string, budgets: readonly PodDisruptionBudget[]): Reason<BlockCode> {
  const text = `pdb prevents pod evictions (PodDisruptionBudget=[${key}])`;
  const [namespace = '', name = ''] = key.split('/');
  const { status } = budgets.find(({ metadata }) => keyOf(metadata) === key) ?? {};
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  return {
    code: 'pdb',
    text,
    object: { kind: 'PodDisruptionBudget', namespace, name },
    nearestMiss: `healthy pods: ${currentHealthy}, required: ${desiredHealthy}`,
  };
}

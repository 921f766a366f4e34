/** Finds pods that must stay on their node because of their annotation or of PodDisruptionBudgets. */

import { neverAllowsEvictions, type Pod, type PodDisruptionBudget } from '#api/objects';
import { timestamp } from '#lib';
import { isReadable } from '../disruption/candidates/pdb-index.ts';
import { blockingBudgets } from '../disruption/candidates/pod-blocks.ts';
import { protectionOf } from '../disruption/candidates/protection.ts';
import { compareText } from '../instance-types.ts';
import { podKey } from '../pods.ts';
import type { Blocker } from './blocker.ts';

/** Returns sorted namespaced names. */
export const podKeys = (pods: readonly Pod[]): readonly string[] => pods.map(podKey).toSorted(compareText);

/** Returns one blocker for each pod with the annotation. */
export const protectedPods = (pods: readonly Pod[], nowMs: number): readonly Blocker[] =>
  pods.toSorted((a, b) => compareText(podKey(a), podKey(b))).map((pod) => protectedPod(pod, nowMs));

function protectedPod(pod: Pod, nowMs: number): Blocker {
  const { namespace = 'default', name } = pod.metadata;
  const protection = protectionOf(pod, nowMs);
  const since = pod.status?.startTime;
  return {
    code: 'pod-do-not-disrupt',
    text: 'pod has "karpenter.sh/do-not-disrupt" annotation',
    object: { kind: 'Pod', namespace, name },
    pods: [podKey(pod)],
    ...(since === undefined ? {} : { since }),
    ...(protection.kind === 'until' ? { ends: 'time', until: timestamp(protection.ms) } : { ends: 'never' }),
  };
}

/**
 * Returns one blocker for each PodDisruptionBudget, or group of PodDisruptionBudgets, with the pods that it protects from
 * eviction.
 */
export function budgetedPods(
  pods: readonly Pod[],
  budgets: readonly PodDisruptionBudget[],
  nowMs: number,
): readonly Blocker[] {
  const held = pods.flatMap((pod) => {
    const keys = blockingBudgets(pod, budgets, { nowMs, test: 'no-disruption-now' });
    return keys.length === 0 ? [] : [{ pod, keys }];
  });
  const groups = Map.groupBy(held, ({ keys }) => keys.join(' '));
  return [...groups.values()]
    .map((group) =>
      budgetBlocker(
        group[0]?.keys ?? [],
        group.map(({ pod }) => pod),
        budgets,
      ),
    )
    .toSorted((a, b) => compareText(a.text, b.text));
}

function budgetBlocker(
  keys: readonly string[],
  pods: readonly Pod[],
  budgets: readonly PodDisruptionBudget[],
): Blocker {
  const [key = '', ...others] = keys;
  if (others.length > 0) {
    const text = `eviction does not support several PodDisruptionBudgets on a pod: ${keys.join(', ')}`;
    return { code: 'several-pdbs', text, pods: podKeys(pods), ends: 'never' };
  }
  const [namespace = '', name = ''] = key.split('/');
  const budget = budgets.find(
    ({ metadata }) => metadata.name === name && (metadata.namespace ?? 'default') === namespace,
  );
  const {
    currentHealthy: current = 0,
    desiredHealthy: desired = 0,
    disruptionsAllowed: allowed = 0,
  } = budget?.status ?? {};
  const isEndless = budget === undefined || !isReadable(budget) || neverAllowsEvictions(budget);
  return {
    code: 'pdb',
    text: `PodDisruptionBudget ${key} allows ${allowed} evictions: ${current} pods are healthy, ${desired} are required; ${budgetEnd(budget, isEndless)}`,
    object: { kind: 'PodDisruptionBudget', namespace, name },
    pods: podKeys(pods),
    healthy: { current, desired, allowed },
    ends: isEndless ? 'never' : 'pods-ready',
  };
}

/** Returns the condition for the next allowed eviction. */
function budgetEnd(budget: PodDisruptionBudget | undefined, isEndless: boolean): string {
  const { spec = {}, status } = budget ?? {};
  const { maxUnavailable, minAvailable } = spec;
  if (!isEndless) {
    if (status === undefined) return 'waits until its pods are counted';
    const missing = (status.desiredHealthy ?? 0) + 1 - (status.currentHealthy ?? 0);
    return missing > 0
      ? `waits until ${missing} more pod${missing === 1 ? ' is' : 's are'} ready`
      : 'waits until pods that are being evicted are ready again';
  }
  const field = maxUnavailable === undefined ? `minAvailable ${minAvailable ?? 1}` : `maxUnavailable ${maxUnavailable}`;
  return budget === undefined || !isReadable(budget)
    ? `${field} or the selector is not valid, so it allows no eviction`
    : `${field} can never allow an eviction${status?.expectedPods === undefined ? '' : ` of its ${status.expectedPods} pods`}`;
}

/** Computations for PodDisruptionBudgets. */
import type { PodDisruptionBudget } from './kubernetes.ts';

/** Returns the number of expected pods that must be healthy. Percentages are rounded up. Without both fields, it is one. */
export function desiredHealthy(
  { minAvailable, maxUnavailable }: Pick<PodDisruptionBudget['spec'], 'minAvailable' | 'maxUnavailable'>,
  expectedPods: number,
): number {
  return maxUnavailable === undefined
    ? resolveAmount(minAvailable ?? 1, expectedPods)
    : Math.max(0, expectedPods - resolveAmount(maxUnavailable, expectedPods));
}

/** Returns a number unchanged, or a percentage of the total, rounded up. */
function resolveAmount(value: number | string, total: number): number {
  if (typeof value === 'number') return value;
  const percent = Number.parseInt(value, 10);
  return Number.isNaN(percent) ? 0 : Math.ceil((percent * total) / 100);
}

/** Returns true if the budget cannot allow an eviction even if all expected pods are healthy. */
export function neverAllowsEvictions({ spec, status }: Pick<PodDisruptionBudget, 'spec' | 'status'>): boolean {
  const { maxUnavailable, minAvailable } = spec;
  if (maxUnavailable === 0 || maxUnavailable === '0%' || minAvailable === '100%') return true;
  const expected = status?.expectedPods ?? 0;
  return expected > 0 && desiredHealthy(spec, expected) >= expected;
}

/** Taints and tolerations, by the rules of Kubernetes. */

import type { Taint, Toleration } from '#api/objects';
import { parseInteger } from '#lib';

function comparesNumerically(toleration: Toleration, taint: Taint): boolean {
  const bound = parseInteger(toleration.value ?? '');
  const value = parseInteger(taint.value ?? '');
  if (bound === undefined || value === undefined) return false;
  return toleration.operator === 'Gt' ? value > bound : value < bound;
}

/** Returns true if a toleration covers a taint. An empty key or effect covers every key or effect. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  switch (toleration.operator ?? 'Equal') {
    case 'Exists':
      return true;
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '');
    default:
      return comparesNumerically(toleration, taint);
  }
}

/** Returns the taints, with any effect, that no toleration covers. */
export function untolerated(
  tolerations: readonly Toleration[] | undefined,
  taints: readonly Taint[] | undefined,
): readonly Taint[] {
  return (taints ?? []).filter((taint) => !(tolerations ?? []).some((toleration) => tolerates(toleration, taint)));
}

export function toleratesAll(
  tolerations: readonly Toleration[] | undefined,
  taints: readonly Taint[] | undefined,
): boolean {
  return taints === undefined || taints.length === 0 || untolerated(tolerations, taints).length === 0;
}

/**
 * Returns true if kube-scheduler may place a pod with these tolerations on an existing node with these taints. A
 * `PreferNoSchedule` taint only makes it prefer other nodes.
 */
export function isAdmitted(tolerations: readonly Toleration[] | undefined, taints: readonly Taint[]): boolean {
  return taints.length === 0 || untolerated(tolerations, taints).every(({ effect }) => effect === 'PreferNoSchedule');
}

/** Returns `key=value:Effect`, without the value part if there is no value. */
export function formatTaint(taint: Taint): string {
  return `${taint.key}${taint.value ? `=${taint.value}` : ''}:${taint.effect}`;
}

/** Returns true if two taints have the same key and effect. Ignores the value. */
export const sameTaint = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect;

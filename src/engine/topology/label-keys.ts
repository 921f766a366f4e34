/** Labels of pods that topology rules read. */
import type { PodSpec } from '#api/objects';
import type { EnginePod } from '../input.ts';
import { selectorKeys } from '../selectors.ts';

/**
 * Returns the keys of labels that any rule of some pods reads. Pods with the same values for these keys are equal to topology.
 */
export function ruleLabelKeys(pods: Iterable<EnginePod>): readonly string[] {
  const keys = new Set<string>();
  const seen = new Set<unknown>();
  for (const { spec } of pods) {
    if ((spec.affinity === undefined && spec.topologySpreadConstraints === undefined) || seen.has(spec)) continue;
    seen.add(spec);
    try {
      addLabelKeys(spec, keys);
    } catch {
      // invalid rules are reported when the pod is compiled
    }
  }
  return [...keys].sort();
}

function addLabelKeys({ affinity, topologySpreadConstraints = [] }: PodSpec, keys: Set<string>): void {
  for (const each of [affinity?.podAffinity, affinity?.podAntiAffinity]) {
    for (const { labelSelector } of each?.requiredDuringSchedulingIgnoredDuringExecution ?? [])
      for (const key of selectorKeys(labelSelector)) keys.add(key);
    for (const { podAffinityTerm } of each?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
      for (const key of selectorKeys(podAffinityTerm.labelSelector)) keys.add(key);
  }
  for (const { labelSelector, matchLabelKeys = [] } of topologySpreadConstraints) {
    for (const key of selectorKeys(labelSelector)) keys.add(key);
    for (const key of matchLabelKeys) keys.add(key);
  }
}

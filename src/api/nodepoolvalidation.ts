/** What the API server cannot check about a NodePool, and what the condition ValidationSucceeded therefore says. */
import type { Taint } from './kubernetes.ts';
import { isRestrictedLabel, NODEPOOL_LABEL, normalizeLabel, requirementErrors, restrictionText } from './labels.ts';
import { labelValueErrors, qualifiedNameErrors } from './names.ts';
import type { NodePool } from './nodepool.ts';

/** Everything that makes a NodePool unusable; empty when it is sound. Joined with `; ` it is the condition's message. */
export function nodePoolErrors(pool: NodePool): string[] {
  const { metadata, spec } = pool.spec.template;
  return [
    ...labelErrors(metadata?.labels ?? {}),
    ...taintErrors(spec.taints ?? [], 'taints'),
    ...taintErrors(spec.startupTaints ?? [], 'startupTaints'),
    ...duplicateTaints([...(spec.taints ?? []), ...(spec.startupTaints ?? [])]),
    ...requirementProblems(spec.requirements),
  ];
}

function labelErrors(labels: Readonly<Record<string, string>>): string[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    if (key === NODEPOOL_LABEL) return [`invalid key name "${key}" in labels, restricted`];
    return [
      ...qualifiedNameErrors(key).map((detail) => `invalid key name "${key}" in labels, "${detail}"`),
      ...labelValueErrors(value).map((detail) => `invalid value: ${value} for label[${key}], ${detail}`),
      ...(isRestrictedLabel(key) ? [`invalid key name "${key}" in labels, ${restrictionText(key)}`] : []),
    ];
  });
}

const EFFECTS: readonly string[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute', ''];

function taintErrors(taints: readonly Taint[], field: string): string[] {
  return taints.flatMap(({ key, value, effect }) => [
    ...qualifiedNameErrors(key).map((detail) => `invalid value: ${detail} in ${field}`),
    ...(value ? qualifiedNameErrors(value) : []).map((detail) => `invalid value: ${detail} in ${field}`),
    ...(EFFECTS.includes(effect ?? '') ? [] : [`invalid value: "${effect}" in ${field}`]),
  ]);
}

function duplicateTaints(taints: readonly Taint[]): string[] {
  const seen = new Set<string>();
  return taints.flatMap(({ key, effect }) => {
    const pair = `${key}=${effect}`;
    if (seen.has(pair)) return [`duplicate taint Key/Effect pair ${pair}`];
    seen.add(pair);
    return [];
  });
}

const requirementProblems = (requirements: NodePool['spec']['template']['spec']['requirements']): string[] =>
  requirements.flatMap((requirement) => [
    ...requirementErrors(requirement).map((detail) => `invalid value: ${detail} in requirements, restricted`),
    ...(normalizeLabel(requirement.key) === NODEPOOL_LABEL
      ? [`invalid key: "${NODEPOOL_LABEL}" in requirements, restricted`]
      : []),
  ]);

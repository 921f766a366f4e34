/** Validation of NodePools beyond the validation of the API server. The condition ValidationSucceeded reports the errors. */

import { messageOf } from '#lib';
import { parseCron } from './cron.ts';
import { durationOrNever } from './duration.ts';
import type { QuantityList, Taint } from './kubernetes.ts';
import { isRestrictedLabel, NODEPOOL_LABEL, normalizeLabel, requirementErrors, restrictionText } from './labels.ts';
import { labelValueErrors, qualifiedNameErrors } from './names.ts';
import type { NodePool } from './nodepool.ts';
import { readQuantity } from './quantity.ts';

/** Returns all validation errors. Joined with `; `, they are the message of the condition. */
export function nodePoolErrors(pool: NodePool): string[] {
  const { metadata, spec } = pool.spec.template;
  return [
    ...nameErrors(pool),
    ...labelErrors(metadata?.labels ?? {}),
    ...annotationErrors(metadata?.annotations ?? {}),
    ...taintErrors(spec.taints ?? [], 'taints'),
    ...taintErrors(spec.startupTaints ?? [], 'startupTaints'),
    ...duplicateTaints([...(spec.taints ?? []), ...(spec.startupTaints ?? [])]),
    ...requirementProblems(spec.requirements),
    ...durationErrors({
      'template.spec.expireAfter': spec.expireAfter,
      'template.spec.terminationGracePeriod': spec.terminationGracePeriod,
      'disruption.consolidateAfter': pool.spec.disruption?.consolidateAfter,
    }),
    ...budgetErrors(pool.spec.disruption?.budgets ?? [], 'disruption.budgets'),
    ...limitErrors(pool.spec.limits ?? {}),
    ...replicasErrors(pool.spec.replicas ?? 0),
  ];
}

/** Checks the names of the NodePool and its NodeClass, because they are label values of every NodeClaim and node. */
function nameErrors({ metadata, spec }: NodePool): string[] {
  const { nodeClassRef } = spec.template.spec;
  return [
    ...labelValueErrors(metadata.name).map(
      (detail) =>
        `invalid name "${metadata.name}", ${detail}: it is the value of the label ${NODEPOOL_LABEL} on every node; ` +
        'create the NodePool under another name',
    ),
    ...labelValueErrors(nodeClassRef.name).map(
      (detail) =>
        `invalid name "${nodeClassRef.name}" in nodeClassRef, ${detail}: it is the value of a label on every node; ` +
        `create the ${nodeClassRef.kind} under another name`,
    ),
  ];
}

/** Maximum size of annotations. The API server allows 256 KiB, and controllers add annotations. */
const MOST_ANNOTATION_BYTES = 192 * 1024;

function annotationErrors(annotations: Readonly<Record<string, string>>): string[] {
  const bytes = Object.entries(annotations).reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(value), 0);
  return [
    ...Object.keys(annotations).flatMap((key) =>
      qualifiedNameErrors(key.toLowerCase()).map((detail) => `invalid key name "${key}" in annotations, "${detail}"`),
    ),
    ...(bytes > MOST_ANNOTATION_BYTES
      ? [`invalid annotations, must be no more than ${MOST_ANNOTATION_BYTES} bytes in all and are ${bytes}`]
      : []),
  ];
}

const byteLength = (text: string): number => new TextEncoder().encode(text).length;

/** Checks the ranges of durations, because the API server accepts any number of digits. */
export const durationErrors = (fields: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries(fields).flatMap(([field, text]) =>
    failureOf(() => durationOrNever(text)).map((detail) => `invalid value: ${detail} in ${field}`),
  );

/**
 * Checks schedules, because the API server accepts any five words. An invalid budget would allow no disruption.
 * @param path path of the list of budgets
 */
export const budgetErrors = (
  budgets: readonly { readonly schedule?: string; readonly duration?: string }[],
  path: string,
): string[] =>
  budgets.flatMap(({ schedule, duration }, at) => [
    ...failureOf(() => schedule === undefined || parseCron(schedule)).map(
      (detail) => `invalid value: ${detail} in ${path}[${at}].schedule`,
    ),
    ...durationErrors({ [`${path}[${at}].duration`]: duration }),
  ]);

/** Checks quantities, because the API server accepts exponents with a fraction. */
/** Returns validation errors of limits. */
export const limitErrors = (limits: QuantityList): string[] =>
  Object.entries(limits).flatMap(([name, quantity]) =>
    failureOf(() => readQuantity(quantity)).map((detail) => `invalid value: ${detail} in limits[${name}]`),
  );

/** Maximum number of replicas, above the size of any cluster. */
const MOST_REPLICAS = 100_000;

const replicasErrors = (replicas: number): string[] =>
  replicas > MOST_REPLICAS ? [`invalid value: ${replicas} in replicas, must be no more than ${MOST_REPLICAS}`] : [];

function failureOf(read: () => unknown): string[] {
  try {
    read();
    return [];
  } catch (error) {
    return [messageOf(error)];
  }
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
    ...(value ? valueErrors(value) : []).map((detail) => `invalid value: ${detail} in ${field}`),
    ...(EFFECTS.includes(effect ?? '') ? [] : [`invalid value: "${effect}" in ${field}`]),
  ]);
}

/** Checks the value of a taint. The API server validates Nodes more strictly than NodePools. */
function valueErrors(value: string): string[] {
  const errors = qualifiedNameErrors(value);
  return errors.length > 0 ? errors : labelValueErrors(value);
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

/** Returns validation errors of requirements. */
export const requirementProblems = (requirements: NodePool['spec']['template']['spec']['requirements']): string[] =>
  requirements.flatMap((requirement) => [
    ...requirementErrors(requirement).map((detail) => `invalid value: ${detail} in requirements, restricted`),
    ...(normalizeLabel(requirement.key) === NODEPOOL_LABEL
      ? [`invalid key: "${NODEPOOL_LABEL}" in requirements, restricted`]
      : []),
  ]);

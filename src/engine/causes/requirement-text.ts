/** Describes requirements on labels in words. */
import {
  ARCH_LABEL,
  CAPACITY_TYPE_LABEL,
  INSTANCE_CATEGORY_LABEL,
  INSTANCE_CPU_LABEL,
  INSTANCE_CPU_MANUFACTURER_LABEL,
  INSTANCE_FAMILY_LABEL,
  INSTANCE_GENERATION_LABEL,
  INSTANCE_GPU_NAME_LABEL,
  INSTANCE_MEMORY_LABEL,
  INSTANCE_SIZE_LABEL,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  OS_LABEL,
  REGION_LABEL,
  ZONE_ID_LABEL,
  ZONE_LABEL,
} from '#api/objects';
import type { ValueSet } from '../value-set.ts';

/** Singular and plural of labels that users know by a name. */
const NOUNS: ReadonlyMap<string, readonly [one: string, many: string]> = new Map([
  [ARCH_LABEL, ['architecture', 'architectures']],
  [CAPACITY_TYPE_LABEL, ['capacity type', 'capacity types']],
  [INSTANCE_CATEGORY_LABEL, ['instance category', 'instance categories']],
  [INSTANCE_CPU_LABEL, ['number of vCPUs', 'numbers of vCPUs']],
  [INSTANCE_CPU_MANUFACTURER_LABEL, ['CPU manufacturer', 'CPU manufacturers']],
  [INSTANCE_FAMILY_LABEL, ['instance family', 'instance families']],
  [INSTANCE_GENERATION_LABEL, ['instance generation', 'instance generations']],
  [INSTANCE_GPU_NAME_LABEL, ['GPU', 'GPUs']],
  [INSTANCE_MEMORY_LABEL, ['memory in MiB', 'memory in MiB']],
  [INSTANCE_SIZE_LABEL, ['instance size', 'instance sizes']],
  [INSTANCE_TYPE_LABEL, ['instance type', 'instance types']],
  [NODEPOOL_LABEL, ['NodePool', 'NodePools']],
  [OS_LABEL, ['operating system', 'operating systems']],
  [REGION_LABEL, ['region', 'regions']],
  [ZONE_ID_LABEL, ['zone id', 'zone ids']],
  [ZONE_LABEL, ['zone', 'zones']],
]);

const MOST_VALUES = 4;

/** Returns the values, or as many of them as fit into a sentence. */
export function someOf(values: readonly string[]): string {
  const more = values.length - MOST_VALUES;
  const shown = more > 1 ? values.slice(0, MOST_VALUES) : values;
  return shown.length < values.length ? `${shown.join(', ')} and ${more} more` : shown.join(', ');
}

/** Returns a requirement such as `instance categories c, m, r` or `label team with value a`. */
export function requirementText(key: string, set: ValueSet): string {
  const [one, many] = NOUNS.get(key) ?? [`label ${key} with value`, `label ${key} with values`];
  const { sorted } = set;
  switch (set.operator) {
    case 'In':
      return `${sorted.length > 1 ? many : one} ${someOf(sorted)}`;
    case 'NotIn':
      return `${many} other than ${someOf(sorted)}`;
    case 'Exists':
      return `${one} ${boundsText(set)}`;
    case 'DoesNotExist':
      return NOUNS.has(key) ? `no ${one}` : `no label ${key}`;
  }
}

function boundsText({ gte, lte }: ValueSet): string {
  if (gte !== undefined && lte !== undefined) return `from ${gte} to ${lte}`;
  if (gte !== undefined) return `of at least ${gte}`;
  return lte === undefined ? 'of any value' : `of at most ${lte}`;
}

/** Returns a clause such as `the pod requires zone us-west-2a`. */
export const requiredText = (key: string, set: ValueSet): string =>
  key === NODEPOOL_LABEL && set.operator === 'In'
    ? `the pod selects ${requirementText(key, set)}`
    : `the pod requires ${requirementText(key, set)}`;

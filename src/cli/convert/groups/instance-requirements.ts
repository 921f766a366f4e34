/** Converts attribute-based instance type selection of launch templates and eksctl. */
import {
  ARCH_LABEL,
  INSTANCE_CPU_LABEL,
  INSTANCE_CPU_MANUFACTURER_LABEL,
  INSTANCE_FAMILY_LABEL,
  INSTANCE_GENERATION_LABEL,
  INSTANCE_GPU_COUNT_LABEL,
  INSTANCE_LOCAL_NVME_LABEL,
  INSTANCE_MEMORY_LABEL,
  INSTANCE_TYPE_LABEL,
} from '#api/objects';
import { parseQuantity } from '#api/values';
import { type Field, tryRun } from '#lib';
import type { Path } from '../notes.ts';
import { textOf, textsOf } from './fields.ts';
import { type NodeGroup, REQUIREMENTS } from './node-group.ts';

const RANGES: Readonly<Record<string, string>> = {
  VCpuCount: INSTANCE_CPU_LABEL,
  MemoryMiB: INSTANCE_MEMORY_LABEL,
  AcceleratorCount: INSTANCE_GPU_COUNT_LABEL,
};

const MANUFACTURERS: Readonly<Record<string, string>> = {
  intel: 'intel',
  amd: 'amd',
  'amazon-web-services': 'aws',
};

/** Converts `InstanceRequirements` of EC2. */
export function applyInstanceRequirements(group: NodeGroup, requirements: Field, path: Path): void {
  for (const key of requirements.keys()) {
    const field = requirements.at(key);
    if (field.isMissing) continue;
    const label = RANGES[key];
    if (label !== undefined) {
      const [min, max] = [field.at('Min').given?.count(), field.at('Max').given?.count()];
      if (min !== undefined && min > 0) group.bound(label, 'Gte', min);
      if (max !== undefined) group.bound(label, 'Lte', max);
    } else if (!applyChoice(group, key, field))
      group.onPool('lost', [...path, key], `${key} has no equivalent requirement in a NodePool`, REQUIREMENTS);
  }
}

function applyChoice(group: NodeGroup, key: string, field: Field): boolean {
  if (key === 'CpuManufacturers') {
    const names = textsOf(field).map((name) => MANUFACTURERS[name] ?? name);
    group.require(INSTANCE_CPU_MANUFACTURER_LABEL, names);
  } else if (key === 'AllowedInstanceTypes') allow(group, textsOf(field));
  else if (key === 'ExcludedInstanceTypes') exclude(group, textsOf(field));
  else if (key === 'InstanceGenerations') {
    // `current` approximately matches generation 5 and later
    if (textsOf(field).join() !== 'current') return false;
    group.bound(INSTANCE_GENERATION_LABEL, 'Gte', 5);
  } else if (key === 'LocalStorage') {
    if (textOf(field) === 'required') group.bound(INSTANCE_LOCAL_NVME_LABEL, 'Gte', 1);
    else return textOf(field) === 'included';
  } else return false;
  return true;
}

/** Converts patterns such as `m5.*` to families, and plain names to instance types. */
function allow(group: NodeGroup, patterns: readonly string[]): void {
  const families = patterns.flatMap((pattern) => (/^[\w-]+\.\*$/.test(pattern) ? [pattern.slice(0, -2)] : []));
  if (families.length === patterns.length) group.require(INSTANCE_FAMILY_LABEL, families);
  else group.require(INSTANCE_TYPE_LABEL, patterns);
}

function exclude(group: NodeGroup, patterns: readonly string[]): void {
  const families = patterns.flatMap((pattern) =>
    /^[\w-]+\.?\*$/.test(pattern) ? [pattern.replace(/\.?\*$/, '')] : [],
  );
  const types = patterns.filter((pattern) => !pattern.includes('*'));
  if (families.length > 0)
    group.requirements.set('families', { key: INSTANCE_FAMILY_LABEL, operator: 'NotIn', values: families });
  if (types.length > 0) group.requirements.set('types', { key: INSTANCE_TYPE_LABEL, operator: 'NotIn', values: types });
}

const ARCHES: Readonly<Record<string, string>> = { x86_64: 'amd64', amd64: 'amd64', arm64: 'arm64' };

/** Converts `instanceSelector` of eksctl. */
export function applyInstanceSelector(group: NodeGroup, selector: Field, path: Path): void {
  for (const key of selector.keys()) {
    const field = selector.at(key);
    if (key === 'vCPUs') group.require(INSTANCE_CPU_LABEL, readCount(field));
    else if (key === 'memory') group.require(INSTANCE_MEMORY_LABEL, [memoryMi(field)]);
    else if (key === 'gpus') gpus(group, field);
    else if (key === 'cpuArchitecture')
      group.require(ARCH_LABEL, [ARCHES[textOf(field) ?? ''] ?? field.fail('must be x86_64 or arm64')]);
    else if (key === 'deny') exclude(group, [textOf(field) ?? '']);
    else
      group.onPool(
        'lost',
        [...path, key],
        `${key} is a pattern that a NodePool requirement cannot express`,
        REQUIREMENTS,
      );
  }
  group.onPool(
    'changed',
    path,
    'eksctl selected the types when it created the group; a NodePool selects among all matching types for each node',
    REQUIREMENTS,
  );
}

const readCount = (field: Field): readonly string[] => {
  const count = field.given?.count();
  return count === undefined ? [] : [String(count)];
};

function gpus(group: NodeGroup, field: Field): void {
  const [count] = readCount(field);
  if (count === undefined) return;
  const exists = { key: INSTANCE_GPU_COUNT_LABEL, operator: 'DoesNotExist' } as const;
  if (count === '0') group.requirements.set(INSTANCE_GPU_COUNT_LABEL, exists);
  else group.require(INSTANCE_GPU_COUNT_LABEL, [count]);
}

/** Parses memory in GiB. eksctl accepts `4`, `4GiB` and `4Gi`. */
function memoryMi(field: Field): string {
  const text = String(field.value).replace(/\s|B$/gi, '');
  const bytes = tryRun(() => parseQuantity(/^[\d.]+$/.test(text) ? `${text}Gi` : text));
  if (bytes !== undefined) return String(Math.round(bytes / 2 ** 20));
  return field.fail(`${JSON.stringify(field.value)} is not an amount of memory, for example 4GiB`);
}

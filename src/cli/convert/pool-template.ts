/** Shared conversions of NodePool templates and NodeClaims. */
import {
  ARCH_LABEL,
  AWS_GROUP,
  CAPACITY_TYPE_LABEL,
  INSTANCE_CATEGORY_LABEL,
  INSTANCE_GENERATION_LABEL,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  normalizeLabel,
  OS_LABEL,
} from '#api/objects';
import type { ObjectEdit } from './edit.ts';
import type { Path } from './notes.ts';
import { GONE_LABELS, LEGACY_TAINT, OLD_POOL_LABEL } from './renames.ts';

export const TEMPLATE: Path = ['spec', 'template'];
export const TEMPLATE_SPEC: Path = ['spec', 'template', 'spec'];
const LABELS: Path = ['spec', 'template', 'metadata', 'labels'];

const POOL_LABEL_SET = `Karpenter sets ${NODEPOOL_LABEL}, and a NodePool must not contain it`;

/**
 * Removes labels that a NodePool must not set.
 *
 * @param field path of the labels in the input
 */
export function cleanPoolLabels(edit: ObjectEdit, field: Path): void {
  for (const key of edit.keys(LABELS)) {
    const reason = reasonAgainst(key);
    if (reason === undefined) continue;
    edit.remove([...LABELS, key]);
    edit.note('lost', [...field, key], reason, LABELS);
  }
  edit.removeEmpty(LABELS);
}

const reasonAgainst = (key: string): string | undefined =>
  key === OLD_POOL_LABEL || key === NODEPOOL_LABEL ? POOL_LABEL_SET : GONE_LABELS.get(key);

/**
 * Removes requirements that are not valid in a v1 NodePool.
 *
 * @param field path of the requirements in the input
 */
export const cleanRequirements = (edit: ObjectEdit, path: Path, field: Path): void =>
  removeRequirements(edit, path, { field, reasonAgainst });

/** Removes requirements that no v1 node can satisfy. */
export const cleanClaimRequirements = (edit: ObjectEdit, path: Path): void =>
  removeRequirements(edit, path, { field: path, reasonAgainst: (key) => GONE_LABELS.get(key) });

interface Removal {
  readonly field: Path;
  /** Returns the reason for removing a requirement on a label, or undefined to keep it. */
  readonly reasonAgainst: (key: string) => string | undefined;
}

function removeRequirements(edit: ObjectEdit, path: Path, { field, reasonAgainst: against }: Removal): void {
  for (const index of [...edit.indexes(path)].reverse()) {
    const key = edit.text([...path, index, 'key']) ?? '';
    const reason = against(key);
    if (reason === undefined) continue;
    edit.removeItem(path, index);
    edit.note('lost', [...field, index], `requirement on ${key}: ${reason}`, path);
  }
}

/** Removes empty taint values, which v1 rejects, and the taint that keeps pods off old nodes during a migration. */
export function cleanTaints(edit: ObjectEdit, path: Path, field: Path): void {
  for (const index of [...edit.indexes(path)].reverse()) {
    if (edit.textOrNumber([...path, index, 'value']) === '') edit.remove([...path, index, 'value']);
    if (edit.text([...path, index, 'key']) !== LEGACY_TAINT) continue;
    edit.removeItem(path, index);
    const text = `taint ${LEGACY_TAINT} kept pods off the old nodes; it is removed, because it would also keep pods off the new nodes`;
    edit.note('changed', [...field, index], text, path.slice(0, -1));
  }
  if (edit.list(path)?.items.length === 0) edit.remove(path);
}

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

const INSTANCE_KEYS = /^karpenter\.k8s\.aws\/instance-/;

const WHERE_NONE = 'was the default of Provisioners; NodePools allow any value';

/**
 * Writes the requirements that the webhook of the alpha API added to Provisioners.
 *
 * @param path path of the requirements; labels of the template are treated as requirements
 */
export function writeAlphaDefaults(edit: ObjectEdit, path: Path): void {
  const keys = new Set([
    ...edit.indexes(path).map((index) => normalizeLabel(edit.text([...path, index, 'key']) ?? '')),
    ...edit.keys(LABELS).map(normalizeLabel),
  ]);
  const isTypeChosen = [...keys].some((key) => key === INSTANCE_TYPE_LABEL || INSTANCE_KEYS.test(key));
  const missing: readonly Requirement[] = [
    { key: CAPACITY_TYPE_LABEL, operator: 'In', values: ['on-demand'] },
    { key: OS_LABEL, operator: 'In', values: ['linux'] },
    { key: ARCH_LABEL, operator: 'In', values: ['amd64'] },
  ].filter(({ key }) => !keys.has(key));
  const types: readonly Requirement[] = [
    { key: INSTANCE_CATEGORY_LABEL, operator: 'In', values: ['c', 'm', 'r'] },
    { key: INSTANCE_GENERATION_LABEL, operator: 'Gt', values: ['2'] },
  ];
  for (const requirement of [...missing, ...(isTypeChosen ? [] : types)]) {
    edit.append(path, requirement);
    const index = edit.indexes(path).length - 1;
    const list = edit.list([...path, index, 'values']);
    if (list) list.flow = true;
    const { key, operator, values } = requirement;
    edit.note('assumed', [...path, index], `${key} ${operator} ${values.join(', ')} ${WHERE_NONE}`);
  }
}

/**
 * Converts a reference with apiVersion to a reference with group.
 *
 * @param path path of the reference
 */
export function convertClassRef(edit: ObjectEdit, path: Path): void {
  const apiVersion = edit.text([...path, 'apiVersion']);
  const kind = edit.text([...path, 'kind']);
  const group = apiVersion?.split('/')[0] || AWS_GROUP;
  if (edit.has([...path, 'apiVersion']) && edit.has([...path, 'group'])) edit.remove([...path, 'apiVersion']);
  else if (edit.has([...path, 'apiVersion'])) edit.moveInPlace([...path, 'apiVersion'], 'group', group);
  else if (!edit.has([...path, 'group'])) edit.set([...path, 'group'], group, 'name');
  if (kind === undefined || kind === 'AWSNodeTemplate') edit.set([...path, 'kind'], 'EC2NodeClass', 'name');
}

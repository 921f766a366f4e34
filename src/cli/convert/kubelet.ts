/**
 * Moves kubelet settings of NodePools before v1 to EC2NodeClasses. Each distinct block of settings needs its own
 * class.
 */

import { dirname, sep } from 'node:path';
import { isMap, type Pair, type YAMLMap } from 'yaml';
import { ObjectEdit } from './edit.ts';
import { plain } from './nodes.ts';
import { type Notes, type Path, placeComment } from './notes.ts';
import { addAfter, type FoundObject } from './objects.ts';

/** Converted NodePool or NodeClaim that refers to a class. */
export interface ClassUser {
  readonly found: FoundObject;
  /** Kubelet settings that were removed from the object. */
  readonly kubelet: Pair | undefined;
  /** Path of the reference to the class. */
  readonly reference: Path;
}

interface Use {
  readonly user: ClassUser;
  readonly edit: ObjectEdit;
  /** Name of the referenced class. */
  readonly className: string;
  /** Canonical text of the settings. Empty if there are no settings. */
  readonly block: string;
}

const KUBELET: Path = ['spec', 'kubelet'];
/** Maximum length of a label value. Names of classes are used as label values. */
const MOST_NAME = 63;

/**
 * Moves kubelet settings of NodePools to the classes that they refer to.
 *
 * @param classes classes of the input, already converted to v1
 */
export function mergeKubelets(users: readonly ClassUser[], classes: readonly FoundObject[], notes: Notes): void {
  const uses = users.map((user) => useOf(user, notes));
  // the spec of a v1 class from the input is not validated and may have any type
  const known = classes.filter(({ map }) => isMap(map.get('spec', true)));
  const byClass = new Map<FoundObject, Use[]>();
  for (const use of uses) {
    const found = closestTo(
      use.user.found.file.name,
      known.filter(({ name }) => name === use.className),
      ({ file }) => file.name,
    );
    if (found !== undefined) byClass.set(found, [...(byClass.get(found) ?? []), use]);
    else if (use.block !== '') writePatch(use);
  }
  for (const [found, group] of byClass) share(found, group, { known, notes });
}

function useOf(user: ClassUser, notes: Notes): Use {
  const { found, kubelet, reference } = user;
  const edit = new ObjectEdit(found.map, found.where, notes.on(found.where, found.map));
  if (isMap(kubelet?.value)) dropRuntime(edit, kubelet, reference);
  return {
    user,
    edit,
    className: String(found.map.getIn([...reference, 'name']) ?? ''),
    block: canonical(kubelet?.value),
  };
}

function dropRuntime(edit: ObjectEdit, { value }: Pair, reference: Path): void {
  if (!isMap(value) || !value.delete('containerRuntime')) return;
  edit.note('lost', ['spec', 'kubeletConfiguration', 'containerRuntime'], 'all nodes use containerd', reference);
}

/** Returns a text that is equal for equal blocks. */
function canonical(block: unknown): string {
  const value = plain(block);
  const sorted = JSON.stringify(value ?? {}, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
  return sorted === '{}' ? '' : sorted;
}

/** Writes the required settings as a comment, because the class is not in the input. */
function writePatch({ user, edit, className, block }: Use): void {
  const { found, reference } = user;
  const text = `moves to spec.kubelet of EC2NodeClass ${className}, which is not in the input: ${block}`;
  edit.note('lost', [...reference.slice(0, -1), 'kubelet'], text, [...reference, 'name']);
  const lines = [`EC2NodeClass ${className} needs:`, 'spec:', '  kubelet:'];
  const settings = Object.entries(plain(user.kubelet?.value) as object);
  const comment = [...lines, ...settings.map(([key, value]) => `    ${key}: ${JSON.stringify(value)}`)];
  placeComment(found.map, [...reference, 'name'], comment.map((line) => ` ${line}`).join('\n'));
}

interface Setting {
  readonly known: FoundObject[];
  readonly notes: Notes;
}

function share(found: FoundObject, uses: readonly Use[], { known, notes }: Setting): void {
  const edit = new ObjectEdit(found.map, found.where, notes.on(found.where, found.map));
  const own = canonical(edit.node(KUBELET));
  const blocks = new Set(uses.map(({ block }) => block || own));
  const [only = ''] = blocks;
  if (blocks.size === 1) {
    if (only === own) return;
    setBlock(edit, uses);
    found.source.isChanged = true;
    return;
  }
  for (const block of blocks) {
    if (block === own) continue;
    const sharing = uses.filter((use) => use.block === block);
    const name = freeName(`${found.name}-${sharing[0]?.user.found.name}`, known);
    const copy = addAfter(found, copyOf(found, name, sharing), name);
    known.push(copy);
    for (const use of sharing) refer(use, name);
  }
}

const names = (uses: readonly Use[]): string =>
  uses.map(({ user }) => `${user.found.kind} ${user.found.name}`).join(', ');

function setBlock(edit: ObjectEdit, uses: readonly Use[]): void {
  const kubelet = uses.find(({ user }) => user.kubelet !== undefined)?.user.kubelet;
  if (kubelet === undefined) return;
  edit.set(KUBELET, kubelet.value);
  const text = `comes from ${names(uses)}; it also applies to objects outside of the input that refer to this EC2NodeClass`;
  edit.note('changed', KUBELET, text);
}

function copyOf({ map, where }: FoundObject, name: string, uses: readonly Use[]): YAMLMap {
  const copy = map.clone() as YAMLMap;
  const edit = new ObjectEdit(copy, where, () => undefined);
  edit.set(['metadata', 'name'], name);
  edit.set(KUBELET, uses[0]?.user.kubelet?.value);
  placeComment(copy, KUBELET, ` changed: comes from ${names(uses)}`);
  return copy;
}

function refer({ user: { reference, found }, edit, className }: Use, name: string): void {
  const path = [...reference, 'name'];
  edit.replaceValue(path, name);
  found.source.isChanged = true;
  const text = `is a copy of EC2NodeClass ${className} with the kubelet settings of this ${found.kind}`;
  edit.note('changed', path, text);
}

/** Returns an unused name for a class. */
export function freeName(wanted: string, known: readonly FoundObject[]): string {
  const taken = new Set(known.map(({ name }) => name));
  for (let count = 1; ; count += 1) {
    const end = count === 1 ? '' : `-${count}`;
    const name = `${wanted.slice(0, MOST_NAME - end.length).replace(/[-.]$/, '')}${end}`;
    if (!taken.has(name)) return name;
  }
}

/** Counts the leading folders that two paths share. */
function countShared(a: string, b: string): number {
  const [left, right] = [dirname(a).split(sep), dirname(b).split(sep)];
  const differ = left.findIndex((part, index) => part !== right[index]);
  return differ < 0 ? left.length : differ;
}

/** Returns the candidate with the closest path. Returns the first of several equal candidates. */
function closestTo<T>(path: string, candidates: readonly T[], pathOf: (one: T) => string): T | undefined {
  const rank = (one: T): number => (pathOf(one) === path ? Number.POSITIVE_INFINITY : countShared(pathOf(one), path));
  return candidates.reduce<T | undefined>(
    (best, one) => (best === undefined || rank(one) > rank(best) ? one : best),
    undefined,
  );
}

/** Returns true if two files are in the same folder. This means that they belong to the same set of manifests. */
export const isBeside = (a: string, b: string): boolean => dirname(a) === dirname(b);

/** Settings of the kubelet, which NodePools had before v1 → those of EC2NodeClasses, a class per distinct block. */
import { isMap, type Pair, type YAMLMap } from 'yaml';
import { ObjectEdit } from './edit.ts';
import { plain } from './nodes.ts';
import { type Notes, type Path, placeComment } from './notes.ts';
import { addAfter, type FoundObject } from './objects.ts';
import { closestTo } from './trees.ts';

/** A converted NodePool or NodeClaim that refers to a class. */
export interface ClassUser {
  readonly found: FoundObject;
  /** Its settings of the kubelet, taken out of it. */
  readonly kubelet: Pair | undefined;
  /** Where the reference to the class is. */
  readonly reference: Path;
}

interface Use {
  readonly user: ClassUser;
  readonly edit: ObjectEdit;
  /** Of the class that it refers to. */
  readonly className: string;
  /** Empty when it has no settings. */
  readonly block: string;
}

const KUBELET: Path = ['spec', 'kubelet'];
/** As long as a label's value can be, which a class's name becomes. */
const MOST_NAME = 63;

/** Brings the blocks of pools into the classes that they refer to. Classes are those of the input, all of v1 by now. */
export function mergeKubelets(users: readonly ClassUser[], classes: readonly FoundObject[], notes: Notes): void {
  const uses = users.map((user) => useOf(user, notes));
  const known = [...classes];
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
  return { user, edit, className: edit.text([...reference, 'name']) ?? '', block: canonical(kubelet?.value) };
}

function dropRuntime(edit: ObjectEdit, { value }: Pair, reference: Path): void {
  if (!isMap(value) || !value.delete('containerRuntime')) return;
  edit.note('lost', ['spec', 'kubeletConfiguration', 'containerRuntime'], 'all nodes run containerd', reference);
}

/** Text that is equal for equal blocks. */
function canonical(block: unknown): string {
  const value = plain(block);
  const sorted = JSON.stringify(value ?? {}, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
  return sorted === '{}' ? '' : sorted;
}

/** The class is not in the input: what it needs stands in a comment. */
function writePatch({ user, edit, className, block }: Use): void {
  const { found, reference } = user;
  const text = `goes into spec.kubelet of EC2NodeClass ${className}, which is not in the input: ${block}`;
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
    if (only !== own) setBlock(edit, uses);
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
  const text = `is that of ${names(uses)}; others that refer to this class and are not in the input get it as well`;
  edit.note('changed', KUBELET, text);
}

function copyOf({ map, where }: FoundObject, name: string, uses: readonly Use[]): YAMLMap {
  const copy = map.clone() as YAMLMap;
  const edit = new ObjectEdit(copy, where, () => undefined);
  edit.set(['metadata', 'name'], name);
  edit.set(KUBELET, uses[0]?.user.kubelet?.value);
  placeComment(copy, KUBELET, ` changed: is that of ${names(uses)}`);
  return copy;
}

function refer({ user: { reference, found }, edit, className }: Use, name: string): void {
  const path = [...reference, 'name'];
  edit.replaceValue(path, name);
  found.source.isChanged = true;
  const text = `is a copy of EC2NodeClass ${className} with this ${found.kind}'s settings of the kubelet`;
  edit.note('changed', path, text);
}

/** A name that no class has. */
export function freeName(wanted: string, known: readonly FoundObject[]): string {
  const taken = new Set(known.map(({ name }) => name));
  for (let count = 1; ; count += 1) {
    const end = count === 1 ? '' : `-${count}`;
    const name = `${wanted.slice(0, MOST_NAME - end.length).replace(/[-.]$/, '')}${end}`;
    if (!taken.has(name)) return name;
  }
}

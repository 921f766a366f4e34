/** Edits an object of a document by the paths of its fields. Keeps comments and the order of unchanged fields. */
import { isMap, isScalar, isSeq, Pair, type YAMLMap, type YAMLSeq } from 'yaml';
import { quoted } from '#lib';
import { InputError } from '../objects/errors.ts';
import { emptyMap, isMissing, keyOf, nodeOf, pairOf, plain } from './nodes.ts';
import { fieldText, type NoteLevel, type Path, type TakeNote } from './notes.ts';

const YES = new Set<unknown>([true, 'yes', 'on']);
const NO = new Set<unknown>([false, 'no', 'off']);

/**
 * Editor for one object. If a field has the wrong type, readers throw InputError with the object, the field and the
 * expected type.
 */
export class ObjectEdit {
  readonly root: YAMLMap;
  /** Place in error messages: `pools.yaml, document 2, Provisioner default`. */
  readonly where: string;
  readonly #note: TakeNote;

  /** @param root without aliases */
  constructor(root: YAMLMap, where: string, note: TakeNote) {
    this.root = root;
    this.where = where;
    this.#note = note;
  }

  /** @see TakeNote */
  note(level: NoteLevel, field: Path, text: string, at?: Path): void {
    this.#note(level, field, text, at);
  }

  fail(path: Path, what: string): never {
    const isTemplate = hasTemplate(plain(this.#found(path)));
    const remedy = isTemplate ? '; the value is a template; render it and convert the result' : '';
    throw new InputError(this.where, `${fieldText(path)}: ${what}${remedy}`);
  }

  #found(path: Path): unknown {
    let node: unknown = this.root;
    for (const step of path)
      node = isSeq(node) ? node.items[Number(step)] : isMap(node) ? pairOf(node, step)?.value : undefined;
    return node;
  }

  has(path: Path): boolean {
    return !isMissing(this.node(path));
  }

  /** Returns the node at a path. Fails if a node on the path is not a map. */
  node(path: Path): unknown {
    let node: unknown = this.root;
    for (const [depth, step] of path.entries()) {
      if (isMissing(node)) return undefined;
      if (typeof step === 'number') {
        if (!isSeq(node)) return this.fail(path.slice(0, depth), 'must be a list');
        node = node.items[step];
      } else {
        if (!isMap(node)) return this.fail(path.slice(0, depth), 'must be an object');
        node = pairOf(node, step)?.value;
      }
    }
    return node;
  }

  map(path: Path): YAMLMap | undefined {
    const node = this.node(path);
    if (isMissing(node)) return undefined;
    return isMap(node) ? node : this.fail(path, 'must be an object');
  }

  list(path: Path): YAMLSeq | undefined {
    const node = this.node(path);
    if (isMissing(node)) return undefined;
    return isSeq(node) ? node : this.fail(path, 'must be a list');
  }

  /** Returns the indexes of a list, which are used in paths of its items. */
  indexes(path: Path): readonly number[] {
    return (this.list(path)?.items ?? []).map((_, index) => index);
  }

  keys(path: Path): readonly string[] {
    return (this.map(path)?.items ?? []).map((pair) => String(keyOf(pair)));
  }

  text(path: Path): string | undefined {
    const value = plain(this.node(path));
    if (value === undefined || value === null) return undefined;
    return typeof value === 'string' ? value : this.fail(path, `must be a string, not ${formatValue(value)}`);
  }

  /** Reads text, or a number in its notation in the source. */
  textOrNumber(path: Path): string | undefined {
    const node = this.node(path);
    const value = plain(node);
    if (typeof value !== 'number') return this.text(path);
    return isScalar(node) && node.source !== undefined ? node.source : String(value);
  }

  flag(path: Path): boolean | undefined {
    const value = plain(this.node(path));
    if (value === undefined || value === null) return undefined;
    if (YES.has(value)) return true;
    return NO.has(value) ? false : this.fail(path, `must be true or false, not ${formatValue(value)}`);
  }

  /** Reads a whole number that is zero or greater. */
  count(path: Path): number | undefined {
    const value = plain(this.node(path));
    if (value === undefined || value === null) return undefined;
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
      ? value
      : this.fail(path, `must be an integer of at least 0, not ${formatValue(value)}`);
  }

  /** Removes a field and returns it. */
  remove(path: Path): Pair | undefined {
    const parent = this.map(path.slice(0, -1));
    const pair = parent && pairOf(parent, path.at(-1) ?? '');
    if (parent === undefined || pair === undefined) return undefined;
    parent.items.splice(parent.items.indexOf(pair), 1);
    return pair;
  }

  removeItem(path: Path, index: number): void {
    this.list(path)?.items.splice(index, 1);
  }

  /** Sets a field and creates missing maps on the path. A new field is inserted before `before`, or last. */
  set(path: Path, value: unknown, before?: string): void {
    const parent = this.#madeMap(path.slice(0, -1));
    const key = String(path.at(-1));
    const pair = pairOf(parent, key);
    if (pair !== undefined) this.replaceValue(path, value);
    else insert(parent, new Pair(nodeOf(key), nodeOf(value)), before);
  }

  /** Appends values to a list. Creates the list if it is missing. */
  append(path: Path, ...values: readonly unknown[]): void {
    if (!this.has(path)) this.set(path, []);
    const list = this.list(path);
    // a list in brackets cannot contain values of several lines
    if (list?.items.length === 0) list.flow = false;
    list?.items.push(...values.map(nodeOf));
  }

  /** Moves a field with its comments. Does nothing if the field is missing or null. */
  move(from: Path, to: Path): void {
    const isSet = this.has(from);
    const pair = this.remove(from);
    if (pair === undefined || !isSet) return;
    rename(pair, String(to.at(-1)));
    insert(this.#madeMap(to.slice(0, -1)), pair);
  }

  /** Moves a field and sets its value. Keeps the comments at the key and after the value. */
  moveAs(from: Path, to: Path, value: unknown): void {
    this.replaceValue(from, value);
    this.move(from, to);
  }

  /** Sets the value of an existing field. Keeps the comment after the value. */
  replaceValue(path: Path, value: unknown): void {
    const parent = this.map(path.slice(0, -1));
    const pair = parent && pairOf(parent, path.at(-1) ?? '');
    if (pair === undefined) return;
    const node = nodeOf(value);
    if (isScalar(node) && isScalar(pair.value)) node.comment = pair.value.comment ?? null;
    pair.value = node;
  }

  /** Sets the name and the value of a field without moving it. */
  moveInPlace(path: Path, name: string, value: unknown): void {
    this.replaceValue(path, value);
    this.rename(path, name);
  }

  /** Renames a field without moving it. */
  rename(path: Path, name: string): void {
    const parent = this.map(path.slice(0, -1));
    const pair = parent && pairOf(parent, path.at(-1) ?? '');
    if (pair !== undefined) rename(pair, name);
  }

  /** Removes a map that is empty, or a null. */
  removeEmpty(path: Path): void {
    const node = this.node(path);
    if (isMissing(node) || (isMap(node) && node.items.length === 0)) this.remove(path);
  }

  /** Replaces an inner map by its entries. */
  hoist(path: Path, name: string): void {
    const inner = this.map([...path, name])?.items ?? [];
    this.remove([...path, name]);
    this.map(path)?.items.push(...inner);
  }

  /** Removes nulls, which an API server drops or rejects. */
  dropNulls(path: Path): void {
    dropNulls(this.node(path));
  }

  #madeMap(path: Path): YAMLMap {
    const known = this.map(path);
    if (known !== undefined) return known;
    const made = emptyMap();
    this.set(path, made);
    return made;
  }
}

function rename(pair: Pair, name: string): void {
  const { key } = pair;
  if (isScalar(key)) {
    key.value = name;
    delete key.source;
  } else pair.key = nodeOf(name);
}

function insert(parent: YAMLMap, pair: Pair, before?: string): void {
  const place = before === undefined ? undefined : pairOf(parent, before);
  // a map in brackets cannot contain values of several lines
  if (parent.items.length === 0) parent.flow = false;
  if (place === undefined) parent.items.push(pair);
  else parent.items.splice(parent.items.indexOf(place), 0, pair);
}

/** Returns true if a text contains a placeholder of a template tool. */
export const hasTemplate = (value: unknown): boolean => typeof value === 'string' && /\$\{|\{\{|%\{/.test(value);

function dropNulls(node: unknown): void {
  if (isMap(node)) {
    node.items = node.items.filter(({ value }) => !isMissing(value));
    for (const { value } of node.items) dropNulls(value);
  } else if (isSeq(node)) for (const item of node.items) dropNulls(item);
}

const formatValue = (value: unknown): string =>
  typeof value === 'string' ? quoted(value) : quoted(JSON.stringify(value) ?? String(value)).slice(1, -1);

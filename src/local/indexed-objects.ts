/** Objects of a cache with indexes and listeners. Lists are built once per change. */
import type { KubeObject } from '#api/objects';
import { keyOf, type Ref } from '#kube/client';

/**
 * Called with the new and the old state. The new state is undefined after a deletion, the old state after a creation.
 */
export type Listener<T extends KubeObject> = (now: T | undefined, before: T | undefined) => void;

/** Returns the index value of an object. Undefined excludes the object. */
export type Filing<T extends KubeObject> = (object: T) => string | undefined;

interface Held<T> {
  readonly object: T;
  /** Position in the list by order of creation. Updates do not change it. */
  readonly serial: number;
}

/** Objects with one value of an index. */
interface Files<T> {
  readonly held: Map<string, Held<T>>;
  /** Serial of the last object in `held`. Undefined if the objects are not sorted by serial. */
  last: number | undefined;
  list: readonly T[] | undefined;
}

const NOTHING: readonly never[] = [];

export class IndexedObjects<T extends KubeObject> {
  readonly #listeners: Listener<T>[] = [];
  readonly #held = new Map<string, Held<T>>();
  readonly #indexes = new Map<Filing<T>, Map<string, Files<T>>>();
  #list: readonly T[] | undefined;
  #serial = 0;

  get(ref: Ref): T | undefined {
    return this.at(keyOf(ref));
  }

  at(key: string): T | undefined {
    return this.#held.get(key)?.object;
  }

  /** Returns the objects in order of creation. */
  list(): readonly T[] {
    this.#list ??= Array.from(this.#held.values(), ({ object }) => object);
    return this.#list;
  }

  /** Returns the objects with this index value, in the order of the list. The first call creates the index. */
  by(filing: Filing<T>, value: string): readonly T[] {
    const files = this.#index(filing).get(value);
    if (files === undefined) return NOTHING;
    files.list ??= toList(files);
    return files.list;
  }

  subscribe(listener: Listener<T>): void {
    this.#listeners.push(listener);
    for (const object of this.list()) listener(object, undefined);
  }

  /** Calls the listeners with the new and the old state of an object. */
  announce(now: T | undefined, before: T | undefined): void {
    for (const listener of this.#listeners) listener(now, before);
  }

  /** Stores a new state and returns the previous one. */
  put(key: string, object: T): T | undefined {
    const before = this.#held.get(key);
    if (before === undefined) this.#serial += 1;
    const held = { object, serial: before?.serial ?? this.#serial };
    this.#held.set(key, held);
    this.#list = undefined;
    for (const [filing, index] of this.#indexes) {
      const value = filing(object);
      const valueBefore = before && filing(before.object);
      if (valueBefore !== undefined && valueBefore !== value) unfile(index, valueBefore, key);
      if (value !== undefined) file(index, value, key, held);
    }
    return before?.object;
  }

  /** Removes an object and returns its last state. */
  delete(key: string): T | undefined {
    const before = this.#held.get(key);
    if (before === undefined) return undefined;
    this.#held.delete(key);
    this.#list = undefined;
    for (const [filing, index] of this.#indexes) {
      const value = filing(before.object);
      if (value !== undefined) unfile(index, value, key);
    }
    return before.object;
  }

  #index(filing: Filing<T>): Map<string, Files<T>> {
    const known = this.#indexes.get(filing);
    if (known !== undefined) return known;
    const index = new Map<string, Files<T>>();
    this.#indexes.set(filing, index);
    for (const [key, held] of this.#held) {
      const value = filing(held.object);
      if (value !== undefined) file(index, value, key, held);
    }
    return index;
  }
}

function file<T>(index: Map<string, Files<T>>, value: string, key: string, held: Held<T>): void {
  const files = index.get(value);
  if (files === undefined) {
    index.set(value, { held: new Map([[key, held]]), last: held.serial, list: undefined });
    return;
  }
  if (!files.held.has(key)) files.last = (files.last ?? Infinity) < held.serial ? held.serial : undefined;
  files.held.set(key, held);
  files.list = undefined;
}

function toList<T>({ held, last }: Files<T>): readonly T[] {
  const all = Array.from(held.values());
  if (last === undefined) all.sort((a, b) => a.serial - b.serial);
  return all.map(({ object }) => object);
}

function unfile<T>(index: Map<string, Files<T>>, value: string, key: string): void {
  const files = index.get(value);
  if (files === undefined) return;
  files.held.delete(key);
  files.list = undefined;
  if (files.held.size === 0) index.delete(value);
}

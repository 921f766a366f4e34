/** The objects of a cache by name and by whatever else they are looked for. Lists are made once for each change. */
import type { KubeObject } from '../api/kubernetes.ts';
import type { Ref } from '../kube/client.ts';
import { keyOf } from '../kube/store.ts';

/** What an index files an object under; undefined leaves it out. */
export type Filing<T extends KubeObject> = (object: T) => string | undefined;

interface Held<T> {
  readonly object: T;
  /** Its place in the list: of its arrival, whatever it went through since. */
  readonly serial: number;
}

/** The objects under one value of an index. */
interface Files<T> {
  readonly held: Map<string, Held<T>>;
  /** The serial of the last one in `held`; undefined when they are not in the order of their serials. */
  last: number | undefined;
  list: readonly T[] | undefined;
}

const NOTHING: readonly never[] = [];

export class IndexedObjects<T extends KubeObject> {
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

  /** In the order in which they came. */
  list(): readonly T[] {
    this.#list ??= Array.from(this.#held.values(), ({ object }) => object);
    return this.#list;
  }

  /** Those that the function files under this value, in the order of the list. Its first call makes the index. */
  by(filing: Filing<T>, value: string): readonly T[] {
    const files = this.#index(filing).get(value);
    if (files === undefined) return NOTHING;
    files.list ??= listed(files);
    return files.list;
  }

  /** Takes in an object's new state; answers the one before. */
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

  /** Takes an object out; answers its last state. */
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

function listed<T>({ held, last }: Files<T>): readonly T[] {
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

/** Cache of the objects of one kind, with indexes and listeners. `reflector.ts` updates it. */
import type { Kind, KubeObject } from '#api/objects';
import type { Logger } from '#observe/logger';
import type { Indexes, Ref, Store, StoreListener } from './client.ts';

export const keyOf = ({ namespace, name }: Ref): string => (namespace ? `${namespace}/${name}` : name);

/** Returns the reference for a key of `keyOf`. */
export function refOf(key: string): { readonly name: string; readonly namespace?: string } {
  const slash = key.indexOf('/');
  return slash === -1 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

type Index<T extends KubeObject> = {
  readonly valuesOf: (object: T) => readonly string[];
  readonly filed: Map<string, Files<T>>;
};

/** Objects with one value of an index. */
interface Files<T> {
  readonly byKey: Map<string, T>;
  /** Last result of `byIndex`; undefined after a change. */
  listed: readonly T[] | undefined;
}

const NOTHING: readonly never[] = [];
/** Number of objects in one step. A step takes a few milliseconds. */
const OBJECTS_PER_STEP = 500;

export class ObjectStore<T extends KubeObject> implements Store<T> {
  readonly kind: Kind<T>;
  readonly #log: Logger;
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Map<string, Index<T>>();
  readonly #listeners = new Set<StoreListener<T>>();
  /** Last result of `list`; undefined after a change. */
  #listed: readonly T[] | undefined;
  #synced = false;

  constructor(kind: Kind<T>, log: Logger) {
    this.kind = kind;
    this.#log = log;
  }

  get synced(): boolean {
    return this.#synced;
  }

  get(ref: Ref): T | undefined {
    return this.#objects.get(keyOf(ref));
  }

  list(): readonly T[] {
    this.#listed ??= [...this.#objects.values()];
    return this.#listed;
  }

  byIndex(index: string, value: string): readonly T[] {
    const found = this.#indexes.get(index);
    if (!found) throw new RangeError(`Cannot look up ${this.kind.plural} by "${index}": the index does not exist`);
    const files = found.filed.get(value);
    if (files === undefined) return NOTHING;
    files.listed ??= [...files.byKey.values()];
    return files.listed;
  }

  subscribe(listener: StoreListener<T>): () => void {
    for (const object of this.list()) this.#notify(listener, 'added', object);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  addIndexes(indexes: Indexes<T>): void {
    for (const [name, valuesOf] of Object.entries(indexes)) {
      if (this.#indexes.has(name)) continue;
      const index: Index<T> = { valuesOf, filed: new Map() };
      this.#indexes.set(name, index);
      for (const [key, object] of this.#objects) file(index, key, object);
    }
  }

  /** Replaces the content with a complete list and notifies listeners of the differences. */
  replace(objects: readonly T[]): void {
    for (const _ of this.replacing(objects));
  }

  /**
   * Replaces the content in steps, so that other work can run between steps. Callers must not put other objects during the
   * replacement.
   */
  *replacing(objects: readonly T[]): Generator<void> {
    const present = new Set(objects.map(({ metadata }) => keyOf(metadata)));
    for (const [key, object] of this.#objects) if (!present.has(key)) this.remove(object);
    for (const [index, object] of objects.entries()) {
      if (index > 0 && index % OBJECTS_PER_STEP === 0) yield;
      this.put(object);
    }
    this.#synced = true;
  }

  /** Stores an added or modified object. Ignores an object with the same version as the stored object. */
  put(object: T): void {
    const key = keyOf(object.metadata);
    const known = this.#objects.get(key);
    // a successor with the same name: the deletion of the stored object was missed
    if (known && known.metadata.uid !== object.metadata.uid) this.remove(known);
    const before = this.#objects.get(key);
    if (before && before.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.#objects.set(key, object);
    this.#refile(key, before, object);
    if (before) this.#notifyAll('updated', object, before);
    else this.#notifyAll('added', object);
  }

  /** Removes an object. `last` is its state at deletion. */
  remove(last: T): void {
    const key = keyOf(last.metadata);
    const before = this.#objects.get(key);
    if (!before || before.metadata.uid !== last.metadata.uid) return;
    this.#objects.delete(key);
    this.#refile(key, before, undefined);
    this.#notifyAll('deleted', last, before);
  }

  #refile(key: string, before: T | undefined, after: T | undefined): void {
    this.#listed = undefined;
    for (const index of this.#indexes.values()) {
      if (before) unfile(index, key, before);
      if (after) file(index, key, after);
    }
  }

  #notifyAll(event: 'added' | 'updated' | 'deleted', object: T, before?: T): void {
    for (const listener of this.#listeners) this.#notify(listener, event, object, before);
  }

  #notify(listener: StoreListener<T>, event: 'added' | 'updated' | 'deleted', object: T, before?: T): void {
    try {
      listener(event, object, before);
    } catch (error) {
      // a failing listener must not block other listeners or the watch
      this.#log.error('failed handling event', { kind: this.kind.kind, event, name: keyOf(object.metadata), error });
    }
  }
}

function file<T extends KubeObject>({ valuesOf, filed }: Index<T>, key: string, object: T): void {
  for (const value of valuesOf(object)) {
    const files = filed.get(value);
    if (files === undefined) {
      filed.set(value, { byKey: new Map([[key, object]]), listed: undefined });
      continue;
    }
    files.byKey.set(key, object);
    files.listed = undefined;
  }
}

function unfile<T extends KubeObject>({ valuesOf, filed }: Index<T>, key: string, object: T): void {
  for (const value of valuesOf(object)) {
    const files = filed.get(value);
    if (files === undefined) continue;
    files.byKey.delete(key);
    files.listed = undefined;
    if (files.byKey.size === 0) filed.delete(value);
  }
}

/** Object storage: collections with a common revision counter, with history, owner index and listeners. */
import type { ApiObject } from '../json.ts';
import { StoredEntry } from './entry.ts';
import { History, type StoredChange } from './history.ts';

export type Listener = (change: StoredChange, storage: string) => void;

export const storageKey = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;

const NOTHING: readonly never[] = [];

class Collection {
  readonly entries = new Map<string, StoredEntry>();
  readonly history: History;
  readonly listeners = new Set<Listener>();
  /** Sorted keys. Undefined until the first list. */
  sortedKeys: string[] | undefined;

  constructor(limit: number) {
    this.history = new History(limit);
  }
}

/** Returns the position of the key among sorted keys, or the position at which it would be inserted. */
function placeIn(sorted: readonly string[], key: string): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function withdraw(sorted: string[] | undefined, key: string): void {
  if (sorted === undefined) return;
  const place = placeIn(sorted, key);
  if (sorted[place] === key) sorted.splice(place, 1);
}

/** Location of an object with a UID. */
export interface StoragePlace {
  readonly storage: string;
  readonly key: string;
}

export class ObjectStore {
  /** resourceVersion of the latest change. */
  revision = 1;
  readonly #limit: number;
  readonly #collections = new Map<string, Collection>();
  readonly #listeners = new Set<Listener>();
  readonly #byUid = new Map<string, StoragePlace>();
  readonly #dependents = new Map<string, Map<string, StoragePlace>>();

  /** @param historyLimit number of changes that are kept per collection */
  constructor(historyLimit: number) {
    this.#limit = historyLimit;
  }

  get(storage: string, namespace: string | undefined, name: string): StoredEntry | undefined {
    return this.#collections.get(storage)?.entries.get(storageKey(namespace, name));
  }

  at(place: StoragePlace): StoredEntry | undefined {
    return this.#collections.get(place.storage)?.entries.get(place.key);
  }

  /** Returns all entries, sorted by namespace and name. */
  list(storage: string, namespace?: string): readonly StoredEntry[] {
    const collection = this.#collection(storage);
    collection.sortedKeys ??= [...collection.entries.keys()].sort();
    if (collection.entries.size === 0) return NOTHING;
    const found: StoredEntry[] = [];
    const prefix = namespace === undefined ? '' : `${namespace}/`;
    for (const key of collection.sortedKeys) {
      if (prefix !== '' && !key.startsWith(prefix)) continue;
      const entry = collection.entries.get(key);
      if (entry) found.push(entry);
    }
    return found;
  }

  /** Returns the entries at `revision`, or undefined if this revision has been discarded. */
  listAt(storage: string, namespace: string | undefined, revision: number): readonly StoredEntry[] | undefined {
    const changes = this.#collection(storage).history.since(revision);
    if (!changes) return undefined;
    const entries = new Map(this.list(storage, namespace).map((entry) => [entry.key, entry]));
    const prefix = namespace === undefined ? '' : `${namespace}/`;
    for (const { entry, before } of changes.toReversed()) {
      if (!entry.key.startsWith(prefix)) continue;
      if (before) entries.set(entry.key, before);
      else entries.delete(entry.key);
    }
    return [...entries.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** Stores an object with the next revision and notifies the listeners. */
  put(storage: string, object: ApiObject): StoredEntry {
    const collection = this.#collection(storage);
    const key = storageKey(object.metadata.namespace, object.metadata.name);
    const before = collection.entries.get(key);
    const revision = ++this.revision;
    const metadata = { ...object.metadata, resourceVersion: String(revision) };
    const entry = new StoredEntry(key, { ...object, metadata }, revision);
    collection.entries.set(key, entry);
    if (before) this.#unlink(before);
    else collection.sortedKeys?.splice(placeIn(collection.sortedKeys, key), 0, key);
    this.#link(storage, entry);
    this.#announce(storage, collection, { revision, type: before ? 'MODIFIED' : 'ADDED', entry, before });
    return entry;
  }

  /** Removes an object. Returns its last state with the revision of the removal. */
  remove(storage: string, entry: StoredEntry): StoredEntry {
    const collection = this.#collection(storage);
    const revision = ++this.revision;
    const gone = entry.at(revision);
    collection.entries.delete(entry.key);
    withdraw(collection.sortedKeys, entry.key);
    this.#unlink(entry);
    this.#announce(storage, collection, { revision, type: 'DELETED', entry: gone, before: entry });
    return gone;
  }

  /** Returns the changes after `revision`, oldest first, or undefined if some of them have been discarded. */
  since(storage: string, revision: number): readonly StoredChange[] | undefined {
    return this.#collection(storage).history.since(revision);
  }

  /** Returns the revision up to which changes of the collection have been discarded. */
  compacted(storage: string): number {
    return this.#collection(storage).history.compacted;
  }

  /** Calls the listener for each change of one collection, or of all collections. Returns a function that stops it. */
  subscribe(listener: Listener, storage?: string): () => void {
    const listeners = storage === undefined ? this.#listeners : this.#collection(storage).listeners;
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Discards the whole history, as a compaction does. Older watches and pages then receive 410 Gone. */
  expireHistory(): void {
    for (const collection of this.#collections.values()) collection.history.expire(this.revision);
  }

  /** Returns the location of the object with this UID, or undefined if it does not exist. */
  placeOf(uid: string): StoragePlace | undefined {
    return this.#byUid.get(uid);
  }

  /** Returns the objects whose owner references contain this UID. */
  dependentsOf(uid: string): readonly StoragePlace[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])];
  }

  #collection(storage: string): Collection {
    let collection = this.#collections.get(storage);
    if (!collection) {
      collection = new Collection(this.#limit);
      this.#collections.set(storage, collection);
    }
    return collection;
  }

  #announce(storage: string, collection: Collection, change: StoredChange): void {
    collection.history.push(change);
    for (const listener of collection.listeners) listener(change, storage);
    for (const listener of this.#listeners) listener(change, storage);
  }

  #link(storage: string, entry: StoredEntry): void {
    const { uid, ownerReferences } = entry.object.metadata;
    if (uid === undefined) return;
    const place = { storage, key: entry.key };
    this.#byUid.set(uid, place);
    for (const owner of ownerReferences ?? []) {
      const dependents = this.#dependents.get(owner.uid) ?? new Map<string, StoragePlace>();
      dependents.set(uid, place);
      this.#dependents.set(owner.uid, dependents);
    }
  }

  #unlink(entry: StoredEntry): void {
    const { uid, ownerReferences } = entry.object.metadata;
    if (uid === undefined) return;
    this.#byUid.delete(uid);
    for (const owner of ownerReferences ?? []) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
  }
}

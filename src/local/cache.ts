/** Caches of the API server's objects, kept by list and watch, for the world's own parts. */
import type { Kind } from '../api/kinds.ts';
import type { KubeObject } from '../api/kubernetes.ts';
import { ApiFailure, type KubeApi, type Ref } from './client.ts';
import type { Clock } from './clock.ts';

/** Called with the state after and before a change; one of them is missing when the object came or went. */
export type Listener<T extends KubeObject> = (now: T | undefined, before: T | undefined) => void;

export interface Cache<T extends KubeObject> {
  get(ref: Ref): T | undefined;
  list(): readonly T[];
  /** Resolves after the first complete list. */
  readonly synced: Promise<void>;
  /** Calls the listener for what is there already, then for every change. */
  subscribe(listener: Listener<T>): void;
  /** Takes in the answer of an own write, so that the next look sees it. */
  wrote(object: T): void;
  /** Forgets an object that an own request removed. */
  removed(object: T): void;
}

/** One cache per kind, started on first use. */
export interface Caches {
  of<T extends KubeObject>(kind: Kind<T>): Cache<T>;
}

export interface CacheSource {
  readonly client: KubeApi;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  log(message: string): void;
}

export const keyOf = (ref: Ref): string => (ref.namespace ? `${ref.namespace}/${ref.name}` : ref.name);

export function refOf(key: string): Ref {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Resource versions of one kind are ordered numbers. */
const versionOf = (object: KubeObject): number => Number(object.metadata.resourceVersion ?? 0);

const RETRY_MS = 500;
const RECONNECT_MS = 50;

export function startCaches(source: CacheSource): Caches {
  const open = new Map<string, Cache<KubeObject>>();
  return {
    of<T extends KubeObject>(kind: Kind<T>): Cache<T> {
      const id = `${kind.group}/${kind.plural}`;
      const found = open.get(id);
      if (found) return found as unknown as Cache<T>;
      const cache = watchList(kind, source);
      open.set(id, cache as unknown as Cache<KubeObject>);
      return cache;
    },
  };
}

/** Lists a kind, watches it from there, lists again when the history is gone (410), and reconnects when it breaks. */
export function watchList<T extends KubeObject>(kind: Kind<T>, source: CacheSource): Cache<T> {
  const { client, clock, signal } = source;
  const objects = new Map<string, T>();
  // Objects that an own request removed: late events must not bring them back.
  const buried = new Set<string>();
  const listeners: Listener<T>[] = [];
  let announce: () => void = () => {};
  const synced = new Promise<void>((resolve) => {
    announce = resolve;
  });

  const tell = (now: T | undefined, before: T | undefined): void => {
    for (const listener of listeners) listener(now, before);
  };
  const put = (object: T): void => {
    const key = keyOf(object.metadata);
    const before = objects.get(key);
    if (buried.has(object.metadata.uid ?? '')) return;
    if (before && before.metadata.uid === object.metadata.uid && versionOf(before) >= versionOf(object)) return;
    objects.set(key, object);
    tell(object, before);
  };
  const remove = (object: T): void => {
    const key = keyOf(object.metadata);
    const before = objects.get(key);
    // A successor of the same name stays.
    if (!before || before.metadata.uid !== object.metadata.uid) return;
    objects.delete(key);
    tell(undefined, before);
  };

  const relist = async (): Promise<string> => {
    const list = await client.list(kind);
    const present = new Set(list.items.map((item) => keyOf(item.metadata)));
    const horizon = Number(list.metadata.resourceVersion ?? 0);
    for (const object of [...objects.values()])
      if (!present.has(keyOf(object.metadata)) && versionOf(object) <= horizon) remove(object);
    for (const item of list.items) put(item);
    buried.clear();
    announce();
    return list.metadata.resourceVersion ?? '0';
  };

  // Where the next watch starts; undefined calls for a fresh list.
  let version: string | undefined;
  const follow = async (from: string): Promise<void> => {
    for await (const { type, object } of client.watch(kind, from, signal)) {
      version = object.metadata.resourceVersion ?? version;
      if (type === 'ADDED' || type === 'MODIFIED') put(object);
      else if (type === 'DELETED') {
        buried.delete(object.metadata.uid ?? '');
        remove(object);
      }
    }
  };

  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        if (version === undefined) version = await relist();
        else {
          await follow(version);
          // A server that ends watches at once must not be asked in a tight loop.
          await clock.sleep(RECONNECT_MS, signal);
        }
      } catch (error) {
        if (signal.aborted) return;
        // An answer that is an error (410 above all) means the version is of no use; a broken connection does not.
        if (error instanceof ApiFailure) version = undefined;
        if (error instanceof ApiFailure && error.status === 410) continue;
        source.log(`watch of ${kind.plural}: ${String(error)}`);
        await clock.sleep(RETRY_MS, signal);
      }
    }
  };
  void run();

  return {
    get: (ref) => objects.get(keyOf(ref)),
    list: () => [...objects.values()],
    synced,
    subscribe(listener) {
      listeners.push(listener);
      for (const object of objects.values()) listener(object, undefined);
    },
    wrote: put,
    removed(object) {
      buried.add(object.metadata.uid ?? '');
      remove(object);
    },
  };
}

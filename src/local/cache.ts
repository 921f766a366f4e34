/** Caches of the API server's objects for the world's own parts. */
import type { Kind } from '../api/kinds.ts';
import type { KubeObject } from '../api/kubernetes.ts';
import type { Ref } from '../kube/client.ts';
import type { Filing } from './indexed-objects.ts';

/** Called with the state after and before a change; one of them is missing when the object came or went. */
export type Listener<T extends KubeObject> = (now: T | undefined, before: T | undefined) => void;

export interface Cache<T extends KubeObject> {
  get(ref: Ref): T | undefined;
  list(): readonly T[];
  /**
   * The objects of which `filing` answers this value, in the order of `list`. The function is the name of an index that
   * is kept from its first use on: hand over the same one each time, and one that looks at the object alone.
   */
  by(filing: Filing<T>, value: string): readonly T[];
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

/** Makes the cache of each kind when it is first asked for. */
export function cachesOf(make: <T extends KubeObject>(kind: Kind<T>) => Cache<T>): Caches {
  const open = new Map<string, Cache<KubeObject>>();
  return {
    of<T extends KubeObject>(kind: Kind<T>): Cache<T> {
      const id = `${kind.group}/${kind.plural}`;
      const found = open.get(id);
      if (found) return found as unknown as Cache<T>;
      const cache = make(kind);
      open.set(id, cache as unknown as Cache<KubeObject>);
      return cache;
    },
  };
}

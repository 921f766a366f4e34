/** Caches of API server objects for the parts of the local world. */
import type { Kind, KubeObject } from '#api/objects';
import type { Ref } from '#kube/client';
import type { Filing, Listener } from './indexed-objects.ts';

export interface Cache<T extends KubeObject> {
  get(ref: Ref): T | undefined;
  list(): readonly T[];
  /**
   * Returns the objects for which `filing` returns this value, in the order of `list`. The function identifies an index
   * that is maintained from its first use, so callers must pass the same function each time, and it must depend only on
   * the object.
   */
  by(filing: Filing<T>, value: string): readonly T[];
  /** Resolves after the first complete list. */
  readonly synced: Promise<void>;
  /** Calls the listener for existing objects, then for every change. */
  subscribe(listener: Listener<T>): void;
  /** Stores the response of an own write, so that the next read contains it. */
  wrote(object: T): void;
  /** Removes an object that an own request deleted. */
  removed(object: T): void;
}

/** Caches by kind, created on first use. */
export interface Caches {
  of<T extends KubeObject>(kind: Kind<T>): Cache<T>;
}

/** Returns caches that `make` creates on first use of a kind. */
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

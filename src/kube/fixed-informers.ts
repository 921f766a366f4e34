/** Informers over a fixed set of objects, such as the objects of a snapshot file. */
import type { Kind, KubeObject } from '#api/objects';
import { type Logger, silent } from '#observe/logger';
import type { Indexes, Informers, Store } from './client.ts';
import { ObjectStore } from './store.ts';

/** Logger that throws errors, because an invalid object is an error in the user's file. */
const STRICT: Logger = {
  ...silent,
  error: (message, fields) => {
    throw fields?.error ?? new Error(message);
  },
};

/** Creates informers over the objects. The stores throw the errors of their listeners. */
export function fixedInformers(objects: readonly KubeObject[]): Informers {
  const byKind = Map.groupBy(objects, ({ kind }) => kind);
  const stores = new Map<string, ObjectStore<KubeObject>>();
  return {
    store: <T extends KubeObject>(kind: Kind<T>, indexes: Indexes<T> = {}): Store<T> => {
      const known = stores.get(kind.kind) ?? new ObjectStore<KubeObject>(kind as unknown as Kind, STRICT);
      stores.set(kind.kind, known);
      // each kind has one object type
      const store = known as unknown as ObjectStore<T>;
      store.addIndexes(indexes);
      if (!store.synced) known.replace(byKind.get(kind.kind) ?? []);
      return store;
    },
    synced: async () => undefined,
    watches: () => [],
    distrust: () => undefined,
  };
}

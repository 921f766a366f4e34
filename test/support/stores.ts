/** Informers with fixed objects. */
import type { Kind, KubeObject } from '#api/objects';
import { type Informers, ObjectStore, type Store } from '#kube/client';
import { silent } from '#observe/logger';

/** Objects by the plural of their kind. Other kinds have no objects. */
export function storesWith(given: Readonly<Record<string, readonly KubeObject[]>>): Informers {
  const stores = new Map<string, ObjectStore<KubeObject>>();
  return {
    store: (kind, indexes = {}) => {
      let store = stores.get(kind.plural);
      if (store === undefined) {
        store = new ObjectStore<KubeObject>(kind as unknown as Kind, silent);
        store.replace(given[kind.plural] ?? []);
        stores.set(kind.plural, store);
      }
      store.addIndexes(indexes as never);
      return store as unknown as Store<never>;
    },
    synced: async () => undefined,
    watches: () => [],
    distrust: () => undefined,
  };
}

/** Informers with one list and watch per kind for the whole process. Each informer starts at the first use of its kind. */
import { apiVersionOf, type Kind, type KubeObject } from '#api/objects';
import type { Clock } from '#lib/clock';
import type { Logger } from '#observe/logger';
import type { Indexes, Informers, KubeReader, Store, StoreOptions } from './client.ts';
import { Reflector, type WatchState } from './reflector.ts';
import { ObjectStore } from './store.ts';

interface InformersOptions {
  readonly client: KubeReader;
  readonly clock: Clock;
  readonly log: Logger;
  /** Ends all watches. */
  readonly signal: AbortSignal;
}

interface Entry {
  readonly store: ObjectStore<KubeObject>;
  /** Settles with the first complete list, or if an optional kind is not available. */
  readonly ready: Promise<void>;
  /** Resource, such as `nodepools.karpenter.sh`. */
  readonly resource: string;
  readonly reflector: { readonly state: WatchState; distrust(): void };
  /** True if the kind is optional for every caller. */
  isOptional: boolean;
  /** True if the kind is not served or must not be read. */
  isUnavailable: boolean;
  /** True if the kind is an add-on that is not served. */
  isAbsent: boolean;
}

export interface ProcessInformers extends Informers {
  /** Returns the resources without a complete first list, such as `nodepools.karpenter.sh`. */
  unsynced(): readonly string[];
}

export function startInformers({ client, clock, log, signal }: InformersOptions): ProcessInformers {
  const entries = new Map<string, Entry>();
  const pending = new Set<Entry>();

  const start = (kind: Kind<KubeObject>, { isOptional, isAddOn }: { isOptional: boolean; isAddOn: boolean }): Entry => {
    const store = new ObjectStore(kind, log);
    const { promise: ready, resolve } = Promise.withResolvers<void>();
    const resource = [kind.plural, kind.group].filter((part) => part !== '').join('.');
    const onListed = (): void => {
      entry.isUnavailable = false;
      entry.isAbsent = false;
      resolve();
    };
    const onUnavailable = (isServed: boolean): boolean => {
      entry.isUnavailable = true;
      entry.isAbsent = isAddOn && !isServed;
      const isDispensable = entry.isOptional || entry.isAbsent;
      if (isDispensable) resolve();
      return isDispensable;
    };
    const reflector = new Reflector({ client, store, clock, log, signal, isAddOn, onListed, onUnavailable });
    const entry: Entry = { store, ready, resource, reflector, isOptional, isUnavailable: false, isAbsent: false };
    pending.add(entry);
    void ready.then(() => pending.delete(entry));
    reflector.run().catch((error: unknown) => log.error('informer ended', { kind: kind.kind, error }));
    return entry;
  };

  const keyOf = (kind: Kind): string => `${apiVersionOf(kind)}/${kind.plural}`;

  return {
    store: <T extends KubeObject>(kind: Kind<T>, indexes: Indexes<T> = {}, options: StoreOptions = {}): Store<T> => {
      const key = keyOf(kind);
      const { isAddOn = false, optional: isOptional = isAddOn } = options;
      const entry = entries.get(key) ?? start(kind, { isOptional, isAddOn });
      entries.set(key, entry);
      entry.isOptional &&= isOptional;
      // the entry was created for this kind, so its objects have this type
      const store = entry.store as unknown as ObjectStore<T>;
      store.addIndexes(indexes);
      return store;
    },
    unsynced: () => [...new Set([...pending].map(({ resource }) => resource))],
    distrust: (kind) => entries.get(keyOf(kind))?.reflector.distrust(),
    watches: () =>
      [...entries.values()].flatMap(({ resource, reflector, isOptional, isUnavailable, isAbsent }) => {
        const { ageMs, isStale } = reflector.state;
        return ageMs === undefined || isAbsent || (isOptional && isUnavailable) ? [] : { resource, ageMs, isStale };
      }),
    synced: async (stop = signal) => {
      const { promise: stopped, reject } = Promise.withResolvers<never>();
      const onStop = (): void => reject(stop.reason);
      if (stop.aborted) onStop();
      stop.addEventListener('abort', onStop, { once: true });
      try {
        // also waits for stores that are first used during the wait
        for (let waited = -1; waited !== entries.size; ) {
          waited = entries.size;
          await Promise.race([stopped, Promise.all([...entries.values()].map(({ ready }) => ready))]);
        }
      } finally {
        stop.removeEventListener('abort', onStop);
        stopped.catch(() => undefined);
      }
    },
  };
}

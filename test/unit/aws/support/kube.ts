/** An in-process Kubernetes API: objects in maps and informers that read them. Supports the writes of the provider. */
import { apiVersionOf, type Kind, type KubeObject } from '#api/objects';
import { ApiError, type Informers, type KubeClient, type Ref, type Store, type StoreListener } from '#kube/client';

const merge = (into: unknown, patch: unknown): unknown => {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const base = typeof into === 'object' && into !== null && !Array.isArray(into) ? into : {};
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = merge(merged[key], value);
  }
  return merged;
};

export class FakeKube {
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  #version = 0;
  readonly #listeners = new Map<string, StoreListener<never>[]>();
  /** Names of objects that informers have not seen, because their watch is delayed. */
  readonly unseen = new Set<string>();
  #readFailures: ((kind: Kind) => Error | false) | undefined;
  #failures: ((kind: Kind, name: string) => Error | undefined) | undefined;

  #of(kind: Kind): Map<string, KubeObject> {
    const key = `${apiVersionOf(kind)}/${kind.kind}`;
    const known = this.#objects.get(key) ?? new Map<string, KubeObject>();
    this.#objects.set(key, known);
    return known;
  }

  /** Stores an object without an event of its creation. */
  put<T extends KubeObject>(kind: Kind<T>, object: T): T {
    this.#version++;
    const { metadata } = object;
    const stored = {
      ...object,
      metadata: {
        uid: `uid-${metadata.name}`,
        generation: 1,
        creationTimestamp: new Date(0).toISOString(),
        ...metadata,
        resourceVersion: String(this.#version),
      },
    };
    this.#of(kind).set(metadata.name, stored);
    this.#tell(kind, 'updated', stored);
    return stored;
  }

  /** Removes an object despite its finalizers. */
  remove(kind: Kind, name: string): void {
    const found = this.find(kind, name);
    this.#of(kind).delete(name);
    if (found !== undefined) this.#tell(kind, 'deleted', found);
  }

  #tell(kind: Kind, event: 'updated' | 'deleted', object: KubeObject): void {
    if (this.unseen.has(object.metadata.name)) return;
    for (const listener of this.#listeners.get(kind.plural) ?? []) listener(event, object as never);
  }

  find<T extends KubeObject>(kind: Kind<T>, name: string): T | undefined {
    return this.#of(kind).get(name) as T | undefined;
  }

  /** Makes reads of single objects fail. */
  failReads(failure: ((kind: Kind) => Error | false) | undefined): void {
    this.#readFailures = failure;
  }

  failDeletes(failure: ((kind: Kind, name: string) => Error | undefined) | undefined): void {
    this.#failures = failure;
  }

  readonly client = {
    get: async <T extends KubeObject>(kind: Kind<T>, { name }: Ref): Promise<T> => {
      const failure = this.#readFailures?.(kind);
      if (failure) throw failure;
      const found = this.find(kind, name);
      if (found === undefined) throw new ApiError(404, 'NotFound', `${kind.plural} "${name}" not found`);
      return found;
    },
    listAll: async <T extends KubeObject>(kind: Kind<T>): Promise<readonly T[]> => [...this.#of(kind).values()] as T[],
    patch: async <T extends KubeObject>(kind: Kind<T>, { name }: Ref, patch: unknown): Promise<T> => {
      const found = await this.client.get(kind, { name });
      const wanted = (patch as { metadata?: { resourceVersion?: string } }).metadata?.resourceVersion;
      if (wanted !== undefined && wanted !== found.metadata.resourceVersion)
        throw new ApiError(409, 'Conflict', 'the object has been modified');
      const merged = merge(found, patch) as T;
      const finalized = merged.metadata.deletionTimestamp !== undefined && merged.metadata.finalizers?.length === 0;
      if (finalized) this.remove(kind, name);
      return finalized ? merged : this.put(kind, merged);
    },
    delete: async (kind: Kind, { name }: Ref): Promise<void> => {
      const failure = this.#failures?.(kind, name);
      if (failure !== undefined) throw failure;
      const found = await this.client.get(kind, { name });
      if ((found.metadata.finalizers ?? []).length === 0) this.remove(kind, name);
      else
        this.put(kind, {
          ...found,
          metadata: { ...found.metadata, deletionTimestamp: new Date(0).toISOString() },
        });
    },
  } as unknown as KubeClient;

  readonly informers: Informers = {
    store: <T extends KubeObject>(kind: Kind<T>): Store<T> => ({
      kind,
      get: ({ name }) => this.find(kind, name),
      list: () => [...this.#of(kind).values()].filter(({ metadata }) => !this.unseen.has(metadata.name)) as T[],
      byIndex: () => [],
      synced: true,
      subscribe: (listener: StoreListener<T>) => {
        this.#listeners.set(kind.plural, [...(this.#listeners.get(kind.plural) ?? []), listener as never]);
        return () => undefined;
      },
    }),
    synced: async () => undefined,
    watches: () => [],
    distrust: () => undefined,
  };
}

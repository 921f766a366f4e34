/**
 * The world's own parts on an API server in the same process: without HTTP, JSON or watches. What is written is seen by
 * everybody before its answer comes.
 */
import { apiVersionOf, type Kind } from '../api/kinds.ts';
import type { KubeList, KubeObject } from '../api/kubernetes.ts';
import type { Ref } from '../kube/client.ts';
import { keyOf } from '../kube/store.ts';
import { type Cache, type Caches, cachesOf, type Listener } from './cache.ts';
import { ApiError, type KubeApi } from './client.ts';
import { type Filing, IndexedObjects } from './indexed-objects.ts';
import type { Api } from './kubernetes/apiserver/api.ts';
import type { KindName, ObjectRef } from './kubernetes/apiserver/objects.ts';
import { StatusError } from './kubernetes/apiserver/status.ts';

export const nameOf = (kind: Kind): KindName => ({ apiVersion: apiVersionOf(kind), kind: kind.kind });
export const refOf = (kind: Kind, { namespace, name }: Ref): ObjectRef => ({ ...nameOf(kind), namespace, name });

/** Runs a request in a turn of its own, as if it had gone over a wire: never inside the write that led to it. */
export async function answered<T>(request: () => T): Promise<T> {
  await null;
  try {
    return request();
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const { retryAfterSeconds } = error.details ?? {};
    throw new ApiError(
      error.code,
      error.reason,
      error.message,
      retryAfterSeconds === undefined ? undefined : retryAfterSeconds * 1000,
    );
  }
}

/** A client without a port: what only makes sense over HTTP is refused. */
export function connectInProcess({ objects }: Api): KubeApi {
  const refused = (what: string): never => {
    throw new Error(`Cannot ${what}: this API server has no port`);
  };
  return {
    url: '',
    find: <T extends KubeObject>(kind: Kind<T>, ref: Ref) =>
      answered(() => objects.find(refOf(kind, ref)) as T | undefined),
    list: <T extends KubeObject>(kind: Kind<T>) =>
      answered(() => {
        const items = objects.list(nameOf(kind)) as unknown as readonly T[];
        return { apiVersion: 'v1', kind: 'List', metadata: {}, items } as unknown as KubeList<T>;
      }),
    create: <T extends KubeObject>(kind: Kind<T>, object: T) =>
      answered(() => objects.create({ ...object, ...nameOf(kind) }) as unknown as T),
    post: async (kind, { name, namespace = 'default' }, subresource, body) =>
      subresource === 'binding'
        ? answered(() => objects.bind({ name, namespace }, body))
        : refused(`post a ${subresource} of ${kind.plural}`),
    update: <T extends KubeObject>(kind: Kind<T>, object: T, subresource?: 'status') =>
      answered(() => objects.update({ ...object, ...nameOf(kind) }, { subresource }) as unknown as T),
    patch: <T extends KubeObject>(
      kind: Kind<T>,
      ref: Ref,
      patch: unknown,
      { type = 'merge', subresource }: { type?: 'merge' | 'strategic' | 'json'; subresource?: 'status' } = {},
    ) => answered(() => objects.patch(refOf(kind, ref), type, patch, { subresource }) as unknown as T),
    delete: <T extends KubeObject>(kind: Kind<T>, ref: Ref, options = {}) =>
      answered(() => objects.delete(refOf(kind, ref), options) as T | undefined),
    watch: () => refused('watch'),
    raw: async (method, path) => refused(`${method} ${path}`),
    close: () => {},
  };
}

/** Caches that are the API server's own objects. */
export const cachesInProcess = ({ objects }: Api): Caches => cachesOf((kind) => new ServedCache(kind, objects));

class ServedCache<T extends KubeObject> implements Cache<T> {
  readonly synced = Promise.resolve();
  readonly #objects = new IndexedObjects<T>();
  readonly #listeners: Listener<T>[] = [];

  constructor(kind: Kind<T>, objects: Api['objects']) {
    for (const object of objects.list(nameOf(kind)) as unknown as readonly T[])
      this.#objects.put(keyOf(object.metadata), object);
    objects.subscribe(nameOf(kind), (type, changed) => {
      const object = changed as unknown as T;
      const key = keyOf(object.metadata);
      const now = type === 'DELETED' ? undefined : object;
      const before = now === undefined ? this.#objects.delete(key) : this.#objects.put(key, now);
      for (const listener of this.#listeners) listener(now, before ?? (now === undefined ? object : undefined));
    });
  }

  get(ref: Ref): T | undefined {
    return this.#objects.get(ref);
  }

  list(): readonly T[] {
    return this.#objects.list();
  }

  by(filing: Filing<T>, value: string): readonly T[] {
    return this.#objects.by(filing, value);
  }

  subscribe(listener: Listener<T>): void {
    this.#listeners.push(listener);
    for (const object of this.#objects.list()) listener(object, undefined);
  }

  /** Everything that was written is here already. */
  wrote(): void {}
  removed(): void {}
}

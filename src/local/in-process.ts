/**
 * Client and caches for an API server in the same process, without HTTP, JSON or watches. All caches contain a write
 * before its response is returned.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { apiVersionOf, type Kind, type KubeObject } from '#api/objects';
import { keyOf, type Ref } from '#kube/client';
import { type Cache, type Caches, cachesOf } from './cache.ts';
import { ApiError, type ObjectClient } from './client.ts';
import { IndexedObjects } from './indexed-objects.ts';
import type { Api } from './kubernetes/apiserver/api.ts';
import type { ApiObjectRef, KindName } from './kubernetes/apiserver/objects.ts';
import { StatusError } from './kubernetes/apiserver/status.ts';

export const nameOf = (kind: Kind): KindName => ({ apiVersion: apiVersionOf(kind), kind: kind.kind });
export const objectRefOf = (kind: Kind, { namespace, name }: Ref): ApiObjectRef => ({
  ...nameOf(kind),
  namespace,
  name,
});

/**
 * Runs a request in a separate turn, like a request over HTTP, so that it never runs inside the write that caused it.
 */
export async function runInTurn<T>(request: () => T, delayMs = 0): Promise<T> {
  await (delayMs > 0 ? sleep(delayMs) : null);
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

/** Creates a client without HTTP. @param delayMs real duration of each request, in milliseconds */
export function connectInProcess({ objects }: Pick<Api, 'objects'>, delayMs = 0): ObjectClient {
  const delayed = <T>(request: () => T): Promise<T> => runInTurn(request, delayMs);
  return {
    find: <T extends KubeObject>(kind: Kind<T>, ref: Ref) =>
      delayed(() => objects.find(objectRefOf(kind, ref)) as T | undefined),
    create: <T extends KubeObject>(kind: Kind<T>, object: T) =>
      delayed(() => objects.create({ ...object, ...nameOf(kind) }) as unknown as T),
    post: async (kind, { name, namespace = 'default' }, subresource, body) => {
      if (subresource !== 'binding') throw new Error(`Cannot post a ${subresource} of ${kind.plural} in process`);
      return delayed(() => objects.bind({ name, namespace }, body));
    },
    patch: <T extends KubeObject>(
      kind: Kind<T>,
      ref: Ref,
      patch: unknown,
      { type = 'merge', subresource }: { type?: 'merge' | 'strategic' | 'json'; subresource?: 'status' } = {},
    ) => delayed(() => objects.patch(objectRefOf(kind, ref), type, patch, { subresource }) as unknown as T),
    delete: <T extends KubeObject>(kind: Kind<T>, ref: Ref, options = {}) =>
      delayed(() => objects.delete(objectRefOf(kind, ref), options) as T | undefined),
  };
}

/** Returns caches that use the API server's own objects. */
export const cachesInProcess = ({ objects }: Pick<Api, 'objects'>): Caches =>
  cachesOf((kind) => new ServedCache(kind, objects));

class ServedCache<T extends KubeObject> extends IndexedObjects<T> implements Cache<T> {
  readonly synced = Promise.resolve();

  constructor(kind: Kind<T>, objects: Api['objects']) {
    super();
    for (const object of objects.list(nameOf(kind)) as unknown as readonly T[])
      this.put(keyOf(object.metadata), object);
    objects.subscribe(nameOf(kind), (type, changed) => {
      const object = changed as unknown as T;
      const key = keyOf(object.metadata);
      const now = type === 'DELETED' ? undefined : object;
      const before = now === undefined ? this.delete(key) : this.put(key, now);
      this.announce(now, before ?? (now === undefined ? object : undefined));
    });
  }

  /** The caches already contain every write. */
  wrote(): void {}
  removed(): void {}
}

/** Operations of the server without HTTP, for other parts of the local cluster and for tests. */
import type { ApiDeleteOptions, Core, WriteOptions } from './core.ts';
import { type ApiObject, clone } from './json.ts';
import { bind } from './operations/binding.ts';
import { create } from './operations/create.ts';
import { remove } from './operations/delete.ts';
import { evict } from './operations/eviction.ts';
import { type ApiPatchOptions, type PatchType, patch } from './operations/patch.ts';
import { read, update } from './operations/update.ts';
import type { Resource } from './resources/registry.ts';
import { unknownPath } from './status.ts';

/** Identifies a kind, as objects do. */
export interface KindName {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface ApiObjectRef extends KindName {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Returned objects are shared with the store and must not be changed. Errors are StatusErrors. */
export interface Objects {
  get(ref: ApiObjectRef): ApiObject;
  find(ref: ApiObjectRef): ApiObject | undefined;
  list(kind: KindName, namespace?: string): readonly ApiObject[];
  create(object: unknown, options?: WriteOptions): ApiObject;
  update(object: unknown, options?: WriteOptions): ApiObject;
  patch(ref: ApiObjectRef, type: PatchType, patch: unknown, options?: ApiPatchOptions): ApiObject;
  /** Returns the object if a grace period or finalizers delay its removal. */
  delete(ref: ApiObjectRef, options?: ApiDeleteOptions): ApiObject | undefined;
  /** Assigns a pod to a node with a Binding. */
  bind(ref: { readonly namespace: string; readonly name: string }, binding: unknown): void;
  evict(ref: { readonly namespace: string; readonly name: string }, options?: ApiDeleteOptions): void;
  /** Calls the listener after each change of an object of the kind. Returns a function that stops it. */
  subscribe(kind: KindName, listener: (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: ApiObject) => void): () => void;
}

export function createObjects(core: Core): Objects {
  const resourceOf = ({ apiVersion, kind }: KindName): Resource => {
    const resource = core.registry.byKind(apiVersion, kind);
    if (!resource) throw unknownPath();
    return resource;
  };
  const targetOf = (ref: ApiObjectRef) => {
    const resource = resourceOf(ref);
    const namespace = resource.namespaced ? (ref.namespace ?? 'default') : undefined;
    return { resource, namespace, name: ref.name };
  };
  const refOf = (object: unknown): ApiObjectRef => {
    const { apiVersion, kind, metadata } = object as ApiObject;
    return { apiVersion, kind, namespace: metadata.namespace, name: metadata.name };
  };
  const find = (ref: ApiObjectRef): ApiObject | undefined => {
    const { resource, namespace, name } = targetOf(ref);
    return core.store.get(resource.storage, namespace, name)?.in(resource);
  };
  return {
    find,
    get: (ref) => {
      const target = targetOf(ref);
      return read(core, target).in(target.resource);
    },
    list: (kind, namespace) => {
      const resource = resourceOf(kind);
      return core.store.list(resource.storage, namespace).map((entry) => entry.in(resource));
    },
    create: (object, options) => {
      const { resource, namespace } = targetOf(refOf(object));
      return create(core, resource, namespace, clone(object), options).in(resource);
    },
    update: (object, options) => {
      const target = targetOf(refOf(object));
      return update(core, target, clone(object), options).in(target.resource);
    },
    patch: (ref, type, body, options) => {
      const target = targetOf(ref);
      return patch(core, target, type, clone(body), options).in(target.resource);
    },
    delete: (ref, options) => {
      const target = targetOf(ref);
      const { entry, removed } = remove(core, target, options);
      return removed ? undefined : entry.in(target.resource);
    },
    bind: ({ namespace, name }, binding) => {
      bind(core, targetOf({ apiVersion: 'v1', kind: 'Pod', namespace, name }), binding);
    },
    evict: ({ namespace, name }, options) => {
      evict(core, targetOf({ apiVersion: 'v1', kind: 'Pod', namespace, name }), options);
    },
    subscribe: (kind, listener) => {
      const resource = resourceOf(kind);
      return core.store.subscribe(({ type, entry }) => listener(type, entry.in(resource)), resource.storage);
    },
  };
}

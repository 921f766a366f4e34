/** Properties of each served resource: names, scope, subresources, and conversion between versions. */
import type { ApiObject } from '../json.ts';
import type { PrintedColumn } from './columns.ts';
import type { CrdSchema } from './crd-schema.ts';

/** JSON paths (`.spec.replicas`) of the scale subresource. */
export interface ScalePaths {
  readonly spec: string;
  readonly status: string;
  readonly selector?: string;
}

/** One served version of one resource. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Name of the collection in the store. Versions of one resource share it. */
  readonly storage: string;
  /** True if this resource has a status subresource. Writes of the main resource then ignore the status. */
  readonly status: boolean;
  /** True if `metadata.generation` counts changes of the spec. */
  readonly generation: boolean;
  /** True if a create keeps the status of this request, as for nodes. */
  readonly keepsStatus?: boolean;
  readonly scale?: ScalePaths;
  /** Additional subresources by their path segment, with the kind of their body. */
  readonly subresources: Readonly<Record<string, string>>;
  /** Name of the model of built-in fields in @kubernetes/client-node. Undefined for custom resources. */
  readonly model?: string;
  /** Schema of custom resources. */
  readonly schema?: CrdSchema;
  readonly columns?: readonly PrintedColumn[];
  /** Fields that field selectors support in addition to metadata.name and metadata.namespace. */
  readonly selectableFields: readonly string[];
  /** Warnings that requests for this resource return. */
  readonly warnings?: readonly string[];
  /** Conversions between this version and the stored version. Undefined if both are equal. */
  readonly toStorage?: (object: ApiObject) => ApiObject;
  readonly fromStorage?: (object: ApiObject) => ApiObject;
}

export const groupVersion = ({ group, version }: Pick<Resource, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

export const API_VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const;

/** All resources of a server, by group, version and plural. Custom resources are added and removed at runtime. */
export interface Registry {
  find(group: string, version: string, plural: string): Resource | undefined;
  /** Finds a resource by the apiVersion and kind of an object or owner reference. */
  byKind(apiVersion: string, kind: string): Resource | undefined;
  /** Returns the version in which objects are stored. */
  stored(storage: string): Resource | undefined;
  all(): readonly Resource[];
  add(resource: Resource, isStored?: boolean): void;
  removeStorage(storage: string): void;
  /** Increases with each change, so that derived documents can be cached. */
  readonly generation: number;
}

const kindKey = (apiVersion: string, kind: string): string => `${apiVersion} ${kind}`;

export function createRegistry(): Registry {
  const served = new Map<string, Resource>();
  const stored = new Map<string, Resource>();
  /** Index of served resources by `kindKey`. Undefined after a change. */
  let byKind: ReadonlyMap<string, Resource> | undefined;
  let generation = 0;
  const changed = (): void => {
    byKind = undefined;
    generation++;
  };
  return {
    find: (group, version, plural) => served.get(`${group}/${version}/${plural}`),
    byKind: (apiVersion, kind) => {
      // the first resource of a kind has precedence
      byKind ??= new Map([...served.values()].reverse().map((one) => [kindKey(groupVersion(one), one.kind), one]));
      return byKind.get(kindKey(apiVersion, kind));
    },
    stored: (storage) => stored.get(storage),
    all: () => [...served.values()],
    add: (resource, isStored = true) => {
      served.set(`${resource.group}/${resource.version}/${resource.plural}`, resource);
      if (isStored || !stored.has(resource.storage)) stored.set(resource.storage, resource);
      changed();
    },
    removeStorage: (storage) => {
      for (const [key, resource] of served) if (resource.storage === storage) served.delete(key);
      stored.delete(storage);
      changed();
    },
    get generation() {
      return generation;
    },
  };
}

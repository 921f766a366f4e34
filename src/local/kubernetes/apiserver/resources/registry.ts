/** What the server knows about each resource: its names, scope, subresources and how its versions convert. */
import type { ApiObject } from '../json.ts';
import type { Column } from './columns.ts';
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
  /** Versions of one resource share this name of their collection in the store. */
  readonly storage: string;
  /** Has the status subresource; the main resource then ignores status. */
  readonly status: boolean;
  /** Counts changes of the spec in `metadata.generation`. */
  readonly generation: boolean;
  /** A create keeps the status that the client sends, as nodes do. */
  readonly keepsStatus?: boolean;
  readonly scale?: ScalePaths;
  /** Further subresources, as they stand in the path, with the kind they take. */
  readonly subresources: Readonly<Record<string, string>>;
  /** Names the model of built-in fields in @kubernetes/client-node; absent for custom resources. */
  readonly model?: string;
  /** Present for custom resources. */
  readonly schema?: CrdSchema;
  readonly columns?: readonly Column[];
  /** Fields, beside metadata.name and metadata.namespace, that field selectors may name. */
  readonly selectableFields: readonly string[];
  /** Told to whoever uses the resource. */
  readonly warning?: string;
  /** Convert between this version and the stored one; absent where they are equal. */
  readonly toStorage?: (object: ApiObject) => ApiObject;
  readonly fromStorage?: (object: ApiObject) => ApiObject;
}

export const groupVersion = ({ group, version }: Pick<Resource, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

export const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const;

/** All resources of a server, by group, version and plural; custom ones come and go. */
export interface Registry {
  find(group: string, version: string, plural: string): Resource | undefined;
  /** By the apiVersion and kind that an object or an owner reference names. */
  byKind(apiVersion: string, kind: string): Resource | undefined;
  /** The version that objects are stored in. */
  stored(storage: string): Resource | undefined;
  all(): readonly Resource[];
  add(resource: Resource, isStored?: boolean): void;
  removeStorage(storage: string): void;
  /** Grows with each change, so that derived documents can be kept. */
  readonly generation: number;
}

const kindKey = (apiVersion: string, kind: string): string => `${apiVersion} ${kind}`;

export function createRegistry(): Registry {
  const served = new Map<string, Resource>();
  const stored = new Map<string, Resource>();
  /** Those served by `kindKey`, until one comes or goes. */
  let byKind: ReadonlyMap<string, Resource> | undefined;
  let generation = 0;
  const changed = (): void => {
    byKind = undefined;
    generation++;
  };
  return {
    find: (group, version, plural) => served.get(`${group}/${version}/${plural}`),
    byKind: (apiVersion, kind) => {
      // the first of a kind counts
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

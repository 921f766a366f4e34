/** Discovery documents with the served groups, versions and resources. */
import type { Json } from '../json.ts';
import { API_VERBS, groupVersion, type Registry, type Resource } from '../resources/registry.ts';
import { byPriority } from '../resources/versions.ts';
import { METRICS_RESOURCES } from './metrics-api.ts';
import { REVIEWS } from './reviews.ts';

interface Served {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources: readonly Subresource[];
}

interface Subresource {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

const READ_WRITE = ['get', 'patch', 'update'];

/** Groups of the kinds that subresources use, if they differ from the group of the resource. */
const SUBRESOURCE_GROUPS: Readonly<Record<string, readonly [string, string]>> = {
  Eviction: ['policy', 'v1'],
  TokenRequest: ['authentication.k8s.io', 'v1'],
  Scale: ['autoscaling', 'v1'],
};

function subresource(resource: Resource, name: string, kind: string, verbs: readonly string[]): Subresource {
  const [group, version] = SUBRESOURCE_GROUPS[kind] ?? [resource.group, resource.version];
  return { name, group, version, kind, verbs };
}

/** Verbs of subresources that support more than create. */
const SUBRESOURCE_VERBS: Readonly<Record<string, readonly string[]>> = {
  log: ['get'],
  resize: READ_WRITE,
  finalize: ['update'],
  exec: ['create', 'get'],
  attach: ['create', 'get'],
  portforward: ['create', 'get'],
};

function toServed(resource: Resource): Served {
  const others = Object.entries(resource.subresources).map(([name, kind]) =>
    subresource(resource, name, kind, SUBRESOURCE_VERBS[name] ?? ['create']),
  );
  const { group, version, kind, namespaced, shortNames, categories } = resource;
  return {
    name: resource.plural,
    singularName: resource.singular,
    namespaced,
    group,
    version,
    kind,
    // Namespaces cannot be deleted as a collection.
    verbs: resource.storage === 'namespaces' ? API_VERBS.filter((verb) => verb !== 'deletecollection') : API_VERBS,
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
    subresources: [
      ...others,
      ...(resource.status ? [subresource(resource, 'status', kind, READ_WRITE)] : []),
      ...(resource.scale ? [subresource(resource, 'scale', 'Scale', READ_WRITE)] : []),
    ].sort(byName),
  };
}

function reviews(): Served[] {
  return Object.entries(REVIEWS).map(([path, { kind, namespaced = false }]) => {
    const [group = '', version = '', name = ''] = path.split('/');
    return {
      name,
      singularName: kind.toLowerCase(),
      namespaced,
      group,
      version,
      kind,
      verbs: ['create'],
      subresources: [],
    };
  });
}

const metrics = (): Served[] =>
  METRICS_RESOURCES.map((one) => ({ ...one, singularName: '', verbs: ['get', 'list'], subresources: [] }));

/** Kubernetes' own groups in their order in discovery. Clients display and search resources in this order. */
const GROUPS: readonly string[] = [
  '',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'discovery.k8s.io',
  'resource.k8s.io',
];

/** Sorts the remaining groups by name. */
function byGroup(left: string, right: string): number {
  const [a, b] = [GROUPS.indexOf(left), GROUPS.indexOf(right)];
  if (a >= 0 || b >= 0) return (a < 0 ? GROUPS.length : a) - (b < 0 ? GROUPS.length : b);
  return left < right ? -1 : 1;
}

const byName = (left: { readonly name: string }, right: { readonly name: string }): number =>
  left.name < right.name ? -1 : 1;

const inOrder = (left: Served, right: Served): number =>
  (left.group === right.group ? 0 : byGroup(left.group, right.group)) ||
  byPriority(left.version, right.version) ||
  byName(left, right);

type Tree = ReadonlyMap<string, ReadonlyMap<string, readonly Served[]>>;

/** Tree of each registry, and the registry's generation from which it was built. */
const trees = new WeakMap<Registry, { readonly generation: number; readonly tree: Tree }>();

/** Returns group → version → resources, with the preferred version first. */
function treeOf(registry: Registry): Tree {
  const { generation } = registry;
  const known = trees.get(registry);
  if (known?.generation === generation) return known.tree;
  const tree = buildTree(registry);
  trees.set(registry, { generation, tree });
  return tree;
}

function buildTree(registry: Registry): Tree {
  const groups = new Map<string, Map<string, Served[]>>();
  const all = [...registry.all().map(toServed), ...reviews(), ...metrics()];
  for (const one of all.sort(inOrder)) {
    const versions = groups.get(one.group) ?? new Map<string, Served[]>();
    versions.set(one.version, [...(versions.get(one.version) ?? []), one]);
    groups.set(one.group, versions);
  }
  return groups;
}

function apiGroup(name: string, versions: ReadonlyMap<string, unknown>): Json {
  const listed = [...versions.keys()].map((version) => ({
    groupVersion: groupVersion({ group: name, version }),
    version,
  }));
  return { name, versions: listed, preferredVersion: listed[0] };
}

/** `/apis` */
export function groupList(registry: Registry): Json {
  const groups = [...treeOf(registry)]
    .filter(([name]) => name !== '')
    .map(([name, versions]) => apiGroup(name, versions));
  return { kind: 'APIGroupList', apiVersion: 'v1', groups };
}

/** Returns `/apis/GROUP`, or undefined if the group does not exist. */
export function groupDocument(registry: Registry, name: string): Json | undefined {
  const versions = treeOf(registry).get(name);
  return versions && { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(name, versions) };
}

/** Returns `/api/v1` or `/apis/GROUP/VERSION`, or undefined if the version does not exist. */
export function resourceList(registry: Registry, group: string, version: string): Json | undefined {
  const found = treeOf(registry).get(group)?.get(version);
  if (!found) return undefined;
  const resources = found.flatMap(({ subresources, group: _group, version: _version, ...one }) => [
    { ...one, storageVersionHash: '' },
    ...subresources.map((sub) => ({
      name: `${one.name}/${sub.name}`,
      singularName: '',
      namespaced: one.namespaced,
      ...(sub.group !== group && { group: sub.group, version: sub.version }),
      kind: sub.kind,
      verbs: sub.verbs,
    })),
  ]);
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: groupVersion({ group, version }), resources };
}

function aggregatedResource(one: Served): Json {
  return {
    resource: one.name,
    responseKind: { group: one.group, version: one.version, kind: one.kind },
    scope: one.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: one.singularName,
    verbs: one.verbs,
    ...(one.shortNames && { shortNames: one.shortNames }),
    ...(one.categories && { categories: one.categories }),
    ...(one.subresources.length > 0 && {
      subresources: one.subresources.map(({ name, group, version, kind, verbs }) => ({
        subresource: name,
        responseKind: { group, version, kind },
        verbs,
      })),
    }),
  };
}

/** Returns `/api` (core group) or `/apis` (named groups) in the aggregated form, in one document. */
export function aggregatedList(registry: Registry, core: boolean): Json {
  const items = [...treeOf(registry)]
    .filter(([name]) => (name === '') === core)
    .map(([name, versions]) => ({
      metadata: { name, creationTimestamp: null },
      versions: [...versions].map(([version, found]) => ({
        version,
        resources: found.map(aggregatedResource),
        freshness: 'Current',
      })),
    }));
  return { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2', metadata: {}, items };
}

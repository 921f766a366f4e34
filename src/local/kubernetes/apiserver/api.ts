/** The API server without its HTTP port: objects, validation rules, and controllers that run in the server. */
import { randomInt, randomUUID } from 'node:crypto';
import type { Clock } from '#lib/clock';
import type { IpFamily } from './admission/services.ts';
import type { Core, Randomness } from './core.ts';
import { cleanUp, protectVolumes } from './in-server/cleanup.ts';
import { keepBudgets } from './in-server/disruption-budgets.ts';
import { collectGarbage } from './in-server/garbage-collection.ts';
import { type ApiObject, equal } from './json.ts';
import { createObjects, type Objects } from './objects.ts';
import { addBuiltins } from './resources/builtins.ts';
import { crdResources, DEFINITIONS } from './resources/crds.ts';
import { createRegistry, type Registry } from './resources/registry.ts';
import { isStatus } from './status.ts';
import { ObjectStore } from './storage/store.ts';

export interface ApiOptions {
  readonly clock: Clock;
  /** Number of events that are kept per resource, so that watches can resume. Default 20 000. */
  readonly historyLimit?: number;
  /** Source of names and UIDs. Default: the random numbers of the machine. */
  readonly random?: Randomness;
  /** Family of the addresses of services. Default: IPv4. */
  readonly ipFamily?: IpFamily | undefined;
}

export interface Api {
  readonly core: Core;
  /** Operations on objects. */
  readonly objects: Objects;
  /** Creates or replaces a CustomResourceDefinition. When the call returns, its resource is served. */
  install(crd: unknown): ApiObject;
  /** Stops the controllers in this server. */
  stop(): void;
}

/** Creates the server with the namespaces, priority classes and services of every cluster. */
export function openApi({ clock, historyLimit = 20_000, random = MACHINE, ipFamily = 'ipv4' }: ApiOptions): Api {
  const store = new ObjectStore(historyLimit);
  const registry = createRegistry();
  const core: Core = { clock, store, registry, random };
  addBuiltins(registry);
  serveDefinitions(store, registry);
  const controllers = [collectGarbage(core), cleanUp(core), keepBudgets(core), protectVolumes(core)];
  const objects = createObjects(core);
  bootstrap(objects, ipFamily);
  return {
    core,
    objects,
    install: (crd) => install(objects, crd),
    stop: () => {
      for (const stop of controllers) stop();
    },
  };
}

const MACHINE: Randomness = { below: (limit) => randomInt(limit), uuid: () => randomUUID() };

function install(objects: Objects, crd: unknown): ApiObject {
  try {
    return objects.create(crd);
  } catch (error) {
    if (!isStatus(error, 'AlreadyExists')) throw error;
    return objects.update(crd);
  }
}

/** Serves custom resources as long as their definitions exist. */
function serveDefinitions(store: ObjectStore, registry: Registry): void {
  store.subscribe(({ type, entry, before }) => {
    const storage = entry.object.metadata.name;
    const sameSpec = before !== undefined && equal(before.object.spec, entry.object.spec);
    if (type !== 'DELETED' && sameSpec) return;
    registry.removeStorage(storage);
    if (type === 'DELETED') return;
    for (const { resource, isStored } of crdResources(entry.object)) registry.add(resource, isStored);
  }, DEFINITIONS);
}

/** Objects that exist in every new cluster. */
const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

const PRIORITIES = [
  {
    name: 'system-cluster-critical',
    value: 2_000_000_000,
    description:
      'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  },
  {
    name: 'system-node-critical',
    value: 2_000_001_000,
    description: 'Used for system critical pods that must not be moved from their current node.',
  },
];

const SERVICES = [
  {
    metadata: { name: 'kubernetes', namespace: 'default', labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      clusterIP: { ipv4: '172.20.0.1', ipv6: 'fd00:10:96::1' },
      ports: [{ name: 'https', port: 443, targetPort: 443 }],
    },
  },
  {
    metadata: {
      name: 'kube-dns',
      namespace: 'kube-system',
      labels: { 'k8s-app': 'kube-dns', 'kubernetes.io/name': 'CoreDNS' },
    },
    spec: {
      clusterIP: { ipv4: '172.20.0.10', ipv6: 'fd00:10:96::a' },
      selector: { 'k8s-app': 'kube-dns' },
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns-tcp', port: 53, protocol: 'TCP' },
      ],
    },
  },
];

/** @param ipFamily family of the addresses of services */
function bootstrap(objects: Objects, ipFamily: IpFamily): void {
  for (const name of NAMESPACES) objects.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  for (const { name, value, description } of PRIORITIES) {
    objects.create({
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name },
      value,
      description,
    });
  }
  for (const { metadata, spec } of SERVICES)
    objects.create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { ...spec, clusterIP: spec.clusterIP[ipFamily] },
    });
  objects.create({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'cluster-admin' },
    rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
  });
}

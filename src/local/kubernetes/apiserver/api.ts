/** The API server without its HTTP port: objects, validation rules, and controllers that run in the server. */
import { randomInt, randomUUID } from 'node:crypto';
import type { Clock } from '../../../lib/clock.ts';
import type { IpFamily } from './admission/services.ts';
import { bootstrap } from './bootstrap.ts';
import type { Core, Randomness } from './core.ts';
import { cleanUp } from './in-server/cleanup.ts';
import { keepBudgets } from './in-server/disruption-budgets.ts';
import { collectGarbage } from './in-server/garbage-collection.ts';
import { protectVolumes } from './in-server/volume-protection.ts';
import { type ApiObject, equal } from './json.ts';
import { createObjects, type Objects } from './objects.ts';
import { addBuiltins } from './resources/builtins.ts';
import { DEFINITIONS, resourcesOf } from './resources/crds.ts';
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
    for (const { resource, isStored } of resourcesOf(entry.object)) registry.add(resource, isStored);
  }, DEFINITIONS);
}

/** Serves custom resources as their definitions come and go. */
import { equal } from '../json.ts';
import { DEFINITIONS, servedBy } from '../resources/crds.ts';
import type { Registry } from '../resources/registry.ts';
import type { ObjectStore } from '../storage/store.ts';

/** Keeps the registry in step with the stored definitions. */
export function serveDefinitions(store: ObjectStore, registry: Registry): void {
  store.subscribe(({ type, entry, before }) => {
    const storage = entry.object.metadata.name;
    const sameSpec = before !== undefined && equal(before.object.spec, entry.object.spec);
    if (type !== 'DELETED' && sameSpec) return;
    registry.removeStorage(storage);
    if (type === 'DELETED') return;
    for (const { resource, isStored } of servedBy(entry.object)) registry.add(resource, isStored);
  }, DEFINITIONS);
}

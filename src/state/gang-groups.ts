/** Gangs that PodGroups and Workloads declare, by id. */
import { GANG_KINDS } from '#api/objects';
import { type GangGroup, groupsOf } from '#engine/model';
import type { Informers } from '#kube/client';
import { sameJson } from '#lib';

/**
 * Watches the kinds that the cluster serves. Returns the gangs that they declare.
 * @param changed called if an object changes
 */
export function watchGangGroups(informers: Informers, changed: () => void): () => ReadonlyMap<string, GangGroup> {
  let groups: ReadonlyMap<string, GangGroup> | undefined;
  // without the permission, gangs would be launched in part, so that it blocks the start
  const options = { isAddOn: true, optional: false };
  const stores = GANG_KINDS.map((kind) => ({ kind, store: informers.store(kind, {}, options) }));
  for (const { store } of stores)
    store.subscribe((event, object, before) => {
      if (event === 'updated' && sameJson(object.spec, before?.spec)) return;
      groups = undefined;
      changed();
    });
  return () => {
    // later entries replace earlier ones
    groups ??= new Map(
      stores.toReversed().flatMap(({ kind, store }) => store.list().flatMap((object) => groupsOf(kind, object))),
    );
    return groups;
  };
}

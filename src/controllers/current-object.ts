/** Reads objects from the API server if the cache may be outdated. */
import type { Kind, KubeObject } from '#api/objects';
import type { Informers, KubeReader, Ref } from '#kube/client';

/** Maximum age of a watch whose store counts as current. A busy watch delivers every few milliseconds. */
const CURRENT_MS = 5_000;

const watchOf = (informers: Informers, { plural, group }: Kind) =>
  informers.watches().find(({ resource }) => resource === (group === '' ? plural : `${plural}.${group}`));

/** Returns true if the store of a kind may be outdated. */
export const isStale = (informers: Informers, kind: Kind): boolean => watchOf(informers, kind)?.isStale ?? false;

/**
 * Returns the current state of an object: from the cache if its watch has just delivered, otherwise from the API server.
 * Returns undefined if the object does not exist.
 */
export async function currentObject<T extends KubeObject>(
  { client, informers }: { readonly client: KubeReader; readonly informers: Informers },
  kind: Kind<T>,
  ref: Ref,
): Promise<T | undefined> {
  const cached = informers.store(kind).get(ref);
  if (cached !== undefined && (watchOf(informers, kind)?.ageMs ?? 0) <= CURRENT_MS) return cached;
  return client.find(kind, ref);
}

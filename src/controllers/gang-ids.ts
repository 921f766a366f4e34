/** Gangs of a NodeClaim. */
import { GANGS_ANNOTATION, type NodeClaim } from '#api/objects';
import { tryRun } from '#lib';

/** Returns the ids in the annotation of a NodeClaim. Empty if there is no annotation, or if it is not valid. */
export function gangIdsOf({ metadata: { annotations = {} } }: NodeClaim): readonly string[] {
  const ids = tryRun((): unknown => JSON.parse(annotations[GANGS_ANNOTATION] ?? '[]'));
  return Array.isArray(ids) && ids.every((id) => typeof id === 'string') ? ids : [];
}

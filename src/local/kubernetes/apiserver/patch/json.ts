/** JSON patch, RFC 6902. */
import jsonpatch from 'fast-json-patch';
import { clone, isRecord } from '../json.ts';
import { badRequest, StatusError } from '../status.ts';

/**
 * The target with the patch applied; neither is changed.
 *
 * @throws StatusError 400 when the patch is no list of operations, 422 when one of them does not apply
 */
export function jsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch) || !patch.every(isRecord)) {
    throw badRequest(
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    );
  }
  try {
    return jsonpatch.applyPatch(clone(target), clone(patch) as unknown as jsonpatch.Operation[], true).newDocument;
  } catch {
    // A real server does not say which operation.
    throw new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
  }
}

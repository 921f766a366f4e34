/** Patches of every media type, applied to stored objects. */
import jsonpatch from 'fast-json-patch';
import { parse } from 'yaml';
import type { Core, WriteOptions } from '../core.ts';
import { type ApiObject, clone, isRecord, type Json } from '../json.ts';
import { difference, type FieldSet, isEmptySet, union, withContainers } from '../patch/field-set.ts';
import { compare, fieldsOf, mergeApplied, removeFields } from '../patch/fields.ts';
import {
  checkConflicts,
  entryFor,
  isEntryOf,
  manageable,
  managerEntries,
  sortEntries,
  type Writer,
} from '../patch/managers.ts';
import { applyMergePatch } from '../patch/merge.ts';
import { shapeOf } from '../patch/shapes.ts';
import { strategicPatch } from '../patch/strategic.ts';
import type { Resource } from '../resources/registry.ts';
import type { ResourceShape } from '../resources/shape.ts';
import { badRequest, notFound, requiredValue, StatusError } from '../status.ts';
import type { StoredEntry } from '../storage/entry.ts';
import { create } from './create.ts';
import { patchProblem } from './incoming.ts';
import { read, type Target, update } from './update.ts';

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

const MEDIA_TYPES: Readonly<Record<string, PatchType>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
};

/** @throws StatusError 415 if the resource does not support the patch type */
export function patchType(contentType: string, resource: Resource): PatchType {
  const type = MEDIA_TYPES[contentType.split(';')[0]?.trim() ?? ''];
  if (type && !(type === 'strategic' && resource.model === undefined)) return type;
  const supported = Object.keys(MEDIA_TYPES).filter(
    (media) => resource.model !== undefined || !media.includes('strategic'),
  );
  throw new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${supported.join(', ')}`,
  );
}

export interface ApiPatchOptions extends WriteOptions {
  readonly force?: boolean | undefined;
}

/**
 * Parses a patch: JSON, or YAML for server-side apply.
 * @throws StatusError 400
 */
export function parsePatch(type: PatchType, body: string): unknown {
  try {
    return type === 'apply' ? parse(body) : JSON.parse(body);
  } catch (error) {
    throw badRequest(`error decoding patch: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Returns the patched object. Also supports Scale and other views of objects. */
export function applyAnyPatch(type: PatchType, target: unknown, patch: unknown, shape: ResourceShape): unknown {
  if (type === 'json') return jsonPatch(target, patch);
  if (type !== 'strategic') return applyMergePatch(target, patch);
  return strategicPatch(target, patch, shape);
}

/**
 * Patches an object. Server-side apply creates it if it does not exist.
 *
 * @throws StatusError 400, 404, 409 or 422
 */
export function patch(
  core: Core,
  target: Target,
  type: PatchType,
  body: unknown,
  options: ApiPatchOptions = {},
): StoredEntry {
  if (type === 'apply') return apply(core, target, body, options);
  const current = read(core, target).in(target.resource);
  const next = applyAnyPatch(type, current, body, shapeOf(target.resource));
  return update(core, target, next, options, patchProblem(body));
}

/** Server-side apply requires the identity of the object, and rejects unknown fields. */
function checkApplied({ resource, name }: Target, body: Json): void {
  const { apiVersion, kind } = body;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
    const [group = '', version = ''] = String(apiVersion ?? '/').split('/');
    throw badRequest(`invalid object type: ${group}/${version}, Kind=${String(kind ?? '')}`);
  }
  const sent = isRecord(body.metadata) ? body.metadata.name : undefined;
  if (typeof sent === 'string' && sent !== name)
    throw badRequest(`the name of the object (${sent}) does not match the name on the URL (${name})`);
  const [unknown] = resource.schema?.prune(body).unknown ?? [];
  if (unknown === undefined) return;
  const type = `/${name}; ${apiVersion}, Kind=${kind}`;
  throw new StatusError(
    500,
    '',
    `failed to create typed patch object (${type}): .${unknown}: field not declared in schema`,
  );
}

function apply(core: Core, target: Target, body: unknown, options: ApiPatchOptions): StoredEntry {
  const { resource, namespace, name } = target;
  if (!isRecord(body)) throw badRequest('error decoding patch: an object is needed');
  if (!options.fieldManager) {
    throw new StatusError(
      422,
      'Invalid',
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      {
        group: 'meta.k8s.io',
        kind: 'PatchOptions',
        causes: [requiredValue('fieldManager', 'is required for apply patch')],
      },
    );
  }
  checkApplied(target, body);
  const live = core.store.get(resource.storage, namespace, name)?.in(resource);
  if (!live && options.subresource) throw notFound(resource, name);
  const applied: Json = { ...body, metadata: { ...(isRecord(body.metadata) && body.metadata), name } };
  const next: ApiObject = applyPatch(live, applied, shapeOf(resource), {
    manager: options.fieldManager,
    force: options.force === true,
    subresource: options.subresource,
    nowMs: core.clock.now(),
  });
  // The applied object already contains its managers.
  const writing = { ...options, fieldManager: undefined };
  if (!live) return create(core, resource, namespace, next, writing);
  return update(core, target, next, writing, patchProblem(body));
}

/**
 * Applies a JSON patch (RFC 6902) to a copy of the target.
 * @throws StatusError 400 if the patch is not a list of operations, 422 if an operation cannot be applied
 */
function jsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch) || !patch.every(isRecord)) {
    throw badRequest(
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    );
  }
  try {
    return jsonpatch.applyPatch(clone(target), clone(patch) as unknown as jsonpatch.Operation[], true).newDocument;
  } catch {
    // A real server does not name the failed operation.
    throw new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
  }
}

/**
 * Server-side apply: a manager declares its desired fields. Fields that it declared before and no longer declares are
 * removed.
 */
interface ApplyOptions {
  readonly manager: string;
  readonly force: boolean;
  readonly subresource?: string | undefined;
  readonly nowMs: number;
}

/** The manager does not own metadata if its configuration contains only identifying metadata. */
const withoutBareMetadata = ({ 'f:metadata': metadata = {}, ...rest }: FieldSet): FieldSet =>
  isEmptySet(metadata) ? rest : { ...rest, 'f:metadata': metadata };

/**
 * Applies a manager's configuration to the live object, or returns the object to create.
 *
 * @throws StatusError 409 if a changed field has another manager and `force` is not set
 */
function applyPatch(
  live: ApiObject | undefined,
  applied: Json,
  shape: ResourceShape,
  options: ApplyOptions,
): ApiObject {
  const { force, ...rest } = options;
  const writer: Writer = { ...rest, operation: 'Apply' };
  const entries = managerEntries(live);
  const others = entries.filter((entry) => !isEntryOf(writer, entry));
  const own = entries.find((entry) => isEntryOf(writer, entry));
  const fields = withoutBareMetadata(fieldsOf(manageable(applied), shape));
  // Fields remain if the manager still declares a part of them, including parts without a manager.
  const dropped = difference(own?.fieldsV1 ?? {}, withContainers(fields));
  // A manager of a part also owns the containers of this part.
  const removable = others.reduce((set, other) => difference(set, withContainers(other.fieldsV1)), dropped);
  const base = live && !isEmptySet(removable) ? removeFields(live, removable, shape) : live;
  const merged = clone(mergeApplied(base ?? {}, applied, shape)) as ApiObject;
  const { changed, removed } = compare(live ? manageable(live) : {}, manageable(merged), shape);
  if (live && !force) checkConflicts(changed, others);
  const lost = union(changed, removed);
  const kept = others.map((other) => ({ ...other, fieldsV1: difference(other.fieldsV1, lost) }));
  merged.metadata.managedFields = [...sortEntries([...kept, entryFor(writer, merged.apiVersion, fields, own)])];
  return merged;
}

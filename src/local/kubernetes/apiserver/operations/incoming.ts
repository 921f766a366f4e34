/** Converts a request body to an object of the resource: identity, known fields, defaults. */
import { applyDefaults } from '../admission/defaults.ts';
import { builtinCauses, metadataCauses, podResizeCauses } from '../admission/validation.ts';
import type { WriteOptions } from '../core.ts';
import { type ApiObject, isRecord, type Json, record, text } from '../json.ts';
import { modelShape } from '../resources/models.ts';
import { groupVersion, type Resource } from '../resources/registry.ts';
import { badRequest, invalid, invalidValue, type StatusCause, StatusError } from '../status.ts';
import { decode } from './decode.ts';

/**
 * Decodes an object in a served version, without unknown fields.
 *
 * @param known the stored object; parts shared with it are not decoded again
 * @param strictly converts unknown fields to the error of the request; the default is the error of a create
 * @throws StatusError 400 if it is not an object of the resource, or has unknown fields under Strict
 */
export function readObject(
  resource: Resource,
  body: unknown,
  options: WriteOptions,
  strictly: (problem: string) => Error = (problem) =>
    badRequest(`${resource.kind} in version "${resource.version}" cannot be handled as a ${resource.kind}: ${problem}`),
  known?: ApiObject,
): ApiObject {
  if (!isRecord(body)) throw badRequest('the request body must be a JSON object');
  const sent = addIdentity(resource, body);
  const unknown: string[] = [];
  const object = knownFields(resource, sent, unknown, known);
  if (unknown.length > 0) complain(unknown, options, strictly);
  return resource.namespaced ? object : withoutNamespace(object);
}

/** Ignores the namespace that clients may send with cluster-scoped objects. */
function withoutNamespace(object: ApiObject): ApiObject {
  const { namespace: _namespace, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Maximum number of characters of a body in errors. */
const SUMMARY_LENGTH = 30;

/** Returns the body with apiVersion and kind, which clients may omit for built-in kinds. */
function addIdentity(resource: Resource, body: Json): Json {
  const apiVersion = groupVersion(resource);
  const isCustom = resource.model === undefined;
  if (isCustom && !body.kind) {
    const sent = JSON.stringify(body);
    const start = sent.length > SUMMARY_LENGTH ? `${sent.slice(0, SUMMARY_LENGTH)} ...` : sent;
    throw badRequest(
      `the object provided is unrecognized (must be of type ${resource.kind}): Object 'Kind' is missing in '${sent}' (${start})`,
    );
  }
  const sent: Json = { ...body, apiVersion: body.apiVersion ?? apiVersion, kind: body.kind ?? resource.kind };
  if (sent.apiVersion !== apiVersion) {
    throw badRequest(
      `the API version in the data (${String(sent.apiVersion)}) does not match the expected API version (${apiVersion})`,
    );
  }
  if (sent.kind === resource.kind) return sent;
  if (isCustom) {
    const name = text(record(body.metadata).name);
    throw invalid(resource, name, [invalidValue('kind', sent.kind, `must be ${resource.kind}`)]);
  }
  throw badRequest(
    `${String(sent.kind)} in version "${resource.version}" cannot be handled as a ${resource.kind}: no kind "${String(sent.kind)}" is registered for version "${apiVersion}"`,
  );
}

function complain(unknown: readonly string[], options: WriteOptions, strictly: (problem: string) => Error): void {
  const problems = unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
  if (options.fieldValidation === 'Strict') throw strictly(`strict decoding error: ${problems.join(', ')}`);
  if (options.fieldValidation !== 'Ignore') options.warnings?.push(...problems);
}

function knownFields(resource: Resource, sent: Json, unknown: string[], known?: ApiObject): ApiObject {
  if (resource.model !== undefined) {
    const object = decode(sent, modelShape(resource.model), unknown, resource.kind, { known }) as ApiObject;
    return { ...object, metadata: object.metadata ?? { name: '' } };
  }
  const metadata = decode(sent.metadata ?? {}, modelShape('V1ObjectMeta'), unknown, resource.kind, {
    path: 'metadata',
  });
  if (!resource.schema) return { ...sent, metadata } as ApiObject;
  const pruned = resource.schema.prune({ ...sent, metadata });
  unknown.push(...pruned.unknown);
  return { ...pruned.object, apiVersion: sent.apiVersion, kind: sent.kind, metadata } as ApiObject;
}

/**
 * Sets defaults in the served version.
 * @param part `status` if only the status is written
 */
export function withDefaults(resource: Resource, object: ApiObject, part?: 'status'): ApiObject {
  if (resource.schema) return { ...(resource.schema.applyDefaults(object) as ApiObject), metadata: object.metadata };
  applyDefaults(resource.storage, object, part);
  return object;
}

/**
 * Validates an object with defaults, in the served version.
 *
 * @param old the object that it replaces
 * @param part `status` if only the status is written
 * @throws StatusError 422 with every cause
 */
export function validate(resource: Resource, object: ApiObject, old?: ApiObject, part?: 'status'): void {
  const causes: StatusCause[] = sharesMetadata(object, old) ? [] : metadataCauses(resource, object);
  if (resource.schema) causes.push(...resource.schema.validate(object, old, part, causes));
  else causes.push(...builtinCauses(resource, object, old, part));
  if (causes.length > 0) throw invalid(resource, object.metadata.name, causes);
}

/** Validates an update of the subresource `resize` of a pod. @throws StatusError 422 with every cause */
export function validateResize(resource: Resource, pod: ApiObject, old: ApiObject): void {
  const causes = podResizeCauses(pod, old);
  if (causes.length > 0) throw invalid(resource, pod.metadata.name, causes);
}

/** Reports whether the validated parts of the metadata are equal to those of the stored object. */
const sharesMetadata = ({ metadata }: ApiObject, old?: ApiObject): boolean =>
  metadata.name === old?.metadata.name &&
  metadata.labels === old.metadata.labels &&
  metadata.annotations === old.metadata.annotations &&
  metadata.finalizers === old.metadata.finalizers &&
  metadata.ownerReferences === old.metadata.ownerReferences;

/** Returns the error of a patch that results in unknown fields. */
export const patchProblem =
  (patch: unknown) =>
  (problem: string): StatusError => {
    const message = `Invalid value: ${JSON.stringify(JSON.stringify(patch))}: ${problem}`;
    return new StatusError(422, 'Invalid', ` "" is invalid: patch: ${message}`, {
      causes: [{ reason: 'FieldValueInvalid', field: 'patch', message }],
    });
  };

export const toStored = (resource: Resource, object: ApiObject): ApiObject =>
  resource.toStorage ? resource.toStorage(object) : object;

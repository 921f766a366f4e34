/** The scale subresource of workloads, and of custom resources that declare it. */
import type { Core, WriteOptions } from '../core.ts';
import { type ApiObject, at, clone, isRecord, type Json } from '../json.ts';
import { jsonPath } from '../json-path.ts';
import type { Resource, ScalePaths } from '../resources/registry.ts';
import { selectorText } from '../selectors.ts';
import { badRequest, invalid, invalidValue, type StatusCause, StatusError, unknownPath } from '../status.ts';
import type { StoredEntry } from '../storage/entry.ts';
import { read, type Target, update } from './update.ts';

function pathsOf(resource: Resource): ScalePaths {
  if (!resource.scale) throw unknownPath();
  return resource.scale;
}

/**
 * Returns the `autoscaling/v1` Scale of an object.
 * @throws StatusError 404
 */
export function readScale(core: Core, target: Target): Json {
  return scaleOf(target.resource, read(core, target));
}

/**
 * Returns the target of a patch of the scale. Its spec is empty if the object has no replicas.
 * @throws StatusError 404
 */
export function patchableScale(core: Core, target: Target): Json {
  return scaleOf(target.resource, read(core, target), true);
}

function scaleOf(resource: Resource, entry: StoredEntry, mayLack = false): Json {
  const paths = pathsOf(resource);
  const object = entry.in(resource);
  if (!mayLack && resource.model === undefined && jsonPath(paths.spec)(object)[0] === undefined) {
    const message = `the spec replicas field ${JSON.stringify(paths.spec)} does not exist`;
    throw new StatusError(500, 'InternalError', `Internal error occurred: ${message}`, {
      causes: [{ message } as StatusCause],
    });
  }
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const count = (path: string): number => Number(jsonPath(path)(object)[0] ?? 0);
  const selector = paths.selector === undefined ? undefined : jsonPath(paths.selector)(object)[0];
  const selects = typeof selector === 'string' ? selector : isRecord(selector) ? selectorText(selector) : undefined;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, ...(namespace !== undefined && { namespace }), uid, resourceVersion, creationTimestamp },
    spec: count(paths.spec) === 0 ? {} : { replicas: count(paths.spec) },
    status: { replicas: count(paths.status), ...(selects !== undefined && { selector: selects }) },
  };
}

/**
 * Sets an object's replicas from a Scale.
 * @throws StatusError 400, 404, 409 or 422
 */
export function writeScale(core: Core, target: Target, scale: unknown, options: WriteOptions): Json {
  const { resource, name } = target;
  const paths = pathsOf(resource);
  const replicas = at(scale, 'spec', 'replicas') ?? 0;
  if (!Number.isInteger(replicas)) throw badRequest('spec.replicas must be an integer');
  // Custom resources are validated by their schema.
  if (Number(replicas) < 0 && resource.model !== undefined) {
    throw invalid({ group: 'autoscaling', plural: 'scales', kind: 'Scale' }, name, [
      invalidValue('spec.replicas', replicas, 'must be greater than or equal to 0'),
    ]);
  }
  const next = clone(read(core, target).in(resource));
  const expected = at(scale, 'metadata', 'resourceVersion');
  if (typeof expected === 'string' && expected !== '') next.metadata.resourceVersion = expected;
  setPath(next, paths.spec, replicas);
  return scaleOf(resource, update(core, target, next, { ...options, writtenAs: 'scale' }));
}

function setPath(object: ApiObject, path: string, value: unknown): void {
  const names = path.split('.').filter((name) => name !== '');
  const last = names.pop() ?? '';
  let parent: Json = object;
  for (const name of names) {
    const child = parent[name];
    if (!isRecord(child)) parent[name] = {};
    parent = parent[name] as Json;
  }
  parent[last] = value;
}

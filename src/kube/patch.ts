/** Writes the changes of a reconcile to the API server, as JSON merge patches of the difference. */

import type { Kind, KubeObject } from '#api/objects';
import { isObject, type JsonObject, own, put, sameJson } from '#lib';
import { isConflict, isNotFound, type KubeClient } from './client.ts';
import { Requeue } from './reconciler.ts';

/**
 * Returns the JSON merge patch (RFC 7386) that turns `before` into `after`, or undefined if they are equal. Lists are replaced as
 * a whole, and fields that `after` lacks are removed.
 */
export function mergePatch(before: unknown, after: unknown): unknown {
  if (sameJson(before, after)) return undefined;
  if (!isObject(after)) return after ?? null;
  const from = isObject(before) ? before : {};
  const patch: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(from), ...Object.keys(after)])) {
    const change = mergePatch(own(from, key), own(after, key));
    if (change !== undefined) put(patch, key, change);
  }
  return patch;
}

interface WriteOptions {
  /** `status` writes only the status; `object` writes only metadata and spec. */
  readonly part: 'object' | 'status';
  /** Refuses to overwrite changes that other clients made after `before` was read. */
  readonly lock?: boolean;
}

/** Parts of an object that controllers write. */
interface Parts {
  readonly metadata: unknown;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** Returns the patch for the difference between two versions of an object, or undefined if they are equal. */
export function changes<T extends KubeObject>(
  before: T,
  after: T,
  { part, lock }: WriteOptions,
): JsonObject | undefined {
  const [from, to] = [before, after] as readonly Parts[];
  const patch =
    part === 'status'
      ? mergePatch({ status: from?.status }, { status: to?.status })
      : mergePatch({ metadata: from?.metadata, spec: from?.spec }, { metadata: to?.metadata, spec: to?.spec });
  if (!isObject(patch)) return undefined;
  if (!lock) return patch;
  const metadata = isObject(patch.metadata) ? patch.metadata : {};
  return { ...patch, metadata: { ...metadata, resourceVersion: before.metadata.resourceVersion } };
}

/**
 * Patches the difference between two versions of an object. Returns the object as stored after the patch, `before` if there is no
 * difference, or undefined if the object does not exist.
 * @throws Requeue if `lock` is set and another client wrote first
 */
export async function writeChanges<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  versions: { readonly before: T; readonly after: T },
  options: WriteOptions,
): Promise<T | undefined> {
  const { before, after } = versions;
  const patch = changes(before, after, options);
  if (patch === undefined) return before;
  const request = client.patch(
    kind,
    before.metadata,
    patch,
    options.part === 'status' ? { subresource: 'status' } : {},
  );
  return unlessGone(requeueOnConflict(request));
}

/** Returns the result of a request, or undefined if the object does not exist. */
export async function unlessGone<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** @throws Requeue if another client wrote first */
async function requeueOnConflict<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (isConflict(error)) throw new Requeue('the object has changed since it was read', { cause: error });
    throw error;
  }
}

/** Deletes exactly this object, not a later object with the same name. Returns true if the object still existed. */
export async function deleteExactly<T extends KubeObject>(
  client: Pick<KubeClient, 'delete' | 'find'>,
  kind: Kind<T>,
  object: T,
): Promise<boolean> {
  const { uid } = object.metadata;
  try {
    await client.delete(kind, object.metadata, { uid });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    if (!isConflict(error)) throw error;
    // Either a later object has this name and the intended object is gone, or another client wrote at the same time.
    if ((await client.find(kind, object.metadata))?.metadata.uid === uid) throw error;
    return false;
  }
}

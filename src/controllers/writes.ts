/** Writing back what a reconcile changed, as JSON merge patches. */
import type { Kind } from '../api/kinds.ts';
import type { KubeObject } from '../api/kubernetes.ts';
import { isConflict, isNotFound, type KubeClient, type Ref } from '../kube/client.ts';
import { Requeue } from '../kube/reconciler.ts';

type Json = Record<string, unknown>;

const isMap = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, at) => equal(item, b[at]));
  if (!isMap(a) || !isMap(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => equal(a[key], b[key]));
}

/** The JSON merge patch from one map to another; undefined when they are equal. Lists are replaced as a whole. */
export function mergePatch(before: unknown, after: unknown): unknown {
  if (equal(before, after)) return undefined;
  if (!isMap(before) || !isMap(after)) return after ?? null;
  const patch: Json = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const change = mergePatch(before[key], after[key]);
    if (change !== undefined) patch[key] = change;
  }
  return patch;
}

export interface WriteOptions {
  /** `status` writes only the status; otherwise only metadata and spec are written. */
  readonly part: 'object' | 'status';
  /** Refuse to overwrite what somebody else wrote since `before` was read. */
  readonly lock?: boolean;
}

/** The parts of any object that controllers write. */
interface Parts {
  readonly metadata: unknown;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/**
 * Patches what differs between two versions of an object. Answers the object as the server holds it then, `before` when
 * nothing differs, or undefined when it is gone.
 * @throws Requeue when `lock` is set and somebody else wrote first
 */
export async function writeChanges<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  versions: { readonly before: T; readonly after: T },
  options: WriteOptions,
): Promise<T | undefined> {
  const [before, after]: readonly Parts[] = [versions.before, versions.after];
  const patch =
    options.part === 'status'
      ? mergePatch({ status: before?.status }, { status: after?.status })
      : mergePatch(
          { metadata: before?.metadata, spec: before?.spec },
          { metadata: after?.metadata, spec: after?.spec },
        );
  if (!isMap(patch)) return versions.before;
  const { name, namespace, resourceVersion } = versions.before.metadata;
  const metadata = isMap(patch.metadata) ? patch.metadata : {};
  const body = options.lock ? { ...patch, metadata: { ...metadata, resourceVersion } } : patch;
  const request = client.patch(kind, { name, namespace }, body, {
    ...(options.part === 'status' ? { subresource: 'status' as const } : {}),
  });
  return unlessGone(requeueOnConflict(request));
}

/** Answers undefined when the object is gone. */
export async function unlessGone<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** @throws Requeue when somebody else wrote first */
export async function requeueOnConflict<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (isConflict(error)) throw new Requeue('it changed since it was read', { cause: error });
    throw error;
  }
}

/** Deletes exactly this object, not a namesake that came after it. Answers whether it was still there. */
export async function deleteExactly<T extends KubeObject>(
  client: KubeClient,
  kind: Kind<T>,
  object: T,
): Promise<boolean> {
  const { name, namespace, uid } = object.metadata;
  const ref: Ref = { name, namespace };
  try {
    await client.delete(kind, ref, { uid });
    return true;
  } catch (error) {
    // 409: the name is taken by a later object, so the one that was meant is gone
    if (isNotFound(error) || isConflict(error)) return false;
    throw error;
  }
}

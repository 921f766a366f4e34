/** Writes a workload's status if it has changed. */
import type { Kind, KubeObject } from '#api/objects';
import type { Parts } from '../../../parts.ts';

type WithStatus = KubeObject & { readonly status?: unknown };

type Fields = Readonly<Record<string, unknown>>;

/** Treats fields that are undefined or 0 as missing. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) || Array.isArray(other))
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, index) => isSame(item, other[index]))
    );
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) return false;
  return containsSame(one as Fields, other as Fields) && containsSame(other as Fields, one as Fields);
}

/** Reports whether `other` contains each field of `one` with the same value. */
const containsSame = (one: Fields, other: Fields): boolean =>
  Object.entries(one).every(([name, value]) => value === undefined || value === 0 || isSame(value, other[name]));

/** Replaces the fields of `status` in the object, and keeps the remaining fields. */
export async function writeStatus<T extends WithStatus>(
  { client, caches }: Parts,
  kind: Kind<T>,
  object: T,
  status: Readonly<Record<string, unknown>>,
): Promise<void> {
  const present = (object.status ?? {}) as Fields;
  if (isSame({ ...present, ...status }, present)) return;
  const patch = { metadata: { uid: object.metadata.uid }, status };
  caches.of(kind).wrote(await client.patch(kind, object.metadata, patch, { subresource: 'status' }));
}

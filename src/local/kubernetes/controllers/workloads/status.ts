/** Writes a workload's status when it differs from what is there. */
import type { Kind } from '../../../../api/kinds.ts';
import type { KubeObject } from '../../../../api/kubernetes.ts';
import type { Parts } from '../../../parts.ts';

type WithStatus = KubeObject & { readonly status?: unknown };

type Fields = Readonly<Record<string, unknown>>;

/** Fields that are undefined or 0 count as absent. */
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

/** Whether `other` has each field of `one`, and alike. */
const containsSame = (one: Fields, other: Fields): boolean =>
  Object.entries(one).every(([name, value]) => value === undefined || value === 0 || isSame(value, other[name]));

/** Fields of `status` replace those of the object; absent ones stay. */
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

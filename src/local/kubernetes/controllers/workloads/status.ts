/** Writes a workload's status when it differs from what is there. */
import type { Kind } from '../../../../api/kinds.ts';
import type { KubeObject } from '../../../../api/kubernetes.ts';
import type { Parts } from '../../../parts.ts';

type WithStatus = KubeObject & { readonly status?: unknown };

/** Keys of an object in one order, so that equal ones print alike; undefined and 0 count as absent. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined && one !== 0)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, canonical(one)]),
  );
}

/** Fields of `status` replace those of the object; absent ones stay. */
export async function writeStatus<T extends WithStatus>(
  { client, caches }: Parts,
  kind: Kind<T>,
  object: T,
  status: Readonly<Record<string, unknown>>,
): Promise<void> {
  const present = (object.status ?? {}) as Readonly<Record<string, unknown>>;
  const next = { ...present, ...status };
  if (JSON.stringify(canonical(next)) === JSON.stringify(canonical(present))) return;
  const patch = { metadata: { uid: object.metadata.uid }, status };
  caches.of(kind).wrote(await client.patch(kind, object.metadata, patch, { subresource: 'status' }));
}

/** Admission of volumes and their claims. */
import type { ApiObject } from '../json.ts';

export const CLAIMS = 'persistentvolumeclaims';
export const VOLUMES = 'persistentvolumes';

/** Finalizers that hold what is in use, by collection. */
export const FINALIZERS: Readonly<Record<string, string>> = {
  [CLAIMS]: 'kubernetes.io/pvc-protection',
  [VOLUMES]: 'kubernetes.io/pv-protection',
};

/** Holds a new volume or claim with its finalizer, in place; does nothing to other kinds. */
export function protect(storage: string, { metadata }: ApiObject): void {
  const finalizer = FINALIZERS[storage];
  if (finalizer && !metadata.finalizers?.includes(finalizer))
    metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
}

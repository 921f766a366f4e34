/** Admission of volumes and their claims. */
import type { ApiObject } from '../json.ts';

export const CLAIMS = 'persistentvolumeclaims';
export const VOLUMES = 'persistentvolumes';

/** Finalizers that protect objects in use, by collection. */
export const FINALIZERS: Readonly<Record<string, string>> = {
  [CLAIMS]: 'kubernetes.io/pvc-protection',
  [VOLUMES]: 'kubernetes.io/pv-protection',
};

/** Adds the protection finalizer to a new volume or claim, in place. Does nothing to objects of other kinds. */
export function protect(storage: string, { metadata }: ApiObject): void {
  const finalizer = FINALIZERS[storage];
  if (finalizer && !metadata.finalizers?.includes(finalizer))
    metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
}

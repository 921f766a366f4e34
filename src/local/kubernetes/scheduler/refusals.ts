/** Refusals of pods, so that equal pods are not tried on the same nodes again. */
import type { Pod } from '#api/objects';
import type { Cluster } from './cluster.ts';
import type { FilterVerdict } from './filters.ts';

type Refusal = Extract<FilterVerdict, { readonly message: string }>;

export class Refusals {
  readonly #cluster: Pick<Cluster, 'version'>;
  readonly #found = new Map<string, Refusal>();
  #version = 0;

  constructor(cluster: Pick<Cluster, 'version'>) {
    this.#cluster = cluster;
  }

  /** Returns the refusal of an equal pod, if the cluster has not changed since. */
  of(pod: Pod): Refusal | undefined {
    if (this.#version !== this.#cluster.version || this.#found.size === 0) return undefined;
    const face = faceOf(pod);
    return face === undefined ? undefined : this.#found.get(face);
  }

  put(pod: Pod, refusal: Refusal): void {
    const face = faceOf(pod);
    if (face === undefined) return;
    if (this.#version !== this.#cluster.version) this.#found.clear();
    this.#version = this.#cluster.version;
    this.#found.set(face, refusal);
  }
}

const faces = new WeakMap<Pod, string>();

/** Returns all fields that the filters read, or undefined if filters read objects other than nodes and their pods. */
function faceOf(pod: Pod): string | undefined {
  const { metadata, spec } = pod;
  const readsOthers = (spec.volumes?.length ?? 0) + (spec.resourceClaims?.length ?? 0) > 0;
  if (readsOthers || spec.affinity !== undefined) return undefined;
  const face = faces.get(pod) ?? JSON.stringify([metadata.namespace, metadata.labels, spec]);
  faces.set(pod, face);
  return face;
}

import type { Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from '#api/objects';
import { parseQuantity } from '#api/values';
import { own } from '#lib';
import { matchesAnyTerm } from './selectors.ts';
import type { Check, ClusterView, Filter, PodRefusal } from './view.ts';

export const NO_PROVISIONER = 'kubernetes.io/no-provisioner';

/** A claim that a pod mounts. */
export interface ClaimUse {
  readonly name: string;
  /** True if the ephemeral volume controller creates the claim for this pod. */
  readonly ephemeral: boolean;
}

export function claimUses(pod: Pod): readonly ClaimUse[] {
  const uses: ClaimUse[] = [];
  for (const { name, persistentVolumeClaim, ephemeral } of pod.spec.volumes ?? []) {
    if (persistentVolumeClaim) uses.push({ name: persistentVolumeClaim.claimName, ephemeral: false });
    else if (ephemeral) uses.push({ name: `${pod.metadata.name}-${name}`, ephemeral: true });
  }
  return uses;
}

export const usesClaim = (pod: Pod, { metadata }: PersistentVolumeClaim): boolean =>
  pod.metadata.namespace === metadata.namespace && claimUses(pod).some(({ name }) => name === metadata.name);

/** Reports whether the volume can be used from the node. */
export function volumeReaches(volume: PersistentVolume, node: Node): boolean {
  const terms = volume.spec.nodeAffinity?.required?.nodeSelectorTerms;
  return terms === undefined || matchesAnyTerm(terms, node);
}

/** Reports whether a new volume of the class may be provisioned for the node. */
function allowsTopology(storageClass: StorageClass, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  const terms = storageClass.allowedTopologies ?? [];
  return (
    terms.length === 0 ||
    terms.some((term) =>
      (term.matchLabelExpressions ?? []).every(({ key, values }) => values.includes(own(labels, key) ?? '')),
    )
  );
}

interface VolumeSpec {
  readonly capacity?: { readonly storage?: string };
  readonly accessModes?: readonly string[];
}

/** Reports whether a free volume satisfies a claim: class, size and access modes. */
export function satisfies(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const spec = volume.spec as PersistentVolume['spec'] & VolumeSpec;
  const reserved = spec.claimRef;
  if (reserved && !(reserved.name === claim.metadata.name && reserved.namespace === claim.metadata.namespace))
    return false;
  return (
    volume.metadata.deletionTimestamp === undefined &&
    (spec.storageClassName ?? '') === (claim.spec.storageClassName ?? '') &&
    parseQuantity(spec.capacity?.storage ?? '0') >= parseQuantity(claim.spec.resources?.requests?.storage ?? '0') &&
    (claim.spec.accessModes ?? []).every((mode) => spec.accessModes?.includes(mode))
  );
}

/** Returns the requirements of the pod's claims on a node, or the reason why no node is feasible now. */
function demands(
  pod: Pod,
  cluster: ClusterView,
): PodRefusal | { bound: PersistentVolume[]; open: PersistentVolumeClaim[] } {
  const namespace = pod.metadata.namespace ?? '';
  const bound: PersistentVolume[] = [];
  const open: PersistentVolumeClaim[] = [];
  for (const { name, ephemeral } of claimUses(pod)) {
    const claim = cluster.claim(namespace, name);
    if (!claim)
      return {
        refusal: ephemeral
          ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
          : `persistentvolumeclaim "${name}" not found`,
      };
    if (claim.metadata.deletionTimestamp) return { refusal: `persistentvolumeclaim "${name}" is being deleted` };
    if (!claim.spec.volumeName) {
      const mode = cluster.storageClass(claim.spec.storageClassName ?? '')?.volumeBindingMode;
      if (mode !== 'WaitForFirstConsumer') return { refusal: 'pod has unbound immediate PersistentVolumeClaims' };
      open.push(claim);
      continue;
    }
    const volume = cluster.volume(claim.spec.volumeName);
    if (!volume) return { refusal: `persistentvolume "${claim.spec.volumeName}" not found` };
    bound.push(volume);
  }
  return { bound, open };
}

/** Bound volumes must be reachable. Unbound claims need a reachable free volume, or a class that can provision one. */
export const volumeBinding: Filter = (pod, cluster): Check | PodRefusal | undefined => {
  if (claimUses(pod).length === 0) return undefined;
  const wanted = demands(pod, cluster);
  if ('refusal' in wanted) return wanted;
  const openings = wanted.open.map((claim) => {
    const storageClass = cluster.storageClass(claim.spec.storageClassName ?? '');
    return {
      free: cluster.volumes().filter((volume) => satisfies(volume, claim)),
      provisioner: storageClass && storageClass.provisioner !== NO_PROVISIONER ? storageClass : undefined,
    };
  });
  return ({ node }) => {
    if (!wanted.bound.every((volume) => volumeReaches(volume, node)))
      return ['node(s) had volume node affinity conflict'];
    const canBind = openings.every(
      ({ free, provisioner }) =>
        free.some((volume) => volumeReaches(volume, node)) ||
        (provisioner !== undefined && allowsTopology(provisioner, node)),
    );
    return canBind ? undefined : ["node(s) didn't find available persistent volumes to bind"];
  };
};

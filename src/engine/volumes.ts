/** Computes the requirements of pods' persistent volumes for nodes: the place of the volume, and a free slot to attach it. */

import {
  BIND_COMPLETED_ANNOTATION,
  HOSTNAME_LABEL,
  type NodeSelectorTerm,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type PersistentVolumeClaimSpec,
  type PodVolume,
  SELECTED_NODE_ANNOTATION,
  type StorageClass,
} from '#api/objects';
import { driverOfProvisioner, inTreeVolume } from '#api/values';
import { remembering, sameItems } from '#lib';
import type { EnginePod } from './input.ts';
import type { EngineSnapshot, Resources } from './model.ts';
import { Requirements } from './requirements.ts';
import { type AttachedVolume, slotResource, type VolumesByDriver } from './volume-limits.ts';

export interface PodVolumes {
  /**
   * Alternative requirements; the node must satisfy one of them. A single empty alternative if the volumes have no requirements.
   */
  readonly alternatives: readonly Requirements[];
  /** True if the volumes have no requirements. */
  readonly leaveFree: boolean;
  /** Volumes that use slots. */
  readonly attachments: VolumesByDriver;
}

const ANYWHERE: readonly Requirements[] = [Requirements.EMPTY];
const NO_VOLUMES: PodVolumes = { alternatives: ANYWHERE, leaveFree: true, attachments: new Map() };

/** Returns the name of the claim of a volume, or undefined if the volume needs no claim. */
const claimNameOf = (pod: EnginePod, { name, persistentVolumeClaim, ephemeral }: PodVolume): string | undefined =>
  persistentVolumeClaim?.claimName ?? (ephemeral === undefined ? undefined : `${pod.metadata.name}-${name}`);

const claimNamesOf = remembering((pod: EnginePod): readonly string[] =>
  (pod.spec.volumes ?? []).flatMap((volume) => claimNameOf(pod, volume) ?? []),
);

const inlineVolumesOf = ({ spec }: EnginePod): readonly Slot[] =>
  (spec.volumes ?? []).flatMap((volume) => inTreeVolume(volume, volume.name) ?? []);

/** Volumes of a pod that use slots, with the objects that determine them. */
interface KnownSlots {
  /** All claims of the pod, as `namespace/name`. */
  readonly ids: readonly string[];
  /** The claims, each followed by its volume or storage class. */
  readonly sources: readonly (object | undefined)[];
  readonly attachments: VolumesByDriver;
}

const slotsOf = new WeakMap<EnginePod, KnownSlots>();
const slotsOfAttached = new WeakMap<readonly AttachedVolume[], Omit<KnownSlots, 'ids'>>();

const namespaceOf = (pod: EnginePod): string => pod.metadata.namespace ?? 'default';

export class Volumes {
  readonly #claims: ReadonlyMap<string, PersistentVolumeClaim>;
  readonly #volumes: ReadonlyMap<string, PersistentVolume>;
  readonly #classes: ReadonlyMap<string, StorageClass>;

  constructor(snapshot: EngineSnapshot) {
    const { persistentVolumeClaims, persistentVolumes, storageClasses } = snapshot;
    this.#claims = new Map(
      persistentVolumeClaims.map((claim) => [`${claim.metadata.namespace ?? 'default'}/${claim.metadata.name}`, claim]),
    );
    this.#volumes = new Map(persistentVolumes.map((volume) => [volume.metadata.name, volume]));
    this.#classes = new Map(storageClasses.map((storageClass) => [storageClass.metadata.name, storageClass]));
  }

  /** Returns the names of the nodes for which volumes of a pod are created. */
  selectedNodes(pod: EnginePod): readonly string[] {
    return Volumes.claimNames(pod).flatMap(
      (name) => this.#claims.get(`${namespaceOf(pod)}/${name}`)?.metadata.annotations?.[SELECTED_NODE_ANNOTATION] ?? [],
    );
  }

  /** Returns the names of a pod's claims, in order. Pods with the same names and the same namespace have the same volumes. */
  static claimNames(pod: EnginePod): readonly string[] {
    return claimNamesOf(pod);
  }

  /** Returns the texts that distinguish the volumes of pods with the same spec and namespace. */
  static identitiesOf(pod: EnginePod): readonly string[] {
    return [...Volumes.claimNames(pod), ...inlineVolumesOf(pod).map(({ id }) => id)];
  }

  /** Returns the reason why a pod's volumes cannot be used, or undefined. */
  errorOf(pod: EnginePod): string | undefined {
    for (const name of Volumes.claimNames(pod)) {
      const error = this.#claimError(namespaceOf(pod), name);
      if (error !== undefined) return error;
    }
    return undefined;
  }

  #claimError(namespace: string, name: string): string | undefined {
    const claim = this.#claims.get(`${namespace}/${name}`);
    if (claim === undefined) return `getting persistent volume claim, persistentvolumeclaims "${name}" not found`;
    if (claim.metadata.deletionTimestamp !== undefined) return 'persistentvolumeclaim is being deleted';
    if (claim.status?.phase === 'Lost') return 'persistentvolumeclaim bound to non-existent persistentvolume';
    return claim.spec.volumeName ? this.#boundError(claim, claim.spec.volumeName) : this.#unboundError(claim);
  }

  #boundError(claim: PersistentVolumeClaim, volumeName: string): string | undefined {
    const volume = this.#volumes.get(volumeName);
    if (volume === undefined) return `failed to validate pvc, persistentvolumes "${volumeName}" not found`;
    if (volume.metadata.deletionTimestamp !== undefined)
      return 'failed to validate pvc, persistentvolume is being deleted';
    if (claim.metadata.annotations?.[BIND_COMPLETED_ANNOTATION] === undefined)
      return 'pvc is considered unbound because it does not contain annotation';
    return undefined;
  }

  #unboundError({ spec }: PersistentVolumeClaim): string | undefined {
    if (!spec.storageClassName) return 'unbound pvc must define a storage class';
    const storageClass = this.#classes.get(spec.storageClassName);
    if (storageClass === undefined)
      return `getting storage class, storageclasses.storage.k8s.io "${spec.storageClassName}" not found`;
    if ((storageClass.volumeBindingMode ?? 'Immediate') === 'Immediate')
      return 'pvc with immediate volume binding mode must be bound';
    return undefined;
  }

  /** Returns the requirements of a pod's volumes. Ignores claims that do not exist. */
  of(pod: EnginePod): PodVolumes {
    if (pod.spec.volumes === undefined) return NO_VOLUMES;
    const names = Volumes.claimNames(pod);
    if (names.length === 0 && inlineVolumesOf(pod).length === 0) return NO_VOLUMES;
    const places = new Places();
    for (const name of names) {
      const claim = this.#claims.get(`${namespaceOf(pod)}/${name}`);
      if (claim !== undefined) places.add(this.#placesOf(claim));
    }
    const { alternatives } = places;
    const leaveFree = alternatives.every((alternative) => alternative.keys.length === 0);
    return { alternatives, leaveFree, attachments: this.attachmentsOf(pod) };
  }

  /** Returns the volumes of a pod that use slots. Returns the same object for the same pod until a relevant object changes. */
  attachmentsOf(pod: EnginePod): VolumesByDriver {
    const known = slotsOf.get(pod);
    if (known !== undefined && this.#stillHolds(known)) return known.attachments;
    const ids = Volumes.claimNames(pod).map((name) => `${namespaceOf(pod)}/${name}`);
    const sources: (object | undefined)[] = [];
    const attachments = new Map<string, Set<string>>();
    const add = ({ driver, id }: Slot): void => {
      attachments.set(driver, (attachments.get(driver) ?? new Set()).add(`${driver}/${id}`));
    };
    for (const id of ids) {
      const claim = this.#claims.get(id);
      sources.push(claim, claim && this.#makerOf(claim));
      const slot = claim && this.#slotOf(claim.spec, id);
      if (slot !== undefined) add(slot);
    }
    for (const slot of inlineVolumesOf(pod)) add(slot);
    slotsOf.set(pod, { ids, sources, attachments });
    return attachments;
  }

  /** Returns the number of volumes that each pod of a template creates for itself, as resources. */
  slotsOfTemplate({ spec }: EnginePod): Resources {
    const slots: Record<string, number> = {};
    for (const { ephemeral } of spec.volumes ?? []) {
      const claim = ephemeral?.volumeClaimTemplate?.spec;
      const slot = claim && this.#slotOf(claim, '');
      if (slot !== undefined) slots[slotResource(slot.driver)] = (slots[slotResource(slot.driver)] ?? 0) + 1;
    }
    return slots;
  }

  /** Returns the slots of volumes that are attached to a node. Returns the same object until a relevant object changes. */
  attached(attached: readonly AttachedVolume[]): VolumesByDriver {
    const sources = attached.map(({ volume }) => this.#volumes.get(volume));
    const known = slotsOfAttached.get(attached);
    if (known !== undefined && sameItems(sources, known.sources)) return known.attachments;
    const attachments = new Map<string, Set<string>>();
    for (const [at, { driver, volume }] of attached.entries()) {
      const source = sources[at];
      const slot = (source && slotOfVolume(source)) ?? { driver, id: volume };
      attachments.set(slot.driver, (attachments.get(slot.driver) ?? new Set()).add(`${slot.driver}/${slot.id}`));
    }
    slotsOfAttached.set(attached, { sources, attachments });
    return attachments;
  }

  /** Compares in a loop for speed, because this check runs for every pod with volumes in every snapshot. */
  #stillHolds({ ids, sources }: KnownSlots): boolean {
    for (const [at, id] of ids.entries()) {
      const claim = this.#claims.get(id);
      if (claim !== sources[2 * at] || (claim && this.#makerOf(claim)) !== sources[2 * at + 1]) return false;
    }
    return true;
  }

  /** Returns the volume of a bound claim, or the storage class of an unbound claim. */
  #makerOf({ spec }: PersistentVolumeClaim): PersistentVolume | StorageClass | undefined {
    return spec.volumeName ? this.#volumes.get(spec.volumeName) : this.#classes.get(spec.storageClassName ?? '');
  }

  /** Returns the existing or possible places of one claim's volume. */
  #placesOf({ spec }: PersistentVolumeClaim): readonly Requirements[] {
    if (spec.volumeName) {
      const volume = this.#volumes.get(spec.volumeName);
      return volume === undefined ? ANYWHERE : placesOfVolume(volume);
    }
    const terms = this.#classes.get(spec.storageClassName ?? '')?.allowedTopologies ?? [];
    return placesOf(
      terms.map(({ matchLabelExpressions = [] }) =>
        matchLabelExpressions.map(({ key, values }) => ({ key, operator: 'In', values })),
      ),
    );
  }

  /** An unbound claim counts as one volume of the driver of its storage class. */
  #slotOf(spec: PersistentVolumeClaimSpec, id: string): Slot | undefined {
    if (spec.volumeName) {
      const volume = this.#volumes.get(spec.volumeName);
      return volume && slotOfVolume(volume);
    }
    const provisioner = this.#classes.get(spec.storageClassName ?? '')?.provisioner;
    return provisioner === undefined ? undefined : { driver: driverOfProvisioner(provisioner), id };
  }
}

/** Use of one slot. */
interface Slot {
  readonly driver: string;
  /** Equal for all claims and volumes that use the same slot. */
  readonly id: string;
}

/** Two volumes with the same handle use one slot. */
function slotOfVolume({ metadata, spec }: PersistentVolume): Slot | undefined {
  const { csi } = spec;
  if (csi !== undefined) return { driver: csi.driver, id: csi.volumeHandle ?? metadata.name };
  return inTreeVolume(spec, metadata.name);
}

type Expressions = NonNullable<NodeSelectorTerm['matchExpressions']>;

/**
 * Returns the places of a volume. Ignores the hostname of a local volume, because no other node can have this hostname. The
 * remaining requirements still count.
 */
const placesOfVolume = remembering(({ spec }: PersistentVolume): readonly Requirements[] => {
  const onHost = spec.local !== undefined || spec.hostPath !== undefined;
  const terms = (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).flatMap(({ matchExpressions = [] }) =>
    matchExpressions.length > 0 ? [matchExpressions] : [],
  );
  return placesOf(terms.map((term) => term.filter(({ key }) => !(onHost && key === HOSTNAME_LABEL))));
});

/** Maximum number of places of one volume. */
const MOST_PLACES = 100;

function placesOf(terms: readonly Expressions[]): readonly Requirements[] {
  const looked = terms.length <= MOST_PLACES ? terms : merged(terms).slice(0, MOST_PLACES);
  return looked.length === 0 ? ANYWHERE : looked.map((term) => Requirements.fromRequirements(term));
}

/** Merges terms that differ only in the values of one label. After the merge, a long list usually has only a few terms. */
function merged(terms: readonly Expressions[]): readonly Expressions[] {
  const values = new Map<string, string[]>();
  const others: Expressions[] = [];
  for (const term of terms) {
    const [only, ...more] = term;
    if (only === undefined || only.operator !== 'In' || more.length > 0) others.push(term);
    else values.set(only.key, (values.get(only.key) ?? []).concat(only.values ?? []));
  }
  return [...[...values].map(([key, all]) => [{ key, operator: 'In' as const, values: all }]), ...others];
}

/** Maximum number of combined places for a pod's volumes. Each volume with its own labels multiplies the number. */
const MOST_ALTERNATIVES = 256;
/** Maximum number of label keys to compare for one pod. Beyond this number, each further volume adds at most one place. */
const MOST_COMPARED = 500_000;
/** Additional number of comparisons for each volume after that. */
const FEW_COMPARED = 2_000;

/** Places where all volumes of a pod can be together. */
class Places {
  alternatives = ANYWHERE;
  #compared = 0;

  /** Adds every possible combination. If none is possible, adds all combinations, so that the pod fails with a reason. */
  add(places: readonly Requirements[]): void {
    if (places === ANYWHERE) return;
    const possible = this.#pairs(places, true);
    this.alternatives = possible.length > 0 ? possible : this.#pairs(places, false);
  }

  /** Returns distinct pairs. */
  #pairs(places: readonly Requirements[], intersecting: boolean): readonly Requirements[] {
    const isSpent = this.#compared >= MOST_COMPARED;
    const [most, until] = isSpent ? [1, this.#compared + FEW_COMPARED] : [MOST_ALTERNATIVES, MOST_COMPARED];
    const found = new Map<string, Requirements>();
    for (const left of this.alternatives) {
      const weight = left.keys.length + 1;
      for (const right of places) {
        this.#compared += weight;
        if (!intersecting || left.intersects(right)) {
          const both = left.intersect(right);
          found.set(both.identity, both);
        }
        const isEnough = found.size === most || (this.#compared > until && (found.size > 0 || intersecting));
        if (isEnough) return [...found.values()];
      }
    }
    return [...found.values()];
  }
}

/** Returns the places that satisfy one alternative of each part. */
export function combinedPlaces(parts: readonly (readonly Requirements[])[]): readonly Requirements[] {
  const places = new Places();
  for (const part of parts) places.add(part);
  return places.alternatives;
}

/** What the persistent volumes of pods ask of nodes: to be where the volume is, and to have a slot left to attach it. */

import type {
  CSINode,
  NodeSelectorTerm,
  PersistentVolume,
  PersistentVolumeClaim,
  PodVolume,
  StorageClass,
} from '../api/kubernetes.ts';
import { BIND_COMPLETED_ANNOTATION, HOSTNAME_LABEL } from '../api/labels.ts';
import { own } from '../lib/own.ts';
import { remembering } from '../lib/remembering.ts';
import { DeviceClaims, deviceClaimNames } from './devices.ts';
import type { EnginePod } from './input.ts';
import type { EngineSnapshot } from './model.ts';
import { Requirements } from './requirements.ts';

/** Claims by driver, as `namespace/name`: a claim that several pods share takes one slot. */
export type ClaimsByDriver = ReadonlyMap<string, ReadonlySet<string>>;

export interface PodVolumes {
  /** Requirements of which the node must satisfy one; a single empty one when the volumes do not care. */
  readonly alternatives: readonly Requirements[];
  /** Whether the volumes do not care. */
  readonly leaveFree: boolean;
  readonly claims: ClaimsByDriver;
}

const EBS_DRIVER = 'ebs.csi.aws.com';
/** Provisioners that were part of Kubernetes, by the driver that took over. */
const IN_TREE: Readonly<Record<string, string>> = { 'kubernetes.io/aws-ebs': EBS_DRIVER };

const ANYWHERE: readonly Requirements[] = [Requirements.EMPTY];
const NO_VOLUMES: PodVolumes = { alternatives: ANYWHERE, leaveFree: true, claims: new Map() };

/** The name of the claim behind a volume; undefined for volumes that need none. */
const claimNameOf = (pod: EnginePod, { name, persistentVolumeClaim, ephemeral }: PodVolume): string | undefined =>
  persistentVolumeClaim?.claimName ?? (ephemeral === undefined ? undefined : `${pod.metadata.name}-${name}`);

const claimNamesOf = remembering((pod: EnginePod): readonly string[] =>
  (pod.spec.volumes ?? []).flatMap((volume) => claimNameOf(pod, volume) ?? []),
);

/** The claims of a pod that take slots, and what that follows from. */
interface KnownSlots {
  /** Of all its claims, as `namespace/name`. */
  readonly ids: readonly string[];
  /** The claims, each followed by its volume or storage class. */
  readonly sources: readonly (object | undefined)[];
  readonly claims: ClaimsByDriver;
}

const slotsOf = new WeakMap<EnginePod, KnownSlots>();

const namespaceOf = (pod: EnginePod): string => pod.metadata.namespace ?? 'default';

export class Volumes {
  readonly #claims: ReadonlyMap<string, PersistentVolumeClaim>;
  readonly #volumes: ReadonlyMap<string, PersistentVolume>;
  readonly #classes: ReadonlyMap<string, StorageClass>;
  /** Undefined while dynamic resources are ignored. */
  readonly devices: DeviceClaims | undefined;

  constructor(snapshot: EngineSnapshot) {
    const { persistentVolumeClaims, persistentVolumes, storageClasses, resourceClaims } = snapshot;
    this.devices = resourceClaims && new DeviceClaims(resourceClaims);
    this.#claims = new Map(
      persistentVolumeClaims.map((claim) => [`${claim.metadata.namespace ?? 'default'}/${claim.metadata.name}`, claim]),
    );
    this.#volumes = new Map(persistentVolumes.map((volume) => [volume.metadata.name, volume]));
    this.#classes = new Map(storageClasses.map((storageClass) => [storageClass.metadata.name, storageClass]));
  }

  /** What distinguishes a pod's volumes and devices from those of other pods of its namespace. */
  static identity(pod: EnginePod): string {
    const devices = deviceClaimNames(pod);
    return [...Volumes.claimNames(pod), ...devices.map((name) => `device ${name}`)].join();
  }

  /** Names of a pod's claims, in order. Pods that agree on them and on their namespace have the same volumes. */
  static claimNames(pod: EnginePod): readonly string[] {
    return claimNamesOf(pod);
  }

  /** Why a pod's volumes cannot be used, if they cannot. */
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

  /** What the volumes and devices of a pod require. Claims that do not exist are passed over. */
  of(pod: EnginePod): PodVolumes {
    const names = Volumes.claimNames(pod);
    const devices = this.devices?.placesOf(pod) ?? [];
    if (names.length === 0 && devices.length === 0) return NO_VOLUMES;
    const places = new Places(devices);
    for (const name of names) {
      const claim = this.#claims.get(`${namespaceOf(pod)}/${name}`);
      if (claim !== undefined) places.add(this.#placesOf(claim));
    }
    const { alternatives } = places;
    const leaveFree = alternatives.every((alternative) => alternative.keys.length === 0);
    return { alternatives, leaveFree, claims: this.claimsOf(pod) };
  }

  /** The claims of a pod that take slots. For the same pod it is the same object until something that counts changes. */
  claimsOf(pod: EnginePod): ClaimsByDriver {
    const known = slotsOf.get(pod);
    if (known !== undefined && this.#stillHolds(known)) return known.claims;
    const ids = Volumes.claimNames(pod).map((name) => `${namespaceOf(pod)}/${name}`);
    const sources: (object | undefined)[] = [];
    const claims = new Map<string, Set<string>>();
    for (const id of ids) {
      const claim = this.#claims.get(id);
      sources.push(claim, claim && this.#makerOf(claim));
      const driver = claim && this.#driverOf(claim);
      if (driver !== undefined) claims.set(driver, (claims.get(driver) ?? new Set()).add(id));
    }
    slotsOf.set(pod, { ids, sources, claims });
    return claims;
  }

  /** In a loop, because it is asked of every pod with volumes in every snapshot. */
  #stillHolds({ ids, sources }: KnownSlots): boolean {
    for (const [at, id] of ids.entries()) {
      const claim = this.#claims.get(id);
      if (claim !== sources[2 * at] || (claim && this.#makerOf(claim)) !== sources[2 * at + 1]) return false;
    }
    return true;
  }

  /** The volume of a claim that is bound, the storage class of one that is not. */
  #makerOf({ spec }: PersistentVolumeClaim): PersistentVolume | StorageClass | undefined {
    return spec.volumeName ? this.#volumes.get(spec.volumeName) : this.#classes.get(spec.storageClassName ?? '');
  }

  /** Where one claim's volume is, or may be made. */
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

  #driverOf({ spec }: PersistentVolumeClaim): string | undefined {
    if (spec.volumeName) {
      const volume = this.#volumes.get(spec.volumeName)?.spec;
      return volume?.csi?.driver ?? (volume?.awsElasticBlockStore === undefined ? undefined : EBS_DRIVER);
    }
    const provisioner = this.#classes.get(spec.storageClassName ?? '')?.provisioner;
    return provisioner === undefined ? undefined : (own(IN_TREE, provisioner) ?? provisioner);
  }
}

type Expressions = NonNullable<NodeSelectorTerm['matchExpressions']>;

/** A local volume names its host, which no other node can be: what else it asks for still counts. */
const placesOfVolume = remembering(({ spec }: PersistentVolume): readonly Requirements[] => {
  const onHost = spec.local !== undefined || spec.hostPath !== undefined;
  const terms = (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).flatMap(({ matchExpressions = [] }) =>
    matchExpressions.length > 0 ? [matchExpressions] : [],
  );
  return placesOf(terms.map((term) => term.filter(({ key }) => !(onHost && key === HOSTNAME_LABEL))));
});

/** Places of one volume that are looked at. */
const MOST_PLACES = 100;

function placesOf(terms: readonly Expressions[]): readonly Requirements[] {
  const looked = terms.length <= MOST_PLACES ? terms : merged(terms).slice(0, MOST_PLACES);
  return looked.length === 0 ? ANYWHERE : looked.map((term) => Requirements.fromRequirements(term));
}

/** Terms that differ in the values of one label alone are one: of many, hardly any are left. */
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

/** Places for a pod's volumes together that are looked at: with labels of their own each volume multiplies them. */
const MOST_ALTERNATIVES = 256;
/** Label keys that are compared for one pod before only one further place is looked for with each volume. */
const MOST_COMPARED = 500_000;
/** As many again for each volume after that. */
const FEW_COMPARED = 2_000;

/** Where all volumes of a pod can be at once. */
class Places {
  alternatives = ANYWHERE;
  #compared = 0;

  constructor(parts: readonly (readonly Requirements[])[]) {
    for (const part of parts) this.add(part);
  }

  /** Every combination that is possible; if none is, all of them, so that the pod fails with a reason. */
  add(places: readonly Requirements[]): void {
    if (places === ANYWHERE) return;
    const possible = this.#pairs(places, true);
    this.alternatives = possible.length > 0 ? possible : this.#pairs(places, false);
  }

  /** Different ones only. */
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

/** Slots for volumes on a node that exists. Nodes to buy are taken to have enough. */
export class VolumeSlots {
  readonly #used = new Map<string, ReadonlySet<string>>();
  #limits: ReadonlyMap<string, number>;

  /** @param running the claims of each pod that runs on the node */
  constructor(csiNode: CSINode | undefined, running: readonly ClaimsByDriver[]) {
    const drivers = csiNode?.spec.drivers ?? [];
    this.#limits = new Map(
      drivers.flatMap(({ name, allocatable }) =>
        allocatable?.count === undefined ? [] : [[name, allocatable.count] as const],
      ),
    );
    for (const claims of running) this.take(claims);
  }

  copy(): VolumeSlots {
    const copy = new VolumeSlots(undefined, []);
    copy.#limits = this.#limits;
    for (const [driver, used] of this.#used) copy.#used.set(driver, used);
    return copy;
  }

  hasRoomFor(claims: ClaimsByDriver): boolean {
    for (const [driver, wanted] of claims) {
      const limit = this.#limits.get(driver);
      if (limit !== undefined && (this.#used.get(driver) ?? new Set()).union(wanted).size > limit) return false;
    }
    return true;
  }

  take(claims: ClaimsByDriver): void {
    for (const [driver, taken] of claims) this.#used.set(driver, (this.#used.get(driver) ?? new Set()).union(taken));
  }
}

/** Persistent volumes: provisions volumes for claims, binds both, and deletes released volumes. */

import {
  NODE,
  type Node,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  type PersistentVolume,
  type PersistentVolumeClaim,
  POD,
  type Pod,
  SELECTED_NODE_ANNOTATION,
  STORAGE_CLASS,
  type StorageClass,
  ZONE_LABEL,
} from '#api/objects';
import { keyOf, refOf } from '#kube/client';
import type { Cache } from '../../cache.ts';
import { isAnyConflict, isGone, type ObjectClient } from '../../client.ts';
import { ownerReference } from '../../owner-references.ts';
import { eventReporter, type Parts, type Report } from '../../parts.ts';
import { claimUses, NO_PROVISIONER, satisfies } from '../scheduler/volumes.ts';
import { type Loop, startLoop } from './loop.ts';

const EBS_DRIVER = 'ebs.csi.aws.com';
const BOUND_BY = 'pv.kubernetes.io/bind-completed';

/** Returns the volume that a storage class provisions for a claim in a zone. */
function provisionedVolume(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass & { readonly reclaimPolicy?: string },
  zone: string | undefined,
): PersistentVolume {
  const { name, namespace = '', uid = '' } = claim.metadata;
  const driver = storageClass.provisioner;
  const key = driver === EBS_DRIVER ? 'topology.ebs.csi.aws.com/zone' : ZONE_LABEL;
  const spec = {
    capacity: { storage: claim.spec.resources?.requests?.storage ?? '1Gi' },
    accessModes: claim.spec.accessModes ?? ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
    storageClassName: storageClass.metadata.name,
    claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid },
    csi: { driver, volumeHandle: `vol-${uid.replaceAll('-', '').slice(0, 17)}` },
    ...(zone === undefined
      ? {}
      : {
          nodeAffinity: {
            required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In' as const, values: [zone] }] }] },
          },
        }),
  };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `pvc-${uid}`, annotations: { 'pv.kubernetes.io/provisioned-by': driver } },
    spec,
  };
}

export async function startVolumes(parts: Parts): Promise<void> {
  await new Volumes(parts).start();
}

class Volumes {
  readonly #client: ObjectClient;
  readonly #claims: Cache<PersistentVolumeClaim>;
  readonly #volumes: Cache<PersistentVolume>;
  readonly #classes: Cache<StorageClass>;
  readonly #nodes: Cache<Node>;
  readonly #pods: Cache<Pod>;
  readonly #report: Report;
  readonly #loop: Loop;
  readonly #release: Loop;
  /** Creates the claims of a pod's generic ephemeral volumes. */
  readonly #ephemeral: Loop;

  constructor(parts: Parts) {
    this.#client = parts.client;
    const { caches } = parts;
    this.#claims = caches.of(PERSISTENT_VOLUME_CLAIM);
    this.#volumes = caches.of(PERSISTENT_VOLUME);
    this.#classes = caches.of(STORAGE_CLASS);
    this.#nodes = caches.of(NODE);
    this.#pods = caches.of(POD);
    this.#report = eventReporter('persistentvolume-controller', parts);
    this.#loop = startLoop({
      ...parts,
      name: 'volumes',
      reconcile: (key) => this.#reconcile(key),
    });
    this.#release = startLoop({
      ...parts,
      name: 'released volumes',
      reconcile: (name) => this.#reclaim(name),
    });
    this.#ephemeral = startLoop({
      ...parts,
      name: 'ephemeral volumes',
      reconcile: (key) => this.#createClaims(key),
    });
  }

  async start(): Promise<void> {
    this.#claims.subscribe((now, before) => {
      if (now) this.#loop.add(keyOf(now.metadata));
      if (now || !before) return;
      for (const volume of this.#volumes.list()) if (isFor(volume, before)) this.#release.add(volume.metadata.name);
    });
    this.#volumes.subscribe((now) => {
      const owner = now?.spec.claimRef;
      if (owner?.name) this.#loop.add(keyOf({ name: owner.name, namespace: owner.namespace }));
      // its claim may have been deleted before the volume was observed
      if (now && (!owner || owner.uid)) this.#release.add(now.metadata.name);
    });
    this.#classes.subscribe(() => {
      for (const claim of this.#claims.list()) if (!claim.spec.volumeName) this.#loop.add(keyOf(claim.metadata));
    });
    this.#pods.subscribe((now, before) => {
      if (now && !before && now.spec.volumes?.some((volume) => volume.ephemeral))
        this.#ephemeral.add(keyOf(now.metadata));
    });
    await Promise.all([
      this.#claims.synced,
      this.#volumes.synced,
      this.#classes.synced,
      this.#nodes.synced,
      this.#pods.synced,
    ]);
  }

  /**
   * Returns a zone for a claim with immediate binding: the zones of the class in turn, otherwise the zone of any node.
   */
  #anyZone(claim: PersistentVolumeClaim, storageClass: StorageClass): string | undefined {
    const allowed = (storageClass.allowedTopologies ?? []).flatMap((term) =>
      (term.matchLabelExpressions ?? []).flatMap(({ values }) => values),
    );
    const known = this.#nodes.list().flatMap((node) => node.metadata.labels?.[ZONE_LABEL] ?? []);
    const zones = [...new Set(allowed.length > 0 ? allowed : known)].sort();
    const draw = Number.parseInt((claim.metadata.uid ?? '0').slice(0, 4), 16) || 0;
    return zones[draw % Math.max(1, zones.length)];
  }

  async #provision(claim: PersistentVolumeClaim): Promise<PersistentVolume | undefined> {
    const storageClass = this.#classes.get({ name: claim.spec.storageClassName ?? '' });
    if (!storageClass || storageClass.provisioner === NO_PROVISIONER) return undefined;
    const waits = storageClass.volumeBindingMode === 'WaitForFirstConsumer';
    const node = this.#nodes.get({ name: claim.metadata.annotations?.[SELECTED_NODE_ANNOTATION] ?? '' });
    if (waits && !node) return undefined;
    const zone = waits ? node?.metadata.labels?.[ZONE_LABEL] : this.#anyZone(claim, storageClass);
    const volume = provisionedVolume(claim, storageClass, zone);
    try {
      const made = await this.#client.create(PERSISTENT_VOLUME, volume);
      this.#volumes.wrote(made);
      const message = `Successfully provisioned volume ${volume.metadata.name}`;
      this.#report(claim, 'Normal', 'ProvisioningSucceeded', message);
      return made;
    } catch (error) {
      if (isAnyConflict(error)) return this.#volumes.get(volume.metadata);
      throw error;
    }
  }

  /** Returns a free volume for a claim with immediate binding. */
  #free(claim: PersistentVolumeClaim): PersistentVolume | undefined {
    const mode = this.#classes.get({ name: claim.spec.storageClassName ?? '' })?.volumeBindingMode;
    if (mode === 'WaitForFirstConsumer') return undefined;
    return this.#volumes.list().find((volume) => !volume.spec.claimRef && satisfies(volume, claim));
  }

  async #bind(claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> {
    const { name, namespace, uid } = claim.metadata;
    if (!isFor(volume, claim)) {
      const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid };
      this.#volumes.wrote(await this.#client.patch(PERSISTENT_VOLUME, volume.metadata, { spec: { claimRef } }));
    }
    await this.#setPhase(volume, 'Bound');
    const bound = { metadata: { annotations: { [BOUND_BY]: 'yes' } }, spec: { volumeName: volume.metadata.name } };
    await this.#client.patch(PERSISTENT_VOLUME_CLAIM, claim.metadata, bound);
    const { capacity, accessModes } = volume.spec as PersistentVolume['spec'] & {
      readonly capacity?: unknown;
      readonly accessModes?: unknown;
    };
    const status = { phase: 'Bound', capacity, accessModes };
    this.#claims.wrote(
      await this.#client.patch(PERSISTENT_VOLUME_CLAIM, claim.metadata, { status }, { subresource: 'status' }),
    );
  }

  async #reconcile(key: string): Promise<void> {
    const claim = this.#claims.get(refOf(key));
    if (!claim || claim.metadata.deletionTimestamp) return;
    if (claim.spec.volumeName && claim.status?.phase === 'Bound') return;
    const named = claim.spec.volumeName ? this.#volumes.get({ name: claim.spec.volumeName }) : undefined;
    const reserved = named ?? this.#volumes.list().find((volume) => isFor(volume, claim));
    const volume = reserved ?? this.#free(claim) ?? (await this.#provision(claim));
    if (volume) await this.#bind(claim, volume);
  }

  /** Updates a volume's phase. Deletes the volume if its claim is gone and its reclaim policy is Delete. */
  async #reclaim(name: string): Promise<void> {
    await this.#claims.synced;
    const volume = this.#volumes.get({ name });
    const phase = volume && this.#phaseOf(volume);
    if (!phase) return;
    try {
      // Before the deletion, because a Bound volume is protected.
      await this.#setPhase(volume, phase);
      const goes = phase === 'Released' && volume.spec.persistentVolumeReclaimPolicy === 'Delete';
      if (goes && !volume.metadata.deletionTimestamp) await this.#client.delete(PERSISTENT_VOLUME, volume.metadata);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  /** Returns undefined while a volume and its claim are being bound. */
  #phaseOf({ metadata, spec: { claimRef } }: PersistentVolume): 'Available' | 'Bound' | 'Released' | undefined {
    if (!claimRef) return 'Available';
    const claim = this.#claims.get({ name: claimRef.name ?? '', namespace: claimRef.namespace });
    if (claim?.metadata.uid !== claimRef.uid) return 'Released';
    return claim?.spec.volumeName === metadata.name ? 'Bound' : undefined;
  }

  async #setPhase(volume: PersistentVolume, phase: string): Promise<void> {
    if (volume.status?.phase === phase) return;
    const options = { subresource: 'status' } as const;
    this.#volumes.wrote(await this.#client.patch(PERSISTENT_VOLUME, volume.metadata, { status: { phase } }, options));
  }

  async #createClaims(key: string): Promise<void> {
    const pod = this.#pods.get(refOf(key));
    if (!pod || pod.metadata.deletionTimestamp) return;
    for (const { name, ephemeral: own } of claimUses(pod)) {
      const template = own && templateOf(pod, name);
      if (!template || this.#claims.get({ name, namespace: pod.metadata.namespace })) continue;
      const metadata = {
        name,
        namespace: pod.metadata.namespace ?? 'default',
        ownerReferences: [ownerReference(pod)],
      };
      try {
        const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: template.spec };
        this.#claims.wrote(await this.#client.create(PERSISTENT_VOLUME_CLAIM, claim));
      } catch (error) {
        if (!isAnyConflict(error)) throw error;
      }
    }
  }
}

function isFor(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return volume.spec.claimRef?.uid === claim.metadata.uid;
}

const templateOf = (pod: Pod, claimName: string) =>
  pod.spec.volumes?.find(({ name }) => `${pod.metadata.name}-${name}` === claimName)?.ephemeral?.volumeClaimTemplate;

/** Persistent volumes: makes them for claims, binds the two, and removes what is released. */
import { NODE, PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, POD, STORAGE_CLASS } from '../../../api/kinds.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from '../../../api/kubernetes.ts';
import { ZONE_LABEL } from '../../../api/labels.ts';
import { keyOf, refOf } from '../../../kube/store.ts';
import { isConflict, isGone } from '../../client.ts';
import { eventReporter, type Parts } from '../../parts.ts';
import { SELECTED_NODE } from '../scheduler/bind-claims.ts';
import { claimUses, NO_PROVISIONER, satisfies } from '../scheduler/volumes.ts';
import { startLoop } from './loop.ts';
import { ownerReference } from './workloads/pods.ts';

const EBS_DRIVER = 'ebs.csi.aws.com';
const BOUND_BY = 'pv.kubernetes.io/bind-completed';

/** The volume that a class makes for a claim in a zone. */
export function provisionedVolume(
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
  const { client, caches } = parts;
  const claims = caches.of(PERSISTENT_VOLUME_CLAIM);
  const volumes = caches.of(PERSISTENT_VOLUME);
  const classes = caches.of(STORAGE_CLASS);
  const nodes = caches.of(NODE);
  const pods = caches.of(POD);
  const report = eventReporter('persistentvolume-controller', parts);

  const isFor = (volume: PersistentVolume, claim: PersistentVolumeClaim): boolean =>
    volume.spec.claimRef?.uid === claim.metadata.uid;

  /** A zone for a claim that does not wait for a pod: those of the class in turn, else of any node. */
  const anyZone = (claim: PersistentVolumeClaim, storageClass: StorageClass): string | undefined => {
    const allowed = (storageClass.allowedTopologies ?? []).flatMap((term) =>
      (term.matchLabelExpressions ?? []).flatMap(({ values }) => values),
    );
    const known = nodes.list().flatMap((node) => node.metadata.labels?.[ZONE_LABEL] ?? []);
    const zones = [...new Set(allowed.length > 0 ? allowed : known)].sort();
    const draw = Number.parseInt((claim.metadata.uid ?? '0').slice(0, 4), 16) || 0;
    return zones[draw % Math.max(1, zones.length)];
  };

  const provision = async (claim: PersistentVolumeClaim): Promise<PersistentVolume | undefined> => {
    const storageClass = classes.get({ name: claim.spec.storageClassName ?? '' });
    if (!storageClass || storageClass.provisioner === NO_PROVISIONER) return undefined;
    const waits = storageClass.volumeBindingMode === 'WaitForFirstConsumer';
    const node = nodes.get({ name: claim.metadata.annotations?.[SELECTED_NODE] ?? '' });
    if (waits && !node) return undefined;
    const zone = waits ? node?.metadata.labels?.[ZONE_LABEL] : anyZone(claim, storageClass);
    const volume = provisionedVolume(claim, storageClass, zone);
    try {
      const made = await client.create(PERSISTENT_VOLUME, volume);
      volumes.wrote(made);
      const message = `Successfully provisioned volume ${volume.metadata.name}`;
      report(claim, 'Normal', 'ProvisioningSucceeded', message);
      return made;
    } catch (error) {
      if (isConflict(error)) return volumes.get(volume.metadata);
      throw error;
    }
  };

  /** A free volume for a claim whose class does not wait for its pod. */
  const free = (claim: PersistentVolumeClaim): PersistentVolume | undefined => {
    const mode = classes.get({ name: claim.spec.storageClassName ?? '' })?.volumeBindingMode;
    if (mode === 'WaitForFirstConsumer') return undefined;
    return volumes.list().find((volume) => !volume.spec.claimRef && satisfies(volume, claim));
  };

  const bind = async (claim: PersistentVolumeClaim, volume: PersistentVolume): Promise<void> => {
    const { name, namespace, uid } = claim.metadata;
    if (!isFor(volume, claim)) {
      const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid };
      volumes.wrote(await client.patch(PERSISTENT_VOLUME, volume.metadata, { spec: { claimRef } }));
    }
    await client.patch(PERSISTENT_VOLUME, volume.metadata, { status: { phase: 'Bound' } }, { subresource: 'status' });
    const bound = { metadata: { annotations: { [BOUND_BY]: 'yes' } }, spec: { volumeName: volume.metadata.name } };
    await client.patch(PERSISTENT_VOLUME_CLAIM, claim.metadata, bound);
    const { capacity, accessModes } = volume.spec as PersistentVolume['spec'] & {
      readonly capacity?: unknown;
      readonly accessModes?: unknown;
    };
    const status = { phase: 'Bound', capacity, accessModes };
    claims.wrote(await client.patch(PERSISTENT_VOLUME_CLAIM, claim.metadata, { status }, { subresource: 'status' }));
  };

  const loop = startLoop({
    ...parts,
    name: 'volumes',
    async reconcile(key) {
      const claim = claims.get(refOf(key));
      if (!claim || claim.metadata.deletionTimestamp) return;
      if (claim.spec.volumeName && claim.status?.phase === 'Bound') return;
      const named = claim.spec.volumeName ? volumes.get({ name: claim.spec.volumeName }) : undefined;
      const reserved = named ?? volumes.list().find((volume) => isFor(volume, claim));
      const volume = reserved ?? free(claim) ?? (await provision(claim));
      if (volume) await bind(claim, volume);
    },
  });

  const release = startLoop({
    ...parts,
    name: 'released volumes',
    async reconcile(name) {
      const volume = volumes.get({ name });
      const owner = volume?.spec.claimRef;
      if (!volume || !owner?.name || volume.metadata.deletionTimestamp) return;
      const claim = claims.get({ name: owner.name, namespace: owner.namespace });
      if (claim && claim.metadata.uid === owner.uid) return;
      const policy = (volume.spec as { persistentVolumeReclaimPolicy?: string }).persistentVolumeReclaimPolicy;
      try {
        if (policy === 'Delete') await client.delete(PERSISTENT_VOLUME, volume.metadata);
        else
          await client.patch(
            PERSISTENT_VOLUME,
            volume.metadata,
            { status: { phase: 'Released' } },
            { subresource: 'status' },
          );
      } catch (error) {
        if (!isGone(error)) throw error;
      }
    },
  });

  /** Makes the claims of a pod's generic ephemeral volumes. */
  const ephemeral = startLoop({
    ...parts,
    name: 'ephemeral volumes',
    async reconcile(key) {
      const pod = pods.get(refOf(key));
      if (!pod || pod.metadata.deletionTimestamp) return;
      for (const { name, ephemeral: own } of claimUses(pod)) {
        const template = own && templateOf(pod, name);
        if (!template || claims.get({ name, namespace: pod.metadata.namespace })) continue;
        const metadata = {
          name,
          namespace: pod.metadata.namespace ?? 'default',
          ownerReferences: [ownerReference(pod)],
        };
        try {
          const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: template.spec };
          claims.wrote(await client.create(PERSISTENT_VOLUME_CLAIM, claim));
        } catch (error) {
          if (!isConflict(error)) throw error;
        }
      }
    },
  });

  claims.subscribe((now, before) => {
    if (now) loop.add(keyOf(now.metadata));
    else if (before?.spec.volumeName) release.add(before.spec.volumeName);
  });
  volumes.subscribe((now) => {
    const owner = now?.spec.claimRef;
    if (owner?.name) loop.add(keyOf({ name: owner.name, namespace: owner.namespace }));
  });
  classes.subscribe(() => {
    for (const claim of claims.list()) if (!claim.spec.volumeName) loop.add(keyOf(claim.metadata));
  });
  pods.subscribe((now, before) => {
    if (now && !before && now.spec.volumes?.some((volume) => volume.ephemeral)) ephemeral.add(keyOf(now.metadata));
  });
  await Promise.all([claims.synced, volumes.synced, classes.synced, nodes.synced, pods.synced]);
}

const templateOf = (pod: Pod, claimName: string) =>
  pod.spec.volumes?.find(({ name }) => `${pod.metadata.name}-${name}` === claimName)?.ephemeral?.volumeClaimTemplate;

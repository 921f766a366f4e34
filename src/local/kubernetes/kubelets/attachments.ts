/** Attaches the CSI volumes of bound pods to their nodes and detaches them when the last pod is gone. */
import { createHash } from 'node:crypto';
import { PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM, POD, VOLUME_ATTACHMENT } from '../../../api/kinds.ts';
import type { PersistentVolume, Pod, VolumeAttachment } from '../../../api/kubernetes.ts';
import { isConflict, isGone } from '../../client.ts';
import type { Parts } from '../../parts.ts';
import { startLoop } from '../controllers/loop.ts';
import { isOver } from '../scheduler/cluster.ts';
import { claimUses } from '../scheduler/volumes.ts';

/** From the last pod's end to the volume being free. */
const DETACH_MS = 2_000;
/** A claim may vanish together with its pod, so attached volumes are looked at now and then. */
const RECHECK_MS = 60_000;

const attachmentName = (volume: string, node: string): string =>
  `csi-${createHash('sha256').update(`${volume}/${node}`).digest('hex')}`;

/** Starts the loop; its keys are `volume/node`. */
export async function startAttachments(parts: Parts): Promise<void> {
  const { client, caches, clock } = parts;
  const pods = caches.of(POD);
  const claims = caches.of(PERSISTENT_VOLUME_CLAIM);
  const volumes = caches.of(PERSISTENT_VOLUME);
  const attachments = caches.of(VOLUME_ATTACHMENT);

  const volumesOf = (pod: Pod): readonly PersistentVolume[] =>
    claimUses(pod)
      .map(({ name }) => claims.get({ namespace: pod.metadata.namespace, name })?.spec.volumeName)
      .map((name) => (name === undefined ? undefined : volumes.get({ name })))
      .filter((volume) => volume !== undefined)
      .filter((volume) => volume.spec.csi !== undefined);

  const isUsed = (volume: string, node: string): boolean =>
    pods
      .list()
      .some(
        (pod) =>
          pod.spec.nodeName === node && !isOver(pod) && volumesOf(pod).some(({ metadata }) => metadata.name === volume),
      );

  const attach = async (volume: PersistentVolume, nodeName: string): Promise<void> => {
    const attachment: VolumeAttachment = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'VolumeAttachment',
      metadata: { name: attachmentName(volume.metadata.name, nodeName) },
      spec: {
        attacher: volume.spec.csi?.driver ?? '',
        nodeName,
        source: { persistentVolumeName: volume.metadata.name },
      },
    };
    try {
      attachments.wrote(await client.create(VOLUME_ATTACHMENT, attachment));
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
    await client.patch(
      VOLUME_ATTACHMENT,
      attachment.metadata,
      { status: { attached: true } },
      { subresource: 'status' },
    );
  };

  const loop = startLoop({
    ...parts,
    name: 'attachments',
    async reconcile(key) {
      const slash = key.indexOf('/');
      const [volumeName, nodeName] = [key.slice(0, slash), key.slice(slash + 1)];
      const name = attachmentName(volumeName, nodeName);
      const present = attachments.get({ name });
      const volume = volumes.get({ name: volumeName });
      if (volume && isUsed(volumeName, nodeName)) {
        if (!present) await attach(volume, nodeName);
        return RECHECK_MS;
      }
      if (!present) return undefined;
      await clock.sleep(DETACH_MS, parts.signal);
      if (parts.signal.aborted || isUsed(volumeName, nodeName)) return undefined;
      try {
        await client.delete(VOLUME_ATTACHMENT, { name });
      } catch (error) {
        if (!isGone(error)) throw error;
      }
      attachments.removed(present);
      return undefined;
    },
  });

  const look = (pod: Pod | undefined): void => {
    if (!pod?.spec.nodeName || !pod.spec.volumes?.length) return;
    for (const { metadata } of volumesOf(pod)) loop.add(`${metadata.name}/${pod.spec.nodeName}`);
  };
  pods.subscribe((now, before) => look(now ?? before));
  // After a restart: what is attached may not be used any more.
  attachments.subscribe((now) => {
    const { nodeName, source } = now?.spec ?? {};
    if (nodeName && source?.persistentVolumeName) loop.add(`${source.persistentVolumeName}/${nodeName}`);
  });
  await Promise.all([claims.synced, volumes.synced, attachments.synced]);
  for (const pod of pods.list()) look(pod);
}

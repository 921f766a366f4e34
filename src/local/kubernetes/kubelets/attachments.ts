/** Attaches the CSI volumes of bound pods to their nodes, and detaches them when the last pod is gone. */

import { createHash } from 'node:crypto';
import {
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  type PersistentVolume,
  type PersistentVolumeClaim,
  POD,
  type Pod,
  VOLUME_ATTACHMENT,
  type VolumeAttachment,
} from '#api/objects';
import type { Cache } from '../../cache.ts';
import { isAnyConflict, isGone } from '../../client.ts';
import type { Parts } from '../../parts.ts';
import { type Loop, startLoop } from '../controllers/loop.ts';
import { nodeNameOf } from '../controllers/workloads/pods.ts';
import { isOver } from '../scheduler/cluster.ts';
import { claimUses } from '../scheduler/volumes.ts';

/** Time between the end of the last pod and the detachment of the volume. */
const DETACH_MS = 2_000;

const attachmentName = (volume: string, node: string): string =>
  `csi-${createHash('sha256').update(`${volume}/${node}`).digest('hex')}`;

/** Index of attachments by the name of their volume. */
const attachedVolume = ({ spec }: VolumeAttachment): string | undefined => spec.source?.persistentVolumeName;

/** Starts the loop. Its keys are `volume/node`. */
export async function startAttachments(parts: Parts): Promise<void> {
  await new Attachments(parts).start();
}

class Attachments {
  readonly #parts: Parts;
  readonly #pods: Cache<Pod>;
  readonly #claims: Cache<PersistentVolumeClaim>;
  readonly #volumes: Cache<PersistentVolume>;
  readonly #attachments: Cache<VolumeAttachment>;
  readonly #loop: Loop;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { caches } = parts;
    this.#pods = caches.of(POD);
    this.#claims = caches.of(PERSISTENT_VOLUME_CLAIM);
    this.#volumes = caches.of(PERSISTENT_VOLUME);
    this.#attachments = caches.of(VOLUME_ATTACHMENT);
    this.#loop = startLoop({
      ...parts,
      name: 'attachments',
      reconcile: (key) => this.#reconcile(key),
    });
  }

  async start(): Promise<void> {
    this.#pods.subscribe((now, before) => this.#look(now ?? before));
    // A claim can be deleted together with its pod. The pod's volumes can then no longer be determined.
    this.#claims.subscribe((now, before) => {
      if (now === undefined && before?.spec.volumeName) this.#lookWhereAttached(before.spec.volumeName);
    });
    // After a restart, attached volumes may no longer be in use.
    this.#attachments.subscribe((now) => {
      const { nodeName, source } = now?.spec ?? {};
      if (nodeName && source?.persistentVolumeName) this.#loop.add(`${source.persistentVolumeName}/${nodeName}`);
    });
    await Promise.all([this.#claims.synced, this.#volumes.synced, this.#attachments.synced]);
    for (const pod of this.#pods.list()) this.#look(pod);
  }

  #volumesOf(pod: Pod): readonly PersistentVolume[] {
    return claimUses(pod)
      .map(({ name }) => this.#claims.get({ namespace: pod.metadata.namespace, name })?.spec.volumeName)
      .map((name) => (name === undefined ? undefined : this.#volumes.get({ name })))
      .filter((volume) => volume !== undefined)
      .filter((volume) => volume.spec.csi !== undefined);
  }

  #isUsed(volume: string, node: string): boolean {
    return this.#pods
      .by(nodeNameOf, node)
      .some((pod) => !isOver(pod) && this.#volumesOf(pod).some(({ metadata }) => metadata.name === volume));
  }

  async #attach(volume: PersistentVolume, nodeName: string): Promise<void> {
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
      this.#attachments.wrote(await this.#parts.client.create(VOLUME_ATTACHMENT, attachment));
    } catch (error) {
      if (!isAnyConflict(error)) throw error;
    }
    await this.#parts.client.patch(
      VOLUME_ATTACHMENT,
      attachment.metadata,
      { status: { attached: true } },
      { subresource: 'status' },
    );
  }

  #look(pod: Pod | undefined): void {
    if (!pod?.spec.nodeName || !pod.spec.volumes?.length) return;
    for (const { metadata } of this.#volumesOf(pod)) this.#loop.add(`${metadata.name}/${pod.spec.nodeName}`);
  }

  #lookWhereAttached(volume: string): void {
    for (const { spec } of this.#attachments.by(attachedVolume, volume)) this.#loop.add(`${volume}/${spec.nodeName}`);
  }

  async #reconcile(key: string): Promise<void> {
    const slash = key.indexOf('/');
    const [volumeName, nodeName] = [key.slice(0, slash), key.slice(slash + 1)];
    const name = attachmentName(volumeName, nodeName);
    const present = this.#attachments.get({ name });
    const volume = this.#volumes.get({ name: volumeName });
    if (volume && this.#isUsed(volumeName, nodeName)) {
      if (!present) await this.#attach(volume, nodeName);
      return;
    }
    if (!present) return;
    await this.#parts.clock.sleep(DETACH_MS, this.#parts.signal);
    if (this.#parts.signal.aborted || this.#isUsed(volumeName, nodeName)) return;
    try {
      await this.#parts.client.delete(VOLUME_ATTACHMENT, { name });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    this.#attachments.removed(present);
  }
}

/** Finds the volumes that must be detached before a node's instance may be terminated. */
import type { PersistentVolumeClaim, Pod, VolumeAttachment } from '#api/objects';
import { isDrainable } from '../pods.ts';

interface AttachedVolumes {
  readonly attachments: readonly VolumeAttachment[];
  /** All pods bound to the node. */
  readonly pods: readonly Pod[];
  readonly claim: (ref: { readonly namespace: string; readonly name: string }) => PersistentVolumeClaim | undefined;
  readonly nowMs: number;
}

/**
 * Returns the attachments that a drain must wait for: attachments of persistent volumes, except for volumes of pods that are not
 * drained, because those pods use their volumes until the instance is gone.
 */
export function pendingAttachments({ attachments, pods, claim, nowMs }: AttachedVolumes): readonly VolumeAttachment[] {
  const kept = new Set(pods.filter((pod) => !isDrainable(pod, nowMs)).flatMap((pod) => volumesOf(pod, claim)));
  return attachments.filter(({ spec }) => {
    const volume = spec.source?.persistentVolumeName;
    return volume !== undefined && !kept.has(volume);
  });
}

/** Returns the names of the persistent volumes of a pod. Claims that do not exist or are not bound have no volume. */
export function volumesOf(pod: Pod, claim: AttachedVolumes['claim']): readonly string[] {
  const namespace = pod.metadata.namespace ?? '';
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    const generated = volume.ephemeral === undefined ? undefined : `${pod.metadata.name}-${volume.name}`;
    const name = volume.persistentVolumeClaim?.claimName ?? generated;
    const bound = name === undefined ? undefined : claim({ namespace, name })?.spec.volumeName;
    return bound ? [bound] : [];
  });
}

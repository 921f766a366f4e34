/** Binds a pod's unbound claims to volumes after its node is chosen, and before the pod is bound. */
import {
  type Node,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  type PersistentVolumeClaim,
  type Pod,
  SELECTED_NODE_ANNOTATION,
} from '#api/objects';
import type { Cache } from '../../cache.ts';
import type { Parts } from '../../parts.ts';
import { claimUses, satisfies, volumeReaches } from './volumes.ts';

const PATIENCE_MS = 600_000;
const LOOK_MS = 200;

function openClaims(pod: Pod, claims: Cache<PersistentVolumeClaim>): readonly PersistentVolumeClaim[] {
  const namespace = pod.metadata.namespace ?? '';
  return claimUses(pod)
    .map(({ name }) => claims.get({ namespace, name }))
    .filter((claim) => claim !== undefined)
    .filter((claim) => !claim.spec.volumeName);
}

/**
 * Reserves a free volume for each unbound claim, or requests one from the provisioner, and waits until all are bound.
 *
 * @throws Error if they are not bound after ten minutes
 */
export async function bindClaims(pod: Pod, node: Node, { client, caches, clock, signal }: Parts): Promise<void> {
  const claims = caches.of(PERSISTENT_VOLUME_CLAIM);
  const open = openClaims(pod, claims);
  if (open.length === 0) return;
  const taken = new Set<string>();
  for (const claim of open) {
    const free = caches
      .of(PERSISTENT_VOLUME)
      .list()
      .find((volume) => !taken.has(volume.metadata.name) && satisfies(volume, claim) && volumeReaches(volume, node));
    if (free) {
      taken.add(free.metadata.name);
      const { name, namespace, uid } = claim.metadata;
      const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid };
      await client.patch(PERSISTENT_VOLUME, free.metadata, {
        metadata: { resourceVersion: free.metadata.resourceVersion },
        spec: { claimRef },
      });
    } else if (claim.metadata.annotations?.[SELECTED_NODE_ANNOTATION] !== node.metadata.name) {
      const patch = { metadata: { annotations: { [SELECTED_NODE_ANNOTATION]: node.metadata.name } } };
      claims.wrote(await client.patch(PERSISTENT_VOLUME_CLAIM, claim.metadata, patch));
    }
  }
  const deadline = clock.now() + PATIENCE_MS;
  while (openClaims(pod, claims).length > 0) {
    if (signal.aborted || clock.now() > deadline) throw new Error('timed out waiting for the volumes to be bound');
    await clock.sleep(LOOK_MS, signal);
  }
}

/** ReplicaSets: as many active pods as wished. A pod that is being deleted does not count, so it is replaced at once. */
import { POD } from '../../../../api/kinds.ts';
import type { Pod } from '../../../../api/kubernetes.ts';
import { keyOf, refOf } from '../../../../kube/store.ts';
import { eventReporter, type Parts } from '../../../parts.ts';
import { startLoop } from '../loop.ts';
import { REPLICA_SETS, type Scaled } from './kinds.ts';
import {
  availableAt,
  controllerOf,
  createPod,
  deletePod,
  deletionOrder,
  isActive,
  isAvailable,
  isOwnedBy,
  isReady,
  podOf,
} from './pods.ts';
import { writeStatus } from './status.ts';

/** So many pods are created or deleted at once. */
const BURST = 50;

/** Calls `look` with the key of the owner whenever one of its pods changes. */
export function followPods(parts: Parts, ownerKind: string, look: (key: string) => void): void {
  const tell = (pod: Pod | undefined): void => {
    const owner = pod && controllerOf(pod);
    if (owner?.kind === ownerKind) look(keyOf({ namespace: pod?.metadata.namespace, name: owner.name }));
  };
  parts.caches.of(POD).subscribe((now, before) => tell(now ?? before));
}

/** The pods of an owner, by namespace and controller reference. */
export const podsOf = ({ caches }: Parts, owner: Scaled | Parameters<typeof isOwnedBy>[1]): readonly Pod[] =>
  caches
    .of(POD)
    .list()
    .filter((pod) => pod.metadata.namespace === owner.metadata.namespace && isOwnedBy(pod, owner));

export async function startReplicaSets(parts: Parts): Promise<void> {
  const { caches, clock } = parts;
  const sets = caches.of(REPLICA_SETS);
  const report = eventReporter('replicaset-controller', parts);

  const scale = async (set: Scaled, active: readonly Pod[]): Promise<boolean> => {
    const missing = (set.spec.replicas ?? 1) - active.length;
    if (missing > 0) {
      const count = Math.min(BURST, missing);
      await Promise.all(Array.from({ length: count }, () => createPod(parts, podOf(set.spec.template, set))));
      report(set, 'Normal', 'SuccessfulCreate', `Created ${count} pod${count === 1 ? '' : 's'}`);
      return missing > count;
    }
    if (missing < 0) {
      const extra = deletionOrder(active).slice(0, Math.min(BURST, -missing));
      await Promise.all(extra.map((pod) => deletePod(parts, pod)));
      report(set, 'Normal', 'SuccessfulDelete', `Deleted ${extra.length} pod${extra.length === 1 ? '' : 's'}`);
      return -missing > extra.length;
    }
    return false;
  };

  const loop = startLoop({
    ...parts,
    name: 'replicaset',
    async reconcile(key) {
      const set = sets.get(refOf(key));
      if (!set || set.metadata.deletionTimestamp) return undefined;
      const more = await scale(set, podsOf(parts, set).filter(isActive));
      const pods = podsOf(parts, set).filter(isActive);
      const now = clock.now();
      const least = set.spec.minReadySeconds ?? 0;
      await writeStatus(parts, REPLICA_SETS, set, {
        replicas: pods.length,
        fullyLabeledReplicas: pods.length,
        readyReplicas: pods.filter(isReady).length,
        availableReplicas: pods.filter((pod) => isAvailable(pod, now, least)).length,
        observedGeneration: set.metadata.generation ?? 1,
      });
      if (more) return 1;
      const soon = pods.map((pod) => (availableAt(pod, least) ?? 0) - now).filter((waitMs) => waitMs > 0);
      return soon.length > 0 ? Math.min(...soon) : undefined;
    },
  });
  sets.subscribe((now) => now && loop.add(keyOf(now.metadata)));
  await Promise.all([sets.synced, caches.of(POD).synced]);
  followPods(parts, 'ReplicaSet', (key) => loop.add(key));
}

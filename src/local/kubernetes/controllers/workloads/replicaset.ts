/**
 * ReplicaSets: keep the desired number of active pods. A pod that is being deleted does not count, and is replaced
 * immediately.
 */
import type { Pod } from '#api/objects';
import { controllerUid } from '../../../owner-references.ts';
import { eventReporter, type Parts } from '../../../parts.ts';
import { control } from './control.ts';
import { REPLICA_SETS, type Scaled } from './kinds.ts';
import { availableAt, createPod, deletePod, isAvailable, isPodActive, isPodReady, ownedPods, podOf } from './pods.ts';
import { scaleDownOrder } from './scale-down-order.ts';
import { writeStatus } from './status.ts';

/** Maximum number of pods that are created or deleted in one step. */
const BURST = 50;

export async function startReplicaSets(parts: Parts): Promise<void> {
  const { clock } = parts;
  const report = eventReporter('replicaset-controller', parts);

  /** Pods of all ReplicaSets of the same Deployment. */
  const related = (set: Scaled): readonly Pod[] => {
    const owner = controllerUid(set);
    return owner === undefined
      ? []
      : parts.caches
          .of(REPLICA_SETS)
          .by(controllerUid, owner)
          .flatMap((one) => ownedPods(parts, one));
  };

  const scale = async (set: Scaled, active: readonly Pod[]): Promise<boolean> => {
    const missing = (set.spec.replicas ?? 1) - active.length;
    if (missing > 0) {
      const count = Math.min(BURST, missing);
      await Promise.all(Array.from({ length: count }, () => createPod(parts, podOf(set.spec.template, set))));
      report(set, 'Normal', 'SuccessfulCreate', `Created ${count} pod${count === 1 ? '' : 's'}`);
      return missing > count;
    }
    if (missing < 0) {
      const order = scaleDownOrder(active, { related: related(set), now: clock.now() });
      const extra = order.slice(0, Math.min(BURST, -missing));
      await Promise.all(extra.map((pod) => deletePod(parts, pod)));
      report(set, 'Normal', 'SuccessfulDelete', `Deleted ${extra.length} pod${extra.length === 1 ? '' : 's'}`);
      return -missing > extra.length;
    }
    return false;
  };

  await control(parts, {
    kind: REPLICA_SETS,
    async reconcile(set) {
      const more = await scale(set, ownedPods(parts, set).filter(isPodActive));
      const pods = ownedPods(parts, set).filter(isPodActive);
      const now = clock.now();
      const least = set.spec.minReadySeconds ?? 0;
      await writeStatus(parts, REPLICA_SETS, set, {
        replicas: pods.length,
        fullyLabeledReplicas: pods.length,
        readyReplicas: pods.filter(isPodReady).length,
        availableReplicas: pods.filter((pod) => isAvailable(pod, now, least)).length,
        observedGeneration: set.metadata.generation ?? 1,
      });
      if (more) return 1;
      const soon = pods.map((pod) => (availableAt(pod, least) ?? 0) - now).filter((waitMs) => waitMs > 0);
      return soon.length > 0 ? Math.min(...soon) : undefined;
    },
  });
}

/** Deployments: one ReplicaSet per pod template, replaced step by step within maxSurge and maxUnavailable. */

import { type Condition, controllerOf, POD, type Pod } from '#api/objects';
import { keyOf } from '#kube/client';
import { timestamp } from '#lib';
import type { Cache } from '../../../cache.ts';
import { isAnyConflict } from '../../../client.ts';
import { withConditions } from '../../../conditions.ts';
import { controllerUid, isOwnedBy, ownerReference } from '../../../owner-references.ts';
import { eventReporter, type Parts, type Report } from '../../../parts.ts';
import { isOver } from '../../scheduler/cluster.ts';
import { control } from './control.ts';
import { DEPLOYMENTS, REPLICA_SETS, type Scaled } from './kinds.ts';
import { hashOf, ownedPods } from './pods.ts';
import { limitsOf, replicasOf, rolloutStep, type SetState, sizesAfterScaling } from './rollout.ts';
import { writeStatus } from './status.ts';

const HASH_LABEL = 'pod-template-hash';
const REVISION = 'deployment.kubernetes.io/revision';
/** Annotations with the Deployment's replicas and maximum number of pods when a ReplicaSet was last scaled. */
const DESIRED = 'deployment.kubernetes.io/desired-replicas';
const MOST = 'deployment.kubernetes.io/max-replicas';

export async function startDeployments(parts: Parts): Promise<void> {
  const deployments = new Deployments(parts);
  await control(parts, {
    kind: DEPLOYMENTS,
    owns: REPLICA_SETS,
    reads: [POD],
    also: (loop) =>
      parts.caches.of(POD).subscribe((now, before) => {
        const owner = now === undefined && before ? deployments.waitsForEndOf(before) : undefined;
        if (owner) loop.add(keyOf(owner.metadata));
      }),
    reconcile: (deployment) => deployments.reconcile(deployment),
  });
}

class Deployments {
  readonly #parts: Parts;
  readonly #sets: Cache<Scaled>;
  readonly #report: Report;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#sets = parts.caches.of(REPLICA_SETS);
    this.#report = eventReporter('deployment-controller', parts);
  }

  /** Returns the Deployment that starts new pods only when its old pods, such as this one, are gone. */
  waitsForEndOf(pod: Pod): Scaled | undefined {
    const { namespace } = pod.metadata;
    const set = this.#sets.get({ namespace, name: controllerOf(pod)?.name ?? '' });
    const owner = set && this.#parts.caches.of(DEPLOYMENTS).get({ namespace, name: controllerOf(set)?.name ?? '' });
    return owner?.spec.strategy?.type === 'Recreate' ? owner : undefined;
  }

  async #resize(deployment: Scaled, set: Scaled, replicas: number): Promise<void> {
    const before = replicasOf(set);
    const annotations = sizeAnnotations(deployment);
    const isNoted = replicas === 0 || set.metadata.annotations?.[DESIRED] === annotations[DESIRED];
    if (before === replicas && isNoted) return;
    this.#sets.wrote(
      await this.#parts.client.patch(REPLICA_SETS, set.metadata, { metadata: { annotations }, spec: { replicas } }),
    );
    if (before === replicas) return;
    const direction = replicas > before ? 'up' : 'down';
    const message = `Scaled ${direction} replica set ${set.metadata.name} from ${before} to ${replicas}`;
    this.#report(deployment, 'Normal', 'ScalingReplicaSet', message);
  }

  async #newSet(deployment: Scaled, hash: string, revision: number, replicas: number): Promise<Scaled> {
    const { template, selector, minReadySeconds } = deployment.spec;
    const labels = { ...template.metadata?.labels, [HASH_LABEL]: hash };
    const set: Scaled = {
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: {
        name: `${deployment.metadata.name}-${hash}`,
        namespace: deployment.metadata.namespace ?? 'default',
        labels,
        annotations: { [REVISION]: String(revision), ...sizeAnnotations(deployment) },
        ownerReferences: [ownerReference(deployment)],
      },
      spec: {
        replicas,
        ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
        selector: { ...selector, matchLabels: { ...selector?.matchLabels, [HASH_LABEL]: hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    };
    try {
      const made = await this.#parts.client.create(REPLICA_SETS, set);
      this.#sets.wrote(made);
      const message = `Scaled up replica set ${set.metadata.name} from 0 to ${replicas}`;
      if (replicas > 0) this.#report(deployment, 'Normal', 'ScalingReplicaSet', message);
      return made;
    } catch (error) {
      const present = isAnyConflict(error) ? await this.#parts.client.find(REPLICA_SETS, set.metadata) : undefined;
      if (!present || !isOwnedBy(present, deployment)) throw error;
      return present;
    }
  }

  /** Scales up the ReplicaSet of the current template, and scales down the old ReplicaSets. */
  async #rollOut(deployment: Scaled, owned: readonly Scaled[], hash: string): Promise<void> {
    const current = owned.find((set) => set.metadata.labels?.[HASH_LABEL] === hash);
    const old = owned.filter((set) => set !== current);
    const revisions = owned.map((set) => Number(set.metadata.annotations?.[REVISION] ?? 0));
    const latest = Math.max(0, ...revisions);
    const isPaused = deployment.spec.paused === true;
    if (isPaused || owned.some((set) => isOutgrown(deployment, set)))
      if ((await this.#scale(deployment, current, old)) || isPaused) return;
    const none = { replicas: 0, available: 0 };
    const step = rolloutStep(
      deployment,
      current ? this.#state(current) : none,
      old.map((set) => this.#state(set)),
    );
    if (!current) await this.#newSet(deployment, hash, latest + 1, step.fresh);
    else {
      if (Number(current.metadata.annotations?.[REVISION] ?? 0) < latest) {
        // A template that is used again becomes the newest revision.
        const annotations = { [REVISION]: String(latest + 1) };
        this.#sets.wrote(await this.#parts.client.patch(REPLICA_SETS, current.metadata, { metadata: { annotations } }));
      }
      await this.#resize(deployment, current, step.fresh);
    }
    for (const [index, set] of old.entries()) await this.#resize(deployment, set, step.old[index] ?? 0);
    await this.#forget(deployment, old);
  }

  /** Applies a change of the Deployment's replicas. Returns whether the size of a ReplicaSet has changed. */
  async #scale(deployment: Scaled, current: Scaled | undefined, old: readonly Scaled[]): Promise<boolean> {
    const sets = current ? [...old, current] : old;
    if (sets.length === 0) return false;
    const most = (set: Scaled): number | undefined => Number(set.metadata.annotations?.[MOST]) || undefined;
    const sizes = sizesAfterScaling(
      deployment,
      sets.map((set) => ({ replicas: replicasOf(set), most: most(set) })),
    );
    for (const [index, set] of sets.entries()) await this.#resize(deployment, set, sizes[index] ?? 0);
    return sets.some((set, index) => replicasOf(set) !== sizes[index]);
  }

  #state(set: Scaled): SetState {
    return {
      replicas: replicasOf(set),
      available: Math.min(set.status?.availableReplicas ?? 0, replicasOf(set)),
      pods: ownedPods(this.#parts, set).filter((pod) => !isOver(pod)).length,
    };
  }

  /** Deletes the oldest empty ReplicaSets beyond the history limit. */
  async #forget(deployment: Scaled, old: readonly Scaled[]): Promise<void> {
    const empty = old.filter((set) => replicasOf(set) === 0 && (set.status?.replicas ?? 0) === 0);
    const revision = (set: Scaled): number => Number(set.metadata.annotations?.[REVISION] ?? 0);
    const extra = empty
      .sort((a, b) => revision(a) - revision(b))
      .slice(0, -(deployment.spec.revisionHistoryLimit ?? 10));
    for (const set of extra) {
      await this.#parts.client.delete(REPLICA_SETS, set.metadata, { uid: set.metadata.uid });
      this.#sets.removed(set);
    }
  }

  #conditions(deployment: Scaled, counts: Counts): readonly Condition[] {
    const wished = replicasOf(deployment);
    const isAvailable = counts.available >= wished - limitsOf(deployment).unavailable;
    const isDone = counts.updated >= wished && counts.available >= wished && counts.all === counts.updated;
    const name = `ReplicaSet "${deployment.metadata.name}-${counts.hash}"`;
    return withConditions(
      deployment.status?.conditions,
      [
        isAvailable
          ? {
              type: 'Available',
              status: 'True',
              reason: 'MinimumReplicasAvailable',
              message: 'Deployment has minimum availability.',
            }
          : {
              type: 'Available',
              status: 'False',
              reason: 'MinimumReplicasUnavailable',
              message: 'Deployment does not have minimum availability.',
            },
        isDone
          ? {
              type: 'Progressing',
              status: 'True',
              reason: 'NewReplicaSetAvailable',
              message: `${name} has successfully progressed.`,
            }
          : { type: 'Progressing', status: 'True', reason: 'ReplicaSetUpdated', message: `${name} is progressing.` },
      ],
      timestamp(this.#parts.clock.now()),
    );
  }

  async reconcile(deployment: Scaled): Promise<void> {
    const owned = (): Scaled[] =>
      this.#sets.by(controllerUid, deployment.metadata.uid ?? '').filter((set) => !set.metadata.deletionTimestamp);
    const hash = hashOf(deployment.spec.template);
    await this.#rollOut(deployment, owned(), hash);
    const total = (pick: (set: Scaled) => number | undefined, of = owned()): number =>
      of.reduce((sum, set) => sum + (pick(set) ?? 0), 0);
    const current = owned().filter((set) => set.metadata.labels?.[HASH_LABEL] === hash);
    const counts: Counts = {
      hash,
      all: total((set) => set.status?.replicas),
      updated: total((set) => set.status?.replicas, current),
      available: total((set) => set.status?.availableReplicas),
    };
    await writeStatus(this.#parts, DEPLOYMENTS, deployment, {
      observedGeneration: deployment.metadata.generation ?? 1,
      replicas: counts.all,
      updatedReplicas: counts.updated,
      readyReplicas: total((set) => set.status?.readyReplicas),
      availableReplicas: counts.available,
      unavailableReplicas: Math.max(0, total(replicasOf) - counts.available),
      conditions: this.#conditions(deployment, counts),
    });
  }
}

const sizeAnnotations = (deployment: Scaled): Record<typeof DESIRED | typeof MOST, string> => ({
  [DESIRED]: String(replicasOf(deployment)),
  [MOST]: String(replicasOf(deployment) + limitsOf(deployment).surge),
});

/** Reports whether the Deployment's replicas have changed since the set was last scaled. */
function isOutgrown(deployment: Scaled, set: Scaled): boolean {
  const desired = set.metadata.annotations?.[DESIRED];
  return replicasOf(set) > 0 && desired !== undefined && Number(desired) !== replicasOf(deployment);
}

interface Counts {
  readonly hash: string;
  readonly all: number;
  readonly updated: number;
  readonly available: number;
}

/** Deployments: one ReplicaSet per pod template, replaced step by step within maxSurge and maxUnavailable. */

import type { Condition } from '../../../../api/kubernetes.ts';
import type { Clock } from '../../../../lib/clock.ts';
import { timestamp } from '../../../../lib/times.ts';
import type { Cache } from '../../../cache.ts';
import { isConflict, type ObjectClient } from '../../../client.ts';
import { withConditions } from '../../../conditions.ts';
import { eventReporter, type Parts, type Report } from '../../../parts.ts';
import { control } from './control.ts';
import { DEPLOYMENTS, REPLICA_SETS, type Scaled } from './kinds.ts';
import { controllerUid, hashOf, isOwnedBy, ownerReference } from './pods.ts';
import { writeStatus } from './status.ts';

const HASH_LABEL = 'pod-template-hash';
const REVISION = 'deployment.kubernetes.io/revision';

const replicasOf = (object: Scaled): number => object.spec.replicas ?? 1;

/** A count or a share of `total`. */
export function resolveCount(value: number | string | undefined, total: number, round: 'up' | 'down'): number {
  if (typeof value === 'number') return value;
  const share = (Number.parseFloat(value ?? '25%') / 100) * total;
  return round === 'up' ? Math.ceil(share) : Math.floor(share);
}

export interface Step {
  readonly fresh: number;
  /** Wished replicas of each old set, in the order given. */
  readonly old: readonly number[];
}

interface SetState {
  readonly replicas: number;
  readonly available: number;
}

/** The next step of a rollout: how large each ReplicaSet should be now. */
export function rolloutStep(deployment: Scaled, fresh: SetState, old: readonly SetState[]): Step {
  const wished = replicasOf(deployment);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  if (deployment.spec.strategy?.type === 'Recreate') {
    const left = sum(old.map(({ replicas, available }) => Math.max(replicas, available)));
    return { fresh: left > 0 ? fresh.replicas : wished, old: old.map(() => 0) };
  }
  const { maxSurge, maxUnavailable } = deployment.spec.strategy?.rollingUpdate ?? {};
  const surge = resolveCount(maxSurge, wished, 'up');
  const unavailable = resolveCount(maxUnavailable, wished, 'down') || (surge === 0 ? 1 : 0);
  const total = fresh.replicas + sum(old.map(({ replicas }) => replicas));
  const grow = Math.max(0, Math.min(wished - fresh.replicas, wished + surge - total));
  const next = fresh.replicas > wished ? wished : fresh.replicas + grow;

  const floor = wished - unavailable;
  const available = fresh.available + sum(old.map((set) => set.available));
  // Pods of the new set that are not ready yet count against what may go.
  let mayGo = total - floor - (fresh.replicas - fresh.available);
  if (mayGo <= 0) return { fresh: next, old: old.map(({ replicas }) => replicas) };
  // Old pods that are not available go first: nobody misses them.
  const healthy = old.map((set) => {
    const cut = Math.min(mayGo, Math.max(0, set.replicas - set.available));
    mayGo -= cut;
    return set.replicas - cut;
  });
  let spare = Math.max(0, available - floor);
  const shrunk = healthy.map((replicas) => {
    const cut = Math.min(replicas, spare);
    spare -= cut;
    return replicas - cut;
  });
  return { fresh: next, old: shrunk };
}

export async function startDeployments(parts: Parts): Promise<void> {
  const deployments = new Deployments(parts);
  await control(parts, {
    kind: DEPLOYMENTS,
    owns: REPLICA_SETS,
    reconcile: (deployment) => deployments.reconcile(deployment),
  });
}

class Deployments {
  readonly #parts: Parts;
  readonly #client: ObjectClient;
  readonly #clock: Clock;
  readonly #sets: Cache<Scaled>;
  readonly #report: Report;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#client = parts.client;
    this.#clock = parts.clock;
    this.#sets = parts.caches.of(REPLICA_SETS);
    this.#report = eventReporter('deployment-controller', parts);
  }

  async #resize(deployment: Scaled, set: Scaled, replicas: number): Promise<void> {
    const before = replicasOf(set);
    if (before === replicas) return;
    this.#sets.wrote(await this.#client.patch(REPLICA_SETS, set.metadata, { spec: { replicas } }));
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
        annotations: { [REVISION]: String(revision) },
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
      const made = await this.#client.create(REPLICA_SETS, set);
      this.#sets.wrote(made);
      const message = `Scaled up replica set ${set.metadata.name} from 0 to ${replicas}`;
      if (replicas > 0) this.#report(deployment, 'Normal', 'ScalingReplicaSet', message);
      return made;
    } catch (error) {
      const present = isConflict(error) ? await this.#client.find(REPLICA_SETS, set.metadata) : undefined;
      if (!present || !isOwnedBy(present, deployment)) throw error;
      return present;
    }
  }

  /** Brings the template's own ReplicaSet to life and moves the replicas over to it. */
  async #rollOut(deployment: Scaled, owned: readonly Scaled[], hash: string): Promise<void> {
    const current = owned.find((set) => set.metadata.labels?.[HASH_LABEL] === hash);
    const old = owned.filter((set) => set !== current);
    const revisions = owned.map((set) => Number(set.metadata.annotations?.[REVISION] ?? 0));
    const latest = Math.max(0, ...revisions);
    const paused = deployment.spec.paused === true;
    const step = rolloutStep(deployment, current ? state(current) : { replicas: 0, available: 0 }, old.map(state));
    if (!current) {
      if (!paused) await this.#newSet(deployment, hash, latest + 1, step.fresh);
    } else {
      if (Number(current.metadata.annotations?.[REVISION] ?? 0) < latest) {
        // A template that comes back is the newest revision again.
        const annotations = { [REVISION]: String(latest + 1) };
        this.#sets.wrote(await this.#client.patch(REPLICA_SETS, current.metadata, { metadata: { annotations } }));
      }
      await this.#resize(deployment, current, step.fresh);
    }
    if (paused) return;
    for (const [index, set] of old.entries()) await this.#resize(deployment, set, step.old[index] ?? 0);
    await this.#forget(deployment, old);
  }

  /** Deletes the oldest empty ReplicaSets beyond the history limit. */
  async #forget(deployment: Scaled, old: readonly Scaled[]): Promise<void> {
    const empty = old.filter((set) => replicasOf(set) === 0 && (set.status?.replicas ?? 0) === 0);
    const revision = (set: Scaled): number => Number(set.metadata.annotations?.[REVISION] ?? 0);
    const extra = empty
      .sort((a, b) => revision(a) - revision(b))
      .slice(0, -(deployment.spec.revisionHistoryLimit ?? 10));
    for (const set of extra) {
      await this.#client.delete(REPLICA_SETS, set.metadata, { uid: set.metadata.uid });
      this.#sets.removed(set);
    }
  }

  #conditions(deployment: Scaled, counts: Counts): readonly Condition[] {
    const wished = replicasOf(deployment);
    const { maxSurge, maxUnavailable } = deployment.spec.strategy?.rollingUpdate ?? {};
    const surge = resolveCount(maxSurge, wished, 'up');
    const spare = resolveCount(maxUnavailable, wished, 'down') || (surge === 0 ? 1 : 0);
    const isAvailable = counts.available >= wished - spare;
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
      timestamp(this.#clock.now()),
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

function state(set: Scaled): SetState {
  return {
    replicas: replicasOf(set),
    available: Math.min(set.status?.availableReplicas ?? 0, replicasOf(set)),
  };
}

interface Counts {
  readonly hash: string;
  readonly all: number;
  readonly updated: number;
  readonly available: number;
}

/**
 * StatefulSets: pods with ordinal names, which start in order and terminate in reverse order, each with its own claims.
 */

import { PERSISTENT_VOLUME_CLAIM, type Pod } from '#api/objects';
import { isAnyConflict } from '../../../client.ts';
import { eventReporter, type Parts, type Report } from '../../../parts.ts';
import { isOver } from '../../scheduler/cluster.ts';
import { control } from './control.ts';
import { type Scaled, STATEFUL_SETS } from './kinds.ts';
import { createPod, deletePod, hashOf, isAvailable, isPodReady, ownedPods, podOf } from './pods.ts';
import { writeStatus } from './status.ts';

const REVISION_LABEL = 'controller-revision-hash';

const ordinalOf = (pod: Pod): number => Number(/-(\d+)$/.exec(pod.metadata.name)?.[1] ?? -1);

/** Returns the pod of an ordinal. Its hostname and the names of its claims are derived from its name. */
function memberOf(set: Scaled, ordinal: number, revision: string): Pod {
  const name = `${set.metadata.name}-${ordinal}`;
  const pod = podOf(set.spec.template, set, { name });
  const templates = set.spec.volumeClaimTemplates ?? [];
  const own = new Set(templates.map((template) => template.metadata.name));
  const volumes = [
    ...(pod.spec.volumes ?? []).filter((volume) => !own.has(volume.name)),
    ...templates.map(({ metadata }) => ({
      name: metadata.name,
      persistentVolumeClaim: { claimName: `${metadata.name}-${name}` },
    })),
  ];
  const labels = {
    ...pod.metadata.labels,
    'statefulset.kubernetes.io/pod-name': name,
    'apps.kubernetes.io/pod-index': String(ordinal),
    [REVISION_LABEL]: revision,
  };
  const hosted = { hostname: name, ...(set.spec.serviceName ? { subdomain: set.spec.serviceName } : {}) };
  return { ...pod, metadata: { ...pod.metadata, labels }, spec: { ...pod.spec, ...hosted, volumes } };
}

export async function startStatefulSets(parts: Parts): Promise<void> {
  const sets = new StatefulSets(parts);
  await control(parts, { kind: STATEFUL_SETS, reconcile: (set) => sets.reconcile(set) });
}

/** Pods by ordinal. */
type Members = ReadonlyMap<number, Pod>;

class StatefulSets {
  readonly #parts: Parts;
  readonly #report: Report;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#report = eventReporter('statefulset-controller', parts);
  }

  async #createClaims(set: Scaled, pod: Pod): Promise<void> {
    for (const template of set.spec.volumeClaimTemplates ?? []) {
      const metadata = {
        ...template.metadata,
        name: `${template.metadata.name}-${pod.metadata.name}`,
        namespace: set.metadata.namespace ?? 'default',
      };
      const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: template.spec };
      try {
        await this.#parts.client.create(PERSISTENT_VOLUME_CLAIM, claim);
      } catch (error) {
        // A claim outlives its pod and is reused.
        if (!isAnyConflict(error)) throw error;
      }
    }
  }

  async #startMember(set: Scaled, ordinal: number, revision: string): Promise<void> {
    const pod = memberOf(set, ordinal, revision);
    await this.#createClaims(set, pod);
    await createPod(this.#parts, pod);
    const message = `create Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} successful`;
    this.#report(set, 'Normal', 'SuccessfulCreate', message);
  }

  /** Creates missing pods one after another. Returns whether all members are ready. */
  async #fill(set: Scaled, members: Members, revision: string): Promise<boolean> {
    let allUp = true;
    for (let ordinal = 0; ordinal < (set.spec.replicas ?? 1); ordinal += 1) {
      const pod = members.get(ordinal);
      if (!pod) await this.#startMember(set, ordinal, revision);
      else if (isOver(pod) && !pod.metadata.deletionTimestamp) await deletePod(this.#parts, pod);
      // A terminating member keeps its name until it is gone, so that its successor has to wait.
      const isUp = pod !== undefined && isPodReady(pod) && !pod.metadata.deletionTimestamp;
      allUp &&= isUp;
      if (!isUp && set.spec.podManagementPolicy !== 'Parallel') return false;
    }
    return allUp;
  }

  /** Deletes members beyond the desired number, then members with an old template, highest ordinal first. */
  async #trim(set: Scaled, members: Members, revision: string, mayUpdate: boolean): Promise<void> {
    const wished = set.spec.replicas ?? 1;
    const isStale = (pod: Pod): boolean => mayUpdate && pod.metadata.labels?.[REVISION_LABEL] !== revision;
    const leaving = [...members.values()]
      .filter((pod) => ordinalOf(pod) >= wished || isStale(pod))
      .sort((a, b) => ordinalOf(b) - ordinalOf(a));
    const now = set.spec.podManagementPolicy === 'Parallel' ? leaving : leaving.slice(0, 1);
    for (const pod of now) if (!pod.metadata.deletionTimestamp) await deletePod(this.#parts, pod);
  }

  async #step(set: Scaled, revision: string): Promise<void> {
    const members = new Map(ownedPods(this.#parts, set).map((pod) => [ordinalOf(pod), pod]));
    const allUp = await this.#fill(set, members, revision);
    if (allUp || set.spec.podManagementPolicy === 'Parallel') await this.#trim(set, members, revision, allUp);
  }

  async reconcile(set: Scaled): Promise<void> {
    const revision = `${set.metadata.name}-${hashOf(set.spec.template)}`;
    await this.#step(set, revision);
    const pods = ownedPods(this.#parts, set).filter((pod) => !isOver(pod));
    const updated = pods.filter((pod) => pod.metadata.labels?.[REVISION_LABEL] === revision);
    const now = this.#parts.clock.now();
    const isDone = updated.length === pods.length;
    await writeStatus(this.#parts, STATEFUL_SETS, set, {
      replicas: pods.length,
      readyReplicas: pods.filter(isPodReady).length,
      availableReplicas: pods.filter((pod) => isAvailable(pod, now, set.spec.minReadySeconds)).length,
      updatedReplicas: updated.length,
      currentReplicas: isDone ? pods.length : pods.length - updated.length,
      updateRevision: revision,
      ...(isDone ? { currentRevision: revision } : {}),
      observedGeneration: set.metadata.generation ?? 1,
    });
  }
}

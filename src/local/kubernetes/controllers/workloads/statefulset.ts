/** StatefulSets: pods with ordinal names, started in order and ended in reverse, each with claims of its own. */
import { PERSISTENT_VOLUME_CLAIM, POD } from '../../../../api/kinds.ts';
import type { Pod } from '../../../../api/kubernetes.ts';
import { keyOf, refOf } from '../../../../kube/store.ts';
import { isConflict } from '../../../client.ts';
import { eventReporter, type Parts } from '../../../parts.ts';
import { isOver } from '../../scheduler/cluster.ts';
import { startLoop } from '../loop.ts';
import { type Scaled, STATEFUL_SETS } from './kinds.ts';
import { createPod, deletePod, hashOf, isAvailable, isReady, podOf } from './pods.ts';
import { followPods, podsOf } from './replicaset.ts';
import { writeStatus } from './status.ts';

const REVISION_LABEL = 'controller-revision-hash';

const ordinalOf = (pod: Pod): number => Number(/-(\d+)$/.exec(pod.metadata.name)?.[1] ?? -1);

/** The pod of an ordinal: its name is its hostname, its claims are named after it. */
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
  const { client, caches, clock } = parts;
  const sets = caches.of(STATEFUL_SETS);
  const report = eventReporter('statefulset-controller', parts);

  const createClaims = async (set: Scaled, pod: Pod): Promise<void> => {
    for (const template of set.spec.volumeClaimTemplates ?? []) {
      const metadata = {
        ...template.metadata,
        name: `${template.metadata.name}-${pod.metadata.name}`,
        namespace: set.metadata.namespace ?? 'default',
      };
      const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec: template.spec };
      try {
        await client.create(PERSISTENT_VOLUME_CLAIM, claim);
      } catch (error) {
        // A claim outlives its pod and is used again.
        if (!isConflict(error)) throw error;
      }
    }
  };

  const start = async (set: Scaled, ordinal: number, revision: string): Promise<void> => {
    const pod = memberOf(set, ordinal, revision);
    await createClaims(set, pod);
    await createPod(parts, pod);
    const message = `create Pod ${pod.metadata.name} in StatefulSet ${set.metadata.name} successful`;
    report(set, 'Normal', 'SuccessfulCreate', message);
  };

  type Members = ReadonlyMap<number, Pod>;

  /** Starts what is missing; in turn, one by one. Answers whether all members are up. */
  const fill = async (set: Scaled, members: Members, revision: string): Promise<boolean> => {
    let allUp = true;
    for (let ordinal = 0; ordinal < (set.spec.replicas ?? 1); ordinal += 1) {
      const pod = members.get(ordinal);
      if (!pod) await start(set, ordinal, revision);
      else if (isOver(pod) && !pod.metadata.deletionTimestamp) await deletePod(parts, pod);
      // A member that is leaving keeps its name until it is gone, so its successor has to wait.
      const isUp = pod !== undefined && isReady(pod) && !pod.metadata.deletionTimestamp;
      allUp &&= isUp;
      if (!isUp && set.spec.podManagementPolicy !== 'Parallel') return false;
    }
    return allUp;
  };

  /** Ends members beyond the wished number, then those of an old template, the highest first. */
  const trim = async (set: Scaled, members: Members, revision: string, mayUpdate: boolean): Promise<void> => {
    const wished = set.spec.replicas ?? 1;
    const isStale = (pod: Pod): boolean => mayUpdate && pod.metadata.labels?.[REVISION_LABEL] !== revision;
    const leaving = [...members.values()]
      .filter((pod) => ordinalOf(pod) >= wished || isStale(pod))
      .sort((a, b) => ordinalOf(b) - ordinalOf(a));
    const now = set.spec.podManagementPolicy === 'Parallel' ? leaving : leaving.slice(0, 1);
    for (const pod of now) if (!pod.metadata.deletionTimestamp) await deletePod(parts, pod);
  };

  const step = async (set: Scaled, revision: string): Promise<void> => {
    const members = new Map(podsOf(parts, set).map((pod) => [ordinalOf(pod), pod]));
    const allUp = await fill(set, members, revision);
    if (allUp || set.spec.podManagementPolicy === 'Parallel') await trim(set, members, revision, allUp);
  };

  const loop = startLoop({
    ...parts,
    name: 'statefulset',
    async reconcile(key) {
      const set = sets.get(refOf(key));
      if (!set || set.metadata.deletionTimestamp) return;
      const revision = `${set.metadata.name}-${hashOf(set.spec.template)}`;
      await step(set, revision);
      const pods = podsOf(parts, set).filter((pod) => !isOver(pod));
      const updated = pods.filter((pod) => pod.metadata.labels?.[REVISION_LABEL] === revision);
      const now = clock.now();
      const isDone = updated.length === pods.length;
      await writeStatus(parts, STATEFUL_SETS, set, {
        replicas: pods.length,
        readyReplicas: pods.filter(isReady).length,
        availableReplicas: pods.filter((pod) => isAvailable(pod, now, set.spec.minReadySeconds)).length,
        updatedReplicas: updated.length,
        currentReplicas: isDone ? pods.length : pods.length - updated.length,
        updateRevision: revision,
        ...(isDone ? { currentRevision: revision } : {}),
        observedGeneration: set.metadata.generation ?? 1,
      });
    },
  });
  sets.subscribe((now) => now && loop.add(keyOf(now.metadata)));
  await Promise.all([sets.synced, caches.of(POD).synced]);
  followPods(parts, 'StatefulSet', (key) => loop.add(key));
}

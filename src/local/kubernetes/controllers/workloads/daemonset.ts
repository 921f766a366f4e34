/** DaemonSets: one pod on every node that its selector, affinity and tolerations allow, pinned there by name. */

import { DAEMON_SET, NODE } from '../../../../api/kinds.ts';
import type { DaemonSet, Node, Pod, PodSpec, Taint, Toleration } from '../../../../api/kubernetes.ts';
import type { Clock } from '../../../../kube/clock.ts';
import { keyOf } from '../../../../kube/store.ts';
import type { Cache } from '../../../cache.ts';
import { eventReporter, type Parts, type Report } from '../../../parts.ts';
import { sameJson } from '../../../same-json.ts';
import { isOver } from '../../scheduler/cluster.ts';
import { matchesNodeSelection } from '../../scheduler/selectors.ts';
import { untolerated } from '../../scheduler/taints.ts';
import type { Loop } from '../loop.ts';
import { control } from './control.ts';
import { createPod, deletePod, hashOf, isAvailable, isReady, podOf, podsOf } from './pods.ts';
import { writeStatus } from './status.ts';

const REVISION_LABEL = 'controller-revision-hash';

const exists = (key: string, effect: Taint['effect']): Toleration => ({ key, operator: 'Exists', effect });

/** What every DaemonSet pod tolerates. */
const TOLERATIONS: readonly Toleration[] = [
  exists('node.kubernetes.io/not-ready', 'NoExecute'),
  exists('node.kubernetes.io/unreachable', 'NoExecute'),
  exists('node.kubernetes.io/disk-pressure', 'NoSchedule'),
  exists('node.kubernetes.io/memory-pressure', 'NoSchedule'),
  exists('node.kubernetes.io/pid-pressure', 'NoSchedule'),
  exists('node.kubernetes.io/unschedulable', 'NoSchedule'),
];
const HOST_NETWORK = exists('node.kubernetes.io/network-unavailable', 'NoSchedule');

export function tolerationsOf({ tolerations = [], hostNetwork }: PodSpec): readonly Toleration[] {
  return [...tolerations, ...TOLERATIONS, ...(hostNetwork ? [HOST_NETWORK] : [])];
}

/** Whether a pod of the DaemonSet belongs on the node, and whether one that runs there may stay. */
export function belongs(set: DaemonSet, node: Node): { readonly run: boolean; readonly stay: boolean } {
  const spec = set.spec.template.spec;
  const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: '' }, spec };
  if (!matchesNodeSelection(pod, node)) return { run: false, stay: false };
  const tolerations = tolerationsOf(spec);
  return {
    run: !untolerated(node.spec?.taints, tolerations, ['NoSchedule', 'NoExecute']),
    stay: !untolerated(node.spec?.taints, tolerations, ['NoExecute']),
  };
}

/** The pod for one node: required node affinity by the node's name replaces the terms that chose the node. */
export function podFor(set: DaemonSet, node: Node, revision: string): Pod {
  const pod = podOf(set.spec.template, set);
  const field = { key: 'metadata.name', operator: 'In', values: [node.metadata.name] } as const;
  const { affinity } = pod.spec;
  return {
    ...pod,
    metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, [REVISION_LABEL]: revision } },
    spec: {
      ...pod.spec,
      tolerations: tolerationsOf(pod.spec),
      affinity: {
        ...affinity,
        nodeAffinity: {
          ...affinity?.nodeAffinity,
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [field] }] },
        },
      },
    },
  };
}

/** The node that a daemon pod runs on or is pinned to. */
function nodeOf(pod: Pod): string {
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return pod.spec.nodeName ?? required?.nodeSelectorTerms[0]?.matchFields?.[0]?.values?.[0] ?? '';
}

export async function startDaemonSets(parts: Parts): Promise<void> {
  const sets = new DaemonSets(parts);
  await control(parts, {
    kind: DAEMON_SET,
    reads: [NODE],
    also: (loop) => sets.followNodes(loop),
    reconcile: (set) => sets.reconcile(set),
  });
}

class DaemonSets {
  readonly #parts: Parts;
  readonly #clock: Clock;
  readonly #sets: Cache<DaemonSet>;
  readonly #nodes: Cache<Node>;
  readonly #report: Report;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#clock = parts.clock;
    this.#sets = parts.caches.of(DAEMON_SET);
    this.#nodes = parts.caches.of(NODE);
    this.#report = eventReporter('daemonset-controller', parts);
  }

  followNodes(loop: Loop): void {
    this.#nodes.subscribe((now, before) => {
      if (matters(now, before)) for (const set of this.#sets.list()) loop.add(keyOf(set.metadata));
    });
  }

  /** What to delete and where to create, so that every node that should has exactly one pod. */
  #difference(set: DaemonSet, revision: string): { leaving: Pod[]; missing: Node[] } {
    const leaving: Pod[] = [];
    const missing: Node[] = [];
    const byNode = Map.groupBy(podsOf(this.#parts, set), nodeOf);
    // One pod of an old template leaves at a time, as maxUnavailable 1 has it.
    let mayReplace = podsOf(this.#parts, set).every((pod) => isReady(pod) && !pod.metadata.deletionTimestamp);
    for (const node of this.#nodes.list()) {
      const present = byNode.get(node.metadata.name) ?? [];
      byNode.delete(node.metadata.name);
      const { run, stay } = belongs(set, node);
      const alive = present.filter((pod) => !pod.metadata.deletionTimestamp);
      const ended = alive.filter(isOver);
      const [first, ...doubles] = alive.filter((pod) => !isOver(pod));
      leaving.push(...ended, ...doubles);
      if (first && !stay) leaving.push(first);
      else if (first && mayReplace && first.metadata.labels?.[REVISION_LABEL] !== revision) {
        mayReplace = false;
        leaving.push(first);
      }
      if (run && present.length === 0) missing.push(node);
    }
    for (const orphans of byNode.values()) leaving.push(...orphans.filter((pod) => !pod.metadata.deletionTimestamp));
    return { leaving, missing };
  }

  async reconcile(set: DaemonSet): Promise<void> {
    const revision = hashOf(set.spec.template);
    const { leaving, missing } = this.#difference(set, revision);
    await Promise.all(leaving.map((pod) => deletePod(this.#parts, pod)));
    await Promise.all(missing.map((node) => createPod(this.#parts, podFor(set, node, revision))));
    if (missing.length > 0) this.#report(set, 'Normal', 'SuccessfulCreate', `Created ${missing.length} pods`);

    const now = this.#clock.now();
    const wanted = new Set(this.#nodes.list().flatMap((node) => (belongs(set, node).run ? [node.metadata.name] : [])));
    const pods = podsOf(this.#parts, set).filter((pod) => !pod.metadata.deletionTimestamp && !isOver(pod));
    const placed = pods.filter((pod) => wanted.has(nodeOf(pod)));
    const available = placed.filter((pod) => isAvailable(pod, now)).length;
    await writeStatus(this.#parts, DAEMON_SET, set, {
      desiredNumberScheduled: wanted.size,
      currentNumberScheduled: placed.length,
      numberMisscheduled: pods.length - placed.length,
      numberReady: placed.filter(isReady).length,
      numberAvailable: available,
      numberUnavailable: wanted.size - available,
      updatedNumberScheduled: placed.filter((pod) => pod.metadata.labels?.[REVISION_LABEL] === revision).length,
      observedGeneration: set.metadata.generation ?? 1,
    });
  }
}

/** Whether what decides on daemon pods has changed of a node. */
const matters = (now: Node | undefined, before: Node | undefined): boolean =>
  !sameJson(now?.metadata.labels, before?.metadata.labels) || !sameJson(now?.spec, before?.spec);

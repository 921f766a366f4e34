/**
 * DaemonSets: one pod on every node that its selector, affinity and tolerations allow. Pods are pinned to nodes by
 * name.
 */
import { DAEMON_SET, type DaemonSet, NODE, type Node, POD, type Pod } from '#api/objects';
import { keyOf } from '#kube/client';
import { sameJson } from '#lib';
import type { Cache } from '../../../cache.ts';
import { controllerUid } from '../../../owner-references.ts';
import { eventReporter, type Parts, type Report } from '../../../parts.ts';
import type { Loop } from '../loop.ts';
import { control } from './control.ts';
import { Coverage } from './daemon-coverage.ts';
import { nodeOfDaemon, podFor } from './daemon-pods.ts';
import { createPod, deletePod, hashOf } from './pods.ts';
import { writeStatus } from './status.ts';

export async function startDaemonSets(parts: Parts): Promise<void> {
  const sets = new DaemonSets(parts);
  await control(parts, {
    kind: DAEMON_SET,
    reads: [NODE],
    also: (loop) => sets.follow(loop),
    reconcile: (set) => sets.reconcile(set),
  });
}

class DaemonSets {
  readonly #parts: Parts;
  readonly #sets: Cache<DaemonSet>;
  readonly #nodes: Cache<Node>;
  readonly #pods: Cache<Pod>;
  /** By the UID of the DaemonSet. */
  readonly #coverage = new Map<string, Coverage>();
  /** Position of each node in the evaluation order. */
  readonly #places = new Map<string, number>();
  readonly #report: Report;
  #arrived = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#sets = parts.caches.of(DAEMON_SET);
    this.#nodes = parts.caches.of(NODE);
    this.#pods = parts.caches.of(POD);
    this.#report = eventReporter('daemonset-controller', parts);
  }

  /** Records changes, and schedules the DaemonSets with changed nodes. */
  follow(loop: Loop): void {
    this.#sets.subscribe((now, before) => {
      if (now === undefined && before !== undefined) this.#coverage.delete(before.metadata.uid ?? '');
    });
    this.#pods.subscribe((now, before) => {
      for (const pod of [now, before])
        if (pod !== undefined) this.#coverage.get(controllerUid(pod) ?? '')?.changed(nodeOfDaemon(pod));
    });
    this.#nodes.subscribe((now, before) => {
      const name = (now ?? before)?.metadata.name ?? '';
      if (now === undefined) this.#places.delete(name);
      else if (!this.#places.has(name)) this.#places.set(name, ++this.#arrived);
      if (!matters(now, before)) return;
      for (const coverage of this.#coverage.values()) coverage.changed(name);
      for (const set of this.#sets.list()) loop.add(keyOf(set.metadata));
    });
  }

  async reconcile(set: DaemonSet): Promise<void> {
    const revision = hashOf(set.spec.template);
    const coverage = this.#coverageOf(set, revision);
    const changed = this.#inOrder(coverage.take());
    const { leaving, missing } = coverage.difference(changed);
    try {
      await Promise.all(leaving.map((pod) => deletePod(this.#parts, pod)));
      await Promise.all(missing.map((node) => createPod(this.#parts, podFor(set, node, revision))));
    } catch (error) {
      for (const name of changed) coverage.changed(name);
      throw error;
    }
    if (missing.length > 0) this.#report(set, 'Normal', 'SuccessfulCreate', `Created ${missing.length} pods`);
    const observedGeneration = set.metadata.generation ?? 1;
    await writeStatus(this.#parts, DAEMON_SET, set, { ...coverage.status(), observedGeneration });
  }

  /** Returns the state of a DaemonSet's nodes. After a change of the template, all nodes are marked as changed. */
  #coverageOf(set: DaemonSet, revision: string): Coverage {
    const uid = set.metadata.uid ?? '';
    const known = this.#coverage.get(uid);
    if (known?.revision === revision) return known;
    const coverage = new Coverage({ set, revision, nodes: this.#nodes, pods: this.#pods });
    this.#coverage.set(uid, coverage);
    return coverage;
  }

  /** Sorts names in the order of the cache. Deleted nodes come last. */
  #inOrder(names: Iterable<string>): readonly string[] {
    const placeOf = (name: string): number => this.#places.get(name) ?? Number.POSITIVE_INFINITY;
    return [...names].sort((one, other) => {
      const [a, b] = [placeOf(one), placeOf(other)];
      return a === b ? 0 : a - b;
    });
  }
}

/** Reports whether a node changed in a way that affects daemon pods. */
const matters = (now: Node | undefined, before: Node | undefined): boolean =>
  !sameJson(now?.metadata.labels, before?.metadata.labels) || !sameJson(now?.spec, before?.spec);

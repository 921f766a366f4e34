/**
 * Nodes on which a DaemonSet should run and does run. The state is kept per node, because most changes concern one
 * node.
 */
import { controllerOf, type DaemonSet, type Node, type Pod } from '#api/objects';
import type { Cache } from '../../../cache.ts';
import { isOver } from '../../scheduler/cluster.ts';
import { belongs, nodeOfDaemon, REVISION_LABEL } from './daemon-pods.ts';
import { isPodReady } from './pods.ts';

/** Contribution of one node to the status. */
interface Tally {
  readonly wanted: number;
  readonly placed: number;
  readonly misplaced: number;
  readonly ready: number;
  readonly updated: number;
  /** Pods that are starting or terminating. */
  readonly unsettled: number;
}

const NOTHING: Tally = { wanted: 0, placed: 0, misplaced: 0, ready: 0, updated: 0, unsettled: 0 };

const combineTallies = (one: Tally, other: Tally, sign: 1 | -1): Tally => ({
  wanted: one.wanted + sign * other.wanted,
  placed: one.placed + sign * other.placed,
  misplaced: one.misplaced + sign * other.misplaced,
  ready: one.ready + sign * other.ready,
  updated: one.updated + sign * other.updated,
  unsettled: one.unsettled + sign * other.unsettled,
});

/** Index of pods by their DaemonSet and the node to which they are bound or pinned. */
const daemonPlace = (pod: Pod): string | undefined => {
  const owner = controllerOf(pod);
  return owner?.kind === 'DaemonSet' ? placeOf(owner.uid, nodeOfDaemon(pod)) : undefined;
};

const placeOf = (uid: string, node: string): string => `${uid}/${node}`;

const isLeaving = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

export interface CoverageOptions {
  readonly set: DaemonSet;
  /** Revision of the pod template. */
  readonly revision: string;
  readonly nodes: Cache<Node>;
  readonly pods: Cache<Pod>;
}

export class Coverage {
  readonly revision: string;
  readonly #set: DaemonSet;
  readonly #nodes: Cache<Node>;
  readonly #pods: Cache<Pod>;
  /** Names of nodes that have changed, or whose pods have changed, since they were evaluated. */
  readonly #changed = new Set<string>();
  readonly #tallies = new Map<string, Tally>();
  /** Nodes with a pod of an earlier template. */
  readonly #outdated = new Set<string>();
  #sum = NOTHING;

  constructor({ set, revision, nodes, pods }: CoverageOptions) {
    this.#set = set;
    this.revision = revision;
    this.#nodes = nodes;
    this.#pods = pods;
    for (const { metadata } of nodes.list()) this.#changed.add(metadata.name);
    for (const pod of pods.list())
      if (controllerOf(pod)?.uid === set.metadata.uid) this.#changed.add(nodeOfDaemon(pod));
  }

  /** Marks a node as changed. */
  changed(node: string): void {
    this.#changed.add(node);
  }

  /** Returns the changed nodes, and clears the marks. */
  take(): ReadonlySet<string> {
    this.#count();
    const taken = new Set(this.#changed);
    this.#changed.clear();
    // Replaces one outdated pod at a time, as with maxUnavailable 1.
    if (this.#sum.unsettled === 0) for (const name of this.#outdated) taken.add(name);
    return taken;
  }

  /** Returns the pods to delete and the nodes that need a pod, so that each matching node has exactly one pod. */
  difference(names: readonly string[]): { leaving: Pod[]; missing: Node[] } {
    const leaving: Pod[] = [];
    const missing: Node[] = [];
    let mayReplace = this.#sum.unsettled === 0;
    for (const name of names) {
      const present = this.#podsOn(name);
      const alive = present.filter((pod) => !isLeaving(pod));
      const node = this.#nodes.get({ name });
      if (node === undefined) {
        leaving.push(...alive);
        continue;
      }
      const { run, stay } = belongs(this.#set, node);
      const ended = alive.filter(isOver);
      const [first, ...doubles] = alive.filter((pod) => !isOver(pod));
      leaving.push(...ended, ...doubles);
      if (first && !stay) leaving.push(first);
      else if (first && mayReplace && !this.#isUpdated(first)) {
        mayReplace = false;
        leaving.push(first);
      }
      if (run && present.length === 0) missing.push(node);
    }
    return { leaving, missing };
  }

  /** Returns the counts of the DaemonSet's status. */
  status() {
    this.#count();
    const { wanted, placed, misplaced, ready, updated } = this.#sum;
    return {
      desiredNumberScheduled: wanted,
      currentNumberScheduled: placed,
      numberMisscheduled: misplaced,
      numberReady: ready,
      numberAvailable: ready,
      numberUnavailable: wanted - ready,
      updatedNumberScheduled: updated,
    };
  }

  #count(): void {
    for (const name of this.#changed) {
      this.#sum = combineTallies(this.#sum, this.#tallies.get(name) ?? NOTHING, -1);
      this.#tallies.delete(name);
      this.#outdated.delete(name);
      const tally = this.#tallyOf(name);
      if (tally === undefined) continue;
      this.#tallies.set(name, tally);
      this.#sum = combineTallies(this.#sum, tally, 1);
    }
  }

  /** Returns undefined if the node and all its pods are gone. */
  #tallyOf(name: string): Tally | undefined {
    const present = this.#podsOn(name);
    const node = this.#nodes.get({ name });
    if (node === undefined && present.length === 0) return undefined;
    const { run, stay } = node === undefined ? { run: false, stay: false } : belongs(this.#set, node);
    const counted = present.filter((pod) => !isLeaving(pod) && !isOver(pod));
    const placed = run ? counted : [];
    const [first] = counted;
    if (first && stay && !this.#isUpdated(first)) this.#outdated.add(name);
    return {
      wanted: run ? 1 : 0,
      placed: placed.length,
      misplaced: counted.length - placed.length,
      ready: placed.filter(isPodReady).length,
      updated: placed.filter((pod) => this.#isUpdated(pod)).length,
      unsettled: present.filter((pod) => !isPodReady(pod) || isLeaving(pod)).length,
    };
  }

  #isUpdated({ metadata }: Pod): boolean {
    return metadata.labels?.[REVISION_LABEL] === this.revision;
  }

  #podsOn(node: string): readonly Pod[] {
    const { uid = '', namespace } = this.#set.metadata;
    return this.#pods.by(daemonPlace, placeOf(uid, node)).filter(({ metadata }) => metadata.namespace === namespace);
  }
}

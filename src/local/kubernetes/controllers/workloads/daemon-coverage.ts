/** On which nodes a DaemonSet should run and does, kept by node: most changes are about one of them. */
import type { DaemonSet, Node, Pod } from '../../../../api/kubernetes.ts';
import type { Cache } from '../../../cache.ts';
import { isOver } from '../../scheduler/cluster.ts';
import { belongs, nodeOf, REVISION_LABEL } from './daemon-pods.ts';
import { controllerOf, isReady } from './pods.ts';

/** What one node adds to the status. */
interface Tally {
  readonly wanted: number;
  readonly placed: number;
  readonly misplaced: number;
  readonly ready: number;
  readonly updated: number;
  /** Pods that are on their way in or out. */
  readonly unsettled: number;
}

const NOTHING: Tally = { wanted: 0, placed: 0, misplaced: 0, ready: 0, updated: 0, unsettled: 0 };

const combined = (one: Tally, other: Tally, sign: 1 | -1): Tally => ({
  wanted: one.wanted + sign * other.wanted,
  placed: one.placed + sign * other.placed,
  misplaced: one.misplaced + sign * other.misplaced,
  ready: one.ready + sign * other.ready,
  updated: one.updated + sign * other.updated,
  unsettled: one.unsettled + sign * other.unsettled,
});

/** An index of pods: by their DaemonSet and the node that they run on or are pinned to. */
const daemonPlace = (pod: Pod): string | undefined => {
  const owner = controllerOf(pod);
  return owner?.kind === 'DaemonSet' ? placeOf(owner.uid, nodeOf(pod)) : undefined;
};

const placeOf = (uid: string, node: string): string => `${uid}/${node}`;

const isLeaving = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;
const isSettled = (pod: Pod): boolean => isReady(pod) && !isLeaving(pod);

export interface CoverageOptions {
  readonly set: DaemonSet;
  /** Of its template. */
  readonly revision: string;
  readonly nodes: Cache<Node>;
  readonly pods: Cache<Pod>;
}

export class Coverage {
  readonly revision: string;
  readonly #set: DaemonSet;
  readonly #nodes: Cache<Node>;
  readonly #pods: Cache<Pod>;
  /** Names of nodes that have not been looked at since they, or the pods there, changed. */
  readonly #changed = new Set<string>();
  readonly #tallies = new Map<string, Tally>();
  /** Nodes whose pod is of an earlier template. */
  readonly #outdated = new Set<string>();
  #sum = NOTHING;

  constructor({ set, revision, nodes, pods }: CoverageOptions) {
    this.#set = set;
    this.revision = revision;
    this.#nodes = nodes;
    this.#pods = pods;
    for (const { metadata } of nodes.list()) this.#changed.add(metadata.name);
    for (const pod of pods.list()) if (controllerOf(pod)?.uid === set.metadata.uid) this.#changed.add(nodeOf(pod));
  }

  /** Notes that a node, or what the DaemonSet has there, is not what it was. */
  changed(node: string): void {
    this.#changed.add(node);
  }

  /** The nodes to be looked at, which counts as done from now on. */
  take(): ReadonlySet<string> {
    this.#count();
    const taken = new Set(this.#changed);
    this.#changed.clear();
    // One pod of an old template leaves at a time, as maxUnavailable 1 has it.
    if (this.#sum.unsettled === 0) for (const name of this.#outdated) taken.add(name);
    return taken;
  }

  /** What to delete and where to create, so that every one of these nodes that should has exactly one pod. */
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

  /** The counts of a DaemonSet's status. */
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
      this.#sum = combined(this.#sum, this.#tallies.get(name) ?? NOTHING, -1);
      this.#tallies.delete(name);
      this.#outdated.delete(name);
      const tally = this.#tallyOf(name);
      if (tally === undefined) continue;
      this.#tallies.set(name, tally);
      this.#sum = combined(this.#sum, tally, 1);
    }
  }

  /** Answers undefined for a node that is gone with all its pods. */
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
      ready: placed.filter(isReady).length,
      updated: placed.filter((pod) => this.#isUpdated(pod)).length,
      unsettled: present.filter((pod) => !isSettled(pod)).length,
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

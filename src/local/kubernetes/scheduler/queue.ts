/** Pods that wait for a node: the ready ones by priority, the refused ones until something changes. */
import type { Pod } from '../../../api/kubernetes.ts';
import { keyOf } from '../../../kube/store.ts';

const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 10_000;
/** A refused pod is looked at again after this long even when nothing seems to have changed. */
const LONGEST_WAIT_MS = 60_000;

/** What a change may help: pods that want to be near others, those with affinity of any kind, those with volumes, or all. */
export type Helped = 'all' | 'drawn' | 'choosy' | 'with-volumes';

const IS_HELPED: Readonly<Record<Helped, (pod: Pod) => boolean>> = {
  all: () => true,
  drawn: ({ spec }) => spec.affinity?.podAffinity !== undefined,
  choosy: ({ spec }) => spec.affinity !== undefined,
  'with-volumes': ({ spec }) => (spec.volumes?.length ?? 0) > 0,
};
const ALL_HELPED = Object.keys(IS_HELPED) as readonly Helped[];

interface Entry {
  pod: Pod;
  readonly since: number;
  attempts: number;
  refusedAt: number;
  /** Not looked at before this time. */
  dueAt: number;
}

export class SchedulingQueue {
  readonly #entries = new Map<string, Entry>();
  /** Those that wait for something to change, by what may help them: with each pod that is bound somebody asks. */
  readonly #aside: Readonly<Record<Helped, Set<Entry>>> = {
    all: new Set(),
    drawn: new Set(),
    choosy: new Set(),
    'with-volumes': new Set(),
  };

  /** Adds a pod or takes in its new state. */
  put(pod: Pod, now: number): void {
    const key = keyOf(pod.metadata);
    const entry = this.#entries.get(key);
    if (entry && entry.pod.metadata.uid === pod.metadata.uid) entry.pod = pod;
    else {
      if (entry) this.#back(entry);
      this.#entries.set(key, { pod, since: now, attempts: 0, refusedAt: 0, dueAt: 0 });
    }
  }

  remove(pod: Pod): void {
    const key = keyOf(pod.metadata);
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.pod.metadata.uid !== pod.metadata.uid) return;
    this.#entries.delete(key);
    this.#back(entry);
  }

  /** Something changed that may help refused pods: they come back after their back-off. */
  retry(helped: Helped = 'all'): void {
    for (const entry of this.#aside[helped]) {
      entry.dueAt = Math.min(entry.dueAt, entry.refusedAt + backoff(entry));
      this.#back(entry);
    }
  }

  /** Takes it from those that were put aside. */
  #back(entry: Entry): void {
    for (const helped of ALL_HELPED) this.#aside[helped].delete(entry);
  }

  /** Puts a pod aside that found no node. */
  refuse(pod: Pod, now: number): void {
    const entry = this.#entries.get(keyOf(pod.metadata));
    if (!entry) return;
    entry.attempts += 1;
    entry.refusedAt = now;
    entry.dueAt = now + LONGEST_WAIT_MS;
    for (const helped of ALL_HELPED) if (IS_HELPED[helped](entry.pod)) this.#aside[helped].add(entry);
  }

  /** The pods that are due, highest priority first, then those that wait longest. */
  due(now: number): readonly Pod[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.dueAt <= now)
      .sort((a, b) => (b.pod.spec.priority ?? 0) - (a.pod.spec.priority ?? 0) || a.since - b.since)
      .map(({ pod }) => pod);
  }

  /** When the next pod is due; undefined when none waits. */
  nextDue(): number | undefined {
    let next: number | undefined;
    for (const { dueAt } of this.#entries.values()) if (next === undefined || dueAt < next) next = dueAt;
    return next;
  }
}

const backoff = ({ attempts }: Entry): number => Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempts - 1));

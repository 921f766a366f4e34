/** Pending pods: ready pods by priority, and refused pods that wait for a change. */
import type { Pod } from '../../../api/kubernetes.ts';
import { keyOf } from '../../../kube/store.ts';
import { podRequests } from './amounts.ts';

const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 10_000;
/** Maximum time until a refused pod is tried again without a relevant change. */
const LONGEST_WAIT_MS = 60_000;

/** Pods that a change may help: all pods, or pods with pod affinity, with any affinity, with volumes, or with devices. */
export type Helped = 'all' | 'drawn' | 'choosy' | 'with-volumes' | 'with-devices';

const IS_HELPED: Readonly<Record<Helped, (pod: Pod) => boolean>> = {
  all: () => true,
  drawn: ({ spec }) => spec.affinity?.podAffinity !== undefined,
  choosy: ({ spec }) => spec.affinity !== undefined,
  'with-volumes': ({ spec }) => (spec.volumes?.length ?? 0) > 0,
  'with-devices': (pod) =>
    (pod.spec.resourceClaims?.length ?? 0) > 0 || Object.keys(podRequests(pod)).some((name) => name.includes('/')),
};
const ALL_HELPED = Object.keys(IS_HELPED) as readonly Helped[];

interface Entry {
  pod: Pod;
  readonly since: number;
  attempts: number;
  refusedAt: number;
  /** Time before which this pod is not tried. */
  dueAt: number;
}

export class SchedulingQueue {
  readonly #entries = new Map<string, Entry>();
  /** Refused pods by the changes that may help them. Each binding of a pod reads one of these sets. */
  readonly #aside: Readonly<Record<Helped, Set<Entry>>> = {
    all: new Set(),
    drawn: new Set(),
    choosy: new Set(),
    'with-volumes': new Set(),
    'with-devices': new Set(),
  };

  /** Adds a pod or updates its state. */
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

  /** Returns refused pods to this queue after a change that may help them. Their back-off still applies. */
  retry(helped: Helped = 'all'): void {
    for (const entry of this.#aside[helped]) {
      entry.dueAt = Math.min(entry.dueAt, entry.refusedAt + backoff(entry));
      this.#back(entry);
    }
  }

  /** Removes the pod from the refused pods. */
  #back(entry: Entry): void {
    for (const helped of ALL_HELPED) this.#aside[helped].delete(entry);
  }

  /** Moves a pod without a feasible node to the refused pods. */
  refuse(pod: Pod, now: number): void {
    const entry = this.#entries.get(keyOf(pod.metadata));
    if (!entry) return;
    entry.attempts += 1;
    entry.refusedAt = now;
    entry.dueAt = now + LONGEST_WAIT_MS;
    for (const helped of ALL_HELPED) if (IS_HELPED[helped](entry.pod)) this.#aside[helped].add(entry);
  }

  /** Returns the pods that are due, by descending priority, then by waiting time. */
  due(now: number): readonly Pod[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.dueAt <= now)
      .sort((a, b) => (b.pod.spec.priority ?? 0) - (a.pod.spec.priority ?? 0) || a.since - b.since)
      .map(({ pod }) => pod);
  }

  /** Returns the time at which the next pod is due, or undefined if no pod is pending. */
  nextDue(): number | undefined {
    let next: number | undefined;
    for (const { dueAt } of this.#entries.values()) if (next === undefined || dueAt < next) next = dueAt;
    return next;
  }
}

const backoff = ({ attempts }: Entry): number => Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempts - 1));

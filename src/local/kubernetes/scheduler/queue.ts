/** Pending pods: ready pods by priority, and refused pods that wait for an event that may help them. */
import type { Pod } from '../../../api/kubernetes.ts';
import { keyOf } from '../../../kube/store.ts';
import { sameJson } from '../../../lib/json-object.ts';
import { podRequests } from './amounts.ts';

const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 10_000;
/** Time after which a refused pod is tried again without an event, and the interval in which this time is checked. */
const LONGEST_WAIT_MS = 5 * 60_000;
const FLUSH_MS = 30_000;

/**
 * Pods that an event may help: all pods, pods with pod affinity or hard topology spread constraints, pods with any affinity, pods
 * with volumes, or pods with devices.
 */
export type Helped = 'all' | 'counting' | 'choosy' | 'with-volumes' | 'with-devices';

const isSpread = ({ spec }: Pod): boolean =>
  (spec.topologySpreadConstraints ?? []).some(({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule');

const IS_HELPED: Readonly<Record<Helped, (pod: Pod) => boolean>> = {
  all: () => true,
  counting: (pod) => pod.spec.affinity?.podAffinity !== undefined || isSpread(pod),
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
  /** Time before which this pod is not tried. */
  dueAt: number;
}

export class SchedulingQueue {
  readonly #entries = new Map<string, Entry>();
  /** Refused pods by the events that may help them. Each binding of a pod reads one of these sets. */
  readonly #aside: Readonly<Record<Helped, Set<Entry>>> = {
    all: new Set(),
    counting: new Set(),
    choosy: new Set(),
    'with-volumes': new Set(),
    'with-devices': new Set(),
  };

  /** Adds a pod or updates its state. A refused pod with a changed specification or changed labels is tried again. */
  put(pod: Pod, now: number): void {
    const key = keyOf(pod.metadata);
    const entry = this.#entries.get(key);
    if (entry && entry.pod.metadata.uid === pod.metadata.uid) {
      const isSame = sameJson(entry.pod.spec, pod.spec) && sameJson(entry.pod.metadata.labels, pod.metadata.labels);
      entry.pod = pod;
      if (!isSame && this.#aside.all.has(entry)) this.#release(entry);
      return;
    }
    if (entry) this.#back(entry);
    this.#entries.set(key, { pod, since: now, attempts: 0, dueAt: 0 });
  }

  remove(pod: Pod): void {
    const key = keyOf(pod.metadata);
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.pod.metadata.uid !== pod.metadata.uid) return;
    this.#entries.delete(key);
    this.#back(entry);
  }

  /**
   * Returns refused pods to this queue after an event that may help them. Like kube-scheduler since 1.33, the queue does not
   * wait for the back-off of a refused pod while no other pod is ready.
   * @param isHelped rejects pods that the event cannot help
   */
  retry(helped: Helped = 'all', isHelped: (pod: Pod) => boolean = () => true): void {
    for (const entry of this.#aside[helped]) if (isHelped(entry.pod)) this.#release(entry);
  }

  #release(entry: Entry): void {
    entry.dueAt = 0;
    this.#back(entry);
  }

  /** Removes the pod from the refused pods. */
  #back(entry: Entry): void {
    for (const helped of ALL_HELPED) this.#aside[helped].delete(entry);
  }

  /** Moves a pod without a feasible node to the refused pods, until an event helps it or the longest wait is over. */
  refuse(pod: Pod, now: number): void {
    const entry = this.#entries.get(keyOf(pod.metadata));
    if (!entry) return;
    entry.attempts += 1;
    entry.dueAt = Math.ceil((now + LONGEST_WAIT_MS) / FLUSH_MS) * FLUSH_MS;
    for (const helped of ALL_HELPED) {
      if (IS_HELPED[helped](entry.pod)) this.#aside[helped].add(entry);
      else this.#aside[helped].delete(entry);
    }
  }

  /** Delays a pod after an error, by a back-off of 1 to 10 seconds. */
  delay(pod: Pod, now: number): void {
    const entry = this.#entries.get(keyOf(pod.metadata));
    if (!entry) return;
    entry.attempts += 1;
    entry.dueAt = now + Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (entry.attempts - 1));
    this.#back(entry);
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

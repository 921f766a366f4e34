/** Pending pods: ready pods in kube-scheduler's order, and refused pods that wait for an event that may help them. */
import type { Pod } from '#api/objects';
import { keyOf } from '#kube/client';
import { sameJson } from '#lib';
import { podRequests } from './amounts.ts';
import { hasRules } from './counted-pods.ts';
import { priorityOf } from './priority.ts';

const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 10_000;
/** Time after which a refused pod is tried again without an event, and the interval in which this time is checked. */
const LONGEST_WAIT_MS = 5 * 60_000;
const FLUSH_MS = 30_000;

/** Pods that an event may help: all pods, pods with rules that count pods, pods with volumes, or pods with devices. */
export type Helped = 'all' | 'counting' | 'with-volumes' | 'with-devices';

const IS_HELPED: Readonly<Record<Helped, (pod: Pod) => boolean>> = {
  all: () => true,
  counting: hasRules,
  'with-volumes': ({ spec }) => (spec.volumes?.length ?? 0) > 0,
  'with-devices': (pod) =>
    (pod.spec.resourceClaims?.length ?? 0) > 0 || Object.keys(podRequests(pod)).some((name) => name.includes('/')),
};
const ALL_HELPED = Object.keys(IS_HELPED) as readonly Helped[];

interface Entry {
  pod: Pod;
  /** Order of the last attempts, or of the arrivals of pods that were not tried. */
  order: number;
  refusals: number;
  errors: number;
  /** End of the back-off, in whole seconds. */
  backoffEndMs: number;
  /** Time before which a refused or delayed pod is not tried without an event. */
  dueAt: number;
}

const backoffMs = (attempts: number): number => Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (attempts - 1));
const wholeSeconds = (ms: number): number => Math.floor(ms / 1000) * 1000;

/** Reports whether a pod changed in a way that may help it. Its claims are part of its status. */
const isSame = (a: Pod, b: Pod): boolean =>
  sameJson(a.spec, b.spec) &&
  sameJson(a.metadata.labels, b.metadata.labels) &&
  sameJson(a.status?.resourceClaimStatuses, b.status?.resourceClaimStatuses);

export class SchedulingQueue {
  readonly #entries = new Map<string, Entry>();
  readonly #ready = new Set<Entry>();
  /** Pods that wait for the end of a back-off after an error. */
  readonly #delayed = new Set<Entry>();
  /** Refused pods in the order of their refusals, by the events that may help them. A binding reads only one of these sets. */
  readonly #refused: Readonly<Record<Helped, Set<Entry>>> = {
    all: new Set(),
    counting: new Set(),
    'with-volumes': new Set(),
    'with-devices': new Set(),
  };
  #order = 0;

  /** Adds a pod or updates its state. A refused pod with a changed specification, labels or claims is tried again. */
  put(pod: Pod): void {
    const key = keyOf(pod.metadata);
    const entry = this.#entries.get(key);
    if (entry && entry.pod.metadata.uid === pod.metadata.uid) {
      const isHelped = this.#refused.all.has(entry) && !isSame(entry.pod, pod);
      entry.pod = pod;
      if (isHelped) this.#release(entry);
      return;
    }
    if (entry) this.#take(entry);
    const added = { pod, order: this.#nextOrder(), refusals: 0, errors: 0, backoffEndMs: 0, dueAt: 0 };
    this.#entries.set(key, added);
    this.#ready.add(added);
  }

  remove(pod: Pod): void {
    const entry = this.#find(pod);
    if (entry === undefined) return;
    this.#entries.delete(keyOf(pod.metadata));
    this.#take(entry);
  }

  #find({ metadata }: Pod): Entry | undefined {
    const entry = this.#entries.get(keyOf(metadata));
    return entry?.pod.metadata.uid === metadata.uid ? entry : undefined;
  }

  #nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  /**
   * Returns refused pods to the ready pods after an event that may help them. Like kube-scheduler since 1.33, the queue does not
   * wait for their back-off, but tries other pods first.
   * @param isHelped rejects pods that the event cannot help
   */
  retry(helped: Helped = 'all', isHelped: (pod: Pod) => boolean = () => true): void {
    for (const entry of this.#refused[helped]) if (isHelped(entry.pod)) this.#release(entry);
  }

  #release(entry: Entry): void {
    this.#take(entry);
    this.#ready.add(entry);
  }

  /** Removes the pod from all sets. */
  #take(entry: Entry): void {
    this.#ready.delete(entry);
    this.#delayed.delete(entry);
    for (const helped of ALL_HELPED) this.#refused[helped].delete(entry);
  }

  /** Moves a pod without a feasible node to the refused pods, until an event helps it or the longest wait is over. */
  refuse(pod: Pod, now: number): void {
    const entry = this.#find(pod);
    if (entry === undefined) return;
    this.#take(entry);
    entry.order = this.#nextOrder();
    entry.refusals += 1;
    entry.errors = 0;
    entry.backoffEndMs = wholeSeconds(now + backoffMs(entry.refusals));
    entry.dueAt = Math.ceil((now + LONGEST_WAIT_MS) / FLUSH_MS) * FLUSH_MS;
    for (const helped of ALL_HELPED) if (IS_HELPED[helped](entry.pod)) this.#refused[helped].add(entry);
  }

  /** Delays a pod after an error, by a back-off of 1 to 10 seconds. */
  delay(pod: Pod, now: number): void {
    const entry = this.#find(pod);
    if (entry === undefined) return;
    this.#take(entry);
    entry.order = this.#nextOrder();
    entry.errors += 1;
    entry.backoffEndMs = 0;
    entry.dueAt = now + backoffMs(entry.errors);
    this.#delayed.add(entry);
  }

  /** Returns the pods that are due: first pods without a back-off, by priority and time, then pods with a back-off by its end. */
  due(now: number): readonly Pod[] {
    const second = wholeSeconds(now);
    const backoffOf = ({ backoffEndMs }: Entry): number => (backoffEndMs < second ? 0 : backoffEndMs);
    return [...this.#ready, ...this.#overdue(now)]
      .sort((a, b) => backoffOf(a) - backoffOf(b) || priorityOf(b.pod) - priorityOf(a.pod) || a.order - b.order)
      .map(({ pod }) => pod);
  }

  #overdue(now: number): readonly Entry[] {
    const found = [...this.#delayed].filter(({ dueAt }) => dueAt <= now);
    for (const entry of this.#refused.all) {
      if (entry.dueAt > now) break;
      found.push(entry);
    }
    return found;
  }

  /** Returns the time at which the next pod is due, or undefined if no pod is pending. */
  nextDue(): number | undefined {
    if (this.#ready.size > 0) return 0;
    const [refused] = this.#refused.all;
    const times = [...this.#delayed, ...(refused === undefined ? [] : [refused])].map(({ dueAt }) => dueAt);
    return times.length === 0 ? undefined : Math.min(...times);
  }
}

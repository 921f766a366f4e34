/** Waiting times of pods in a replay, and the number of pods that lose their node before they finish. */

import { getCondition, type Pod } from '#api/objects';
import { isOwnedByDaemonSet } from '#engine/model';
import type { WaitingSummary } from '../result.ts';

const HOUR_MS = 3_600_000;

interface Life {
  readonly createdMs: number;
  isBound: boolean;
  isDisrupted: boolean;
}

export class PodLives {
  readonly #lives = new Map<string, Life>();
  /** Waiting times of all bound pods, in milliseconds. */
  readonly #waits: number[] = [];
  #evictions = 0;
  #running = 0;

  /** Records the state of a pod at a moment of the replay's time. */
  changed(pod: Pod, nowMs: number): void {
    // pods of DaemonSets start and end with their node
    if (isOwnedByDaemonSet(pod)) return;
    const uid = pod.metadata.uid ?? '';
    const life = this.#lives.get(uid) ?? this.#born(uid, nowMs);
    if (!life.isBound && pod.spec.nodeName) {
      life.isBound = true;
      this.#running += 1;
      this.#waits.push(nowMs - life.createdMs);
    }
    if (!life.isDisrupted && life.isBound && hasLostNode(pod)) {
      life.isDisrupted = true;
      this.#evictions += 1;
    }
    if (['Succeeded', 'Failed'].includes(lifePhase(pod) ?? '')) this.gone(pod);
  }

  gone(pod: Pod): void {
    const life = this.#lives.get(pod.metadata.uid ?? '');
    if (life === undefined || !this.#lives.delete(pod.metadata.uid ?? '')) return;
    if (life.isBound) this.#running -= 1;
  }

  #born(uid: string, nowMs: number): Life {
    const life = { createdMs: nowMs, isBound: false, isDisrupted: false };
    this.#lives.set(uid, life);
    return life;
  }

  get evictions(): number {
    return this.#evictions;
  }

  /** Number of pods that are bound to a node. */
  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#lives.size - this.#running;
  }

  /** Includes the pods that still wait, with the time until now. */
  summary(nowMs: number): WaitingSummary {
    const waiting = [...this.#lives.values()].filter(({ isBound }) => !isBound);
    const sorted = Float64Array.from([...this.#waits, ...waiting.map(({ createdMs }) => nowMs - createdMs)]).sort();
    const quantile = (share: number): number =>
      (sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0) / 1000;
    return {
      pods: this.#waits.length,
      p50: quantile(0.5),
      p95: quantile(0.95),
      p99: quantile(0.99),
      longest: quantile(1),
      podHours: sorted.reduce((sum, waitedMs) => sum + waitedMs, 0) / HOUR_MS,
      stillWaiting: waiting.length,
      upTo: distribution(sorted),
    };
  }
}

type Distribution = NonNullable<WaitingSummary['upTo']>;

/** Bounds in each factor of ten, finer where most waiting times differ. */
const MANTISSAS = [1, 1.5, 2, 3, 4, 5, 6, 7, 8];

/**
 * Counts the waiting times up to each bound, in ascending order up to the longest waiting time.
 * @param sorted milliseconds in ascending order
 */
export function distribution(sorted: ArrayLike<number>): Distribution {
  const entries: Distribution[number][] = [];
  let pods = 0;
  for (let factor = 1; pods < sorted.length; factor *= 10)
    for (const mantissa of MANTISSAS) {
      if (pods === sorted.length) break;
      const seconds = factor * mantissa;
      while (pods < sorted.length && (sorted[pods] ?? 0) <= seconds * 1000) pods += 1;
      if (pods > 0) entries.push({ seconds, pods });
    }
  return entries;
}

/** States of pods that a replay measures. */
export const lifePhase = ({ status }: Pod): string => status?.phase ?? 'Pending';

/** Returns true if the pod was ended by an eviction, by a taint, or by the deletion of its node, but not by kube-scheduler. */
export function hasLostNode(pod: Pod): boolean {
  const condition = getCondition(pod, 'DisruptionTarget');
  return condition?.status === 'True' && condition.reason !== 'PreemptionByScheduler';
}

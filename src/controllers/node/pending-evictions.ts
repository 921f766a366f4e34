/** Pods to evict, with deadlines. Draining nodes add pods, `eviction-queue.ts` evicts them. */
import type { Pod } from '../../api/kubernetes.ts';
import { monotonicMs, type Timepiece } from '../../lib/clock.ts';

export interface Eviction {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Infinity if there is no deadline and the budgets alone determine the duration. */
  readonly deadlineMs: number;
}

/** Returns a key that identifies one pod, even if another pod had the same name. */
const evictionKey = (namespace: string, name: string, uid: string): string => `${namespace}/${name}/${uid}`;

/**
 * Longer than the delay of caches, and shorter than an acceptable wait for a pod that stays although its deletion was accepted.
 */
const KEEP_MS = 30_000;

export class Evictions {
  readonly #clock: Timepiece;
  readonly #byKey = new Map<string, Eviction>();
  /**
   * Pods with a recently accepted deletion, and the deletion timestamp that the cache showed at that time. The oldest come
   * first.
   */
  readonly #granted = new Map<string, { readonly sinceMs: number; readonly shown: string | undefined }>();
  #enqueue: (key: string) => void = () => undefined;

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  /** Sets the receiver for keys of new evictions. */
  bind(enqueue: (key: string) => void): void {
    this.#enqueue = enqueue;
    for (const key of this.#byKey.keys()) enqueue(key);
  }

  /**
   * Adds pods. For a pod that is already added, only an earlier deadline is recorded. A pod with an accepted deletion is not
   * added while the cache does not show the deletion.
   */
  add(pods: readonly Pod[], deadlineMs: number): void {
    this.#forgetOld();
    for (const { metadata } of pods) {
      const { name, namespace = '', uid = '', deletionTimestamp } = metadata;
      const key = evictionKey(namespace, name, uid);
      const granted = this.#granted.get(key);
      if (granted && granted.shown === deletionTimestamp) continue;
      const known = this.#byKey.get(key);
      const earliestMs = Math.min(known?.deadlineMs ?? Number.POSITIVE_INFINITY, deadlineMs);
      this.#byKey.set(key, { namespace, name, uid, deadlineMs: earliestMs });
      if (known === undefined) this.#enqueue(key);
    }
  }

  get(key: string): Eviction | undefined {
    return this.#byKey.get(key);
  }

  drop(key: string): void {
    this.#byKey.delete(key);
  }

  /** Records that the API server deletes the pod, or deletes it sooner. The cache will show this change soon. */
  granted({ metadata }: Pod): void {
    const { name, namespace = '', uid = '', deletionTimestamp } = metadata;
    const key = evictionKey(namespace, name, uid);
    this.#granted.delete(key);
    this.#granted.set(key, { sinceMs: monotonicMs(this.#clock), shown: deletionTimestamp });
  }

  #forgetOld(): void {
    const oldestMs = monotonicMs(this.#clock) - KEEP_MS;
    for (const [key, { sinceMs }] of this.#granted) {
      if (sinceMs > oldestMs) return;
      this.#granted.delete(key);
    }
  }
}

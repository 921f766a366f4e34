/** The pods that are to leave their nodes, and by when. Draining nodes add them, `eviction-queue.ts` evicts them. */
import type { Pod } from '../../api/kubernetes.ts';
import { monotonicMs, type Timepiece } from '../../lib/clock.ts';

export interface Eviction {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Infinity when the pod may take as long as its budgets want. */
  readonly deadlineMs: number;
}

/** Names a pod and no other that ever had its name. */
const evictionKey = (namespace: string, name: string, uid: string): string => `${namespace}/${name}/${uid}`;

/** Longer than caches lag behind, shorter than anybody waits for a pod that stays although its end was promised. */
const KEEP_MS = 30_000;

export class Evictions {
  readonly #clock: Timepiece;
  readonly #byKey = new Map<string, Eviction>();
  /** Pods whose end was granted a moment ago, with the end that the cache showed then; the oldest come first. */
  readonly #granted = new Map<string, { readonly sinceMs: number; readonly shown: string | undefined }>();
  #enqueue: (key: string) => void = () => undefined;

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  /** Sets where keys of new evictions go. */
  bind(enqueue: (key: string) => void): void {
    this.#enqueue = enqueue;
    for (const key of this.#byKey.keys()) enqueue(key);
  }

  /**
   * Adds pods; one that is here already only has its deadline moved forward, and one whose end was granted is not added
   * as long as the cache does not show that.
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

  /** Records that the API server deletes the pod, or deletes it sooner, which the cache will show soon. */
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

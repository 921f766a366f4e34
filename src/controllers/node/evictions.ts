/** The pods that are to leave their nodes, and by when. Filled by draining nodes, worked off by `evictionqueue.ts`. */
import type { Pod } from '../../api/kubernetes.ts';

export interface Eviction {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Infinity when the pod may take as long as its budgets want. */
  readonly deadlineMs: number;
}

/** Names a pod and no other that ever had its name. */
const evictionKey = (namespace: string, name: string, uid: string): string => `${namespace}/${name}/${uid}`;

export class Evictions {
  readonly #byKey = new Map<string, Eviction>();
  #enqueue: (key: string) => void = () => undefined;

  /** Tells where keys of new evictions go. */
  bind(enqueue: (key: string) => void): void {
    this.#enqueue = enqueue;
    for (const key of this.#byKey.keys()) enqueue(key);
  }

  /** Adds pods; one that is here already only has its deadline moved forward. */
  add(pods: readonly Pod[], deadlineMs: number): void {
    for (const { metadata } of pods) {
      const { name, namespace = '', uid = '' } = metadata;
      const key = evictionKey(namespace, name, uid);
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

  has({ metadata }: Pod): boolean {
    return this.#byKey.has(evictionKey(metadata.namespace ?? '', metadata.name, metadata.uid ?? ''));
  }
}

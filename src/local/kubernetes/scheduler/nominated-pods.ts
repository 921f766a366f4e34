/** Pods that wait for the termination of the pods that they preempt. The room on their node is kept for them. */
import type { Pod } from '#api/objects';
import { keyOf } from '#kube/client';
import { withPods } from './changed-node.ts';
import { firstRefusalOn } from './filters.ts';
import { priorityOf } from './priority.ts';
import type { Filter } from './view.ts';

interface Nomination {
  readonly pod: Pod;
  readonly node: string;
}

export class NominatedPods {
  readonly #nominations = new Map<string, Nomination>();
  readonly #byNode = new Map<string, Set<string>>();

  get isEmpty(): boolean {
    return this.#nominations.size === 0;
  }

  put(pod: Pod, node: string): void {
    this.remove(pod);
    const key = keyOf(pod.metadata);
    this.#nominations.set(key, { pod, node });
    this.#byNode.set(node, (this.#byNode.get(node) ?? new Set()).add(key));
  }

  /** Removes a pod, and returns true if it was nominated. */
  remove(pod: Pod): boolean {
    const key = keyOf(pod.metadata);
    const nomination = this.#nominations.get(key);
    if (nomination === undefined) return false;
    this.#nominations.delete(key);
    const keys = this.#byNode.get(nomination.node);
    keys?.delete(key);
    if (keys?.size === 0) this.#byNode.delete(nomination.node);
    return true;
  }

  nodeOf(pod: Pod): string | undefined {
    return this.#nominations.get(keyOf(pod.metadata))?.node;
  }

  /** Returns the nominated pods of a node that have a lower priority than a pod. */
  lowerOn(node: string, pod: Pod): readonly Pod[] {
    return this.#on(node).filter((other) => priorityOf(other) < priorityOf(pod));
  }

  #on(node: string): readonly Pod[] {
    return [...(this.#byNode.get(node) ?? [])].flatMap((key) => this.#nominations.get(key)?.pod ?? []);
  }

  /**
   * Returns the filters, and a filter that applies them to the nodes with their nominated pods. A pod must fit with and without
   * nominated pods of the same or a higher priority, because they may be bound to another node.
   */
  filtersBeside(filters: readonly Filter[]): readonly Filter[] {
    if (this.isEmpty) return filters;
    const besideNominated: Filter = (pod, cluster) => (node) => {
      const own = keyOf(pod.metadata);
      const added = this.#on(node.name).filter(
        (other) => keyOf(other.metadata) !== own && priorityOf(other) >= priorityOf(pod),
      );
      if (added.length === 0) return undefined;
      const changed = withPods(cluster, node, { added });
      return firstRefusalOn(pod, changed.node, changed.cluster, filters);
    };
    return [...filters, besideNominated];
  }
}

/**
 * Counts the pods of each workload on each node. Consecutive snapshots share the counts, so that only changed nodes are counted
 * again.
 */
import { remembering } from '#lib';
import type { EnginePod } from '../input.ts';
import type { EngineNode } from '../model.ts';
import { isActive } from '../pods.ts';
import type { Rule } from './group.ts';
import { ByLabels } from './running-pods.ts';

type CountByNode = Map<EngineNode, number>;

const NO_PODS: readonly EnginePod[] = [];

/** Returns the running pods of a node. Returns an empty list before the node has joined. */
export const runningOn = remembering(({ node, pods }: EngineNode): readonly EnginePod[] => {
  if (node === undefined) return NO_PODS;
  // almost always all pods, so there is no need for a new list
  return pods.every(isActive) ? pods : pods.filter(isActive);
});

/** Shared counts, which live as long as a user holds a reference. */
let last: WeakRef<PodCounts> | undefined;

export class PodCounts {
  readonly #byLabels = new ByLabels<CountByNode>();
  /** Nodes with counted pods, with the number of the last change that contained each node. */
  readonly #seen = new Map<EngineNode, number>();
  #nodes: readonly EngineNode[] = [];
  #change = 0;

  /** Returns the shared instance. Callers pass their nodes to `countedBy`. */
  static shared(): PodCounts {
    const known = last?.deref();
    if (known !== undefined) return known;
    const shared = new PodCounts();
    last = new WeakRef(shared);
    return shared;
  }

  /** Returns the numbers of pods on each of the nodes that a rule counts, in parts. Callers must read the result immediately. */
  countedBy(rule: Rule, nodes: readonly EngineNode[]): readonly ReadonlyMap<EngineNode, number>[] {
    if (nodes !== this.#nodes) this.#become(nodes);
    return this.#byLabels.countedBy(rule);
  }

  #become(nodes: readonly EngineNode[]): void {
    this.#change++;
    for (const node of nodes) {
      if (!this.#seen.has(node)) for (const pod of runningOn(node)) this.#add(pod, node);
      this.#seen.set(node, this.#change);
    }
    if (this.#seen.size > nodes.length) {
      for (const [node, change] of this.#seen) {
        if (change === this.#change) continue;
        for (const pod of runningOn(node)) this.#remove(pod, node);
        this.#seen.delete(node);
      }
    }
    this.#nodes = nodes;
  }

  #add(pod: EnginePod, node: EngineNode): void {
    const counts = this.#byLabels.get(pod);
    if (counts === undefined) this.#byLabels.set(pod, new Map([[node, 1]]));
    else counts.set(node, (counts.get(node) ?? 0) + 1);
  }

  /** Removes all pods of the node with the same labels, because all pods of the node are removed together. */
  #remove(pod: EnginePod, node: EngineNode): void {
    const counts = this.#byLabels.get(pod);
    counts?.delete(node);
    if (counts?.size === 0) this.#byLabels.delete(pod);
  }
}

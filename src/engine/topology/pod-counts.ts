/**
 * How many pods of each workload run on each node. What is known of one snapshot serves the next: only the nodes that
 * changed are looked at again.
 */
import { remembering } from '../../lib/remembering.ts';
import type { EnginePod } from '../input.ts';
import type { EngineNode } from '../model.ts';
import { isTerminal, isTerminating } from '../pods.ts';
import type { Rule } from './group.ts';
import { ByLabels } from './running-pods.ts';

type CountByNode = Map<EngineNode, number>;

const NO_PODS: readonly EnginePod[] = [];

const isRunning = (pod: EnginePod): boolean => !isTerminal(pod) && !isTerminating(pod);

/** The pods that run on a node; none before it has joined. */
export const runningOn = remembering(({ node, pods }: EngineNode): readonly EnginePod[] => {
  if (node === undefined) return NO_PODS;
  // nearly always all of them: no list of its own
  return pods.every(isRunning) ? pods : pods.filter(isRunning);
});

/** Kept for as long as somebody holds it. */
let last: WeakRef<PodCounts> | undefined;

export class PodCounts {
  readonly #byLabels = new ByLabels<CountByNode>();
  /** The nodes whose pods are counted, with the number of the change that they were last seen in. */
  readonly #seen = new Map<EngineNode, number>();
  #nodes: readonly EngineNode[] = [];
  #change = 0;

  /** One for all: who asks says of which nodes. */
  static shared(): PodCounts {
    const known = last?.deref();
    if (known !== undefined) return known;
    const shared = new PodCounts();
    last = new WeakRef(shared);
    return shared;
  }

  /** How many of the pods that a rule counts run on each of some nodes, in parts. To be read at once. */
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

  /** With all pods of the node that are like it: they go together. */
  #remove(pod: EnginePod, node: EngineNode): void {
    const counts = this.#byLabels.get(pod);
    counts?.delete(node);
    if (counts?.size === 0) this.#byLabels.delete(pod);
  }
}

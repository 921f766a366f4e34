/** Finds nodes that can become empty: their pods fit together into the free room of the remaining nodes. */
import { isOwnedByDaemonSet, isTerminal } from '../pods.ts';
import type { CompiledSnapshot } from './compiled-snapshot.ts';
import { type CompiledNode, REFUSES, type Room, SUITS } from './node.ts';
import type { PodClass, PodKind } from './pod-class.ts';

/** Node with its rank among the nodes that should become empty. */
export interface RankedNode {
  readonly providerId: string;
  /** False if the node must not become empty. It can still take pods. */
  readonly mayEmpty: boolean;
}

/**
 * Returns the provider ids of nodes that can become empty, in the given order. Considers one node after the other, worst first.
 * The pods move to the best nodes that have room. A node that has taken a pod stays, and so does a node with an invalid pod. Pods
 * that may not be evicted count too, because they end on their own. Topology rules are ignored, so the result is an upper bound.
 */
export function emptiable(common: CompiledSnapshot, worstFirst: readonly RankedNode[]): readonly string[] {
  const rooms = new Rooms(common, worstFirst);
  return worstFirst
    .filter(({ providerId, mayEmpty }) => mayEmpty && rooms.empty(providerId))
    .map(({ providerId }) => providerId);
}

class Rooms {
  readonly #common: CompiledSnapshot;
  /** Best first. Nodes without a rank come last. */
  readonly #targets: readonly CompiledNode[];
  readonly #left = new Map<CompiledNode, Room>();
  /** Nodes that become empty, or that have taken a pod. */
  readonly #emptied = new Set<CompiledNode>();
  readonly #taken = new Set<CompiledNode>();
  /** Position of the first target that can still take pods of a kind. All earlier targets refuse these pods permanently. */
  readonly #first = new Map<PodKind, number>();

  constructor(common: CompiledSnapshot, worstFirst: readonly RankedNode[]) {
    this.#common = common;
    const ranks = new Map(worstFirst.map(({ providerId }, rank) => [providerId, rank]));
    const rankOf = ({ node }: CompiledNode): number => ranks.get(node.providerId) ?? -1;
    this.#targets = common.nodes.nodes.filter(({ node }) => node.initialized).sort((a, b) => rankOf(b) - rankOf(a));
  }

  /** Moves the pods of a node. Changes nothing if the result is false. */
  empty(providerId: string): boolean {
    const index = this.#common.nodes.indexOf(providerId);
    const node = index === undefined ? undefined : this.#common.nodes.nodes[index];
    if (node === undefined || this.#taken.has(node)) return false;
    const classes = this.#classesOn(node);
    if (classes === undefined) return false;
    const moved = new Map<CompiledNode, Room>();
    for (const podClass of classes) {
      const target = this.#targetFor(podClass, node, moved);
      if (target === undefined) return false;
      const room = moved.get(target) ?? this.#roomOf(target).copy();
      room.take(podClass);
      moved.set(target, room);
    }
    for (const [target, room] of moved) {
      this.#left.set(target, room);
      this.#taken.add(target);
    }
    this.#emptied.add(node);
    return true;
  }

  /** Returns the classes of the pods that would need another node, largest first. Returns undefined if a pod cannot be read. */
  #classesOn({ node }: CompiledNode): readonly PodClass[] | undefined {
    try {
      const pods = node.pods.filter((pod) => !isTerminal(pod) && !isOwnedByDaemonSet(pod));
      const classes = this.#common.classesFor(pods);
      const found = pods.map((pod) => classes.of(pod));
      // the devices that would be free on other nodes are not known here
      if (found.some(({ devices }) => devices !== undefined)) return undefined;
      return found.sort((x, y) => sizeOf(y) - sizeOf(x));
    } catch {
      return undefined;
    }
  }

  #targetFor(podClass: PodClass, from: CompiledNode, moved: ReadonlyMap<CompiledNode, Room>): CompiledNode | undefined {
    const { kind } = podClass;
    let isFirst = true;
    for (let at = this.#first.get(kind) ?? 0; at < this.#targets.length; at++) {
      const target = this.#targets[at] as CompiledNode;
      const isOpen =
        !this.#emptied.has(target) && this.#suits(target, podClass) && this.#roomOf(target).holds(podClass);
      if (isFirst && !isOpen) this.#first.set(kind, at + 1);
      isFirst &&= !isOpen;
      if (isOpen && target !== from && (moved.get(target)?.holds(podClass) ?? true)) return target;
    }
    return undefined;
  }

  #suits(target: CompiledNode, podClass: PodClass): boolean {
    const { verdicts } = this.#common.nodes.knowledgeOf(podClass.kind);
    const known = verdicts[target.index];
    if (known === SUITS || known === REFUSES) return known === SUITS;
    const holds = target.room.holds(podClass) && target.suits(podClass);
    verdicts[target.index] = holds ? SUITS : REFUSES;
    return holds;
  }

  #roomOf(target: CompiledNode): Room {
    return this.#left.get(target) ?? target.room;
  }
}

/** Returns a measure of a pod's size: the sum of the logarithms of its amounts, so that no unit outweighs the others. */
const sizeOf = ({ amounts }: PodClass): number => amounts.reduce((sum, amount) => sum + Math.log1p(amount), 0);

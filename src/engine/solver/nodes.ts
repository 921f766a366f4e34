/** Nodes of one solve, with their remaining room. */
import type { EnginePod } from '../input.ts';
import type { Placement, Quiet } from '../model.ts';
import { podKey } from '../pods.ts';
import type { Topology } from '../topology/topology.ts';
import { type CompiledNode, type NodeKnowledge, type NodeTable, REFUSES, type Room, SUITS } from './node.ts';
import type { PodClass, PodKind } from './pod-class.ts';

interface NodesParts {
  readonly table: NodeTable;
  readonly topology: Topology;
  /** Provider ids of nodes that will be removed. */
  readonly leaving: ReadonlySet<string>;
  readonly quiet: Quiet | undefined;
}

/** Pods that were placed on a node, and its remaining room. */
interface UsedNode {
  readonly room: Room;
  readonly pods: EnginePod[];
}

export class Nodes {
  readonly #parts: NodesParts;
  /** Used nodes by index. A map, because a simulation uses only a few of thousands of nodes. */
  readonly #used = new Map<number, UsedNode>();
  readonly #knowledge = new Map<PodKind, NodeKnowledge>();
  readonly #leaving: readonly number[];
  /** Indexes of nodes that accept only exempt pods. */
  readonly #quiet: ReadonlySet<number>;

  constructor(parts: NodesParts) {
    this.#parts = parts;
    const { table, leaving, quiet } = parts;
    const indexesOf = (ids: Iterable<string>): readonly number[] => [...ids].flatMap((id) => table.indexOf(id) ?? []);
    this.#leaving = indexesOf(leaving);
    this.#quiet = new Set(indexesOf(quiet?.nodes ?? []));
  }

  /** Places a pod on the first node that accepts it. Returns false if no node does. */
  take(pod: EnginePod, podClass: PodClass): boolean {
    const { table, topology, quiet } = this.#parts;
    const { nodes } = table;
    if (nodes.length === 0) return false;
    const isBarred = this.#quiet.size > 0 && quiet?.exempt.has(podKey(pod)) === false;
    const bindings = topology.bindingsOf(podClass);
    const knowledge = this.#knowledgeOf(podClass.kind);
    const { verdicts } = knowledge;
    while (verdicts[knowledge.first] === REFUSES) knowledge.first++;
    for (let at = knowledge.first; at < nodes.length; at++) {
      if (verdicts[at] === REFUSES || (isBarred && this.#quiet.has(at))) continue;
      const node = nodes[at] as CompiledNode;
      if (!bindings.admitNode(node.position) || !this.#holds(node, podClass, verdicts)) continue;
      this.#put(node, pod, podClass);
      return true;
    }
    return false;
  }

  /** Returns a copy of the verdicts before any pod is placed. The solve adds refusals to this copy. */
  #knowledgeOf(kind: PodKind): NodeKnowledge {
    let knowledge = this.#knowledge.get(kind);
    if (knowledge === undefined) {
      const { first, verdicts } = this.#parts.table.knowledgeOf(kind);
      knowledge = { first, verdicts: verdicts.slice() };
      for (const index of this.#leaving) knowledge.verdicts[index] = REFUSES;
      this.#knowledge.set(kind, knowledge);
    }
    return knowledge;
  }

  /**
   * Returns true if the node has room for the pod, ignoring topology. If the result is false, it stays false for the rest of the
   * solve, because pods are never removed.
   */
  #holds(node: CompiledNode, podClass: PodClass, verdicts: Uint8Array): boolean {
    const { index } = node;
    const used = this.#used.get(index);
    const holds = (used?.room ?? node.room).holds(podClass) && (verdicts[index] === SUITS || node.suits(podClass));
    verdicts[index] = holds ? SUITS : REFUSES;
    if (used === undefined) this.#learn(podClass.kind, index, holds);
    return holds;
  }

  /** Stores a verdict for other solves. The verdict is valid before any pod is placed. */
  #learn(kind: PodKind, index: number, holds: boolean): void {
    const knowledge = this.#parts.table.knowledgeOf(kind);
    knowledge.verdicts[index] = holds ? SUITS : REFUSES;
    while (knowledge.verdicts[knowledge.first] === REFUSES) knowledge.first++;
  }

  #put(node: CompiledNode, pod: EnginePod, podClass: PodClass): void {
    let used = this.#used.get(node.index);
    if (used === undefined) {
      used = { room: node.room.copy(), pods: [] };
      this.#used.set(node.index, used);
    }
    used.room.take(podClass);
    used.pods.push(pod);
    this.#parts.topology.recordOnNode(podClass, node.position);
  }

  get placements(): readonly Placement[] {
    const { nodes } = this.#parts.table;
    const inOrder = [...this.#used].sort(([a], [b]) => a - b);
    return inOrder.map(([index, { pods }]) => {
      const { node } = nodes[index] as CompiledNode;
      return { node: node.name, providerId: node.providerId, pods: pods.map(podKey) };
    });
  }
}

/** The nodes of one solve, which fill up. */
import type { EnginePod } from '../input.ts';
import type { Placement, Quiet } from '../model.ts';
import { podKey } from '../pods.ts';
import type { Topology } from '../topology/topology.ts';
import { type CompiledNode, type NodeKnowledge, type NodeTable, REFUSES, type Room, SUITS } from './node.ts';
import type { PodClass, PodKind } from './pod-class.ts';

interface NodesParts {
  readonly table: NodeTable;
  readonly topology: Topology;
  /** Provider ids of nodes that go. */
  readonly leaving: ReadonlySet<string>;
  readonly quiet: Quiet | undefined;
}

/** What was put on a node. */
interface UsedNode {
  readonly room: Room;
  readonly pods: EnginePod[];
}

export class Nodes {
  readonly #parts: NodesParts;
  /** By index: a simulation uses a few nodes of thousands. */
  readonly #used = new Map<number, UsedNode>();
  readonly #knowledge = new Map<PodKind, NodeKnowledge>();
  readonly #leaving: readonly number[];
  /** Indexes of nodes that only exempt pods may go to. */
  readonly #quiet: ReadonlySet<number>;

  constructor(parts: NodesParts) {
    this.#parts = parts;
    const { table, leaving, quiet } = parts;
    const indexesOf = (ids: Iterable<string>): readonly number[] => [...ids].flatMap((id) => table.indexOf(id) ?? []);
    this.#leaving = indexesOf(leaving);
    this.#quiet = new Set(indexesOf(quiet?.nodes ?? []));
  }

  /** Puts a pod on the first node that takes it. */
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

  /** A copy of what is known before anything is placed: in this solve there will be more refusals. */
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

  /** Topology aside. Once false, false for the rest of the solve: nothing is ever taken away. */
  #holds(node: CompiledNode, podClass: PodClass, verdicts: Uint8Array): boolean {
    const { index } = node;
    const used = this.#used.get(index);
    const holds = (used?.room ?? node.room).holds(podClass) && (verdicts[index] === SUITS || node.suits(podClass));
    verdicts[index] = holds ? SUITS : REFUSES;
    if (used === undefined) this.#learn(podClass.kind, index, holds);
    return holds;
  }

  /** What holds before anything is placed holds for other solves too. */
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

/** Nodes of one solve, with their remaining room. */
import type { Allocation } from '../dra/device-allocator.ts';
import type { HostDevices } from '../dra/host-devices.ts';
import type { EnginePod } from '../input.ts';
import type { Placement, Quiet } from '../model.ts';
import { podKey } from '../pods.ts';
import type { Topology } from '../topology/topology.ts';
import { type DevicePlacement, isRefused } from './device-placement.ts';
import { type CompiledNode, type NodeKnowledge, type NodeTable, REFUSES, type Room, SUITS } from './node.ts';
import type { PodClass, PodKind } from './pod-class.ts';

interface NodesParts {
  readonly table: NodeTable;
  /** Undefined while dynamic resources are ignored. */
  readonly devices: DevicePlacement | undefined;
  readonly topology: Topology;
  /** Provider ids of nodes that will be removed. */
  readonly leaving: ReadonlySet<string>;
  readonly quiet: Quiet | undefined;
  /** Provider ids of the nodes that were launched for pods, by UID of the pod. */
  readonly launched: ReadonlyMap<string, string>;
}

/** Adds a pod to a node on trial. Returns the devices of the node, or undefined if the pod does not fit. */
export type NodeTrial = (podClass: PodClass, held: HostDevices) => HostDevices | undefined;

/** Returns true if the pods that must run on the same node fit as well. */
export type MatesFit = (trial: NodeTrial, allocation: Allocation) => boolean;

/** Pods that were placed on a node, and its remaining room. */
interface UsedNode {
  readonly room: Room;
  readonly pods: EnginePod[];
}

export class Nodes {
  readonly #parts: NodesParts;
  /** Used nodes by index. A map, because a simulation uses only a few of thousands of nodes. */
  readonly #used = new Map<number, UsedNode>();
  /** Knowledge of this solve by kind, for the kinds that a used node refused. */
  readonly #knowledge = new Map<PodKind, NodeKnowledge>();
  /** State of the nodes that changed since the last restore point, by index. Undefined before the first restore point. */
  #before: Map<number, UsedNode | undefined> | undefined;
  /** Indexes of nodes that will be removed. */
  readonly #leaving: ReadonlySet<number>;
  /** Indexes of nodes that accept only exempt pods. */
  readonly #quiet: ReadonlySet<number>;

  constructor(parts: NodesParts) {
    this.#parts = parts;
    const { table, leaving, quiet } = parts;
    const indexesOf = (ids: Iterable<string>): readonly number[] => [...ids].flatMap((id) => table.indexOf(id) ?? []);
    this.#leaving = new Set(indexesOf(leaving));
    this.#quiet = new Set(indexesOf(quiet?.nodes ?? []));
  }

  /** Places a pod on the node that was launched for it. Returns false if there is no such node, or if the node has no room. */
  takeLaunched(pod: EnginePod, podClass: PodClass): boolean {
    const { table, topology, launched } = this.#parts;
    if (launched.size === 0 || podClass.devices !== undefined) return false;
    const at = table.indexOf(launched.get(pod.metadata.uid ?? '') ?? '');
    if (at === undefined || this.#leaving.has(at) || (this.#isBarred(pod) && this.#quiet.has(at))) return false;
    const { verdicts } = this.#knowledge.get(podClass.kind) ?? table.knowledgeOf(podClass.kind);
    const node = table.nodes[at] as CompiledNode;
    if (verdicts[at] === REFUSES || !topology.bindingsOf(podClass).admitNode(node.position)) return false;
    if (!this.#holds(node, podClass, verdicts)) return false;
    this.#put(node, pod, podClass);
    return true;
  }

  /** Places a pod on the first node that accepts it. Returns false if no node does. */
  take(pod: EnginePod, podClass: PodClass, fitsMates: MatesFit): boolean {
    const { table, topology } = this.#parts;
    const { nodes } = table;
    if (nodes.length === 0) return false;
    const isBarred = this.#isBarred(pod);
    const bindings = topology.bindingsOf(podClass);
    let knowledge = this.#knowledge.get(podClass.kind) ?? table.knowledgeOf(podClass.kind);
    while (knowledge.verdicts[knowledge.first] === REFUSES) knowledge.first++;
    for (let at = knowledge.first; at < nodes.length; at++) {
      if (knowledge.verdicts[at] === REFUSES || this.#leaving.has(at) || (isBarred && this.#quiet.has(at))) continue;
      const node = nodes[at] as CompiledNode;
      if (!bindings.admitNode(node.position)) continue;
      if (!this.#holds(node, podClass, knowledge.verdicts)) {
        knowledge = this.#refused(podClass.kind, at);
        continue;
      }
      const devices = this.#devicesOn(node, podClass);
      if (devices === 'refused') {
        knowledge = this.#refusedHere(podClass.kind, at);
        continue;
      }
      if (devices !== undefined && !fitsMates(this.#trialOn(node, podClass), devices)) continue;
      if (devices !== undefined) this.#parts.devices?.takeOnNode(node, devices);
      this.#put(node, pod, podClass);
      return true;
    }
    return false;
  }

  /** Returns true if the pod must not move to nodes within their quiet period. */
  #isBarred(pod: EnginePod): boolean {
    return this.#quiet.size > 0 && this.#parts.quiet?.exempt.has(podKey(pod)) === false;
  }

  /** Returns true if the node has room for the pod, ignoring topology. */
  #holds(node: CompiledNode, podClass: PodClass, verdicts: Uint8Array): boolean {
    const { index } = node;
    const { room } = this.#used.get(index) ?? node;
    const holds = room.holds(podClass) && (verdicts[index] === SUITS || node.suits(podClass));
    // room for more pods includes room for this pod before any pod is placed
    if (holds) verdicts[index] = SUITS;
    return holds;
  }

  /** Returns the devices for a pod on a node, or undefined if the pod uses no devices. */
  #devicesOn(node: CompiledNode, podClass: PodClass): Allocation | 'refused' | undefined {
    const { devices } = this.#parts;
    if (podClass.devices === undefined || devices === undefined) return undefined;
    const found = devices.onNode(node, podClass);
    return isRefused(found) ? 'refused' : found;
  }

  /** Returns a copy of a node with a pod, to which further pods can be added. */
  #trialOn(node: CompiledNode, podClass: PodClass): NodeTrial {
    const room = (this.#used.get(node.index) ?? node).room.copy();
    room.take(podClass);
    return (mate, held) => {
      const { topology, devices } = this.#parts;
      if (!room.holds(mate) || !node.suits(mate) || !topology.bindingsOf(mate).admitNode(node.position))
        return undefined;
      const found = mate.devices === undefined ? undefined : devices?.onNode(node, mate, held);
      if (found !== undefined && isRefused(found)) return undefined;
      room.take(mate);
      return found?.devices ?? held;
    };
  }

  /** Records a refusal that is valid only for this solve, because its devices depend on the pods that move. */
  #refusedHere(kind: PodKind, index: number): NodeKnowledge {
    const own = this.#knowledge.get(kind) ?? this.#copyOf(kind);
    if (this.#parts.devices?.areRefusalsPermanent) own.verdicts[index] = REFUSES;
    return own;
  }

  #copyOf(kind: PodKind): NodeKnowledge {
    const { first, verdicts } = this.#parts.table.knowledgeOf(kind);
    const own = { first, verdicts: verdicts.slice() };
    this.#knowledge.set(kind, own);
    return own;
  }

  /**
   * Records that a node refuses a kind. The refusal stays valid for the rest of the solve, because pods are never removed. A
   * refusal before any pod is placed is also valid for other solves. Otherwise, this solve needs a copy of the knowledge.
   */
  #refused(kind: PodKind, index: number): NodeKnowledge {
    const shared = this.#parts.table.knowledgeOf(kind);
    let own = this.#knowledge.get(kind);
    if (!this.#used.has(index)) shared.verdicts[index] = REFUSES;
    else own ??= this.#copyOf(kind);
    if (own === undefined) return shared;
    own.verdicts[index] = REFUSES;
    return own;
  }

  #put(node: CompiledNode, pod: EnginePod, podClass: PodClass): void {
    let used = this.#used.get(node.index);
    if (this.#before?.has(node.index) === false)
      this.#before.set(node.index, used && { room: used.room.copy(), pods: [...used.pods] });
    if (used === undefined) {
      used = { room: node.room.copy(), pods: [] };
      this.#used.set(node.index, used);
    }
    used.room.take(podClass);
    used.pods.push(pod);
    this.#parts.topology.recordOnNode(podClass, node.position);
  }

  /** Returns a function that removes all pods that are placed until it is called. */
  restorePoint(): () => void {
    const before = new Map<number, UsedNode | undefined>();
    this.#before = before;
    return () => {
      for (const [index, used] of before) {
        if (used === undefined) this.#used.delete(index);
        else this.#used.set(index, used);
      }
      this.#before = undefined;
      // nodes have more room than when they refused pods
      if (before.size > 0) this.#knowledge.clear();
    };
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

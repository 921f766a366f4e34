/** Nodes that exist or are launching, as places for pods. */

import { ByText } from '../../lib/by-text.ts';
import { remembering } from '../../lib/remembering.ts';
import { type HostPort, hostPortsOf, portConflict } from '../host-ports.ts';
import type { EnginePod } from '../input.ts';
import { compareText } from '../instance-types.ts';
import { type LeftOuts, leftOutName as named } from '../left-out.ts';
import type { EngineNode, Resources } from '../model.ts';
import { isOwnedByDaemonSet, isTerminal } from '../pods.ts';
import { type Requirements, STRICT } from '../requirements.ts';
import { addResources, maxResources, podRequests, subtractResources } from '../resources.ts';
import { toleratesAll } from '../taints.ts';
import { placeOf } from '../topology/base.ts';
import { type ClaimsByDriver, VolumeSlots, Volumes } from '../volumes.ts';
import { type Daemon, daemonRequestsOn, demandsOnNodes } from './daemons.ts';
import type { Amounts, Dimensions } from './dimensions.ts';
import type { PodClass, PodKind } from './pod-class.ts';

/** What nodes are compiled with. */
interface NodeContext {
  readonly daemons: readonly Daemon[];
  readonly dimensions: Dimensions;
  readonly volumes: Volumes;
  readonly leftOuts: LeftOuts;
}

/** Stands for daemons and dimensions: one object for equal ones, for as long as nodes have it. */
type Outlook = object;

const outlooks = new ByText<Outlook>();

const outlookOf = ({ daemons, dimensions }: NodeContext): Outlook =>
  outlooks.of(JSON.stringify([dimensions.names, daemons.map(demandsOnNodes)]), () => ({}));

/** What a node has left. Only ever less. */
export class Room {
  /** Where the node has no word of a resource it has none of it. */
  readonly #remaining: Amounts;
  readonly #ports: HostPort[];
  readonly #slots: VolumeSlots;

  constructor(remaining: Amounts, ports: readonly HostPort[], slots: VolumeSlots) {
    this.#remaining = remaining;
    this.#ports = [...ports];
    this.#slots = slots;
  }

  copy(): Room {
    return new Room(this.#remaining.slice(), this.#ports, this.#slots.copy());
  }

  holds({ amounts, ports, volumes }: PodClass): boolean {
    for (let at = 0; at < amounts.length; at++)
      if ((amounts[at] as number) > (this.#remaining[at] as number)) return false;
    return portConflict(ports, this.#ports) === undefined && this.#slots.hasRoomFor(volumes.claims);
  }

  take({ amounts, ports, volumes }: PodClass): void {
    for (let at = 0; at < amounts.length; at++) this.#remaining[at] = (this.#remaining[at] ?? 0) - (amounts[at] ?? 0);
    this.#ports.push(...ports);
    this.#slots.take(volumes.claims);
  }
}

/** A node as it is before anything is placed. */
export class CompiledNode {
  /** In the order in which nodes are tried. */
  readonly index: number;
  /** In the snapshot. */
  readonly position: number;
  readonly node: EngineNode;
  readonly requirements: Requirements;
  readonly room: Room;
  /** A negative amount says that the node is overcommitted already: it takes nothing. */
  readonly #overcommitted: boolean;

  constructor(index: number, position: number, node: EngineNode, { room, overcommitted }: Ground) {
    this.index = index;
    this.position = position;
    this.node = node;
    this.requirements = placeOf(node).requirements;
    this.room = room;
    this.#overcommitted = overcommitted;
  }

  /** Whether pods of a class could be here if there were room: what is no matter of room never changes. */
  suits({ pod, requirements, volumes }: PodClass): boolean {
    return (
      !this.#overcommitted &&
      toleratesAll(pod.spec.tolerations, this.node.taints) &&
      this.requirements.compatible(requirements, STRICT) &&
      volumes.alternatives.some((volume) => this.requirements.compatible(volume, STRICT))
    );
  }
}

/** What runs on a node, and what that leaves. */
interface Load {
  readonly ports: readonly HostPort[];
  /** Allocatable less what runs. */
  readonly free: Resources;
  readonly takenByDaemons: Resources;
  /** The running pods that use claims of volumes. */
  readonly claiming: readonly EnginePod[];
}

/** State nodes never change, and a cluster is solved again and again: what follows from a node is kept. */
const loadOf = remembering((node: EngineNode): Load => {
  const running = node.pods.filter((pod) => !isTerminal(pod));
  return {
    ports: running.flatMap(hostPortsOf),
    free: subtractResources(node.allocatable, addResources(...running.map(podRequests))),
    takenByDaemons: addResources(...running.filter(isOwnedByDaemonSet).map(podRequests)),
    claiming: running.filter((pod) => Volumes.claimNames(pod).length > 0),
  };
});

/** What a node has left before anything is placed. */
interface Ground {
  readonly room: Room;
  readonly overcommitted: boolean;
}

interface KeptGround extends Ground {
  readonly outlook: Outlook;
  /** Of the pods that use volumes, whose slots hang on more than nodes. */
  readonly claims: readonly ClaimsByDriver[];
}

const grounds = new WeakMap<EngineNode, KeptGround>();

function groundOf(node: EngineNode, { daemons, dimensions, volumes }: NodeContext, outlook: Outlook): Ground {
  const { ports, free, takenByDaemons, claiming } = loadOf(node);
  const known = grounds.get(node);
  const claims = claiming.map((pod) => volumes.claimsOf(pod));
  if (known?.outlook === outlook && claims.every((each, at) => each === known.claims[at])) return known;
  const wanted = daemonRequestsOn(daemons, { taints: node.taints, requirements: placeOf(node).requirements });
  const toCome = maxResources(subtractResources(wanted, takenByDaemons), zeroOf(wanted));
  const remaining = subtractResources(free, toCome);
  const room = new Room(dimensions.amounts(remaining), ports, new VolumeSlots(node.csiNode, claims));
  const ground = { room, overcommitted: Object.values(remaining).some((amount) => amount < 0), outlook, claims };
  grounds.set(node, ground);
  return ground;
}

const zeroOf = (resources: Resources): Resources => Object.fromEntries(Object.keys(resources).map((name) => [name, 0]));

/** Until it registers, a node is known by the name of its claim. */
const nameOf = ({ name, registered, nodeClaim }: EngineNode): string =>
  registered || nodeClaim === undefined ? name : nodeClaim.metadata.name;

/** What is known of pods that differ in topology alone and of nodes before anything is placed. */
export interface NodeKnowledge {
  /** 1 at the indexes of nodes that suit, 2 at those of nodes that refuse, 0 where nothing is known. */
  readonly verdicts: Uint8Array;
  /** Nodes before this index refuse. */
  first: number;
}

export const SUITS = 1;
export const REFUSES = 2;

/** The nodes of a snapshot that stay, in the order in which they are tried: initialised ones first, then by name. */
export class NodeTable {
  readonly nodes: readonly CompiledNode[];
  readonly #knowledge = new Map<PodKind, NodeKnowledge>();
  readonly #indexes: ReadonlyMap<string, number>;

  constructor(nodes: readonly EngineNode[], context: NodeContext) {
    const staying = nodes
      .map((node, position) => ({ node, position }))
      .filter(({ node }) => !node.markedForDeletion)
      .sort(
        ({ node: a }, { node: b }) =>
          Number(b.initialized) - Number(a.initialized) || compareText(nameOf(a), nameOf(b)),
      );
    // what runs on a node that is left out, and what it takes of its pool's limits, still counts
    let index = 0;
    const outlook = outlookOf(context);
    this.nodes = context.leftOuts.kept(
      staying,
      ({ node }) => named('Node', { name: node.name }),
      ({ node, position }) => {
        const compiled = new CompiledNode(index, position, node, groundOf(node, context, outlook));
        index++;
        return compiled;
      },
    );
    this.#indexes = new Map(this.nodes.map(({ node, index }) => [node.providerId, index]));
  }

  /** Of the nodes that stay. */
  indexOf(providerId: string): number | undefined {
    return this.#indexes.get(providerId);
  }

  /** Grows with every solve. */
  knowledgeOf(kind: PodKind): NodeKnowledge {
    let knowledge = this.#knowledge.get(kind);
    if (knowledge === undefined) {
      knowledge = { verdicts: new Uint8Array(this.nodes.length), first: 0 };
      this.#knowledge.set(kind, knowledge);
    }
    return knowledge;
  }
}

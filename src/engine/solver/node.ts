/** Existing and launching nodes on which pods can be placed. */

import { ByText, remembering, sameItems } from '#lib';
import type { ExtendedResources } from '../dra/extended-resources.ts';
import { type HostPort, hostPortsOf, portConflict } from '../host-ports.ts';
import type { EnginePod } from '../input.ts';
import { compareText } from '../instance-types.ts';
import { type LeftOuts, leftOutName as named } from '../left-out.ts';
import type { EngineNode, Resources } from '../model.ts';
import { daemonSetOf, isActive, isOwnedByDaemonSet, isTerminal } from '../pods.ts';
import { type Requirements, STRICT } from '../requirements.ts';
import { addResources, amountIn, fits, maxResources, podRequests, subtractResources } from '../resources.ts';
import { isAdmitted } from '../taints.ts';
import { placeOf } from '../topology/base.ts';
import { countsVolumes, type VolumeLimits, type VolumesByDriver } from '../volume-limits.ts';
import { limitsOn, VolumeSlots } from '../volume-slots.ts';
import { Volumes } from '../volumes.ts';
import { type Daemon, daemonRequestsOn, daemonsOn, demandsOnNodes } from './daemons.ts';
import type { Amounts, Dimensions } from './dimensions.ts';
import type { PodClass, PodKind } from './pod-class.ts';

/** Input for the compilation of nodes. */
interface NodeContext {
  readonly daemons: readonly Daemon[];
  readonly dimensions: Dimensions;
  readonly volumes: Volumes;
  /** Returns the predicted limits of volumes on nodes of the same instance type. */
  readonly volumeLimits: (node: EngineNode) => VolumeLimits;
  readonly leftOuts: LeftOuts;
  /** Undefined while dynamic resources are ignored. */
  readonly extended: ExtendedResources | undefined;
}

/** Identity of daemons and dimensions. Equal ones share one object while a node refers to the object. */
type Outlook = object;

const outlooks = new ByText<Outlook>();

const outlookOf = ({ daemons, dimensions }: NodeContext): Outlook =>
  outlooks.of(JSON.stringify([dimensions.identity, daemons.map(demandsOnNodes)]), () => ({}));

/** Remaining room of a node. It only shrinks. */
export class Room {
  /** Remaining amounts. 0 for resources that the node does not report. */
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
    return portConflict(ports, this.#ports) === undefined && this.#slots.hasRoomFor(volumes.attachments);
  }

  take({ amounts, ports, volumes }: PodClass): void {
    for (let at = 0; at < amounts.length; at++) this.#remaining[at] = (this.#remaining[at] ?? 0) - (amounts[at] ?? 0);
    this.#ports.push(...ports);
    this.#slots.take(volumes.attachments);
  }
}

/** Node before any pod is placed. */
export class CompiledNode {
  /** Position in the order of trial. */
  readonly index: number;
  /** Position in the snapshot. */
  readonly position: number;
  readonly node: EngineNode;
  readonly requirements: Requirements;
  readonly room: Room;
  /** True if an amount is negative. The node is already overcommitted and accepts no pods. */
  readonly #overcommitted: boolean;

  constructor(index: number, position: number, node: EngineNode, { room, overcommitted }: Ground) {
    this.index = index;
    this.position = position;
    this.node = node;
    this.requirements = placeOf(node).requirements;
    this.room = room;
    this.#overcommitted = overcommitted;
  }

  /**
   * Returns true if pods of a class could run here if there were room. The result never changes, because it does not depend on
   * room.
   */
  suits({ pod, requirements, volumes }: PodClass): boolean {
    return (
      !this.#overcommitted &&
      isAdmitted(pod.spec.tolerations, this.node.taints) &&
      this.requirements.compatible(requirements, STRICT) &&
      volumes.alternatives.some((volume) => this.requirements.compatible(volume, STRICT))
    );
  }
}

/** Running pods of a node, and the resources that remain. */
interface Load {
  readonly ports: readonly HostPort[];
  /** Allocatable resources minus the requests of running pods. */
  readonly free: Resources;
  readonly takenByDaemons: Resources;
  /** Running pods that use volumes. */
  readonly claiming: readonly EnginePod[];
}

/** Cached by node, because state nodes are immutable and a cluster is solved again and again. */
const loadOf = remembering((node: EngineNode): Load => {
  const running = node.pods.filter((pod) => !isTerminal(pod));
  return {
    ports: running.flatMap(hostPortsOf),
    free: subtractResources(node.allocatable, addResources(...running.map(podRequests))),
    takenByDaemons: addResources(...running.filter(isOwnedByDaemonSet).map(podRequests)),
    claiming: running.filter((pod) => Volumes.identitiesOf(pod).length > 0),
  };
});

/**
 * Returns the pods that DaemonSets will start on a node. On an initialized node, pods that do not fit are left
 * out, because they stay pending.
 */
export function missingDaemonsOn(node: EngineNode, daemons: readonly Daemon[]): readonly EnginePod[] {
  const present = daemonSetsOn(node);
  const absent = daemons.filter(({ pod }) => !present.has(daemonSetKey(pod)));
  if (absent.length === 0) return [];
  return daemonsOn(absent, { taints: node.taints, requirements: placeOf(node).requirements })
    .filter(({ requests }) => !node.initialized || fits(requests, { ...zeroOf(requests), ...loadOf(node).free }))
    .map(({ pod }) => pod);
}

const daemonSetsOn = remembering(
  ({ pods }: EngineNode): ReadonlySet<string> =>
    new Set(pods.filter((pod) => isActive(pod) && isOwnedByDaemonSet(pod)).map(daemonSetKey)),
);

const daemonSetKey = ({ metadata }: EnginePod): string => `${metadata.namespace ?? 'default'}/${daemonSetOf(metadata)}`;

/** Room of a node before any pod is placed. */
interface Ground {
  readonly room: Room;
  readonly overcommitted: boolean;
}

interface KeptGround extends Ground {
  readonly outlook: Outlook;
  /** Volumes of the pods, and their limits. They depend on objects besides the node. */
  readonly attachments: readonly VolumesByDriver[];
  readonly limits: VolumeLimits;
}

const grounds = new WeakMap<EngineNode, KeptGround>();

/** Volumes that remain attached without a pod of the node count too. */
function attachmentsOn(node: EngineNode, claiming: readonly EnginePod[], volumes: Volumes): readonly VolumesByDriver[] {
  const ofPods = claiming.map((pod) => volumes.attachmentsOf(pod));
  const { attachedVolumes } = node;
  return attachedVolumes === undefined ? ofPods : [...ofPods, volumes.attached(attachedVolumes)];
}

function groundOf(node: EngineNode, context: NodeContext, outlook: Outlook): Ground {
  const { daemons, dimensions, volumes, extended } = context;
  const { ports, free, takenByDaemons, claiming } = loadOf(node);
  const known = grounds.get(node);
  const attachments = attachmentsOn(node, claiming, volumes);
  const limits = limitsOn(node, context.volumeLimits);
  if (known?.outlook === outlook && known.limits === limits && sameItems(attachments, known.attachments)) return known;
  const wanted = daemonRequestsOn(daemons, { taints: node.taints, requirements: placeOf(node).requirements });
  const toCome = maxResources(subtractResources(wanted, takenByDaemons), zeroOf(wanted));
  const remaining = { ...subtractResources(free, toCome), ...unlimitedOn(node, { dimensions, extended }) };
  const room = new Room(dimensions.amounts(remaining), ports, new VolumeSlots(limits, attachments));
  const ground = {
    room,
    overcommitted: Object.values(remaining).some((amount) => amount < 0),
    outlook,
    attachments,
    limits,
  };
  grounds.set(node, ground);
  return ground;
}

/** Amount of a resource that is counted separately. */
const UNLIMITED = Number.MAX_SAFE_INTEGER / 2;

/**
 * Returns the resources that devices of a node provide, because no device plugin reports them, and the slots of volumes, which
 * are counted separately.
 */
function unlimitedOn(
  node: EngineNode,
  { dimensions, extended }: Pick<NodeContext, 'dimensions' | 'extended'>,
): Resources {
  const slots = Object.fromEntries(dimensions.names.filter(countsVolumes).map((name) => [name, UNLIMITED]));
  if (extended === undefined) return slots;
  const names = new Set([...dimensions.names, ...node.pods.flatMap((pod) => Object.keys(podRequests(pod)))]);
  const provided = [...names].filter(
    (name) =>
      extended.classOf(name) !== undefined &&
      amountIn(node.allocatable, name) === 0 &&
      (node.initialized || extended.isOnlyDevices(name)),
  );
  return { ...slots, ...Object.fromEntries(provided.map((name) => [name, UNLIMITED])) };
}

const zeroOf = (resources: Resources): Resources => Object.fromEntries(Object.keys(resources).map((name) => [name, 0]));

/** Returns the name of the node. Until the node registers, this is the name of its NodeClaim. */
const nameOf = ({ name, registered, nodeClaim }: EngineNode): string =>
  registered || nodeClaim === undefined ? name : nodeClaim.metadata.name;

/** Cached verdicts for pods of one kind on nodes before any pod is placed. */
export interface NodeKnowledge {
  /** `SUITS` or `REFUSES` at the index of each node, or 0 if the verdict is unknown. */
  readonly verdicts: Uint8Array;
  /** All nodes before this index refuse. */
  first: number;
}

export const SUITS = 1;
export const REFUSES = 2;

/** Staying nodes of a snapshot in their order of trial: initialized nodes first, then by name. */
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
    // the pods of an omitted node, and its share of the NodePool's limits, still count
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

  /** Returns the index of a staying node. */
  indexOf(providerId: string): number | undefined {
    return this.#indexes.get(providerId);
  }

  /** Returns the verdicts for a kind. Each solve adds verdicts. */
  knowledgeOf(kind: PodKind): NodeKnowledge {
    let knowledge = this.#knowledge.get(kind);
    if (knowledge === undefined) {
      knowledge = { verdicts: new Uint8Array(this.nodes.length), first: 0 };
      this.#knowledge.set(kind, knowledge);
    }
    return knowledge;
  }
}

/** Nodes that exist or are on their way, as places for pods. */
import type { Pod } from '../../api/kubernetes.ts';
import { HOSTNAME_LABEL } from '../../api/labels.ts';
import { type HostPort, hostPortsOf, portConflict } from '../hostports.ts';
import { compareText } from '../instancetypes.ts';
import type { Resources, StateNode } from '../model.ts';
import { isOwnedByDaemonSet, isTerminal } from '../pods.ts';
import { Requirements, STRICT } from '../requirements.ts';
import { addResources, maxResources, podRequests, subtractResources } from '../resources.ts';
import { toleratesAll } from '../taints.ts';
import { VolumeSlots, type Volumes } from '../volumes.ts';
import { type Daemon, daemonRequestsOn } from './daemons.ts';
import type { Amounts, Dimensions } from './dimensions.ts';
import type { PodClass } from './podclass.ts';

/** What of a solve nodes are compiled with. */
export interface NodeContext {
  readonly daemons: readonly Daemon[];
  readonly dimensions: Dimensions;
  readonly volumes: Volumes;
}

export class ExistingNode {
  readonly index: number;
  readonly node: StateNode;
  readonly requirements: Requirements;
  readonly pods: Pod[] = [];
  /** Where the node has no word of a resource it has none of it. */
  readonly #remaining: Amounts;
  readonly #ports: HostPort[];
  readonly #slots: VolumeSlots;
  /** A negative amount says that the node is overcommitted already: it takes nothing. */
  readonly #overcommitted: boolean;

  constructor(index: number, node: StateNode, { daemons, dimensions, volumes }: NodeContext) {
    this.index = index;
    this.node = node;
    const { requirements, running, ports, free, takenByDaemons } = loadOf(node);
    this.requirements = requirements;
    const wanted = daemonRequestsOn(daemons, { taints: node.taints, requirements });
    const toCome = maxResources(subtractResources(wanted, takenByDaemons), zeroOf(wanted));
    const remaining = subtractResources(free, toCome);
    this.#overcommitted = Object.values(remaining).some((amount) => amount < 0);
    this.#remaining = dimensions.amounts(remaining);
    this.#ports = [...ports];
    this.#slots = new VolumeSlots(
      node.csiNode,
      running.map((pod) => volumes.of(pod)),
    );
  }

  get hostname(): string {
    return this.node.labels[HOSTNAME_LABEL] ?? this.node.name;
  }

  /** Whether a pod can be put here, topology aside. Once false, false for good: nothing is ever taken away. */
  admits({ pod, amounts, ports, requirements, volumes }: PodClass): boolean {
    return (
      this.#holds(amounts) &&
      toleratesAll(pod.spec.tolerations, this.node.taints) &&
      portConflict(ports, this.#ports) === undefined &&
      this.requirements.compatible(requirements, STRICT) &&
      this.#slots.hasRoomFor(volumes.claims)
    );
  }

  #holds(amounts: Amounts): boolean {
    if (this.#overcommitted) return false;
    for (let at = 0; at < amounts.length; at++) if ((amounts[at] ?? 0) > (this.#remaining[at] ?? 0)) return false;
    return true;
  }

  add(pod: Pod, { amounts, ports, volumes }: PodClass): void {
    for (let at = 0; at < amounts.length; at++) this.#remaining[at] = (this.#remaining[at] ?? 0) - (amounts[at] ?? 0);
    this.#ports.push(...ports);
    this.#slots.take(volumes.claims);
    this.pods.push(pod);
  }
}

/** What runs on a node, and what that leaves. */
interface Load {
  readonly requirements: Requirements;
  readonly running: readonly Pod[];
  readonly ports: readonly HostPort[];
  /** Allocatable less what runs. */
  readonly free: Resources;
  readonly takenByDaemons: Resources;
}

/** State nodes never change, and disruption solves one cluster hundreds of times: what follows from a node is kept. */
const loads = new WeakMap<StateNode, Load>();

function loadOf(node: StateNode): Load {
  let load = loads.get(node);
  if (load === undefined) {
    const running = node.pods.filter((pod) => !isTerminal(pod));
    const hostname = node.labels[HOSTNAME_LABEL] ?? node.name;
    load = {
      requirements: Requirements.fromLabels({ ...node.labels, [HOSTNAME_LABEL]: hostname }),
      running,
      ports: running.flatMap(hostPortsOf),
      free: subtractResources(node.allocatable, addResources(...running.map(podRequests))),
      takenByDaemons: addResources(...running.filter(isOwnedByDaemonSet).map(podRequests)),
    };
    loads.set(node, load);
  }
  return load;
}

const zeroOf = (resources: Resources): Resources => Object.fromEntries(Object.keys(resources).map((name) => [name, 0]));

/** Until it registers, a node is known by the name of its claim. */
const nameOf = ({ name, registered, nodeClaim }: StateNode): string =>
  registered || nodeClaim === undefined ? name : nodeClaim.metadata.name;

/** Nodes that stay, in the order in which they are tried: initialised ones first, then by name. */
export function existingNodes(nodes: readonly StateNode[], context: NodeContext): readonly ExistingNode[] {
  return nodes
    .filter((node) => !node.markedForDeletion)
    .sort((a, b) => Number(b.initialized) - Number(a.initialized) || compareText(nameOf(a), nameOf(b)))
    .map((node, index) => new ExistingNode(index, node, context));
}

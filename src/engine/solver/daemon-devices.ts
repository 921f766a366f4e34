/**
 * Devices that pods of DaemonSets take on each node. These pods are bound to the node before other pods. All pods of a DaemonSet
 * share the claims that the DaemonSet names, so these claims have devices on one node at most.
 */
import type { ClaimState, ClaimVariation } from '../dra/claim-states.ts';
import { type DeviceAllocator, isReachable } from '../dra/device-allocator.ts';
import type { DevicePool } from '../dra/device-pool.ts';
import type { DeviceWorld } from '../dra/device-world.ts';
import type { TypeDevices } from '../dra/host-devices.ts';
import type { NodePlace } from '../dra/published-pools.ts';
import type { InstanceType } from '../model.ts';
import { isTerminal } from '../pods.ts';
import { Requirements } from '../requirements.ts';
import { type Daemon, daemonsByType, daemonsOn } from './daemons.ts';
import type { CompiledNode } from './node.ts';
import type { Template } from './template.ts';

interface DaemonParts {
  readonly world: DeviceWorld;
  readonly variation: ClaimVariation;
  readonly allocator: DeviceAllocator;
  readonly daemons: readonly Daemon[];
}

/** DaemonSet whose pods claim devices. */
interface ClaimingDaemon {
  readonly daemon: Daemon;
  /** Claims that each pod has for itself. */
  readonly own: readonly ClaimState[];
  /** Claims that all pods share. */
  readonly named: readonly ClaimState[];
}

export class DaemonDevices {
  readonly #allocator: DeviceAllocator;
  readonly #claiming: readonly ClaimingDaemon[];
  readonly #byTemplate = new Map<Template, (type: InstanceType) => readonly Daemon[]>();
  /** Devices by daemons, by pools. Types with the same devices share an object. */
  readonly #known = new Map<readonly DevicePool[], Map<string, TypeDevices>>();
  /** Nodes with the devices of shared claims that are not allocated yet. */
  readonly #nodes = new Map<Daemon, CompiledNode>();

  constructor({ world, variation, allocator, daemons }: DaemonParts) {
    this.#allocator = allocator;
    this.#claiming = daemons.flatMap((daemon) => {
      const claims = world.claimsOfDaemon(daemon.pod);
      if (claims.length === 0) return [];
      const statesOf = (isPrivate: boolean): readonly ClaimState[] =>
        claims.filter((each) => each.isPrivate === isPrivate).map(({ claim }) => variation.stateOf(claim, isPrivate));
      return [{ daemon, own: statesOf(true), named: statesOf(false) }];
    });
  }

  /**
   * Returns the devices of DaemonSets on a new node. Shared claims that are not allocated take no devices of new nodes, because
   * no node would ever be launched for a pod that needs all devices of a node.
   */
  onType(template: Template, type: InstanceType, templates: readonly DevicePool[]): TypeDevices | undefined {
    if (this.#claiming.length === 0 || templates.length === 0) return undefined;
    let runsOn = this.#byTemplate.get(template);
    if (runsOn === undefined) {
      const { taints, root } = template;
      const place = { nodeName: undefined, requirements: root.requirements };
      const able = this.#claiming.filter((each) => canRunAt(each, place));
      runsOn = daemonsByType(
        able.map(({ daemon }) => daemon),
        { taints, requirements: root.requirements },
      );
      this.#byTemplate.set(template, runsOn);
    }
    return this.#ofTemplates(runsOn(type), templates);
  }

  /** Returns the devices of DaemonSets on an existing node. The claims of running pods already use their devices. */
  onNode(compiled: CompiledNode, templates: readonly DevicePool[]): TypeDevices | undefined {
    if (this.#claiming.length === 0) return undefined;
    const { node, requirements } = compiled;
    const place = { nodeName: node.node?.metadata.name, requirements };
    const able = this.#claiming.filter((each) => canRunAt(each, place));
    const daemons = new Set(
      daemonsOn(
        able.map(({ daemon }) => daemon),
        { taints: node.taints, requirements },
      ),
    );
    const owners = new Set(node.pods.flatMap((pod) => (isTerminal(pod) ? [] : ownersOf(pod))));
    // the published devices of a node before its initialization do not count, and neither do the claims that use them
    const isComing = ({ pod }: Daemon): boolean => !node.initialized || !ownersOf(pod).some((uid) => owners.has(uid));
    const coming = able.filter(({ daemon }) => daemons.has(daemon) && isComing(daemon));
    if (coming.length === 0) return undefined;
    const pools = node.initialized ? [] : templates;
    const isShared = coming.some(({ named }) => named.some(isOpen));
    if (!node.initialized && !isShared)
      return this.#ofTemplates(
        coming.map(({ daemon }) => daemon),
        templates,
      );
    const claims = coming.flatMap((each) => this.#claimsOn(compiled, each, { place, templates: pools }));
    return this.#allocator.reserve(claims, { place, templates: pools });
  }

  /** Returns the claims for which a pod of a DaemonSet takes devices of an existing node. */
  #claimsOn(
    node: CompiledNode,
    { daemon, own, named }: ClaimingDaemon,
    reserved: Parameters<DeviceAllocator['reserve']>[1],
  ): readonly (readonly ClaimState[])[] {
    const open = named.filter(isOpen);
    if (open.length === 0) return [own];
    const known = this.#nodes.get(daemon);
    // the pods on other nodes cannot run
    if (known !== undefined && known !== node) return [];
    if (this.#allocator.reserve([open], reserved).use.isEmpty) return [own];
    this.#nodes.set(daemon, node);
    return [[...own, ...open]];
  }

  #ofTemplates(daemons: readonly Daemon[], templates: readonly DevicePool[]): TypeDevices | undefined {
    if (daemons.length === 0) return undefined;
    const known = this.#known.get(templates) ?? new Map<string, TypeDevices>();
    this.#known.set(templates, known);
    const id = this.#claiming.map(({ daemon }) => Number(daemons.includes(daemon))).join('');
    let devices = known.get(id);
    if (devices === undefined) {
      const place = { nodeName: undefined, requirements: Requirements.EMPTY };
      const claims = this.#claiming.filter(({ daemon }) => daemons.includes(daemon)).map(({ own }) => own);
      devices = this.#allocator.reserve(claims, { place, templates });
      known.set(id, devices);
    }
    return devices;
  }
}

const isOpen = ({ allocated }: ClaimState): boolean => allocated === undefined;

/** Returns true if a node at this place can reach the devices of all shared claims that are allocated. */
const canRunAt = ({ named }: ClaimingDaemon, place: NodePlace): boolean =>
  named.every(({ allocated }) => {
    const terms = allocated?.nodeSelectorTerms ?? [];
    return terms.length === 0 || terms.some((term) => isReachable(term, place));
  });

const ownersOf = ({ metadata }: Daemon['pod']): readonly string[] =>
  (metadata.ownerReferences ?? []).flatMap(({ kind, uid }) => (kind === 'DaemonSet' ? [uid] : []));

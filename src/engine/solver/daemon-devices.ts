/** Devices that pods of DaemonSets take on each node. These pods are bound to the node before other pods. */
import type { ClaimState, ClaimVariation } from '../dra/claim-states.ts';
import type { DeviceAllocator } from '../dra/device-allocator.ts';
import type { DevicePool } from '../dra/device-pool.ts';
import type { DeviceWorld } from '../dra/device-world.ts';
import type { TypeDevices } from '../dra/host-devices.ts';
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
  readonly claims: readonly ClaimState[];
}

export class DaemonDevices {
  readonly #allocator: DeviceAllocator;
  readonly #claiming: readonly ClaimingDaemon[];
  readonly #byTemplate = new Map<Template, (type: InstanceType) => readonly Daemon[]>();
  /** Devices by daemons, by pools. Types with the same devices share an object. */
  readonly #known = new Map<readonly DevicePool[], Map<string, TypeDevices>>();

  constructor({ world, variation, allocator, daemons }: DaemonParts) {
    this.#allocator = allocator;
    this.#claiming = daemons.flatMap((daemon) => {
      const claims = world.claimsOfDaemon(daemon.pod).map(({ claim }) => variation.stateOf(claim, true));
      return claims.length === 0 ? [] : [{ daemon, claims }];
    });
  }

  /** Returns the devices of DaemonSets on a new node. */
  onType(template: Template, type: InstanceType, templates: readonly DevicePool[]): TypeDevices | undefined {
    if (this.#claiming.length === 0 || templates.length === 0) return undefined;
    let runsOn = this.#byTemplate.get(template);
    if (runsOn === undefined) {
      const { taints, root } = template;
      runsOn = daemonsByType(
        this.#claiming.map(({ daemon }) => daemon),
        { taints, requirements: root.requirements },
      );
      this.#byTemplate.set(template, runsOn);
    }
    return this.#ofTemplates(runsOn(type), templates);
  }

  /** Returns the devices of DaemonSets on an existing node. The claims of running pods already use their devices. */
  onNode({ node, requirements }: CompiledNode, templates: readonly DevicePool[]): TypeDevices | undefined {
    if (this.#claiming.length === 0) return undefined;
    const daemons = daemonsOn(
      this.#claiming.map(({ daemon }) => daemon),
      { taints: node.taints, requirements },
    );
    // the published devices of this node do not count yet, and neither do the claims that use them
    if (!node.initialized) return this.#ofTemplates(daemons, templates);
    const owners = new Set(node.pods.flatMap((pod) => (isTerminal(pod) ? [] : ownersOf(pod))));
    const coming = daemons.filter(({ pod }) => !ownersOf(pod).some((uid) => owners.has(uid)));
    if (coming.length === 0) return undefined;
    const place = { nodeName: node.node?.metadata.name, requirements };
    return this.#allocator.reserve(this.#claimsOf(coming), { place, templates: [] });
  }

  #ofTemplates(daemons: readonly Daemon[], templates: readonly DevicePool[]): TypeDevices | undefined {
    if (daemons.length === 0) return undefined;
    const known = this.#known.get(templates) ?? new Map<string, TypeDevices>();
    this.#known.set(templates, known);
    const id = this.#claiming.map(({ daemon }) => Number(daemons.includes(daemon))).join('');
    let devices = known.get(id);
    if (devices === undefined) {
      const place = { nodeName: undefined, requirements: Requirements.EMPTY };
      devices = this.#allocator.reserve(this.#claimsOf(daemons), { place, templates });
      known.set(id, devices);
    }
    return devices;
  }

  #claimsOf(daemons: readonly Daemon[]): readonly (readonly ClaimState[])[] {
    return this.#claiming.filter(({ daemon }) => daemons.includes(daemon)).map(({ claims }) => claims);
  }
}

const ownersOf = ({ metadata }: Daemon['pod']): readonly string[] =>
  (metadata.ownerReferences ?? []).flatMap(({ kind, uid }) => (kind === 'DaemonSet' ? [uid] : []));

/** Devices in one attempt of a solve: devices of pods on existing nodes and on claims under construction. */

import { INSTANCE_TYPE_LABEL, NODEPOOL_LABEL } from '../../api/labels.ts';
import { own } from '../../lib/own.ts';
import type { ClaimVariation, ClaimState as DeviceClaimState } from '../dra/claim-states.ts';
import type { Allocation, AllocationRefusal, CandidateType, DeviceAllocator } from '../dra/device-allocator.ts';
import type { DeviceWorld } from '../dra/device-world.ts';
import { type HostDevices, NO_HOST_DEVICES } from '../dra/host-devices.ts';
import { SearchBudget } from '../dra/search-budget.ts';
import type { Misfit } from '../model.ts';
import { Requirements } from '../requirements.ts';
import { combinedPlaces } from '../volumes.ts';
import type { Choice } from './choice.ts';
import type { Claim, ClaimState } from './claim.ts';
import type { CompiledNode } from './node.ts';
import type { PodClass } from './pod-class.ts';

/** Claim that is not created yet. Its devices are free of other pods. */
const NEW_HOST = {};

export const isRefused = (result: Allocation | AllocationRefusal): result is AllocationRefusal => 'text' in result;

export const deviceMisfit = ({ text }: AllocationRefusal): Misfit => ({
  code: 'devices',
  text: `allocating dynamic resources, ${text}`,
});

export class DevicePlacement {
  readonly #world: DeviceWorld;
  readonly #variation: ClaimVariation;
  readonly #allocator: DeviceAllocator;
  readonly #elapsedMs: (() => number) | undefined;
  readonly #onNodes = new Map<CompiledNode, HostDevices>();
  readonly #states = new Map<PodClass, readonly DeviceClaimState[]>();
  readonly #alternatives = new Map<PodClass, readonly Requirements[]>();
  readonly #types = new Map<Choice, readonly CandidateType[]>();
  #budget: SearchBudget;

  constructor(world: DeviceWorld, variation: ClaimVariation, elapsedMs: (() => number) | undefined) {
    this.#world = world;
    this.#variation = variation;
    this.#allocator = world.newAllocator(variation);
    this.#elapsedMs = elapsedMs;
    this.#budget = new SearchBudget(elapsedMs);
  }

  /** Starts the work for another pod. */
  start(): void {
    this.#budget = new SearchBudget(this.#elapsedMs);
  }

  #statesOf(podClass: PodClass): readonly DeviceClaimState[] {
    let states = this.#states.get(podClass);
    if (states === undefined) {
      const { claims = [] } = podClass.devices ?? {};
      states = claims.map(({ claim, isPrivate }) => this.#variation.stateOf(claim, isPrivate));
      this.#states.set(podClass, states);
    }
    return states;
  }

  /** Returns alternative requirements of the volumes and of the allocated claims of a pod. */
  alternativesOf(podClass: PodClass): readonly Requirements[] {
    const { alternatives } = podClass.volumes;
    if (podClass.devices === undefined) return alternatives;
    let combined = this.#alternatives.get(podClass);
    if (combined === undefined) {
      const terms = this.#statesOf(podClass).map(({ allocated }) => allocated?.nodeSelectorTerms ?? []);
      const places = terms
        .filter(({ length }) => length > 1)
        .map((each) => each.map(({ matchExpressions }) => Requirements.fromRequirements(matchExpressions)));
      combined = places.length === 0 ? alternatives : combinedPlaces([alternatives, ...places]);
      this.#alternatives.set(podClass, combined);
    }
    return combined;
  }

  /** Returns the devices for a pod on an existing node. */
  onNode(node: CompiledNode, podClass: PodClass): Allocation | AllocationRefusal {
    const { labels, initialized, node: object } = node.node;
    const type = own(labels, INSTANCE_TYPE_LABEL) ?? '';
    const nodePool = own(labels, NODEPOOL_LABEL) ?? '';
    const templates = initialized ? [] : this.#world.templatesOf(nodePool, type);
    return this.#allocator.allocate(
      this.#statesOf(podClass),
      {
        host: node,
        place: { nodeName: object?.metadata.name, requirements: node.requirements },
        types: [{ name: type, templates }],
        devices: this.#onNodes.get(node) ?? NO_HOST_DEVICES,
      },
      this.#budget,
    );
  }

  takeOnNode(node: CompiledNode, { devices }: Allocation): void {
    this.#onNodes.set(
      node,
      this.#allocator.commit(node, devices, () => true),
    );
  }

  /** Returns the devices for a pod on a claim. @param claim undefined for a claim that does not exist yet */
  onClaim(
    state: ClaimState,
    claim: Claim | undefined,
    requirements: Requirements,
    podClass: PodClass,
  ): Allocation | AllocationRefusal {
    const types = this.#typesOf(state);
    return this.#allocator.allocate(
      this.#statesOf(podClass),
      {
        host: claim ?? NEW_HOST,
        place: { nodeName: undefined, requirements },
        types,
        devices: state.devices ?? NO_HOST_DEVICES,
      },
      this.#budget,
    );
  }

  /** Not cached by the choice, which snapshots with other devices share. */
  #typesOf({ template, choice }: ClaimState): readonly CandidateType[] {
    let types = this.#types.get(choice);
    if (types === undefined) {
      types = choice.types.map(({ name }) => ({ name, templates: this.#world.templatesOf(template.name, name) }));
      this.#types.set(choice, types);
    }
    return types;
  }

  /** Records the devices of a claim for the types that remain. */
  takeOnClaim(claim: Claim): void {
    const { devices, choice } = claim.state;
    if (devices === undefined) return;
    const names = new Set(choice.types.map(({ name }) => name));
    this.#allocator.commit(claim, devices, (type) => names.has(type));
  }

  /** True if a refusal cannot change during the solve, because no devices become free. */
  get areRefusalsPermanent(): boolean {
    return !this.#world.hasWidePools;
  }
}

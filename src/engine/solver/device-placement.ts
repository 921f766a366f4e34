/** Devices in one attempt of a solve: devices of pods on existing nodes and on claims under construction. */

import { INSTANCE_TYPE_LABEL, NODEPOOL_LABEL } from '#api/objects';
import { own } from '#lib';
import { ClaimError } from '../dra/claim-requests.ts';
import type { ClaimVariation, ClaimState as DeviceClaimState } from '../dra/claim-states.ts';
import type {
  Allocation,
  AllocationCandidate,
  AllocationRefusal,
  CandidateType,
  DeviceAllocator,
} from '../dra/device-allocator.ts';
import type { DevicePool } from '../dra/device-pool.ts';
import type { DeviceWorld } from '../dra/device-world.ts';
import { bindsToNode, type HostDevices, NO_HOST_DEVICES, type TypeDevices } from '../dra/host-devices.ts';
import { SearchBudget } from '../dra/search-budget.ts';
import type { EnginePod } from '../input.ts';
import type { AllocationWork, Misfit } from '../model.ts';
import { Requirements } from '../requirements.ts';
import { amountIn } from '../resources.ts';
import { combinedPlaces } from '../volumes.ts';
import type { Choice } from './choice.ts';
import type { Claim, ClaimState } from './claim.ts';
import { sharedClaims } from './claim-units.ts';
import { DaemonDevices } from './daemon-devices.ts';
import type { Daemon } from './daemons.ts';
import type { NamespaceWork } from './namespace-work.ts';
import type { CompiledNode } from './node.ts';
import type { PodClass } from './pod-class.ts';

/** Characters in the selectors of a pod's claims that cost little to compile, and units of each character of longer selectors. */
const SHORT_SELECTORS = 4_096;
const UNITS_PER_CHARACTER = 50;

const lengthOf = (compiled: DeviceClaimState['compiled']): number =>
  compiled instanceof ClaimError ? 0 : compiled.selectorLength;

/** Claim that is not created yet. Its devices are free of other pods. */
const NEW_HOST = {};

export const isRefused = (result: Allocation | AllocationRefusal): result is AllocationRefusal => 'text' in result;

export const deviceMisfit = ({ text }: AllocationRefusal): Misfit => ({
  code: 'devices',
  text: `allocating dynamic resources, ${text}`,
});

interface PlacementParts {
  readonly world: DeviceWorld;
  readonly variation: ClaimVariation;
  readonly daemons: readonly Daemon[];
  readonly elapsedMs: (() => number) | undefined;
  readonly work: NamespaceWork;
}

export class DevicePlacement {
  readonly #world: DeviceWorld;
  readonly #variation: ClaimVariation;
  readonly #allocator: DeviceAllocator;
  readonly #elapsedMs: (() => number) | undefined;
  readonly #work: NamespaceWork;
  readonly #onNodes = new Map<CompiledNode, HostDevices>();
  readonly #states = new Map<PodClass, readonly DeviceClaimState[]>();
  readonly #alternatives = new Map<PodClass, readonly Requirements[]>();
  readonly #types = new Map<Choice, readonly CandidateType[]>();
  readonly #daemons: DaemonDevices;
  readonly #reserved = new Map<CompiledNode, TypeDevices | undefined>();
  #budget: SearchBudget;
  #ms = 0;
  #expired = 0;
  /** True if the current pod is counted. */
  #isExpired = false;

  constructor({ world, variation, daemons, elapsedMs, work }: PlacementParts) {
    this.#world = world;
    this.#variation = variation;
    this.#allocator = world.newAllocator(variation);
    this.#daemons = new DaemonDevices({ world, variation, allocator: this.#allocator, daemons });
    this.#elapsedMs = elapsedMs;
    this.#work = work;
    this.#budget = new SearchBudget({ elapsedMs });
  }

  /** Work of this attempt. */
  get work(): AllocationWork {
    return { ms: this.#ms, expired: this.#expired };
  }

  #allocate(claims: readonly DeviceClaimState[], candidate: AllocationCandidate): Allocation | AllocationRefusal {
    const startMs = this.#elapsedMs?.() ?? 0;
    const result = this.#allocator.allocate(claims, candidate, this.#budget);
    this.#ms += (this.#elapsedMs?.() ?? 0) - startMs;
    if (isRefused(result) && result.isExpired && !this.#isExpired) {
      this.#isExpired = true;
      this.#expired++;
    }
    return result;
  }

  /** Starts the work for another pod. */
  start(pod: EnginePod, podClass: PodClass): void {
    this.#isExpired = false;
    const onUnits = this.#work.counterFor(pod);
    this.#budget = new SearchBudget({ elapsedMs: this.#elapsedMs, onUnits });
    const characters = this.#statesOf(podClass).reduce((sum, { compiled }) => sum + lengthOf(compiled), 0);
    if (characters > SHORT_SELECTORS) onUnits(characters * UNITS_PER_CHARACTER);
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

  /** Returns true if a claim that the pod shares with other pods has no devices yet. */
  sharesOpenClaims(podClass: PodClass): boolean {
    return sharedClaims(podClass, this.#variation).some((id) => !this.#allocator.hasAllocated(id));
  }

  /** Returns true if all pods of the claims that a pod shares must run on the node with these devices. */
  bindsMates(devices: HostDevices, podClass: PodClass): boolean {
    return bindsToNode(devices, sharedClaims(podClass, this.#variation));
  }

  /** Returns the devices for a pod on an existing node. @param held devices of the other pods on the node */
  onNode(node: CompiledNode, podClass: PodClass, held = this.#onNodes.get(node)): Allocation | AllocationRefusal {
    const { labels, initialized, node: object, nodeClaim } = node.node;
    const type = own(labels, INSTANCE_TYPE_LABEL) ?? '';
    const nodePool = own(labels, NODEPOOL_LABEL) ?? '';
    const { forResources = [], nominatedClaim } = podClass.devices ?? {};
    const isNominated = nominatedClaim !== undefined && nominatedClaim === nodeClaim?.metadata.name;
    const templates = initialized ? [] : this.#world[isNominated ? 'promisedTo' : 'templatesOf'](nodePool, type);
    const reserved = this.#reservedOn(node, initialized ? [] : this.#world.promisedTo(nodePool, type));
    const missing = forResources.filter(({ resource }) => amountIn(node.node.allocatable, resource) === 0);
    return this.#allocate(
      [...this.#statesOf(podClass), ...missing.map(({ claim }) => this.#variation.stateOf(claim, true))],
      {
        host: node,
        place: { nodeName: object?.metadata.name, requirements: node.requirements },
        types: [{ name: type, templates, reserved }],
        devices: held ?? NO_HOST_DEVICES,
      },
    );
  }

  #reservedOn(node: CompiledNode, templates: readonly DevicePool[]): TypeDevices | undefined {
    if (!this.#reserved.has(node)) this.#reserved.set(node, this.#daemons.onNode(node, templates));
    return this.#reserved.get(node);
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
    return this.#allocate(this.#statesOf(podClass), {
      host: claim ?? NEW_HOST,
      place: { nodeName: undefined, requirements },
      types,
      devices: state.devices ?? NO_HOST_DEVICES,
    });
  }

  /** Not cached by the choice, which snapshots with other devices share. */
  #typesOf({ template, choice }: ClaimState): readonly CandidateType[] {
    let types = this.#types.get(choice);
    if (types === undefined) {
      types = choice.types.map((type) => {
        const templates = this.#world.templatesOf(template.name, type.name);
        const suspended = this.#world.suspendedOn(template.name, type.name);
        return { name: type.name, templates, suspended, reserved: this.#daemons.onType(template, type, templates) };
      });
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

  /** Returns a function that releases all devices that are taken until it is called. */
  restorePoint(): () => void {
    const restoreAllocator = this.#allocator.restorePoint();
    const onNodes = [...this.#onNodes];
    return () => {
      restoreAllocator();
      this.#onNodes.clear();
      for (const [node, devices] of onNodes) this.#onNodes.set(node, devices);
    };
  }

  /** True if a refusal cannot change during the solve, because no devices become free. */
  get areRefusalsPermanent(): boolean {
    return !this.#world.hasWidePools;
  }
}

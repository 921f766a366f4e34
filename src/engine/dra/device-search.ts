/**
 * Searches devices for the requests of claims on one node, depth first. The first solution wins, as in kube-scheduler. Slots of
 * one request are interchangeable, so devices are tried in one order only, and equivalent devices once.
 */
import { remembering } from '#lib';
import type { Requirements } from '../requirements.ts';
import { LOOSE } from '../requirements.ts';
import { consumptionOf } from './capacity.ts';
import { type Alternative, type CompiledClaim, type CompiledRequest, MOST_DEVICES } from './claim-requests.ts';
import { appliesTo, type ConstraintState, OPEN, withDevice } from './constraints.ts';
import { CounterBudgets } from './counter-budgets.ts';
import { mismatchOf } from './device-matches.ts';
import type { DevicePool } from './device-pool.ts';
import { toleratesDevice } from './device-taints.ts';
import { type DeviceGrant, DeviceUse, type UseView } from './device-use.ts';
import type { PoolDevice } from './pool-device.ts';
import type { NodePlace, ReachablePool } from './published-pools.ts';
import { Rejections } from './rejections.ts';
import type { SearchBudget } from './search-budget.ts';
import { shown } from './shown-text.ts';

/** A selector failed on a published device, so kube-scheduler would not place the pod on this node. */
export class SelectorFailure extends Error {}

/** A request for all devices includes a device that violates a constraint. kube-scheduler then tries nothing else. */
class ConstraintFailure extends Error {}

export interface SearchInput {
  readonly claims: readonly CompiledClaim[];
  /** Devices in the order of trial. */
  readonly devices: readonly PooledDevice[];
  readonly place: NodePlace;
  /** Devices that are in use before the search. */
  readonly use: UseView;
  readonly budget: SearchBudget;
}

/** Device for a request of a claim. */
export interface SearchGrant extends DeviceGrant {
  /** Position of the claim. */
  readonly claim: number;
  readonly request: string;
  readonly isAdmin: boolean;
}

export interface DevicesFound {
  readonly grants: readonly SearchGrant[];
  /** Requirements of the place, narrowed by devices that only some nodes can reach. */
  readonly requirements: Requirements;
}

interface Step {
  readonly claim: number;
  readonly request: CompiledRequest;
}

/** Device that fits at this time, with the state after its allocation. */
interface Fit {
  readonly consumed: ReadonlyMap<string, bigint> | undefined;
  readonly states: readonly ConstraintState[];
  readonly requirements: Requirements;
}

/** Device with its pool. */
export interface PooledDevice {
  readonly device: PoolDevice;
  readonly pool: DevicePool;
}

/** Returns the devices of pools. */
export const pooledDevices = remembering((pools: readonly ReachablePool[]): readonly PooledDevice[] =>
  pools.flatMap(({ pool, devices }) => devices.map((device) => ({ device, pool }))),
);

class Search {
  readonly #input: SearchInput;
  readonly #devices: readonly PooledDevice[];
  readonly #steps: readonly Step[];
  readonly #path: SearchGrant[] = [];
  /** Use by the path, with administrative access. */
  readonly #use = new DeviceUse();
  readonly #counters: CounterBudgets;
  /** States of the constraints of each claim. */
  readonly #states: (readonly ConstraintState[])[];
  /** Functions that undo the allocations of the path. */
  readonly #undo: (() => void)[] = [];
  readonly #matching = new Map<Alternative, readonly PooledDevice[]>();
  #requirements: Requirements;
  readonly rejections: Rejections;

  constructor(input: SearchInput) {
    this.#input = input;
    this.#devices = input.devices;
    this.rejections = new Rejections(input.budget);
    this.#steps = input.claims.flatMap(({ requests }, claim) => requests.map((request) => ({ claim, request })));
    this.#states = input.claims.map(({ constraints }) => constraints.map(() => OPEN));
    this.#requirements = input.place.requirements;
    this.#counters = new CounterBudgets(input.use);
  }

  run(): DevicesFound | undefined {
    this.#evaluateRequestsForAll();
    try {
      return this.#allocate(0) ? { grants: [...this.#path], requirements: this.#requirements } : undefined;
    } catch (error) {
      if (error instanceof ConstraintFailure) return undefined;
      throw error;
    }
  }

  /**
   * Evaluates the selectors of requests for all devices, as kube-scheduler does before it tries any alternative.
   * @throws {SelectorFailure} if a selector fails on a published device
   */
  #evaluateRequestsForAll(): void {
    const forAll = this.#steps.flatMap(({ request }) =>
      request.alternatives.filter(({ count }) => count === undefined),
    );
    for (const alternative of forAll)
      for (const { device } of this.#devices) if (!device.isTemplate) this.#isSelected(device, alternative);
  }

  #allocate(at: number): boolean {
    const step = this.#steps[at];
    if (step === undefined) return true;
    const held = this.#path.reduce((count, { claim }) => count + Number(claim === step.claim), 0);
    return step.request.alternatives.some((alternative) => {
      this.rejections.focus(at, alternative);
      const { count } = alternative;
      if (count === undefined) return this.#allocateAll(at, alternative, held);
      return held + count <= MOST_DEVICES && this.#fillSlots(at, alternative, count, 0);
    });
  }

  #allocateAll(at: number, alternative: Alternative, held: number): boolean {
    const all = this.#matchingDevices(alternative);
    if (held + all.length > MOST_DEVICES) this.rejections.hasTooMany = true;
    if (all.length === 0 || held + all.length > MOST_DEVICES) return false;
    const before = this.#undo.length;
    const isAll = all.every((entry) => {
      const fit = this.#fit(at, alternative, entry);
      if (fit !== undefined) this.#take(at, alternative, entry, fit);
      return fit !== undefined;
    });
    if (isAll && this.#allocate(at + 1)) return true;
    while (this.#undo.length > before) this.#undo.pop()?.();
    return false;
  }

  /**
   * Returns all devices that the selectors accept, whether they are in use or not. As in kube-scheduler, shared devices without
   * enough remaining capacity do not count.
   */
  #matchingDevices(alternative: Alternative): readonly PooledDevice[] {
    let known = this.#matching.get(alternative);
    if (known === undefined) {
      known = this.#devices.filter(({ device }) => {
        if (!this.#isSelected(device, alternative)) return false;
        const consumed = consumptionOf(device, alternative);
        const hasRoom = consumed !== undefined && this.#hasRoom(device, consumed, NOTHING);
        if (!hasRoom) this.rejections.add(device, consumed === undefined ? CAPACITY : IN_USE);
        return hasRoom;
      });
      this.#matching.set(alternative, known);
    }
    return known;
  }

  /** @throws {SelectorFailure} if a selector fails on a published device */
  #isSelected(device: PoolDevice, alternative: Alternative): boolean {
    const mismatch = mismatchOf(device, alternative, this.#input.budget);
    if (mismatch === undefined) return true;
    const { text, error } = mismatch;
    if (error === undefined) this.rejections.add(device, { kind: 'selector', text });
    else if (!device.isTemplate)
      throw new SelectorFailure(`CEL expression "${shown(text)}" evaluation failed: ${error.message}`);
    else {
      const { missingKey } = error;
      const attribute = [...device.runtime.keys()].find((name) => missingKey && name.endsWith(`/${missingKey}`));
      this.rejections.add(
        device,
        attribute === undefined ? { kind: 'selector', text } : { kind: 'runtime', text: attribute },
      );
    }
    return false;
  }

  /** Fills the remaining slots of a request with devices from a position on. */
  #fillSlots(at: number, alternative: Alternative, missing: number, from: number): boolean {
    this.rejections.found((alternative.count ?? 0) - missing);
    if (missing === 0) return this.#allocate(at + 1);
    if (missing > 1 && !this.#hasDevicesFor(at, alternative, missing, from)) return false;
    const failed = new Set<string>();
    for (let index = from; index < this.#devices.length; index++) {
      const entry = this.#devices[index] as PooledDevice;
      const { device } = entry;
      const { likeness } = device;
      const isUnused = !this.#input.use.isInUse(device) && this.#use.shared.get(device) === undefined;
      if (isUnused && failed.has(likeness)) continue;
      const fit = this.#fit(at, alternative, entry);
      if (fit === undefined) continue;
      this.#take(at, alternative, entry, fit);
      // kube-scheduler never uses a device for two slots of one request, even if the device can be shared
      if (this.#fillSlots(at, alternative, missing - 1, index + 1)) return true;
      this.#undo.pop()?.();
      if (isUnused) failed.add(likeness);
    }
    return false;
  }

  /**
   * Returns true if enough devices can fill the remaining slots.
   * @throws {SelectorFailure} if too few devices remain and a selector fails on one of them, because kube-scheduler tries all
   */
  #hasDevicesFor(at: number, alternative: Alternative, missing: number, from: number): boolean {
    let possible = 0;
    let failure: SelectorFailure | undefined;
    for (let index = from; index < this.#devices.length; index++) {
      const entry = this.#devices[index] as PooledDevice;
      try {
        if (this.#fit(at, alternative, entry) !== undefined) possible++;
      } catch (error) {
        // the device is tried only if the devices before it do not suffice
        if (!(error instanceof SelectorFailure)) throw error;
        failure ??= error;
        possible++;
      }
    }
    if (possible >= missing) return true;
    if (failure !== undefined) throw failure;
    this.rejections.found((alternative.count ?? 0) - missing + possible);
    return false;
  }

  /** Tests a device in the order of kube-scheduler. @throws {SelectorFailure} if a selector fails on a published device */
  #fit(at: number, alternative: Alternative, { device, pool }: PooledDevice): Fit | undefined {
    this.#input.budget.spend();
    this.rejections.focus(at, alternative);
    const { claim } = this.#steps[at] as Step;
    const { isAdmin, tolerations } = alternative;
    if (this.#isHeld(claim, alternative, device)) return undefined;
    if (!isAdmin && this.#isTaken(device)) return this.rejections.add(device, IN_USE);
    if (!this.#isSelected(device, alternative)) return undefined;
    const consumed = consumptionOf(device, alternative);
    if (consumed === undefined) return this.rejections.add(device, CAPACITY);
    const own = this.#use.shared.get(device)?.amounts ?? NOTHING;
    if (!this.#hasRoom(device, consumed, own)) return this.rejections.add(device, IN_USE);
    if (!this.#counters.hasRoomFor(pool, device)) return this.rejections.add(device, COUNTERS);
    if (!toleratesDevice(tolerations, device.taints)) return this.rejections.add(device, TAINT);
    const states = this.#statesWith(claim, alternative, device);
    if (states === undefined) return undefined;
    const requirements = this.#requirementsWith(device);
    if (requirements === undefined) return this.rejections.add(device, TOPOLOGY);
    return { consumed: device.look.isShared ? consumed : undefined, states, requirements };
  }

  /** Returns true if an earlier request of this search has the device, and the request cannot share it. */
  #isHeld(claim: number, { isAdmin }: Alternative, device: PoolDevice): boolean {
    if (!this.#use.exclusive.has(device)) return false;
    return !isAdmin || this.#path.some((grant) => grant.claim === claim && grant.device === device);
  }

  #isTaken(device: PoolDevice): boolean {
    const { use } = this.#input;
    return use.isTaken(device) || (!device.look.isShared && use.holds(device) > 0);
  }

  /** @param own capacity that the path consumes */
  #hasRoom(device: PoolDevice, consumed: ReadonlyMap<string, bigint>, own: ReadonlyMap<string, bigint>): boolean {
    for (const [name, amount] of consumed) {
      const { value } = device.look.capacity.get(name) ?? NO_CAPACITY;
      if (this.#input.use.consumed(device, name) + (own.get(name) ?? 0n) + amount > value) return false;
    }
    return true;
  }

  #statesWith(claim: number, alternative: Alternative, device: PoolDevice): readonly ConstraintState[] | undefined {
    const { constraints } = this.#input.claims[claim] as CompiledClaim;
    const states = this.#states[claim] as readonly ConstraintState[];
    if (constraints.length === 0) return states;
    const next: ConstraintState[] = [];
    for (const [index, constraint] of constraints.entries()) {
      const before = states[index] as ConstraintState;
      const after = appliesTo(constraint, alternative) ? withDevice(constraint, before, device) : before;
      if (after === undefined) {
        this.rejections.add(device, { kind: 'constraint', text: constraint.attribute });
        if (alternative.count === undefined) throw new ConstraintFailure();
        return undefined;
      }
      next.push(after);
    }
    return next;
  }

  #requirementsWith({ place }: PoolDevice): Requirements | undefined {
    if (place.kind !== 'nodes') return this.#requirements;
    if (!this.#requirements.compatible(place.requirements, LOOSE)) return undefined;
    return this.#requirements.intersect(place.requirements);
  }

  #take(at: number, alternative: Alternative, { device, pool }: PooledDevice, fit: Fit): void {
    const { claim } = this.#steps[at] as Step;
    const { consumed, states, requirements } = fit;
    const [statesBefore, requirementsBefore] = [this.#states[claim] as readonly ConstraintState[], this.#requirements];
    const { isAdmin, name } = alternative;
    const grant = { device, consumed, claim, request: name, isAdmin };
    const giveBackCounters = this.#counters.take(pool, device);
    this.#use.add(grant);
    this.#path.push(grant);
    this.#states[claim] = states;
    this.#requirements = requirements;
    this.#undo.push(() => {
      giveBackCounters?.();
      this.#use.add(grant, -1);
      this.#path.pop();
      this.#states[claim] = statesBefore;
      this.#requirements = requirementsBefore;
    });
  }
}

const NOTHING: ReadonlyMap<string, bigint> = new Map();
const NO_CAPACITY = { value: 0n };
const CAPACITY = { kind: 'capacity' } as const;
const IN_USE = { kind: 'in-use' } as const;
const COUNTERS = { kind: 'counters' } as const;
const TAINT = { kind: 'taint' } as const;
const TOPOLOGY = { kind: 'topology' } as const;

/**
 * Returns devices for all requests, or the devices that the deepest request rejected.
 *
 * @throws {SelectorFailure} if a selector fails on a published device
 * @throws {BudgetError} if the search takes too long
 */
export function findDevices(input: SearchInput): DevicesFound | Rejections {
  const search = new Search(input);
  return search.run() ?? search.rejections;
}

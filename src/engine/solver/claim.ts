/** Claims under construction: nodes that will be launched for the pods assigned to them. */

import type { HostDevices } from '../dra/host-devices.ts';
import { type HostPort, portConflict } from '../host-ports.ts';
import type { EnginePod } from '../input.ts';
import type { Misfit } from '../model.ts';
import type { Usage } from '../price-book/commitment.ts';
import { Requirements } from '../requirements.ts';
import { untolerated } from '../taints.ts';
import type { Place } from '../topology/base.ts';
import type { BitSet } from './bitset.ts';
import type { Choice } from './choice.ts';
import type { DaemonGroup } from './daemons.ts';
import { type Amounts, sum } from './dimensions.ts';
import { instanceTypesMisfit, minValuesMisfit, type TypeCheck } from './misfits.ts';
import type { PodClass } from './pod-class.ts';
import type { Shape } from './shape.ts';
import type { Template } from './template.ts';

interface CheapestType {
  /** Position of the type, or -1 if no type is available. */
  readonly type: number;
  /** Price of the instance, with its spot risk and the surplus CPU for the requests. */
  readonly usdPerHour: number;
}

/** Remaining possibilities of a claim. Immutable. */
export class ClaimState {
  readonly template: Template;
  readonly choice: Choice;
  /** Rows that were possible before the first pod. Host ports can reduce them, if daemons of a type use the same ports. */
  readonly start: BitSet;
  /** Requests of the pods, without daemons. */
  readonly amounts: Amounts;
  readonly ports: readonly HostPort[];
  /** Volumes of its pods that the amounts count. */
  readonly attached: ReadonlySet<string>;
  /** Devices of its pods, by instance type. Undefined if no pod uses devices. */
  readonly devices: HostDevices | undefined;
  #cheapest: CheapestType | undefined;
  #next: Map<string, ClaimState | Refusal> | undefined;

  constructor(
    template: Template,
    choice: Choice,
    start: BitSet,
    { amounts, ports, attached, devices }: Pick<ClaimState, 'amounts' | 'ports' | 'attached' | 'devices'>,
  ) {
    this.template = template;
    this.choice = choice;
    this.start = start;
    this.amounts = amounts;
    this.ports = ports;
    this.attached = attached;
    this.devices = devices;
  }

  /** Returns a claim without pods, for types among some rows. @param shape default: the requirements of the NodePool */
  static empty(template: Template, start: BitSet, noAmounts: Amounts, shape: Shape = template.root): ClaimState {
    const choice = template.choices.of(shape, start, noAmounts);
    return new ClaimState(template, choice, start, {
      amounts: noAmounts,
      ports: [],
      attached: NOTHING_ATTACHED,
      devices: undefined,
    });
  }

  /** Returns the state with these devices, restricted to some instance types. */
  withDevices(devices: HostDevices, types: ReadonlySet<string> | undefined): ClaimState {
    const { template, start, amounts, ports, attached } = this;
    const parts = { amounts, ports, attached, devices };
    if (types === undefined) return new ClaimState(template, this.choice, start, parts);
    const rows = template.catalogue.rowsWhere(({ name }) => types.has(name));
    const left = template.choices.shared(rows.and(start));
    return new ClaimState(template, template.choices.of(this.shape, left, amounts), left, parts);
  }

  get shape(): Shape {
    return this.choice.shape;
  }

  /** Rows of instance types that remain possible. The set only shrinks. */
  get rows(): BitSet {
    return this.choice.rows;
  }

  /** Instance type with the lowest price for the requests of the pods. If several are equal, the first. */
  get cheapest(): CheapestType {
    this.#cheapest ??= this.#cheapestAmongAll();
    return this.#cheapest;
  }

  #cheapestAmongAll(): CheapestType {
    const { prices } = this.shape.offerings;
    // only the prices of burstable types depend on the requests
    const steady = this.choice.computeOnce('cheapest steady type', () => {
      const burstable = new Set(this.#burstable);
      const types = this.choice.positions.filter((type) => !burstable.has(type));
      return this.#cheapestOf(types, prices);
    });
    const own = this.#cheapestOf(this.#burstable, prices);
    const isFirst = own.usdPerHour === steady.usdPerHour ? own.type < steady.type : own.usdPerHour < steady.usdPerHour;
    return isFirst && own.type >= 0 ? own : steady;
  }

  /** Positions of the burstable types. */
  get #burstable(): readonly number[] {
    const { choice, template } = this;
    return choice.computeOnce('burstable types', () =>
      choice.positions.filter((type) => template.surplusPrices.priceOf(type) !== undefined),
    );
  }

  /** Requested CPU if it causes surplus credits on some of the types, otherwise 0. */
  get surplusCpu(): number {
    const { surplusPrices } = this.template;
    const isSurplus = this.#burstable.some((type) => surplusPrices.usdPerHour(type, this.amounts) > 0);
    return isSurplus ? (this.amounts[surplusPrices.cpuAt] ?? 0) : 0;
  }

  /** Returns the type with the lowest price if the instances have these prices. */
  cheapestAt(prices: Float64Array): CheapestType {
    return this.#cheapestOf(this.choice.positions, prices);
  }

  #cheapestOf(types: readonly number[], prices: Float64Array): CheapestType {
    const { surplusPrices } = this.template;
    let cheapest: CheapestType = { type: -1, usdPerHour: Number.POSITIVE_INFINITY };
    for (const type of types) {
      const usdPerHour = (prices[type] ?? Number.POSITIVE_INFINITY) + surplusPrices.usdPerHour(type, this.amounts);
      if (usdPerHour < cheapest.usdPerHour) cheapest = { type, usdPerHour };
    }
    return cheapest;
  }

  /**
   * Returns the state with one more pod, narrowed by an alternative of its volumes and by topology. If this is impossible,
   * returns the reason.
   */
  with(
    podClass: PodClass,
    { volume = Requirements.EMPTY, topology = Requirements.EMPTY }: Narrowing,
    options: JoinOptions,
  ): ClaimState | Refusal {
    const own = this.narrowed(podClass, volume);
    if (own instanceof Refusal) return own;
    const shape = own.narrow(topology);
    if ('code' in shape) return new Refusal(() => shape);
    return withPod(this, podClass, shape, options.lowerMinValues);
  }

  /** Returns the cached result of `with`. For claims without pods, where the same arguments occur again and again. */
  withRemembered(podClass: PodClass, narrowing: Narrowing, options: JoinOptions): ClaimState | Refusal {
    const id = `${podClass.id} ${narrowing.volume?.identity ?? ''} | ${narrowing.topology?.identity ?? ''}`;
    this.#next ??= new Map();
    let next = this.#next.get(id);
    if (next === undefined) {
      next = this.with(podClass, narrowing, options);
      this.#next.set(id, next);
    }
    return next;
  }

  /**
   * Returns the requirements combined with the requirements of a pod and its volume, without topology. If they conflict, returns
   * the reason.
   */
  narrowed(podClass: PodClass, volume: Requirements): Shape | Refusal {
    const [taint] = untolerated(podClass.pod.spec.tolerations, this.template.taints);
    if (taint !== undefined) return new Refusal(() => ({ code: 'taint', taint }));
    const shape = this.shape.narrow(podClass.requirements);
    if ('code' in shape) return new Refusal(() => shape, isConflict(shape, this.shape));
    const there = shape.narrow(volume);
    return 'code' in there ? new Refusal(() => volumeMisfit(there), isConflict(there, shape)) : there;
  }
}

/**
 * Returns true if a conflict is permanent. If a claim has no requirement for a label, the next pod may add one, and a pod that
 * only excludes values would then fit.
 */
const isConflict = (misfit: Misfit, { requirements }: Shape): boolean =>
  misfit.code !== 'requirements' || requirements.has(misfit.key);

/** Requirements that a pod adds to the requirements of its class. */
export interface Narrowing {
  readonly volume?: Requirements;
  readonly topology?: Requirements;
}

function volumeMisfit(clash: Misfit): Misfit {
  const text = clash.code === 'requirements' ? clash.text.replace('incompatible requirements, ', '') : '';
  return { code: 'volume', text: `incompatible volume requirements, ${text}` };
}

interface JoinOptions {
  /**
   * If true, lowers `minValues` to the number of values that is available, instead of a refusal. Used for new claims under
   * `BestEffort`.
   */
  readonly lowerMinValues: boolean;
}

/** Reason why a pod does not fit. The description is computed lazily, because most refusals are never displayed. */
export class Refusal {
  readonly #describe: () => Misfit;
  /** True if later placements elsewhere cannot change the refusal, because claims only narrow. */
  readonly permanent: boolean;
  #misfit: Misfit | undefined;

  constructor(describe: () => Misfit, permanent = true) {
    this.#describe = describe;
    this.permanent = permanent;
  }

  readonly misfit = (): Misfit => {
    this.#misfit ??= this.#describe();
    return this.#misfit;
  };
}

/**
 * Returns the state with one more pod, whose requirements narrow the node to a shape. If no instance type is left, returns the
 * reason.
 */
export function withPod(
  state: ClaimState,
  podClass: PodClass,
  narrowed: Shape,
  lowerMinValues: boolean,
): ClaimState | Refusal {
  const { template } = state;
  const amounts = sum(state.amounts, podClass.amounts);
  const attached = podClass.slots.length === 0 ? state.attached : withVolumes(state, podClass, amounts);
  const groups = groupsWithPorts(template.groups, state.ports, podClass.ports);
  const start = groups === template.groups ? state.start : template.choices.startWithin(state.start, groups);
  const hasRoom = start === state.start && narrowed === state.shape && state.choice.staysWith(amounts);
  let choice = hasRoom ? state.choice : template.choices.of(narrowed, start, amounts);
  if (choice.isEmpty || narrowed.hasMinValues) {
    const check: TypeCheck = {
      catalogue: template.catalogue,
      shape: narrowed,
      rows: state.rows,
      groups,
      amounts,
      podClass,
      allGroups: template.groups,
    };
    if (choice.isEmpty) return new Refusal(() => instanceTypesMisfit(check));
    const { unsatisfied } = choice;
    if (unsatisfied.length > 0 && !lowerMinValues) return new Refusal(() => minValuesMisfit(check, unsatisfied));
    if (unsatisfied.length > 0) choice = template.choices.of(lowered(narrowed, unsatisfied), start, amounts);
  }
  const ports = podClass.ports.length === 0 ? state.ports : [...state.ports, ...podClass.ports];
  return new ClaimState(template, choice, start, { amounts, ports, attached, devices: state.devices });
}

const NOTHING_ATTACHED: ReadonlySet<string> = new Set();

/** Returns the volumes with one more pod. Subtracts volumes that pods share from `amounts`, because each counts once. */
function withVolumes(state: ClaimState, { slots }: PodClass, amounts: Amounts): ReadonlySet<string> {
  let { attached } = state;
  for (const { at, volumes } of slots) {
    amounts[at] = (amounts[at] ?? 0) - volumes.intersection(attached).size;
    attached = attached.union(volumes);
  }
  return attached;
}

/** Returns the shape with `minValues` that are possible. */
function lowered(shape: Shape, unsatisfied: Choice['unsatisfied']): Shape {
  let { requirements } = shape;
  for (const [key, reached] of unsatisfied)
    requirements = requirements.with(key, requirements.get(key).withMinValues(reached || undefined));
  return shape.replaced(requirements);
}

function groupsWithPorts(
  groups: readonly DaemonGroup[],
  taken: readonly HostPort[],
  wanted: readonly HostPort[],
): readonly DaemonGroup[] {
  if (wanted.length === 0) return groups;
  if (portConflict(wanted, taken) !== undefined) return [];
  const left = groups.filter((group) => portConflict(wanted, group.ports) === undefined);
  return left.length === groups.length ? groups : left;
}

/** Returns a placeholder for the future name of the node. No node has this name. */
export const hostnameOf = (index: number): string => `hostname-placeholder-${String(index + 1).padStart(4, '0')}`;

/** On-demand launch of a claim as one of some types, so that commitments cover the claim. */
export interface ClaimCover {
  /** Positions of the types. */
  readonly types: ReadonlySet<number>;
  /** Offering that the cover was computed for. */
  readonly usage: Usage;
  /** True if the claim must be in the zone of this offering. */
  readonly isZonal: boolean;
  /** Part of the price that commitments cover, in USD per hour. */
  readonly coveredUsdPerHour: number;
}

/** Claim with its current state and its pods. */
export class Claim {
  /** Position in order of creation. */
  readonly index: number;
  /** Hostname of the claim as a topology domain. */
  readonly hostname: string;
  /** Number of the hostname in topology. Negative until topology knows the hostname. */
  host = -1;
  readonly minValuesLowered: boolean;
  readonly pods: EnginePod[] = [];
  /** Class of each pod, in its form when the pod was placed. */
  readonly classes: PodClass[] = [];
  state: ClaimState;
  /** Capacity reservations of which the claim holds one unit each. */
  held: ReadonlySet<string> = new Set();
  /** Undefined if the claim uses no commitments. */
  cover: ClaimCover | undefined;

  constructor(index: number, state: ClaimState, minValuesLowered: boolean) {
    this.index = index;
    this.hostname = hostnameOf(index);
    this.state = state;
    this.minValuesLowered = minValuesLowered;
  }

  add(pod: EnginePod, podClass: PodClass, state: ClaimState): void {
    this.pods.push(pod);
    this.classes.push(podClass);
    this.state = state;
  }

  /** Returns a function that removes all pods that are added until it is called. */
  restorePoint(): () => void {
    const { state, held } = this;
    const count = this.pods.length;
    return () => {
      this.state = state;
      this.held = held;
      this.pods.length = count;
      this.classes.length = count;
    };
  }

  /** Lowest price of the claim, in USD per hour. */
  get usdPerHour(): number {
    return this.state.cheapest.usdPerHour;
  }

  /** Claim as topology sees it. */
  get place(): Place {
    const { state, hostname } = this;
    return { hostname, requirements: state.shape.requirements, taints: state.template.taints };
  }
}

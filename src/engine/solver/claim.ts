/** Claims under construction: nodes that will be bought for the pods put on them. */
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

/** What a claim can still become. Immutable. */
export class ClaimState {
  readonly template: Template;
  readonly choice: Choice;
  /** Rows that were possible before any pod; fewer once host ports rule out types whose daemons have them. */
  readonly start: BitSet;
  /** Requests of the pods, without daemons. */
  readonly amounts: Amounts;
  readonly ports: readonly HostPort[];
  #next: Map<string, ClaimState | Refusal> | undefined;

  constructor(template: Template, choice: Choice, start: BitSet, amounts: Amounts, ports: readonly HostPort[]) {
    this.template = template;
    this.choice = choice;
    this.start = start;
    this.amounts = amounts;
    this.ports = ports;
  }

  /** A claim without pods, of types among some rows. */
  static empty(template: Template, start: BitSet, noAmounts: Amounts): ClaimState {
    const choice = template.choices.of(template.root, start, noAmounts);
    return new ClaimState(template, choice, start, noAmounts, []);
  }

  get shape(): Shape {
    return this.choice.shape;
  }

  /** Instance types that remain possible. Only ever fewer. */
  get rows(): BitSet {
    return this.choice.rows;
  }

  /** With one more pod, where a volume's alternative and topology narrow the node to some requirements; or why not. */
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

  /** The same, remembered: for claims without pods, to which the same happens again and again. */
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

  /** Requirements with those of a pod and its volume, before topology has its say; or why they clash. */
  narrowed(podClass: PodClass, volume: Requirements): Shape | Refusal {
    const [taint] = untolerated(podClass.pod.spec.tolerations, this.template.taints);
    if (taint !== undefined) return new Refusal(() => ({ code: 'taint', taint }));
    const shape = this.shape.narrow(podClass.requirements);
    if ('code' in shape) return new Refusal(() => shape, isConflict(shape, this.shape));
    const there = shape.narrow(volume);
    return 'code' in there ? new Refusal(() => volumeMisfit(there), isConflict(there, shape)) : there;
  }
}

/** A label that a claim has no word of may come with the next pod, of which it is enough that it does not want some values. */
const isConflict = (misfit: Misfit, { requirements }: Shape): boolean =>
  misfit.code !== 'requirements' || requirements.has(misfit.key);

/** What a pod brings along besides its class's requirements. */
export interface Narrowing {
  readonly volume?: Requirements;
  readonly topology?: Requirements;
}

function volumeMisfit(clash: Misfit): Misfit {
  const text = clash.code === 'requirements' ? clash.text.replace('incompatible requirements, ', '') : '';
  return { code: 'volume', text: `incompatible volume requirements, ${text}` };
}

interface JoinOptions {
  /** Lower `minValues` to what can be reached instead of refusing: for new claims under `BestEffort`. */
  readonly lowerMinValues: boolean;
}

/** Why a pod does not go there. Described only on request, because most refusals interest nobody. */
export class Refusal {
  readonly #describe: () => Misfit;
  /** Whether it stays whatever happens elsewhere: claims only ever narrow. */
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

/** The state with one more pod, whose requirements narrow the node to a shape; or why no instance type is left. */
export function withPod(
  state: ClaimState,
  podClass: PodClass,
  narrowed: Shape,
  lowerMinValues: boolean,
): ClaimState | Refusal {
  const { template } = state;
  const amounts = sum(state.amounts, podClass.amounts);
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
  return new ClaimState(template, choice, start, amounts, ports);
}

/** With `minValues` that can be reached. */
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

/** Stands in for the name that the node will have; no node has it. */
export const hostnameOf = (index: number): string => `hostname-placeholder-${String(index + 1).padStart(4, '0')}`;

/** How a claim is bought so that commitments cover it: on demand, as one of some types. */
export interface ClaimCover {
  /** Positions of the types. */
  readonly types: ReadonlySet<number>;
  /** The offering that is meant. */
  readonly usage: Usage;
  /** Whether it has to be in the zone of that offering. */
  readonly isZonal: boolean;
  /** The part of its price that commitments cover, USD per hour. */
  readonly coveredUsdPerHour: number;
}

/** A claim: its state so far and the pods that brought it there. */
export class Claim {
  /** Position in order of creation. */
  readonly index: number;
  /** The name by which the claim is a domain of rules by host. */
  readonly hostname: string;
  /** The number by which topology knows the hostname; negative while it does not. */
  host = -1;
  readonly minValuesLowered: boolean;
  readonly pods: EnginePod[] = [];
  /** The class of each pod in the form in which it was put here. */
  readonly classes: PodClass[] = [];
  state: ClaimState;
  /** Capacity reservations of which it holds a unit each. */
  held: ReadonlySet<string> = new Set();
  /** Undefined while it uses no commitments. */
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

  /** USD per hour of the cheapest way to buy it. */
  get usdPerHour(): number {
    return this.state.choice.usdPerHour;
  }

  /** How topology sees it. */
  get place(): Place {
    const { state, hostname } = this;
    return { hostname, requirements: state.shape.requirements, taints: state.template.taints };
  }
}

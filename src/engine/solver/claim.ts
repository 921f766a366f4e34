/** Claims under construction: nodes that will be bought for the pods put on them. */
import type { Pod } from '../../api/kubernetes.ts';
import { type HostPort, portConflict } from '../hostports.ts';
import { satisfiesMinValues } from '../instancetypes.ts';
import type { Misfit } from '../model.ts';
import { Requirements } from '../requirements.ts';
import { untolerated } from '../taints.ts';
import type { Place } from '../topology/topology.ts';
import { BitSet } from './bitset.ts';
import type { DaemonGroup } from './daemons.ts';
import { type Amounts, sum } from './dimensions.ts';
import { instanceTypesMisfit, minValuesMisfit, type Question } from './misfits.ts';
import type { PodClass } from './podclass.ts';
import type { Shape } from './shape.ts';
import type { Template } from './template.ts';

/**
 * What a claim has come to: immutable, and the same for all claims that took the same classes of pods in the same order.
 * That is why what follows from it is remembered here.
 */
export class ClaimState {
  readonly template: Template;
  readonly shape: Shape;
  /** Instance types that remain possible. Only ever fewer. */
  readonly rows: BitSet;
  /** Requests of the pods, without daemons. */
  readonly amounts: Amounts;
  readonly ports: readonly HostPort[];
  readonly #next = new Map<PodClass, ClaimState | Refusal>();
  readonly #nextNarrowed = new Map<string, ClaimState | Refusal>();

  constructor(template: Template, shape: Shape, rows: BitSet, amounts: Amounts, ports: readonly HostPort[]) {
    this.template = template;
    this.shape = shape;
    this.rows = rows;
    this.amounts = amounts;
    this.ports = ports;
  }

  /** With one more pod that topology leaves free; or why that cannot be. */
  with(podClass: PodClass, volume: Requirements, options: JoinOptions): ClaimState | Refusal {
    if (volume !== Requirements.EMPTY) return this.withNarrowed(podClass, volume, Requirements.EMPTY, options);
    let next = this.#next.get(podClass);
    if (next === undefined) {
      next = join(this, podClass, volume, Requirements.EMPTY, options);
      this.#next.set(podClass, next);
    }
    return next;
  }

  /** With one more pod, where one of its volume's alternatives and topology narrow the node to some requirements. */
  withNarrowed(
    podClass: PodClass,
    volume: Requirements,
    topology: Requirements,
    options: JoinOptions,
  ): ClaimState | Refusal {
    const id = `${podClass.id} ${volume.identity} | ${topology.identity}`;
    let next = this.#nextNarrowed.get(id);
    if (next === undefined) {
      next = join(this, podClass, volume, topology, options);
      this.#nextNarrowed.set(id, next);
    }
    return next;
  }

  /** Requirements with those of a pod and its volume, before topology has its say; or why they clash. */
  narrowed(podClass: PodClass, volume: Requirements): Shape | Refusal {
    const [taint] = untolerated(podClass.pod.spec.tolerations, this.template.taints);
    if (taint !== undefined) return new Refusal(() => ({ code: 'taint', taint }));
    const shape = this.shape.narrow(podClass.requirements);
    if ('code' in shape) return new Refusal(() => shape);
    const there = volume === Requirements.EMPTY ? shape : shape.narrow(volume);
    return 'code' in there ? new Refusal(() => volumeMisfit(there)) : there;
  }
}

function volumeMisfit(clash: Misfit): Misfit {
  const text = clash.code === 'requirements' ? clash.text.replace('incompatible requirements, ', '') : '';
  return { code: 'volume', text: `incompatible volume requirements, ${text}` };
}

export interface JoinOptions {
  /** Lower `minValues` to what can be reached instead of refusing: for new claims under `BestEffort`. */
  readonly lowerMinValues: boolean;
}

/** Why a pod does not go there. Told only when asked, because most refusals interest nobody. */
export class Refusal {
  readonly #tell: () => Misfit;
  /** Whether it stays whatever happens elsewhere: claims only ever narrow. */
  readonly permanent: boolean;
  #misfit: Misfit | undefined;

  constructor(tell: () => Misfit, permanent = true) {
    this.#tell = tell;
    this.permanent = permanent;
  }

  readonly misfit = (): Misfit => {
    this.#misfit ??= this.#tell();
    return this.#misfit;
  };
}

function join(
  state: ClaimState,
  podClass: PodClass,
  volume: Requirements,
  topology: Requirements,
  { lowerMinValues }: JoinOptions,
): ClaimState | Refusal {
  const own = state.narrowed(podClass, volume);
  if (own instanceof Refusal) return own;
  const narrowed = own.narrow(topology);
  if ('code' in narrowed) return new Refusal(() => narrowed);
  return filled(state, podClass, narrowed, lowerMinValues);
}

/** The state with a pod more, where the requirements have come to a shape; or why no instance type is left. */
export function filled(
  state: ClaimState,
  podClass: PodClass,
  narrowed: Shape,
  lowerMinValues: boolean,
): ClaimState | Refusal {
  const { template } = state;
  const groups = groupsWithPorts(template.groups, state.ports, podClass.ports);
  const amounts = sum(state.amounts, podClass.amounts);
  const question: Question = {
    catalogue: template.catalogue,
    shape: narrowed,
    rows: state.rows,
    groups,
    amounts,
    podClass,
    allGroups: template.groups,
  };
  const rows = fitting(question);
  if (rows.isEmpty) return new Refusal(() => instanceTypesMisfit(question));
  const shape = withMinValues(question, rows, lowerMinValues);
  if (shape instanceof Refusal) return shape;
  const ports = podClass.ports.length === 0 ? state.ports : [...state.ports, ...podClass.ports];
  return new ClaimState(template, shape, rows, amounts, ports);
}

function groupsWithPorts(
  groups: readonly DaemonGroup[],
  taken: readonly HostPort[],
  wanted: readonly HostPort[],
): readonly DaemonGroup[] {
  if (wanted.length === 0) return groups;
  if (portConflict(wanted, taken) !== undefined) return [];
  return groups.filter((group) => portConflict(wanted, group.ports) === undefined);
}

/** The rows that the requirements allow, that are offered, and that hold the pods and their group's daemons. */
function fitting({ catalogue, shape, rows, groups, amounts }: Question): BitSet {
  const kept = new BitSet(catalogue.rowCount);
  for (const group of groups) {
    const possible = rows.clone().and(shape.possible).and(group.rows);
    if (!possible.isEmpty) kept.or(catalogue.keepFitting(possible, sum(amounts, group.amounts)));
  }
  return kept;
}

/** The shape with `minValues` that the rows satisfy, or a refusal if they don't and must. */
function withMinValues(question: Question, rows: BitSet, lower: boolean): Shape | Refusal {
  const { shape, catalogue } = question;
  if (!shape.hasMinValues) return shape;
  const types = catalogue.typesOf(rows).flatMap((type) => catalogue.types[type] ?? []);
  const { unsatisfied } = satisfiesMinValues(types, shape.requirements);
  if (unsatisfied.length === 0) return shape;
  if (!lower) return new Refusal(() => minValuesMisfit(question, unsatisfied));
  let { requirements } = shape;
  for (const [key, reached] of unsatisfied)
    requirements = requirements.with(key, requirements.get(key).withMinValues(reached || undefined));
  return shape.replaced(requirements);
}

/** Stands in for the name that the node will have; no node has it. */
export const hostnameOf = (index: number): string => `hostname-placeholder-${String(index + 1).padStart(4, '0')}`;

/** A claim: its state so far and the pods that brought it there. */
export class Claim {
  /** Position in order of creation. */
  readonly index: number;
  /** The name by which the claim is a domain of rules by host. */
  readonly hostname: string;
  readonly minValuesLowered: boolean;
  readonly pods: Pod[] = [];
  /** The class of each pod in the form in which it was put here. */
  readonly classes: PodClass[] = [];
  state: ClaimState;
  /** Capacity reservations of which it holds a unit each. */
  held: ReadonlySet<string> = new Set();

  constructor(index: number, state: ClaimState, minValuesLowered: boolean) {
    this.index = index;
    this.hostname = hostnameOf(index);
    this.state = state;
    this.minValuesLowered = minValuesLowered;
  }

  add(pod: Pod, podClass: PodClass, state: ClaimState): void {
    this.pods.push(pod);
    this.classes.push(podClass);
    this.state = state;
  }

  /** USD per hour of the cheapest way to buy it. */
  get usdPerHour(): number {
    const { shape, rows, template } = this.state;
    let lowest = Number.POSITIVE_INFINITY;
    for (const row of rows) lowest = Math.min(lowest, shape.offerings.prices[template.catalogue.typeAt(row)] ?? lowest);
    return lowest;
  }

  /** How topology sees it. */
  get place(): Place {
    const { state, hostname } = this;
    return { hostname, requirements: state.shape.requirements, taints: state.template.taints };
  }
}

/** Formulates the pods of some claims of one template as a packing problem. */

import type { EnginePod } from '../input.ts';
import { compareText } from '../instance-types.ts';
import type { Requirements } from '../requirements.ts';
import type { Claim } from '../solver/claim.ts';
import type { Amounts } from '../solver/dimensions.ts';
import type { PodClass } from '../solver/pod-class.ts';
import type { Shape } from '../solver/shape.ts';
import type { Template } from '../solver/template.ts';
import { isAdmitted } from '../taints.ts';
import type { TopologyGroup } from '../topology/group.ts';
import { hostCapacity } from '../topology/ties.ts';
import type { Topology } from '../topology/topology.ts';
import type { Bin, Mix, PodKind, Problem } from './problem.ts';
import { capacitiesOf, pricesOf, surplusOf } from './template-rows.ts';

/** Pod to pack. */
export interface PlacedPod {
  readonly pod: EnginePod;
  readonly podClass: PodClass;
  /** Requirements for the node that keep this pod in the domains that count it. */
  readonly requirements: Requirements;
}

/** Maximum number of combinations of requirements in a problem. */
const MAX_MIXES = 96;
/**
 * Limits of a problem. Larger sets of pods are divided. Each family of requirements adds up to three mixes, and each
 * scarcity adds a column to each row. The number of kinds has no limit, because plans for divided kinds cost up to 27 %
 * more.
 */
const MOST_FAMILIES = 64;
const MOST_SCARCE = 128;

interface FormulationParts {
  readonly topology: Topology;
  /** Returns the prices of a shape's types, in USD per hour. Default: the prices of their offerings. */
  readonly pricesOf?: (shape: Shape) => Float64Array;
  /** Returns true if the time of the solve is over. */
  readonly isLate: () => boolean;
}

/** Pods of one class on one claim. */
interface Portion {
  readonly podClass: PodClass;
  readonly requirements: Requirements;
  readonly pods: readonly EnginePod[];
}

/** Pods that are equal for packing. */
interface KindDraft {
  readonly scarce: ReadonlyMap<Scarcity, number>;
  readonly podClass: PodClass;
  readonly family: Family;
  readonly members: PlacedPod[];
}

/** Pods with the same requirements. */
interface Family {
  readonly id: string;
  readonly shape: Shape;
  /** Keys that must not get a single value, because a rule would then count the pods in a domain that does not count them now. */
  readonly openKeys: readonly string[];
}

/** Limited capacity of a node besides resources: capacity for a rule by host, and host ports. */
interface Scarcity {
  readonly id: TopologyGroup | string;
  readonly capacity: number;
}

/** Problem for some of the kinds. */
export interface PackingPart {
  readonly problem: Problem;
  /** Kinds of the formulation, by the kinds of the problem. */
  readonly kinds: readonly number[];
}

/** Differences between packings of the same pods. */
export interface PackingTerms {
  /** True if only instance types are used that leave enough types for `minValues` if pods fill the node. */
  readonly everFull: boolean;
  /** Additional price of each row in USD per hour, for the use of the NodePool's limits. */
  readonly limitPrices?: Float64Array;
}

export class Formulation {
  readonly #parts: FormulationParts;
  readonly #template: Template;
  readonly #drafts: readonly KindDraft[];
  /** Pods of each kind. */
  readonly members: readonly (readonly PlacedPod[])[];
  readonly #families = new Map<string, Family>();
  readonly #scarcities = new Map<TopologyGroup | string, Scarcity>();
  readonly #scarceOf = new Map<PodClass, ReadonlyMap<Scarcity, number>>();
  /** True if pods are bound to a label for which the labels and requirements of their NodePool allow no value. */
  #contradicts = false;

  private constructor(template: Template, claims: readonly Claim[], parts: FormulationParts) {
    this.#template = template;
    this.#parts = parts;
    this.#drafts = this.#kinds(claims);
    this.members = this.#drafts.map(({ members }) => members);
  }

  /** Creates a formulation. Returns undefined if the NodePool contradicts itself in a relevant label, or 'late' without time. */
  static of(template: Template, claims: readonly Claim[], parts: FormulationParts): Formulation | 'late' | undefined {
    const formulation = new Formulation(template, claims, parts);
    if (parts.isLate()) return 'late';
    return formulation.#contradicts ? undefined : formulation;
  }

  /**
   * Returns the problem, divided into parts of limited size. Returns undefined if the time is over.
   * @param apart pods share nodes only with pods that have the same requirements
   */
  parts({
    apart,
    everFull,
    limitPrices,
  }: PackingTerms & { readonly apart: boolean }): readonly PackingPart[] | undefined {
    const parts: PackingPart[] = [];
    for (const kinds of dividedKinds(this.#drafts)) {
      const drafts = kinds.map((kind) => this.#drafts[kind] as KindDraft);
      const scarce = [...new Set(drafts.flatMap((draft) => [...draft.scarce.keys()]))];
      const capacities = capacitiesOf(this.#template, scarce);
      const mixes = this.#mixes(drafts, apart, (shape) => {
        const prices = this.#pricesOf(shape, capacities, everFull);
        return limitPrices === undefined ? prices : prices.map((price, row) => price + (limitPrices[row] ?? 0));
      });
      if (this.#parts.isLate()) return undefined;
      const ofParts = drafts.map((draft) => kindOf(draft, scarce));
      parts.push({ kinds, problem: { kinds: ofParts, capacities, mixes, ...surplusOf(this.#template) } });
    }
    return parts;
  }

  /** Returns the present claims as bins with their cheapest types. */
  binsOf(claims: readonly Claim[], usdPerHourOf: (claim: Claim) => number): readonly Bin[] {
    const kinds = new Map(this.members.flatMap((members, kind) => members.map(({ pod }) => [pod, kind] as const)));
    const { catalogue } = this.#template;
    return claims.map((claim) => {
      const { rows, cheapest } = claim.state;
      const counts = new Int32Array(this.members.length);
      for (const pod of claim.pods) {
        const kind = kinds.get(pod) as number;
        counts[kind] = (counts[kind] as number) + 1;
      }
      const row = rows.members.find((each) => catalogue.typeAt(each) === cheapest.type) as number;
      return { row, price: usdPerHourOf(claim), counts, copies: 1 };
    });
  }

  #kinds(claims: readonly Claim[]): readonly KindDraft[] {
    const portions = claims.flatMap((claim) => (this.#parts.isLate() ? [] : this.#portionsOf(claim)));
    const binding = bindingAmong(portions, (podClass) => this.#scarceFor(podClass), this.#portsOfDaemons());
    const drafts = new Map<string, KindDraft>();
    const numbers = new Map([...binding].map((scarcity, number) => [scarcity, number]));
    for (const { podClass, requirements, pods } of portions) {
      if (this.#parts.isLate()) break;
      const family = this.#familyOf(requirements, podClass);
      const scarce = new Map([...this.#scarceFor(podClass)].filter(([scarcity]) => binding.has(scarcity)));
      const loads = [...scarce].map(([scarcity, load]) => [numbers.get(scarcity), load]);
      const id = JSON.stringify([family.id, [...podClass.amounts], loads]);
      const draft = drafts.get(id) ?? { scarce, podClass, family, members: [] };
      drafts.set(id, draft);
      for (const pod of pods) draft.members.push({ pod, podClass, requirements });
    }
    return [...drafts.values()];
  }

  #portionsOf(claim: Claim): readonly Portion[] {
    const pods = new Map<PodClass, EnginePod[]>();
    for (const [at, podClass] of claim.classes.entries()) {
      const own = pods.get(podClass) ?? [];
      pods.set(podClass, own);
      own.push(claim.pods[at] as EnginePod);
    }
    return [...pods].map(([podClass, own]) => ({ podClass, requirements: this.#tied(podClass, claim), pods: own }));
  }

  /**
   * Returns the requirements of a pod, plus the requirements of its claim for the domains that count the pod and for its
   * volumes.
   */
  #tied(podClass: PodClass, claim: Claim): Requirements {
    const { requirements: there } = claim.state.shape;
    const keys = new Set([
      ...this.#parts.topology.tiesOf(podClass).keys,
      ...podClass.volumes.alternatives.flatMap((alternative) => alternative.keys),
    ]);
    let tied = podClass.requirements;
    for (const key of keys) if (there.has(key)) tied = tied.with(key, there.get(key));
    return tied;
  }

  #familyOf(requirements: Requirements, podClass: PodClass): Family {
    const shape = this.#shapeOf(requirements);
    const { countedKeys } = this.#parts.topology.tiesOf(podClass);
    const openKeys = countedKeys.filter((key) => !hasSingleValue(shape, key));
    const id = [requirements.identity, ...openKeys].join('|');
    let family = this.#families.get(id);
    if (family === undefined) {
      family = { id, shape, openKeys };
      this.#families.set(id, family);
    }
    return family;
  }

  #shapeOf(requirements: Requirements): Shape {
    const shape = this.#template.root.narrow(requirements);
    if (!('code' in shape)) return shape;
    this.#contradicts = true;
    return this.#template.root;
  }

  /** Returns the scarcities that pods of a class use, with the used part of their capacity. */
  #scarceFor(podClass: PodClass): ReadonlyMap<Scarcity, number> {
    let scarce = this.#scarceOf.get(podClass);
    if (scarce === undefined) {
      const loads = new Map<Scarcity, number>();
      for (const [group, load] of this.#parts.topology.tiesOf(podClass).hosts)
        if (this.#canCount(group)) loads.set(this.#scarcity(group, hostCapacity(group)), load);
      for (const { protocol, port } of podClass.ports) loads.set(this.#scarcity(`${protocol} ${port}`, 1), 1);
      scarce = loads;
      this.#scarceOf.set(podClass, scarce);
    }
    return scarce;
  }

  /**
   * Returns false if a rule counts no pods on nodes of this NodePool, because of its node affinity or its tolerations.
   */
  #canCount({ rule: { filter } }: TopologyGroup): boolean {
    if (filter === undefined) return true;
    const { taints, root } = this.#template;
    if (filter.tolerations !== undefined && !isAdmitted(filter.tolerations, taints)) return false;
    return filter.alternatives?.some((alternative) => root.requirements.intersects(alternative)) ?? true;
  }

  #scarcity(id: TopologyGroup | string, capacity: number): Scarcity {
    let scarcity = this.#scarcities.get(id);
    if (scarcity === undefined) {
      scarcity = { id, capacity };
      this.#scarcities.set(id, scarcity);
    }
    return scarcity;
  }

  #portsOfDaemons(): ReadonlySet<string> {
    return new Set(
      this.#template.groups.flatMap(({ ports }) => ports.map(({ protocol, port }) => `${protocol} ${port}`)),
    );
  }

  /**
   * Returns each family alone, and each family combined with as many other families as are compatible, in order and in reverse
   * order.
   */
  #mixes(drafts: readonly KindDraft[], apart: boolean, pricesOf: (shape: Shape) => Float64Array): readonly Mix[] {
    const families = [...new Set(drafts.map(({ family }) => family))];
    const mixes = new Map<string, Mix>();
    const add = (members: ReadonlySet<Family>, shape: Shape): void => {
      const kinds = drafts.flatMap(({ family }, kind) => (members.has(family) ? [kind] : []));
      const id = kinds.join();
      if (mixes.has(id) || mixes.size >= MAX_MIXES) return;
      mixes.set(id, { kinds, prices: pricesOf(shape) });
    };
    for (const family of families) add(new Set([family]), family.shape);
    for (const order of apart ? [] : [families, families.toReversed()]) {
      for (const family of families) {
        if (mixes.size >= MAX_MIXES || this.#parts.isLate()) return [...mixes.values()];
        let together = family;
        const members = new Set([family]);
        for (const other of order) {
          const joined = joinedFamily(together, other);
          if (joined === undefined) continue;
          together = joined;
          members.add(other);
        }
        add(members, together.shape);
      }
    }
    return [...mixes.values()];
  }

  #pricesOf(shape: Shape, capacities: Problem['capacities'], everFull: boolean): Float64Array {
    const prices = pricesOf(this.#template, { shape, capacities, prices: this.#parts.pricesOf?.(shape) });
    if (!everFull) return prices;
    const { choices, rows } = this.#template;
    const resources = this.#drafts[0]?.podClass.amounts.length;
    return prices.map((price, row) => {
      if (price === Number.POSITIVE_INFINITY) return price;
      const full = (capacities[row] as Amounts).subarray(0, resources);
      return choices.of(shape, rows, full).unsatisfied.length === 0 ? price : Number.POSITIVE_INFINITY;
    });
  }
}

/** Returns the requirements of pods of both families on one node. Returns undefined if these pods cannot share a node. */
function joinedFamily(one: Family, other: Family): Family | undefined {
  const shape = one.shape.narrow(other.shape.requirements);
  if ('code' in shape || shape.possible.isEmpty) return undefined;
  const openKeys = [...new Set([...one.openKeys, ...other.openKeys])];
  return openKeys.some((key) => hasSingleValue(shape, key)) ? undefined : { id: one.id, shape, openKeys };
}

function hasSingleValue({ requirements }: Shape, key: string): boolean {
  const { complement, values } = requirements.get(key);
  return !complement && values.size === 1;
}

/** Returns the scarcities that can prevent a pod from sharing a node, because not all pods together fit on one node. */
function bindingAmong(
  portions: readonly Portion[],
  scarceFor: (podClass: PodClass) => ReadonlyMap<Scarcity, number>,
  portsOfDaemons: ReadonlySet<string>,
): ReadonlySet<Scarcity> {
  const loads = new Map<Scarcity, number>();
  for (const { podClass, pods } of portions)
    for (const [scarcity, load] of scarceFor(podClass))
      loads.set(scarcity, (loads.get(scarcity) ?? 0) + load * pods.length);
  const binding = new Set<Scarcity>();
  for (const [scarcity, load] of loads)
    if (load > scarcity.capacity || (typeof scarcity.id === 'string' && portsOfDaemons.has(scarcity.id)))
      binding.add(scarcity);
  return binding;
}

function kindOf({ scarce, podClass, members }: KindDraft, columns: readonly Scarcity[]): PodKind {
  const resources = podClass.amounts.length;
  const amounts = new Float64Array(resources + columns.length);
  amounts.set(podClass.amounts);
  for (const [scarcity, load] of scarce) amounts[resources + columns.indexOf(scarcity)] = load;
  return { amounts, count: members.length };
}

/**
 * Divides kinds into parts of similar size within the limits of a problem. Kinds with similar requirements stay together, because
 * their pods can share nodes.
 */
function dividedKinds(drafts: readonly KindDraft[]): readonly (readonly number[])[] {
  const whole = new Part();
  for (const [kind, draft] of drafts.entries()) whole.add(kind, draft);
  const { atLeast } = whole;
  if (atLeast === 1) return [whole.kinds];
  const size = Math.ceil(drafts.length / atLeast);
  const sorted = [...drafts.entries()].toSorted(([, a], [, b]) => compareText(a.family.id, b.family.id));
  const parts: Part[] = [];
  for (const [kind, draft] of sorted) {
    let part = parts.at(-1);
    if (part === undefined || part.kinds.length >= size || !part.hasRoomFor(draft)) {
      part = new Part();
      parts.push(part);
    }
    part.add(kind, draft);
  }
  return parts.map(({ kinds }) => kinds);
}

/** Kinds that are packed together. */
class Part {
  readonly kinds: number[] = [];
  readonly #families = new Set<Family>();
  readonly #scarcities = new Set<Scarcity>();

  add(kind: number, { family, scarce }: KindDraft): void {
    this.kinds.push(kind);
    this.#families.add(family);
    for (const scarcity of scarce.keys()) this.#scarcities.add(scarcity);
  }

  /** Minimum number of parts within the limits. */
  get atLeast(): number {
    return Math.ceil(Math.max(this.#families.size / MOST_FAMILIES, this.#scarcities.size / MOST_SCARCE, 1));
  }

  hasRoomFor({ family, scarce }: KindDraft): boolean {
    const added = [...scarce.keys()].filter((scarcity) => !this.#scarcities.has(scarcity)).length;
    return (
      (this.#families.has(family) || this.#families.size < MOST_FAMILIES) &&
      this.#scarcities.size + added <= MOST_SCARCE
    );
  }
}

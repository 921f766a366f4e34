/** Formulates the pods of some claims of one template as a packing problem. */

import type { EnginePod } from '../input.ts';
import type { Requirements } from '../requirements.ts';
import type { Claim } from '../solver/claim.ts';
import type { PodClass } from '../solver/pod-class.ts';
import type { Shape } from '../solver/shape.ts';
import type { Template } from '../solver/template.ts';
import type { TopologyGroup } from '../topology/group.ts';
import { hostCapacity, type Topology } from '../topology/topology.ts';
import type { Bin, Mix, PodKind, Problem } from './problem.ts';

/** Pod to pack. */
export interface PlacedPod {
  readonly pod: EnginePod;
  readonly podClass: PodClass;
  /** Requirements for the node that keep the pod in the domains that count it. */
  readonly requirements: Requirements;
}

/** Limited capacity of a node besides resources: capacity for a rule by host, and host ports. */
interface Scarcity {
  readonly position: number;
  readonly capacity: number;
}

/** Maximum number of combinations of requirements. */
const MAX_MIXES = 96;
/** Maximum number of scarcities in a problem. With more, pods are not packed, because each scarcity adds a column to each row. */
const MOST_SCARCE = 256;

interface FormulationParts {
  readonly topology: Topology;
  /** Returns the prices of a shape's types, in USD per hour. Default: the prices of their offerings. */
  readonly pricesOf?: (shape: Shape) => Float64Array;
  /** Returns true if the time of the solve is over. */
  readonly isLate: () => boolean;
}

interface MixOptions {
  readonly capacities: Problem['capacities'];
  readonly apart: boolean;
}

interface KindDraft {
  readonly loads: ReadonlyMap<number, number>;
  readonly podClass: PodClass;
  readonly family: number;
  readonly members: PlacedPod[];
}

export class Formulation {
  #problem: Problem = { kinds: [], capacities: [], mixes: [] };
  readonly #drafts: readonly KindDraft[];
  readonly #isLate: () => boolean;
  readonly #typePricesOf: FormulationParts['pricesOf'];
  /** Pods of each kind. */
  readonly members: readonly (readonly PlacedPod[])[];
  readonly #template: Template;
  readonly #topology: Topology;
  readonly #scarce = new Map<TopologyGroup | string, Scarcity>();
  readonly #families = new Map<string, { readonly index: number; readonly shape: Shape }>();
  /** True if pods are bound to a label for which the labels and requirements of their NodePool allow no value. */
  #contradicts = false;

  private constructor(template: Template, claims: readonly Claim[], { topology, isLate, pricesOf }: FormulationParts) {
    this.#template = template;
    this.#topology = topology;
    this.#isLate = isLate;
    this.#typePricesOf = pricesOf;
    this.#drafts = this.#kinds(claims);
    this.members = this.#drafts.map(({ members }) => members);
  }

  /**
   * Creates a formulation. With `apart`, pods share nodes only with pods that have the same requirements. Returns undefined if
   * there are too many scarcities, if the NodePool contradicts itself in a relevant label, or if the time is over.
   */
  static of(
    template: Template,
    claims: readonly Claim[],
    parts: FormulationParts,
    apart: boolean,
  ): Formulation | undefined {
    const formulation = new Formulation(template, claims, parts);
    if (formulation.#scarce.size > MOST_SCARCE || formulation.#contradicts) return undefined;
    const capacities = formulation.#capacities();
    const mixes = formulation.#mixes(formulation.#drafts, { capacities, apart });
    if (parts.isLate()) return undefined;
    const kinds = formulation.#drafts.map((draft) => formulation.#kindOf(draft));
    formulation.#problem = { kinds, capacities, mixes };
    return formulation;
  }

  get problem(): Problem {
    return this.#problem;
  }

  /** Returns the present claims as bins with their cheapest types. */
  binsOf(claims: readonly Claim[], usdPerHourOf: (claim: Claim) => number): readonly Bin[] {
    const kinds = new Map(this.members.flatMap((members, kind) => members.map(({ pod }) => [pod, kind] as const)));
    const { catalogue } = this.#template;
    return claims.map((claim) => {
      const { rows, choice } = claim.state;
      const counts = new Int32Array(this.members.length);
      for (const pod of claim.pods) {
        const kind = kinds.get(pod) as number;
        counts[kind] = (counts[kind] as number) + 1;
      }
      const row = rows.members.find((each) => catalogue.typeAt(each) === choice.cheapest) as number;
      return { row, price: usdPerHourOf(claim), counts, copies: 1 };
    });
  }

  #kinds(claims: readonly Claim[]): readonly KindDraft[] {
    const drafts = new Map<string, KindDraft>();
    for (const claim of claims) {
      const known = new Map<PodClass, KindDraft & { readonly requirements: Requirements }>();
      for (const [at, podClass] of claim.classes.entries()) {
        let draft = known.get(podClass);
        if (draft === undefined) {
          const requirements = this.#tied(podClass, claim);
          const family = this.#familyOf(requirements);
          const loads = this.#loadsOf(podClass);
          const id = JSON.stringify([family, [...podClass.amounts], [...loads]]);
          const shared = drafts.get(id) ?? { loads, podClass, family, members: [] };
          drafts.set(id, shared);
          draft = { ...shared, requirements };
          known.set(podClass, draft);
        }
        draft.members.push({ pod: claim.pods[at] as EnginePod, podClass, requirements: draft.requirements });
      }
    }
    return [...drafts.values()];
  }

  /**
   * Returns the requirements of a pod, plus the requirements of its claim for the domains that count the pod and for its
   * volumes.
   */
  #tied(podClass: PodClass, claim: Claim): Requirements {
    const { requirements: there } = claim.state.shape;
    const keys = new Set([
      ...this.#topology.tiesOf(podClass).keys,
      ...podClass.volumes.alternatives.flatMap((alternative) => alternative.keys),
    ]);
    let tied = podClass.requirements;
    for (const key of keys) if (there.has(key)) tied = tied.with(key, there.get(key));
    return tied;
  }

  #familyOf(requirements: Requirements): number {
    let family = this.#families.get(requirements.identity);
    if (family === undefined) {
      const shape = this.#template.root.narrow(requirements);
      this.#contradicts ||= 'code' in shape;
      family = { index: this.#families.size, shape: 'code' in shape ? this.#template.root : shape };
      this.#families.set(requirements.identity, family);
    }
    return family.index;
  }

  #loadsOf(podClass: PodClass): ReadonlyMap<number, number> {
    const loads = new Map<number, number>();
    for (const [group, load] of this.#topology.tiesOf(podClass).hosts)
      loads.set(this.#scarcity(group, hostCapacity(group)).position, load);
    for (const { protocol, port } of podClass.ports) loads.set(this.#scarcity(`${protocol} ${port}`, 1).position, 1);
    return loads;
  }

  #scarcity(of: TopologyGroup | string, capacity: number): Scarcity {
    let scarcity = this.#scarce.get(of);
    if (scarcity === undefined) {
      scarcity = { position: this.#scarce.size, capacity };
      this.#scarce.set(of, scarcity);
    }
    return scarcity;
  }

  #kindOf({ loads, podClass, members }: KindDraft): PodKind {
    const resources = podClass.amounts.length;
    const amounts = new Float64Array(resources + this.#scarce.size);
    amounts.set(podClass.amounts);
    for (const [position, load] of loads) amounts[resources + position] = load;
    return { amounts, count: members.length };
  }

  /** Returns the capacity of each row for pods after daemons. Undefined if the daemons do not fit. */
  #capacities(): Problem['capacities'] {
    const { catalogue, groups } = this.#template;
    const groupOf = (row: number) => groups.find(({ rows }) => rows.has(row));
    const scarce = [...this.#scarce];
    return Array.from({ length: catalogue.rowCount }, (_, row) => {
      const allocatable = catalogue.allocatableAt(row);
      const group = groupOf(row);
      if (allocatable === undefined || group === undefined) return undefined;
      const resources = allocatable.length;
      const capacity = new Float64Array(resources + scarce.length);
      for (let at = 0; at < resources; at++) capacity[at] = (allocatable[at] ?? 0) - (group.amounts[at] ?? 0);
      for (const [of, { position, capacity: most }] of scarce) {
        const isTaken = group.ports.some(({ protocol, port }) => of === `${protocol} ${port}`);
        capacity[resources + position] = isTaken ? 0 : most;
      }
      return capacity.some((amount) => amount < 0) ? undefined : capacity;
    });
  }

  /**
   * Returns each family alone, and each family combined with as many other families as are compatible, in order and in reverse
   * order.
   */
  #mixes(drafts: readonly KindDraft[], { capacities, apart }: MixOptions): readonly Mix[] {
    const families = [...this.#families.values()];
    const mixes = new Map<string, Mix>();
    const add = (members: ReadonlySet<number>, shape: Shape): void => {
      const id = [...members].sort((a, b) => a - b).join();
      if (mixes.has(id) || mixes.size >= MAX_MIXES) return;
      const kinds = drafts.flatMap(({ family }, kind) => (members.has(family) ? [kind] : []));
      mixes.set(id, { kinds, prices: this.#pricesOf(shape, capacities) });
    };
    for (const { index, shape } of families) add(new Set([index]), shape);
    for (const order of apart ? [] : [families, families.toReversed()]) {
      for (const { index, shape: own } of families) {
        if (mixes.size >= MAX_MIXES || this.#isLate()) return [...mixes.values()];
        let shape = own;
        const members = new Set([index]);
        for (const other of order) {
          const requirements = other.shape.requirements;
          const together = shape.narrow(requirements);
          if ('code' in together || together.possible.isEmpty) continue;
          shape = together;
          members.add(other.index);
        }
        add(members, shape);
      }
    }
    return [...mixes.values()];
  }

  #pricesOf(shape: Shape, capacities: MixOptions['capacities']): Float64Array {
    const { catalogue, rows, extrasUsdPerHour } = this.#template;
    const { possible, offerings } = shape;
    const prices = this.#typePricesOf?.(shape) ?? offerings.prices;
    return Float64Array.from({ length: catalogue.rowCount }, (_, row) =>
      possible.has(row) && rows.has(row) && capacities[row] !== undefined
        ? (prices[catalogue.typeAt(row)] ?? Number.POSITIVE_INFINITY) + extrasUsdPerHour
        : Number.POSITIVE_INFINITY,
    );
  }
}

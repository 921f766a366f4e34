/** Requirements that claims of a template can have, each compiled once and shared by all claims that have them. */
import type { Misfit } from '../model.ts';
import { LOOSE, Requirements } from '../requirements.ts';
import type { BitSet } from './bitset.ts';
import type { CompiledTypes, OfferingView } from './compiled-types.ts';

/** Requirements that a NodeClaim may have by its CRD, but for one for its instance types. */
const MOST_KEYS = 99;
/** Characters of requirements that are sure to leave the NodeClaim below what an API server stores of an object. */
const MOST_CHARACTERS = 200_000;

export class Shapes {
  readonly catalogue: CompiledTypes;
  readonly #nextId: () => number;
  readonly #shapes = new Map<string, Shape>();

  constructor(catalogue: CompiledTypes, nextId: () => number) {
    this.catalogue = catalogue;
    this.#nextId = nextId;
  }

  of(requirements: Requirements): Shape {
    let shape = this.#shapes.get(requirements.identity);
    if (shape === undefined) {
      shape = new Shape(this.#nextId(), this, requirements);
      this.#shapes.set(requirements.identity, shape);
    }
    return shape;
  }
}

export class Shape {
  /** Unlike that of any other shape of a snapshot; small. */
  readonly id: number;
  readonly catalogue: CompiledTypes;
  readonly requirements: Requirements;
  /** Rows of instance types that satisfy the requirements and of which some offering does so too. */
  readonly possible: BitSet;
  readonly offerings: OfferingView;
  readonly hasMinValues: boolean;
  readonly #shapes: Shapes;
  readonly #narrowed = new Map<string, Shape | Misfit>();
  /** The same by object, because most requirements come again and again as the same one. */
  readonly #narrowedBy = new WeakMap<Requirements, Shape | Misfit>();

  /** What others computed from the shape, by topic. */
  readonly #computed = new Map<string, unknown>();

  constructor(id: number, shapes: Shapes, requirements: Requirements) {
    this.id = id;
    this.catalogue = shapes.catalogue;
    this.#shapes = shapes;
    this.requirements = requirements;
    this.offerings = shapes.catalogue.offerings(requirements);
    this.possible = shapes.catalogue.allowed(requirements).and(this.offerings.offered);
    this.hasMinValues = [...requirements.entries()].some(([, set]) => set.minValues !== undefined);
  }

  /** With a pod's requirements on top, or why both cannot hold. */
  narrow(requirements: Requirements): Shape | Misfit {
    if (requirements === Requirements.EMPTY) return this;
    let narrowed = this.#narrowedBy.get(requirements);
    if (narrowed === undefined) {
      narrowed = this.#narrowed.get(requirements.identity) ?? this.#narrow(requirements);
      this.#narrowed.set(requirements.identity, narrowed);
      this.#narrowedBy.set(requirements, narrowed);
    }
    return narrowed;
  }

  #narrow(requirements: Requirements): Shape | Misfit {
    const clash = this.requirements.incompatibility(requirements, LOOSE);
    if (clash !== undefined)
      return { code: 'requirements', key: clash.key, text: `incompatible requirements, ${clash.text}` };
    const both = this.requirements.intersect(requirements);
    return excessOf(both) ?? this.#shapes.of(both);
  }

  /** The result of `compute`, remembered under a topic. A topic always has results of the same type. */
  computeOnce<T>(topic: string, compute: () => T): T {
    if (!this.#computed.has(topic)) this.#computed.set(topic, compute());
    return this.#computed.get(topic) as T;
  }

  replaced(requirements: Requirements): Shape {
    return this.#shapes.of(requirements);
  }
}

/** Why no NodeClaim can ask for so much, if it cannot: pods that share it would wait with the one that asks. */
function excessOf(requirements: Requirements): Misfit | undefined {
  const [key = ''] = requirements.keys;
  const count = requirements.keys.length;
  const { length } = requirements.identity;
  if (count <= MOST_KEYS && length <= MOST_CHARACTERS) return undefined;
  const text =
    count > MOST_KEYS
      ? `${count} labels in requirements, at most ${MOST_KEYS} fit into a NodeClaim`
      : `requirements of ${length} characters, at most ${MOST_CHARACTERS} fit into a NodeClaim`;
  return { code: 'requirements', key, text };
}

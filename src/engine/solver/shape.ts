/**
 * Requirements that claims of a template can have. Each set of requirements is compiled once and shared by all claims with these
 * requirements.
 */
import type { Misfit } from '../model.ts';
import { LOOSE, Requirements } from '../requirements.ts';
import type { BitSet } from './bitset.ts';
import type { CompiledTypes, OfferingView } from './compiled-types.ts';

/** Maximum number of requirements in a NodeClaim by its CRD, minus one for the instance types. */
const MOST_KEYS = 99;
/**
 * Maximum number of characters in requirements. With this limit, the NodeClaim stays below the object size limit of the API
 * server.
 */
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
  /** Small id that is unique among the shapes of a snapshot. */
  readonly id: number;
  readonly catalogue: CompiledTypes;
  readonly requirements: Requirements;
  /** Rows of instance types that satisfy the requirements and have an offering that does. */
  readonly possible: BitSet;
  readonly offerings: OfferingView;
  readonly hasMinValues: boolean;
  readonly #shapes: Shapes;
  readonly #narrowed = new Map<string, Shape | Misfit>();
  /** Same shapes by object, because most requirements occur again and again as the identical object. */
  readonly #narrowedBy = new WeakMap<Requirements, Shape | Misfit>();

  /** Values that other modules derived from the shape, by topic. */
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

  /** Returns the shape combined with the requirements of a pod. If they conflict, returns the reason. */
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

  /** Returns the result of `compute`, cached by topic. Results for one topic must have the same type. */
  computeOnce<T>(topic: string, compute: () => T): T {
    if (!this.#computed.has(topic)) this.#computed.set(topic, compute());
    return this.#computed.get(topic) as T;
  }

  replaced(requirements: Requirements): Shape {
    return this.#shapes.of(requirements);
  }
}

/**
 * Returns the reason why requirements are too large for a NodeClaim. Without this check, pods that share the claim would wait
 * together with the pod that has too many requirements.
 */
function excessOf(requirements: Requirements): Misfit | undefined {
  const [key = ''] = requirements.keys;
  const count = requirements.keys.length;
  const { length } = requirements.identity;
  if (count <= MOST_KEYS && length <= MOST_CHARACTERS) return undefined;
  const text =
    count > MOST_KEYS
      ? `${count} labels in requirements, but a NodeClaim can have at most ${MOST_KEYS}`
      : `requirements have ${length} characters, but a NodeClaim can have at most ${MOST_CHARACTERS}`;
  return { code: 'requirements', key, text };
}

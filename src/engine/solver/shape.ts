/** Requirements that claims of a template can have, each compiled once and shared by all claims that come to it. */
import type { Misfit } from '../model.ts';
import { LOOSE, type Requirements } from '../requirements.ts';
import type { BitSet } from './bitset.ts';
import type { Catalogue, OfferingView } from './catalogue.ts';

export class Shapes {
  readonly catalogue: Catalogue;
  readonly #shapes = new Map<string, Shape>();

  constructor(catalogue: Catalogue) {
    this.catalogue = catalogue;
  }

  of(requirements: Requirements): Shape {
    let shape = this.#shapes.get(requirements.identity);
    if (shape === undefined) {
      shape = new Shape(this, requirements);
      this.#shapes.set(requirements.identity, shape);
    }
    return shape;
  }
}

export class Shape {
  readonly requirements: Requirements;
  /** Rows of instance types that satisfy the requirements and of which some offering does so too. */
  readonly possible: BitSet;
  readonly offerings: OfferingView;
  readonly hasMinValues: boolean;
  readonly #shapes: Shapes;
  readonly #narrowed = new Map<string, Shape | Misfit>();

  constructor(shapes: Shapes, requirements: Requirements) {
    this.#shapes = shapes;
    this.requirements = requirements;
    this.offerings = shapes.catalogue.offerings(requirements);
    this.possible = shapes.catalogue.allowed(requirements).and(this.offerings.offered);
    this.hasMinValues = [...requirements.entries()].some(([, set]) => set.minValues !== undefined);
  }

  /** With a pod's requirements on top, or why both cannot hold. */
  narrow(requirements: Requirements): Shape | Misfit {
    let narrowed = this.#narrowed.get(requirements.identity);
    if (narrowed === undefined) {
      const clash = this.requirements.incompatibility(requirements, LOOSE);
      narrowed =
        clash === undefined
          ? this.#shapes.of(this.requirements.intersect(requirements))
          : { code: 'requirements', key: clash.key, text: `incompatible requirements, ${clash.text}` };
      this.#narrowed.set(requirements.identity, narrowed);
    }
    return narrowed;
  }

  replaced(requirements: Requirements): Shape {
    return this.#shapes.of(requirements);
  }
}

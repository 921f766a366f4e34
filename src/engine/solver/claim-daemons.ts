/** DaemonSets that run on new nodes, for pods that must or must not share a node with their pods. */
import type { EnginePod } from '../input.ts';
import { requirementsOf } from '../instance-types.ts';
import type { InstanceType } from '../model.ts';
import { LOOSE, Requirements } from '../requirements.ts';
import { toleratesAll } from '../taints.ts';
import type { DaemonsAt } from '../topology/base.ts';
import type { Bindings } from '../topology/bindings.ts';
import { ValueSet } from '../value-set.ts';
import { combinedPlaces } from '../volumes.ts';
import type { CompiledPool } from './compiled-pool.ts';
import type { Daemon } from './daemons.ts';
import type { Shape } from './shape.ts';

const ANYWHERE: readonly Requirements[] = [Requirements.EMPTY];

export class ClaimDaemons {
  readonly #daemons: ReadonlyMap<EnginePod, Daemon>;
  readonly #known = new Map<Shape, DaemonsAt>();
  readonly #places = new WeakMap<Bindings, readonly Requirements[]>();

  constructor(daemons: readonly Daemon[]) {
    this.#daemons = new Map(daemons.map((daemon) => [daemon.pod, daemon]));
  }

  /** Returns the DaemonSets that run on claims of a shape. */
  at({ taints }: CompiledPool, shape: Shape): DaemonsAt {
    let known = this.#known.get(shape);
    if (known === undefined) {
      const { catalogue, possible: rows } = shape;
      const types = catalogue.typesOf(rows).flatMap((type) => catalogue.types[type] ?? []);
      const tolerant = [...this.#daemons.values()].filter(({ pod }) => toleratesAll(pod.spec.tolerations, taints));
      const where = { requirements: shape.requirements, types };
      const possible = tolerant.filter((daemon) => mayRun(daemon, where));
      const certain = possible.filter((daemon) => mustRun(daemon, where));
      known = { possible: new Set(possible.map(({ pod }) => pod)), certain: new Set(certain.map(({ pod }) => pod)) };
      this.#known.set(shape, known);
    }
    return known;
  }

  /**
   * Returns alternative requirements with which pods can share a node with the DaemonSets that they need, and without hostile
   * DaemonSets. The first alternative has no requirements, because most DaemonSets run on all nodes.
   */
  placesOf(bindings: Bindings): readonly Requirements[] {
    let places = this.#places.get(bindings);
    if (places === undefined) {
      const near = bindings.all
        .filter(({ daemons }) => daemons.length > 0)
        .map(({ daemons }) => [...ANYWHERE, ...daemons.flatMap((pod) => this.#daemons.get(pod)?.alternatives ?? [])]);
      const away = bindings.hostile.flatMap(({ pod }) => {
        const alternatives = this.#daemons.get(pod)?.alternatives ?? [];
        return alternatives.map((each) => [...ANYWHERE, ...outside(each)]);
      });
      places = combinedPlaces([...near, ...away]);
      this.#places.set(bindings, places);
    }
    return places;
  }
}

/** Possible nodes of a claim. */
interface Where {
  readonly requirements: Requirements;
  readonly types: readonly InstanceType[];
}

const mayRun = ({ alternatives }: Daemon, { requirements, types }: Where): boolean =>
  alternatives.some(
    (each) =>
      requirements.compatible(each, LOOSE) &&
      types.some((type) => requirementsOf(type).intersects(requirements.intersect(each))),
  );

const mustRun = ({ alternatives }: Daemon, { requirements, types }: Where): boolean =>
  alternatives.some((each) =>
    [...each.entries()].every(([key, set]) =>
      requirements.has(key)
        ? isWithin(requirements.get(key), set)
        : types.every((type) => isWithin(requirementsOf(type).get(key), set)),
    ),
  );

/** Returns true if a set allows every value of another set. */
const isWithin = (part: ValueSet, whole: ValueSet): boolean => {
  const own = part.withMinValues(undefined);
  return own.intersect(whole.withMinValues(undefined)).identity === own.identity;
};

/** Returns requirements that are each incompatible with some requirements. Bounds have no complement. */
function outside(requirements: Requirements): readonly Requirements[] {
  return [...requirements.entries()].flatMap(([key, { operator, values, gte, lte }]) => {
    if (gte !== undefined || lte !== undefined) return [];
    const opposite = { In: 'NotIn', NotIn: 'In', Exists: 'DoesNotExist', DoesNotExist: 'Exists' } as const;
    return [Requirements.EMPTY.and(key, ValueSet.of(opposite[operator], [...values]))];
  });
}

/** Caches prices of instance types under requirements. Requirements share a cache entry if offerings cannot distinguish them. */
import { cheapestPrice, preferredOffering, requirementsOf, worstLaunchPrice } from '../instance-types.ts';
import type { InstanceType, Offering } from '../model.ts';
import type { Requirements } from '../requirements.ts';

/** Prices under some requirements, in USD per hour. A price is infinite if no offering is available. */
export class PriceTable {
  readonly #requirements: Requirements;
  readonly #cheapest = new Map<InstanceType, number>();
  readonly #worst = new Map<InstanceType, number>();
  readonly #preferred = new Map<InstanceType, Offering | undefined>();

  constructor(requirements: Requirements) {
    this.#requirements = requirements;
  }

  /** Returns the offering that should be launched: the cheapest one, including its spot risk. */
  preferred(type: InstanceType): Offering | undefined {
    return remembered(this.#preferred, type, () => preferredOffering(type, this.#requirements));
  }

  /** Returns the price of the cheapest offering. */
  cheapest(type: InstanceType): number {
    return remembered(this.#cheapest, type, () => cheapestPrice(type, this.#requirements));
  }

  /** Returns the highest price that a launch can have. */
  worst(type: InstanceType): number {
    return remembered(this.#worst, type, () => worstLaunchPrice(type, this.#requirements));
  }
}

function remembered<T>(known: Map<InstanceType, T>, type: InstanceType, compute: () => T): T {
  if (!known.has(type)) known.set(type, compute());
  return known.get(type) as T;
}

/** List of instance types with derived data. Lists are immutable; changed prices arrive as a new list. */
export class PricedTypes {
  readonly #byName: ReadonlyMap<string, InstanceType>;
  /** Labels for which the offerings have different values. */
  readonly #keys: readonly string[];
  readonly #tables = new Map<string, PriceTable>();

  private constructor(types: readonly InstanceType[]) {
    this.#byName = new Map(types.map((type) => [type.name, type]));
    const offerings = types.flatMap((type) => type.offerings);
    this.#keys = [...new Set(offerings.flatMap((offering) => requirementsOf(offering).keys))];
  }

  static of(types: readonly InstanceType[]): PricedTypes {
    let priced = known.get(types);
    if (priced === undefined) {
      priced = new PricedTypes(types);
      known.set(types, priced);
    }
    return priced;
  }

  /** Returns the type with this name, or undefined. */
  type(name: string): InstanceType | undefined {
    return this.#byName.get(name);
  }

  named(names: readonly string[]): readonly InstanceType[] {
    return names.flatMap((name) => this.#byName.get(name) ?? []);
  }

  under(requirements: Requirements): PriceTable {
    const id = this.#keys.map((key) => (requirements.has(key) ? requirements.get(key).identity : '')).join('|');
    let table = this.#tables.get(id);
    if (table === undefined) {
      table = new PriceTable(requirements);
      this.#tables.set(id, table);
    }
    return table;
  }
}

const known = new WeakMap<readonly InstanceType[], PricedTypes>();

/** Prices of instance types under requirements, computed once for all requirements that are equal to the offerings. */
import { cheapestPrice, preferredOffering, requirementsOf, worstLaunchPrice } from '../instance-types.ts';
import type { InstanceType, Offering } from '../model.ts';
import type { Requirements } from '../requirements.ts';

/** Prices under some requirements, USD per hour; infinite where nothing is for sale. */
export class PriceTable {
  readonly #requirements: Requirements;
  readonly #cheapest = new Map<InstanceType, number>();
  readonly #worst = new Map<InstanceType, number>();
  readonly #preferred = new Map<InstanceType, Offering | undefined>();

  constructor(requirements: Requirements) {
    this.#requirements = requirements;
  }

  /** What is to be launched of the type: the cheapest offering with its spot risk on top. */
  preferred(type: InstanceType): Offering | undefined {
    return remembered(this.#preferred, type, () => preferredOffering(type, this.#requirements));
  }

  /** Of the cheapest offering. */
  cheapest(type: InstanceType): number {
    return remembered(this.#cheapest, type, () => cheapestPrice(type, this.#requirements));
  }

  /** The most that a launch can cost. */
  worst(type: InstanceType): number {
    return remembered(this.#worst, type, () => worstLaunchPrice(type, this.#requirements));
  }
}

function remembered<T>(known: Map<InstanceType, T>, type: InstanceType, compute: () => T): T {
  if (!known.has(type)) known.set(type, compute());
  return known.get(type) as T;
}

/** A list of instance types, with what is known of it. Lists never change: prices of another day come as another list. */
export class PricedTypes {
  readonly #byName: ReadonlyMap<string, InstanceType>;
  /** Labels that offerings differ in. */
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

  /** Undefined when there is none. */
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

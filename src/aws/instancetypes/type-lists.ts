/**
 * Caches the lists of instance types of NodeClasses. Equal lists and equal types are represented by the same object.
 */
import { type InstanceType, sharedTypeList } from '#engine/model';
import { type Timepiece, TtlCache } from '#lib/clock';

/** Time after which an unused list is removed, because its NodeClass has changed or no longer exists. */
export const UNUSED_MS = 5 * 60_000;

interface ListInput {
  /** Changes if an offering may have changed. */
  readonly version: string;
  /** Changes if a price has changed. */
  readonly prices: string;
  /** Types without offerings. */
  readonly resolved: readonly InstanceType[];
  /** Names of types with reservations. The remaining capacity of reservations may change with each launch. */
  readonly reserved: ReadonlySet<string>;
  readonly withOfferings: (type: InstanceType) => InstanceType;
  /** Adds the reserved offerings to a type with its other offerings. */
  readonly withReserved: (type: InstanceType) => InstanceType;
}

interface Listed {
  readonly version: string;
  readonly prices: string;
  readonly resolved: readonly InstanceType[];
  /** Sequence numbers of each type's shortages. */
  readonly shortages: readonly number[];
  /** Types without reserved offerings. */
  readonly base: readonly InstanceType[];
  readonly types: readonly InstanceType[];
}

export class TypeLists {
  readonly #listed: TtlCache<string, Listed>;
  readonly #shortagesOf: (name: string) => number;

  /** @param shortagesOf returns a number that changes if the shortages of a type may have changed */
  constructor(clock: Timepiece, shortagesOf: (name: string) => number) {
    this.#listed = new TtlCache(clock, UNUSED_MS);
    this.#shortagesOf = shortagesOf;
  }

  get size(): number {
    return this.#listed.size;
  }

  clear(): void {
    this.#listed.clear();
  }

  /**
   * Returns the list for a scope.
   * @param scope represents all fields of a NodeClass on which its list depends
   */
  of(scope: string, input: ListInput): readonly InstanceType[] {
    const known = this.#listed.get(scope);
    const isCurrent = known?.version === input.version && known.resolved === input.resolved;
    const listed = isCurrent && input.reserved.size === 0 ? known : this.#made(input, known);
    this.#listed.set(scope, listed);
    this.#listed.sweep();
    return listed.types;
  }

  #made({ version, prices, resolved, reserved, ...make }: ListInput, known: Listed | undefined): Listed {
    const before = known?.prices === prices ? known : undefined;
    const shortages = resolved.map(({ name }) => this.#shortagesOf(name));
    const base = resolved.map((type, at) => {
      const isSame = before?.resolved[at] === type && before.shortages[at] === shortages[at];
      return (isSame ? before.base[at] : undefined) ?? make.withOfferings(type);
    });
    const types = base.map((type) => (reserved.has(type.name) ? make.withReserved(type) : type));
    return { version, prices, resolved, shortages, base, types: sharedTypeList(types) };
  }
}

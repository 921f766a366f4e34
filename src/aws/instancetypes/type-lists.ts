/** The lists of instance types that NodeClasses see. One that comes out equal stays the same object, and so do types. */
import type { InstanceType } from '../../engine/model.ts';
import { sharedTypeList } from '../../engine/shared-types.ts';
import type { Timepiece } from '../../lib/clock.ts';
import { TtlCache } from '../../lib/ttl-cache.ts';

/** A list that nobody used for this long is forgotten: its NodeClass is gone or has changed. */
export const UNUSED_MS = 5 * 60_000;

interface ListInput {
  /** Changes whenever some offering may have. */
  readonly version: string;
  /** Changes whenever some price did. */
  readonly prices: string;
  /** Types without offerings. */
  readonly resolved: readonly InstanceType[];
  /** Names of types of which there are reservations. What is left in those may change with every launch. */
  readonly reserved: ReadonlySet<string>;
  readonly withOfferings: (type: InstanceType) => InstanceType;
  /** Of a type that has its other offerings. */
  readonly withReserved: (type: InstanceType) => InstanceType;
}

interface Listed {
  readonly version: string;
  readonly prices: string;
  readonly resolved: readonly InstanceType[];
  /** Stands for the shortages of each type. */
  readonly shortages: readonly number[];
  /** Without offerings of reservations. */
  readonly base: readonly InstanceType[];
  readonly types: readonly InstanceType[];
}

export class TypeLists {
  readonly #listed: TtlCache<string, Listed>;
  readonly #shortagesOf: (name: string) => number;

  /** `shortagesOf` answers a number that changes whenever what is known about a type's shortages may have. */
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

  /** `scope` stands for everything of a NodeClass that its list depends on. */
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

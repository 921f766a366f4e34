/**
 * Estimates of on-demand prices that are missing in the embedded table. AWS names a family by its letters, its
 * generation and one letter per trait (`m8gd`: m, 8, g, d). Prices of a family are proportional to the size. A trait
 * changes the price by a similar factor in every family.
 */
import { unitsOf } from '#engine/model';

interface Family {
  readonly name: string;
  /** For example `m`, `c` or `inf`. */
  readonly line: string;
  readonly generation: number;
  /** Single letters. A suffix such as `-flex` is one trait. */
  readonly traits: readonly string[];
  /** USD per hour by size. */
  readonly prices: ReadonlyMap<string, number>;
  /** USD per hour of one unit of size. */
  readonly perUnit: number;
}

const NAME = /^([a-z]+)(\d+)([a-z]*)(-\w+)?$/;

type Parsed = Pick<Family, 'line' | 'generation' | 'traits'>;

function parseFamily(family: string): Parsed | undefined {
  const match = NAME.exec(family);
  if (match === null) return undefined;
  const [, line = '', generation, letters = '', more] = match;
  return { line, generation: Number(generation), traits: [...letters, ...(more === undefined ? [] : [more])].sort() };
}

/** Returns the traits of `to` that `from` lacks, or undefined if `from` has a trait that `to` lacks. */
function addedTraits(to: readonly string[], from: readonly string[]): readonly string[] | undefined {
  const rest = [...to];
  for (const trait of from) {
    const at = rest.indexOf(trait);
    if (at < 0) return undefined;
    rest.splice(at, 1);
  }
  return rest;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

export class PriceEstimates {
  readonly #families: ReadonlyMap<string, Family>;
  readonly #known = new Map<string, number | undefined>();

  /** @param prices USD per hour by instance type */
  constructor(prices: ReadonlyMap<string, number>) {
    const byFamily = new Map<string, Map<string, number>>();
    for (const [type, usd] of prices) {
      const [family = '', size = ''] = type.split('.');
      byFamily.set(family, (byFamily.get(family) ?? new Map<string, number>()).set(size, usd));
    }
    this.#families = new Map(
      [...byFamily].flatMap(([name, sizes]) => {
        const traits = parseFamily(name);
        const units = [...sizes].flatMap(([size, usd]) => usd / (unitsOf(size) ?? Number.NaN)).filter(Number.isFinite);
        if (traits === undefined || units.length === 0) return [];
        return [[name, { name, ...traits, prices: sizes, perUnit: median(units) }] as const];
      }),
    );
  }

  /** Returns USD per hour, or undefined if the table has no related type. */
  of(instanceType: string): number | undefined {
    if (!this.#known.has(instanceType)) this.#known.set(instanceType, this.#estimate(instanceType));
    return this.#known.get(instanceType);
  }

  #estimate(instanceType: string): number | undefined {
    const [family = '', size = ''] = instanceType.split('.');
    const own = this.#families.get(family);
    if (own !== undefined) return priceOf(own, size);
    const wanted = parseFamily(family);
    return wanted && (this.#byTraits(wanted, size) ?? this.#byGeneration(wanted, size));
  }

  /**
   * Computes the price from a family of the same generation with fewer traits, multiplied by the factor of the missing
   * traits.
   */
  #byTraits(wanted: Parsed, size: string): number | undefined {
    const bases = this.#of(wanted.line)
      .filter(
        ({ generation, traits }) =>
          generation === wanted.generation && addedTraits(wanted.traits, traits) !== undefined,
      )
      .sort((a, b) => b.traits.length - a.traits.length);
    for (const base of bases) {
      const factor = this.#factorOf(wanted, addedTraits(wanted.traits, base.traits) ?? []);
      const usd = priceOf(base, size);
      if (factor !== undefined && usd !== undefined) return factor * usd;
    }
    return undefined;
  }

  /** Returns the factor of a combination of traits, or the product of their factors. */
  #factorOf(wanted: Parsed, traits: readonly string[]): number | undefined {
    const together = this.#factor(wanted, traits.join());
    if (together !== undefined || traits.length < 2) return together;
    return traits.reduce<number | undefined>((product, trait) => {
      const factor = this.#factor(wanted, trait);
      return product === undefined || factor === undefined ? undefined : product * factor;
    }, 1);
  }

  /** Returns the factor of the traits in the nearest generation. The line of the family is preferred. */
  #factor({ line, generation }: Parsed, traits: string): number | undefined {
    const pairs = [...this.#families.values()].flatMap((dear) =>
      this.#of(dear.line)
        .filter(
          (plain) => plain.generation === dear.generation && addedTraits(dear.traits, plain.traits)?.join() === traits,
        )
        .map((plain) => ({
          factor: dear.perUnit / plain.perUnit,
          far: 2 * Math.abs(dear.generation - generation) + (dear.line === line ? 0 : 1),
        })),
    );
    const nearest = Math.min(...pairs.map(({ far }) => far));
    const factors = pairs.filter(({ far }) => far === nearest).map(({ factor }) => factor);
    return factors.length === 0 ? undefined : median(factors);
  }

  /** Returns the highest price in the nearest generation, so that an unknown type does not appear cheap. */
  #byGeneration({ line, generation, traits }: Parsed, size: string): number | undefined {
    const relatives = this.#of(line).flatMap((family) => {
      const usd = priceOf(family, size);
      const isLike = family.traits.join() === traits.join();
      return usd === undefined ? [] : [{ usd, far: 2 * Math.abs(family.generation - generation) + (isLike ? 0 : 1) }];
    });
    const nearest = Math.min(...relatives.map(({ far }) => far));
    const prices = relatives.filter(({ far }) => far === nearest).map(({ usd }) => usd);
    return prices.length === 0 ? undefined : Math.max(...prices);
  }

  #of(line: string): readonly Family[] {
    return [...this.#families.values()].filter((family) => family.line === line);
  }
}

/**
 * Returns the price of a size. An unlisted size costs in proportion to its units, and bare metal as much as the
 * largest size.
 */
function priceOf({ prices, perUnit }: Family, size: string): number | undefined {
  const units = unitsOf(size);
  if (units === undefined && size !== 'metal') return undefined;
  return prices.get(size) ?? (units === undefined ? Math.max(...prices.values()) : perUnit * units);
}

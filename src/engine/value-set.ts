/** Allowed values of one label: a set of values or its complement, optionally within integer bounds. */
import { LRUCache } from 'lru-cache';
import type { NodeSelectorOperator } from '#api/objects';
import { type Integer, larger, MAX_INT64, parseInteger, plus, smaller } from '#lib';

/** Effective operator of a set. Bounded sets count as `Exists`. */
type EffectiveOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';

const NONE: ReadonlySet<string> = new Set();
/** Maximum number of printed values. The rest is printed as `and N others`. */
const PRINTED_VALUES = 5;

/** Sets with a single value. Thousands of nodes have the same few values, besides unique names. */
const singles = new LRUCache<string, ValueSet>({ max: 2_000 });
/**
 * Maximum length of a cached value. Label values are never longer, and users must not be able to fill the memory with long
 * texts.
 */
const LONGEST_SINGLE = 63;

export class ValueSet {
  /** Allowed values, or with `complement` the excluded values. */
  readonly values: ReadonlySet<string>;
  readonly complement: boolean;
  /** Inclusive bounds. Only complements have bounds. Values that are not integers are outside any bounds. */
  readonly gte: Integer | undefined;
  readonly lte: Integer | undefined;
  /** Number of distinct values that the instance types of a claim must have. */
  readonly minValues: number | undefined;
  /** True if a node without the label satisfies this set, as for `NotIn` and `DoesNotExist`. */
  readonly allowsAbsence: boolean;
  #identity: string | undefined;

  private constructor(
    complement: boolean,
    values: ReadonlySet<string>,
    bounds: { gte?: Integer | undefined; lte?: Integer | undefined } = {},
    minValues?: number,
    allowsAbsence = complement === values.size > 0,
  ) {
    this.complement = complement;
    this.values = values;
    this.gte = bounds.gte;
    this.lte = bounds.lte;
    this.minValues = minValues;
    this.allowsAbsence = allowsAbsence;
  }

  static readonly EXISTS = new ValueSet(true, NONE);
  static readonly DOES_NOT_EXIST = new ValueSet(false, NONE);

  /** Returns the set for contradictory requirements: the label must exist, but no value is allowed. */
  static #impossible(minValues?: number): ValueSet {
    return new ValueSet(false, NONE, {}, minValues, false);
  }

  static in(values: Iterable<string>, minValues?: number): ValueSet {
    return new ValueSet(false, new Set(values), {}, minValues);
  }

  /** Returns a set with one value. Equal sets are usually the same object. */
  static single(value: string): ValueSet {
    const known = singles.get(value);
    if (known !== undefined) return known;
    const made = new ValueSet(false, new Set([value]));
    if (value.length > LONGEST_SINGLE) return made;
    singles.set(value, made);
    return made;
  }

  /** Creates a set from an operator. An invalid bound counts as 0, because the input was validated before. */
  static of(operator: NodeSelectorOperator, values: readonly string[] = [], minValues?: number): ValueSet {
    const bound = parseInteger(values[0] ?? '') ?? 0;
    switch (operator) {
      case 'In':
        return new ValueSet(false, new Set(values), {}, minValues);
      case 'NotIn':
        return new ValueSet(true, new Set(values), {}, minValues);
      case 'Exists':
        return new ValueSet(true, NONE, {}, minValues);
      case 'DoesNotExist':
        return new ValueSet(false, NONE, {}, minValues);
      case 'Gt':
        if (bound >= MAX_INT64) return ValueSet.#impossible();
        return new ValueSet(true, NONE, { gte: plus(bound, 1) }, minValues);
      case 'Lt':
        return new ValueSet(true, NONE, { lte: plus(bound, -1) }, minValues);
      case 'Gte':
        return new ValueSet(true, NONE, { gte: bound }, minValues);
      case 'Lte':
        return new ValueSet(true, NONE, { lte: bound }, minValues);
    }
  }

  get operator(): EffectiveOperator {
    if (this.complement) return this.values.size > 0 ? 'NotIn' : 'Exists';
    return this.values.size > 0 ? 'In' : 'DoesNotExist';
  }

  /** True if all values are allowed. */
  get isEverything(): boolean {
    return this.complement && this.values.size === 0 && this.gte === undefined && this.lte === undefined;
  }

  /** Number of allowed values. For a complement, the largest integer minus the number of excluded values. */
  get size(): number {
    return this.complement ? Number.MAX_SAFE_INTEGER - this.values.size : this.values.size;
  }

  /** Allowed values, or excluded values of a complement, sorted. */
  get sorted(): readonly string[] {
    return [...this.values].sort();
  }

  has(value: string): boolean {
    return this.values.has(value) !== this.complement && this.#withinBounds(value);
  }

  #withinBounds(value: string): boolean {
    if (this.gte === undefined && this.lte === undefined) return true;
    const number = parseInteger(value);
    if (number === undefined) return false;
    return (this.gte === undefined || number >= this.gte) && (this.lte === undefined || number <= this.lte);
  }

  /**
   * Returns the smallest allowed value. For a complement, returns the smallest allowed integer from its lower bound, or from 0.
   * Returns an empty text if there is none.
   */
  any(): string {
    if (!this.complement) return this.sorted[0] ?? '';
    // labels never have a sign
    let value = this.gte !== undefined && this.gte > 0 ? this.gte : 0;
    // ends after at most as many steps as there are values, because two integers never have the same text
    while (this.values.has(String(value))) value = plus(value, 1);
    return value > (this.lte ?? MAX_INT64) ? '' : String(value);
  }

  /** True if bounds and excluded values allow no integer that a label could have. */
  get #isExhausted(): boolean {
    return this.lte !== undefined && this.any() === '';
  }

  intersect(other: ValueSet): ValueSet {
    const gte = larger(this.gte, other.gte);
    const lte = smaller(this.lte, other.lte);
    const minValues = larger(this.minValues, other.minValues);
    if (gte !== undefined && lte !== undefined && gte > lte) return ValueSet.#impossible(minValues);
    const bounds = new ValueSet(true, NONE, { gte, lte });
    const allowsAbsence = this.allowsAbsence && other.allowsAbsence;
    if (this.complement && other.complement) {
      const excluded = [...this.values, ...other.values].filter((value) => bounds.has(value));
      const set = new ValueSet(true, new Set(excluded), { gte, lte }, minValues, allowsAbsence);
      return set.#isExhausted ? ValueSet.#impossible(minValues) : set;
    }
    const [concrete, filter] = this.complement ? [other, this] : [this, other];
    const kept = [...concrete.values].filter(
      (value) => filter.values.has(value) !== filter.complement && bounds.has(value),
    );
    return new ValueSet(false, new Set(kept), {}, minValues, allowsAbsence);
  }

  /** Returns true if both sets allow some value. Two complements share values unless their bounds leave no integer. */
  intersects(other: ValueSet): boolean {
    const gte = larger(this.gte, other.gte);
    const lte = smaller(this.lte, other.lte);
    if (gte !== undefined && lte !== undefined && gte > lte) return false;
    if (this.complement && other.complement) return lte === undefined || this.intersect(other).complement;
    const [concrete, filter] =
      this.complement || (!other.complement && other.values.size < this.values.size) ? [other, this] : [this, other];
    for (const value of concrete.values) if (filter.has(value) && concrete.has(value)) return true;
    return false;
  }

  withMinValues(minValues: number | undefined): ValueSet {
    const { complement, values, gte, lte, allowsAbsence } = this;
    return new ValueSet(complement, values, { gte, lte }, minValues, allowsAbsence);
  }

  /**
   * Text that is the same only for equal sets. Each value is preceded by its length, because values may contain any characters.
   */
  get identity(): string {
    if (this.#identity === undefined) {
      let text = this.complement ? '!' : '';
      for (const value of this.sorted) text += `${value.length}:${value}`;
      const { gte = '', lte = '', minValues = '' } = this;
      this.#identity = `${text}>${gte}<${lte}#${minValues}${this.allowsAbsence ? '?' : ''}`;
    }
    return this.#identity;
  }

  /** Returns a text such as `In [a b]` or `Exists >=6`, with at most five values. */
  toString(): string {
    const { operator } = this;
    let text: string = operator;
    if (operator === 'In' || operator === 'NotIn') {
      const more = this.values.size - PRINTED_VALUES;
      const shown = this.sorted.slice(0, PRINTED_VALUES);
      text += ` [${(more > 0 ? [...shown, `and ${more} others`] : shown).join(' ')}]`;
    }
    if (this.gte !== undefined) text += ` >=${this.gte}`;
    if (this.lte !== undefined) text += ` <=${this.lte}`;
    if (this.minValues !== undefined) text += ` minValues ${this.minValues}`;
    return text;
  }
}

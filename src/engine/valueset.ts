/** What a requirement allows for one label: a set of values, or all but a set, optionally within integer bounds. */
import type { NodeSelectorOperator } from '../api/kubernetes.ts';

/** What a set amounts to; bounded sets count as `Exists`. */
export type EffectiveOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';

const MAX_INT64 = 2 ** 63;
const INTEGER = /^[+-]?\d+$/;
const NONE: ReadonlySet<string> = new Set();
/** Values printed before the rest is summed up as `and N others`. */
const PRINTED_VALUES = 5;

const integer = (text: string): number | undefined => (INTEGER.test(text) ? Number(text) : undefined);

const larger = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.max(a, b);
const smaller = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);

export class ValueSet {
  /** Allowed values, or with `complement` the excluded ones. */
  readonly values: ReadonlySet<string>;
  readonly complement: boolean;
  /** Inclusive bounds; only complements have them. Values that are no integer lie outside any bound. */
  readonly gte: number | undefined;
  readonly lte: number | undefined;
  /** How many different values the instance types of a claim must offer. */
  readonly minValues: number | undefined;
  #identity: string | undefined;

  private constructor(
    complement: boolean,
    values: ReadonlySet<string>,
    bounds: { gte?: number | undefined; lte?: number | undefined } = {},
    minValues?: number,
  ) {
    this.complement = complement;
    this.values = values;
    this.gte = bounds.gte;
    this.lte = bounds.lte;
    this.minValues = minValues;
  }

  static readonly EXISTS = new ValueSet(true, NONE);
  static readonly DOES_NOT_EXIST = new ValueSet(false, NONE);

  static in(values: Iterable<string>, minValues?: number): ValueSet {
    return new ValueSet(false, new Set(values), {}, minValues);
  }

  /** An unparsable bound reads as 0: input is validated before. */
  static of(operator: NodeSelectorOperator, values: readonly string[] = [], minValues?: number): ValueSet {
    const bound = integer(values[0] ?? '') ?? 0;
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
        return bound >= MAX_INT64 ? ValueSet.DOES_NOT_EXIST : new ValueSet(true, NONE, { gte: bound + 1 }, minValues);
      case 'Lt':
        return new ValueSet(true, NONE, { lte: bound - 1 }, minValues);
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

  /** Whether there is no value that it excludes. */
  get isEverything(): boolean {
    return this.complement && this.values.size === 0 && this.gte === undefined && this.lte === undefined;
  }

  /** `NotIn` and `DoesNotExist` hold on a node without the label. */
  get allowsAbsence(): boolean {
    return this.complement === this.values.size > 0;
  }

  /** Number of allowed values; for a complement the largest integer less the excluded ones. */
  get size(): number {
    return this.complement ? Number.MAX_SAFE_INTEGER - this.values.size : this.values.size;
  }

  /** Allowed values in order, or the excluded ones of a complement. */
  get sorted(): readonly string[] {
    return [...this.values].sort();
  }

  has(value: string): boolean {
    return this.values.has(value) !== this.complement && this.#withinBounds(value);
  }

  #withinBounds(value: string): boolean {
    if (this.gte === undefined && this.lte === undefined) return true;
    const number = integer(value);
    if (number === undefined) return false;
    return (this.gte === undefined || number >= this.gte) && (this.lte === undefined || number <= this.lte);
  }

  /** The smallest allowed value; for a complement the smallest integer from its lower bound, or 0, on; empty if none. */
  any(): string {
    if (!this.complement) return this.sorted[0] ?? '';
    let value = this.gte ?? 0;
    while (this.values.has(String(value))) value++;
    return String(value);
  }

  intersect(other: ValueSet): ValueSet {
    const gte = larger(this.gte, other.gte);
    const lte = smaller(this.lte, other.lte);
    const minValues = larger(this.minValues, other.minValues);
    if (gte !== undefined && lte !== undefined && gte > lte) return new ValueSet(false, NONE, {}, minValues);
    const bounds = new ValueSet(true, NONE, { gte, lte });
    if (this.complement && other.complement) {
      const excluded = [...this.values, ...other.values].filter((value) => bounds.has(value));
      return new ValueSet(true, new Set(excluded), { gte, lte }, minValues);
    }
    const [concrete, filter] = this.complement ? [other, this] : [this, other];
    const kept = [...concrete.values].filter(
      (value) => filter.values.has(value) !== filter.complement && bounds.has(value),
    );
    return new ValueSet(false, new Set(kept), {}, minValues);
  }

  /** Whether some value is allowed by both. Two complements share values unless their bounds exclude each other. */
  intersects(other: ValueSet): boolean {
    const gte = larger(this.gte, other.gte);
    const lte = smaller(this.lte, other.lte);
    if (gte !== undefined && lte !== undefined && gte > lte) return false;
    if (this.complement && other.complement) return true;
    const [concrete, filter] =
      this.complement || (!other.complement && other.values.size < this.values.size) ? [other, this] : [this, other];
    for (const value of concrete.values) if (filter.has(value) && concrete.has(value)) return true;
    return false;
  }

  withMinValues(minValues: number | undefined): ValueSet {
    return new ValueSet(this.complement, this.values, { gte: this.gte, lte: this.lte }, minValues);
  }

  /** The same text for equal sets and for no others. */
  get identity(): string {
    this.#identity ??= `${this.complement ? '!' : ''}${this.sorted.join(',')}>${this.gte ?? ''}<${this.lte ?? ''}#${this.minValues ?? ''}`;
    return this.#identity;
  }

  /** `In [a b]`, `Exists >=6`, at most five values. */
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

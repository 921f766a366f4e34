/**
 * Instance types compiled for checks that are made many thousand times: which of them some requirements allow, which are
 * offered and at what price, which hold some resources. Answers are bit sets over rows. A row is an instance type as some
 * of its offerings sell it: usually one per type, more where offerings override capacity or overhead.
 */

import { CAPACITY_RESERVATION_ID_LABEL, CAPACITY_TYPE_LABEL } from '../../api/labels.ts';
import { compareText, isReserved, requirementsOf } from '../instance-types.ts';
import type { InstanceType, Offering } from '../model.ts';
import { LOOSE, type Requirements } from '../requirements.ts';
import { amountIn } from '../resources.ts';
import type { ValueSet } from '../value-set.ts';
import { BitSet } from './bitset.ts';
import { CompiledRows } from './compiled-rows.ts';
import type { Amounts, Dimensions } from './dimensions.ts';
import { FitTable } from './fit-table.ts';

/** What is the same for all offerings that ask for the same, of whatever type and at whatever price. */
interface OfferingKind {
  readonly requirements: Requirements;
  readonly capacityTypes: readonly string[];
  /** Ids of capacity reservations on which such offerings draw. */
  readonly reservations: readonly string[];
}

/** Prices and rows of the offerings under the requirements on their keys. */
export interface OfferingView {
  /** Rows with an available offering that the requirements allow. */
  readonly offered: BitSet;
  /** Cheapest such offering per type, USD per hour with its spot risk on top; infinite without one. */
  readonly prices: Float64Array;
  /** Capacity types of such offerings, per type. */
  readonly capacityTypes: readonly ReadonlySet<string>[];
  /** Ids of the capacity reservations among them, of the types that have some. */
  readonly reservations: ReadonlyMap<number, ReadonlySet<string>>;
  /** Types from cheap to dear, equal ones by name. */
  readonly byPrice: readonly number[];
}

/** Sets of capacity types, one object for equal ones: thousands of types have one of a handful. */
const NO_CAPACITY_TYPES: ReadonlySet<string> = new Set();
const grown = new WeakMap<ReadonlySet<string>, Map<string, ReadonlySet<string>>>();

function withCapacityType(set: ReadonlySet<string>, value: string): ReadonlySet<string> {
  if (set.has(value)) return set;
  const known = grown.get(set) ?? new Map<string, ReadonlySet<string>>();
  grown.set(set, known);
  const larger = known.get(value) ?? new Set([...set, value]);
  known.set(value, larger);
  return larger;
}

export class CompiledTypes {
  readonly types: readonly InstanceType[];
  readonly #rows: CompiledRows;
  readonly #kinds: OfferingKind[] = [];
  /** Types that are overlaid in price, and in capacity. */
  readonly overlaid: { readonly price: ReadonlySet<InstanceType>; readonly capacity: ReadonlySet<InstanceType> };
  /** Types of which some spot offering has a risk. */
  readonly risky: ReadonlySet<InstanceType>;
  /** Rows that are not overcommitted by their own overhead. */
  readonly #usable: BitSet;
  readonly #offeringKeys: readonly string[];
  /** Positions of the types in the order of their names. */
  readonly #byName: readonly number[];
  readonly #masks = new Map<string, BitSet>();
  readonly #views = new Map<string, OfferingView>();
  readonly #largest = new Map<string, number>();
  readonly #fitTables: (FitTable | undefined)[] = [];

  /** Offerings for which `isSold` is false are passed over. */
  constructor(types: readonly InstanceType[], dimensions: Dimensions, isSold: (offering: Offering) => boolean) {
    this.types = types;
    const kindOf = this.#kindFinder();
    this.#rows = new CompiledRows(types, { dimensions, isSold, kindOf });
    this.overlaid = {
      price: new Set(types.filter(({ offerings }) => offerings.some(({ priceOverlaid }) => priceOverlaid))),
      capacity: new Set(types.filter(({ capacityOverlaid }) => capacityOverlaid)),
    };
    this.risky = new Set(
      types.filter(({ offerings }) => offerings.some(({ spotRiskUsdPerHour }) => spotRiskUsdPerHour)),
    );
    this.#byName = types.map((_, type) => type).sort((a, b) => compareText(this.#nameOf(a), this.#nameOf(b)));
    this.#usable = new BitSet(this.#rows.count);
    for (let row = 0; row < this.#rows.count; row++)
      if (this.#rows.allocatableAt(row).every((amount) => amount >= 0)) this.#usable.add(row);
    this.#offeringKeys = [...new Set(this.#kinds.flatMap(({ requirements }) => requirements.keys))].sort();
  }

  /** Identifies requirements of offerings. Their text is enough: the same one always means the same. */
  #kindFinder(): (offering: Offering) => number {
    const known = new Map<string, number>();
    return (offering) => {
      let id = '';
      for (const { key, operator, values = [] } of offering.requirements) id += `${key} ${operator} ${values.join()};`;
      let kind = known.get(id);
      if (kind === undefined) {
        const requirements = requirementsOf(offering);
        kind = this.#kinds.length;
        known.set(id, kind);
        this.#kinds.push({
          requirements,
          capacityTypes: [...requirements.get(CAPACITY_TYPE_LABEL).values],
          reservations: isReserved(offering) ? [...requirements.get(CAPACITY_RESERVATION_ID_LABEL).values] : [],
        });
      }
      return kind;
    };
  }

  /** Whether some offering draws on a capacity reservation. */
  get hasReservations(): boolean {
    return this.#kinds.some(({ reservations }) => reservations.length > 0);
  }

  get rowCount(): number {
    return this.#rows.count;
  }

  typeAt(row: number): number {
    return this.#rows.types[row] ?? -1;
  }

  /** What pods and daemons can have of a row. */
  allocatableAt(row: number): Amounts | undefined {
    return this.#usable.has(row) ? this.#rows.allocatableAt(row) : undefined;
  }

  #nameOf(type: number): string {
    return this.types[type]?.name ?? '';
  }

  namesOf(positions: readonly number[]): string[] {
    const names: string[] = [];
    for (const type of positions) names.push(this.#nameOf(type));
    return names;
  }

  /** The same in order. */
  sortedNamesOf(positions: readonly number[]): readonly string[] {
    const isAmong = new Uint8Array(this.types.length);
    for (const type of positions) isAmong[type] = 1;
    const names: string[] = [];
    for (const type of this.#byName) if (isAmong[type] === 1) names.push(this.#nameOf(type));
    return names;
  }

  /** Positions of the types that have a row in the set, ascending. */
  typesOf(rows: BitSet): readonly number[] {
    const types: number[] = [];
    let last = -1;
    for (const row of rows.members) {
      const type = this.typeAt(row);
      if (type !== last) types.push(type);
      last = type;
    }
    return types;
  }

  /** Rows of all types for which the test holds. */
  rowsWhere(test: (type: InstanceType, position: number) => boolean): BitSet {
    const verdicts = this.types.map(test);
    const rows = new BitSet(this.#rows.count);
    for (let row = 0; row < this.#rows.count; row++) if (verdicts[this.typeAt(row)]) rows.add(row);
    return rows;
  }

  /** Rows whose type can be narrowed to the requirements. */
  allowed(requirements: Requirements): BitSet {
    const rows = BitSet.full(this.#rows.count);
    for (const [key, set] of requirements.entries()) rows.and(this.#mask(key, set));
    return rows;
  }

  #mask(key: string, set: ValueSet): BitSet {
    const id = `${key} ${set.identity}`;
    let mask = this.#masks.get(id);
    if (mask === undefined) {
      mask = this.rowsWhere((type) => {
        const own = requirementsOf(type);
        if (!own.has(key)) return true;
        const theirs = own.get(key);
        return theirs.intersects(set) || (theirs.allowsAbsence && set.allowsAbsence);
      });
      this.#masks.set(id, mask);
    }
    return mask;
  }

  offerings(requirements: Requirements): OfferingView {
    const id = this.#offeringKeys.map((key) => (requirements.has(key) ? requirements.get(key).identity : '')).join('|');
    let view = this.#views.get(id);
    if (view === undefined) {
      view = this.#view(requirements);
      this.#views.set(id, view);
    }
    return view;
  }

  #view(requirements: Requirements): OfferingView {
    const rows = this.#rows;
    const offered = new BitSet(rows.count);
    const prices = new Float64Array(this.types.length).fill(Number.POSITIVE_INFINITY);
    const capacityTypes: ReadonlySet<string>[] = this.types.map(() => NO_CAPACITY_TYPES);
    const reservations = new Map<number, Set<string>>();
    const isAllowed = this.#kinds.map((kind) => requirements.compatible(kind.requirements, LOOSE));
    for (let row = 0; row < rows.count; row++) {
      const type = this.typeAt(row);
      for (let at = rows.firstOffering(row); at < rows.firstOffering(row + 1); at++) {
        const position = rows.kinds[at] as number;
        const kind = this.#kinds[position];
        if (kind === undefined || !isAllowed[position]) continue;
        offered.add(row);
        prices[type] = Math.min(prices[type] ?? 0, rows.usdPerHour[at] as number);
        for (const value of kind.capacityTypes)
          capacityTypes[type] = withCapacityType(capacityTypes[type] ?? NO_CAPACITY_TYPES, value);
        if (kind.reservations.length === 0) continue;
        const ids = reservations.get(type) ?? new Set();
        reservations.set(type, ids);
        for (const id of kind.reservations) ids.add(id);
      }
    }
    return { offered, prices, capacityTypes, reservations, byPrice: this.#orderedBy(prices) };
  }

  #orderedBy(prices: Float64Array): readonly number[] {
    const nameOf = (type: number): string => this.types[type]?.name ?? '';
    return this.types
      .map((_, type) => type)
      .sort((a, b) => {
        const [priceA, priceB] = [prices[a] ?? 0, prices[b] ?? 0];
        return priceA === priceB ? compareText(nameOf(a), nameOf(b)) : priceA - priceB;
      });
  }

  /** Drops the rows that cannot hold the amounts, with `more` on top. In place. */
  keepFitting(rows: BitSet, amounts: Amounts, more?: Amounts): BitSet {
    rows.and(this.#usable);
    for (let dimension = 0; dimension < amounts.length; dimension++) {
      const position = this.#fitPosition(dimension, (amounts[dimension] ?? 0) + (more?.[dimension] ?? 0));
      if (position === 0) continue;
      rows.and(this.#fitTable(dimension).rowsFrom(position));
    }
    return rows;
  }

  /** The same text for amounts that the same rows can hold. */
  fitId(amounts: Amounts, more: Amounts): string {
    let id = '';
    for (let dimension = 0; dimension < amounts.length; dimension++)
      id += `${this.#fitPosition(dimension, (amounts[dimension] ?? 0) + (more[dimension] ?? 0))},`;
    return id;
  }

  /** Up to which amounts, with `more` on top, the same rows can hold them. */
  nextStep(amounts: Amounts, more: Amounts): Amounts {
    return amounts.map((amount, dimension) => {
      const own = more[dimension] ?? 0;
      const next = this.#fitTable(dimension).amountAt(this.#fitPosition(dimension, amount + own));
      return Math.max(next, 0) - own;
    });
  }

  /** How many different amounts, of those that rows have of a resource, are too little. */
  #fitPosition(dimension: number, amount: number): number {
    return amount <= 0 ? 0 : this.#fitTable(dimension).positionOf(amount);
  }

  #fitTable(dimension: number): FitTable {
    let table = this.#fitTables[dimension];
    if (table === undefined) {
      table = new FitTable(this.#rows.amountsOf(dimension));
      this.#fitTables[dimension] = table;
    }
    return table;
  }

  /** The most that a type, in the set if one is given, has of a resource. */
  largestCapacity(name: string, rows?: BitSet): number {
    if (rows === undefined) {
      const known =
        this.#largest.get(name) ?? this.types.reduce((most, type) => Math.max(most, amountIn(type.capacity, name)), 0);
      this.#largest.set(name, known);
      return known;
    }
    let largest = 0;
    for (const type of this.typesOf(rows))
      largest = Math.max(largest, amountIn(this.types[type]?.capacity ?? {}, name));
    return largest;
  }
}

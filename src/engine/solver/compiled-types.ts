/**
 * Compiled instance types, for checks that run many thousand times: the types that some requirements allow, the available
 * offerings and their prices, and the types with enough resources. Results are bit sets over rows. A row is an instance type
 * with some of its offerings. Most types have one row; a type has several if offerings override capacity or overhead.
 */

import { CAPACITY_RESERVATION_ID_LABEL, CAPACITY_TYPE_LABEL } from '#api/objects';
import { compareText, isReserved, requirementsOf } from '../instance-types.ts';
import type { InstanceType, Offering } from '../model.ts';
import { LOOSE, type Requirements } from '../requirements.ts';
import { amountIn } from '../resources.ts';
import type { ValueSet } from '../value-set.ts';
import { BitSet } from './bitset.ts';
import { CompiledRows } from './compiled-rows.ts';
import type { Amounts, Dimensions } from './dimensions.ts';
import { FitTable } from './fit-table.ts';

/** Shared data of all offerings with the same requirements, regardless of type and price. */
interface OfferingKind {
  readonly requirements: Requirements;
  readonly capacityTypes: readonly string[];
  /** Ids of the capacity reservations that such offerings use. */
  readonly reservations: readonly string[];
}

/** Prices and rows of the offerings that satisfy the requirements on their keys. */
export interface OfferingView {
  /** Rows with an available offering that the requirements allow. */
  readonly offered: BitSet;
  /** Price of the cheapest such offering per type, in USD per hour including spot risk. Infinite if there is no such offering. */
  readonly prices: Float64Array;
  /** Capacity types of such offerings, per type. */
  readonly capacityTypes: readonly ReadonlySet<string>[];
  /** Ids of the capacity reservations among such offerings, by type. Types without reservations are absent. */
  readonly reservations: ReadonlyMap<number, ReadonlySet<string>>;
  /** Types by price, cheapest first; ties by name. */
  readonly byPrice: readonly number[];
}

/** Sets of capacity types. Equal sets share one object, because thousands of types have one of a few sets. */
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
  /** Types with a price overlay, and types with a capacity overlay. */
  readonly overlaid: { readonly price: ReadonlySet<InstanceType>; readonly capacity: ReadonlySet<InstanceType> };
  /** Types that have a spot offering with a risk. */
  readonly risky: ReadonlySet<InstanceType>;
  /** Rows whose own overhead does not exceed their capacity. */
  readonly #usable: BitSet;
  readonly #offeringKeys: readonly string[];
  /** Positions of the types, sorted by name. */
  readonly #byName: readonly number[];
  readonly #masks = new Map<string, BitSet>();
  readonly #views = new Map<string, OfferingView>();
  readonly #largest = new Map<string, number>();
  readonly #fitTables: (FitTable | undefined)[] = [];

  /** Ignores offerings for which `isSold` returns false. */
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

  /**
   * Returns a function that numbers the requirements of offerings. Uses their text as identity, because the same text always has
   * the same meaning.
   */
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

  /** True if an offering uses a capacity reservation. */
  get hasReservations(): boolean {
    return this.#kinds.some(({ reservations }) => reservations.length > 0);
  }

  get rowCount(): number {
    return this.#rows.count;
  }

  typeAt(row: number): number {
    return this.#rows.types[row] ?? -1;
  }

  /** Returns the allocatable resources of a row for pods and daemons, or undefined if the row is unusable. */
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

  /** Returns the same names, sorted. */
  sortedNamesOf(positions: readonly number[]): readonly string[] {
    const isAmong = new Uint8Array(this.types.length);
    for (const type of positions) isAmong[type] = 1;
    const names: string[] = [];
    for (const type of this.#byName) if (isAmong[type] === 1) names.push(this.#nameOf(type));
    return names;
  }

  /** Returns the positions of the types that have a row in the set, ascending. */
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

  /** Returns the rows of all types that pass the test. */
  rowsWhere(test: (type: InstanceType, position: number) => boolean): BitSet {
    const verdicts = this.types.map(test);
    const rows = new BitSet(this.#rows.count);
    for (let row = 0; row < this.#rows.count; row++) if (verdicts[this.typeAt(row)]) rows.add(row);
    return rows;
  }

  /** Returns the rows whose type can be narrowed to the requirements. */
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

  /** Removes the rows that do not have room for the amounts plus `more`. Modifies the set. */
  keepFitting(rows: BitSet, amounts: Amounts, more?: Amounts): BitSet {
    rows.and(this.#usable);
    for (let dimension = 0; dimension < amounts.length; dimension++) {
      const position = this.#fitPosition(dimension, (amounts[dimension] ?? 0) + (more?.[dimension] ?? 0));
      if (position === 0) continue;
      rows.and(this.#fitTable(dimension).rowsFrom(position));
    }
    return rows;
  }

  /** Returns a text that is the same for amounts that fit into the same rows. */
  fitId(amounts: Amounts, more: Amounts): string {
    let id = '';
    for (let dimension = 0; dimension < amounts.length; dimension++)
      id += `${this.#fitPosition(dimension, (amounts[dimension] ?? 0) + (more[dimension] ?? 0))},`;
    return id;
  }

  /** Returns the largest amounts that, together with `more`, still fit into the same rows. */
  nextStep(amounts: Amounts, more: Amounts): Amounts {
    return amounts.map((amount, dimension) => {
      const own = more[dimension] ?? 0;
      const next = this.#fitTable(dimension).amountAt(this.#fitPosition(dimension, amount + own));
      return Math.max(next, 0) - own;
    });
  }

  /** Returns the number of distinct row amounts of a resource that are too small. */
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

  /** Returns the largest capacity of a resource among all types, or among the types in the set if there is one. */
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

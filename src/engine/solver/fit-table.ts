/** Finds the rows that have enough of one resource, by binary search over the distinct amounts. */
import { BitSet } from './bitset.ts';

export class FitTable {
  /** Distinct amounts, ascending. */
  readonly #amounts: Float64Array;
  /** Rows that have at least the amount, for each amount, and an empty set at the end. */
  readonly #rowsFrom: readonly BitSet[];

  /** @param amountOfRow amount of each row */
  constructor(amountOfRow: Float64Array) {
    const order = Array.from(amountOfRow, (_, row) => row);
    order.sort((a, b) => (amountOfRow[b] as number) - (amountOfRow[a] as number));
    const amounts: number[] = [];
    let rows = new BitSet(amountOfRow.length);
    const rowsFrom = [rows];
    for (const row of order) {
      const amount = amountOfRow[row] as number;
      if (amount !== amounts.at(-1)) {
        rows = rows.clone();
        amounts.push(amount);
        rowsFrom.push(rows);
      }
      rows.add(row);
    }
    this.#amounts = Float64Array.from(amounts.reverse());
    this.#rowsFrom = rowsFrom.reverse();
  }

  /** Returns the position of the smallest sufficient amount, or the number of amounts if none is sufficient. */
  positionOf(amount: number): number {
    let low = 0;
    let high = this.#amounts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#amounts[middle] as number) < amount) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Returns the amount at a position, or Infinity after the last one. */
  amountAt(position: number): number {
    return this.#amounts[position] ?? Number.POSITIVE_INFINITY;
  }

  /** Returns the rows that have at least the amount at the position. Callers must not modify the result. */
  rowsFrom(position: number): BitSet {
    return this.#rowsFrom[position] as BitSet;
  }
}

/** Which rows have enough of one resource, found by binary search over the different amounts that there are. */
import { BitSet } from './bitset.ts';

export class FitTable {
  /** Different amounts, ascending. */
  readonly #amounts: Float64Array;
  /** For each of them the rows that have at least as much, and none at the end. */
  readonly #rowsFrom: readonly BitSet[];

  /** @param amountOfRow what each row has */
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

  /** Position of the least amount that is enough; the number of amounts when none is. */
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

  /** Infinite beyond the largest. */
  amountAt(position: number): number {
    return this.#amounts[position] ?? Number.POSITIVE_INFINITY;
  }

  /** Rows that have at least the amount at the position. Not to be changed. */
  rowsFrom(position: number): BitSet {
    return this.#rowsFrom[position] as BitSet;
  }
}

/** Packing problem in numbers: kinds of pods, rows of instance types, and the prices of nodes for combinations of kinds. */
import type { Amounts } from '../solver/dimensions.ts';
import type { SurplusPrice } from '../solver/surplus-prices.ts';

/** Pods that are equal for packing. */
export interface PodKind {
  readonly amounts: Amounts;
  readonly count: number;
}

/** Kinds that can share a node, with the price of the node for each row. The price is infinite if the row is not available. */
export interface Mix {
  readonly kinds: readonly number[];
  readonly prices: Float64Array;
}

export interface Problem {
  readonly kinds: readonly PodKind[];
  /** Capacity of each row for pods. Undefined if the row has no room for pods. */
  readonly capacities: readonly (Amounts | undefined)[];
  /** Prices of surplus CPU by row, which depend on the CPU requests of the pods on a node. */
  readonly surplus: readonly (SurplusPrice | undefined)[];
  /** Position of CPU in amounts. */
  readonly cpuAt: number;
  /** Mixes. Every kind is in at least one of them. */
  readonly mixes: readonly Mix[];
}

/** Nodes with the same filling. */
export interface Bin {
  readonly row: number;
  /** Price of each of the nodes, including surplus CPU, in USD per hour. */
  readonly price: number;
  /** Pods on each of the nodes, per kind. */
  readonly counts: Int32Array;
  readonly copies: number;
}

export const costOf = (bins: readonly Bin[]): number =>
  bins.reduce((sum, { price, copies }) => sum + price * copies, 0);

export const nodesOf = (bins: readonly Bin[]): number => bins.reduce((sum, { copies }) => sum + copies, 0);

/** Returns the worth of all pods on a node. */
export function worthOf(counts: Int32Array, worth: Float64Array): number {
  let sum = 0;
  for (let kind = 0; kind < counts.length; kind++) {
    const count = counts[kind] as number;
    if (count > 0) sum += count * (worth[kind] as number);
  }
  return sum;
}

/** Returns true if one row has at least as much as another row in every given dimension. */
function covers(one: Amounts, other: Amounts, dimensions: readonly number[]): boolean {
  for (const at of dimensions) if ((one[at] ?? 0) < (other[at] ?? 0)) return false;
  return true;
}

/** Returns true if the surplus CPU of one row never cost more than those of another row. */
const hasNoDearerCpu = (one: SurplusPrice | undefined, other: SurplusPrice | undefined): boolean =>
  one === undefined ||
  (other !== undefined && one.includedCpu >= other.includedCpu && one.usdPerCpu <= other.usdPerCpu);

/**
 * Returns the worthwhile rows of a mix, cheapest first. A row is worthwhile if no cheaper row has at least as much of
 * everything.
 */
export function worthwhileRows(
  { kinds, capacities, surplus }: Pick<Problem, 'kinds' | 'capacities' | 'surplus'>,
  mix: Mix,
): readonly number[] {
  const priceOf = (row: number): number => mix.prices[row] ?? Number.POSITIVE_INFINITY;
  const width = kinds[0]?.amounts.length ?? 0;
  const wanted = Array.from({ length: width }, (_, at) => at).filter((at) =>
    mix.kinds.some((kind) => (kinds[kind]?.amounts[at] ?? 0) > 0),
  );
  const sorted = capacities
    .map((_, row) => row)
    .filter((row) => Number.isFinite(priceOf(row)))
    .sort((a, b) => priceOf(a) - priceOf(b) || a - b);
  const isAtLeast = (one: number, other: number): boolean =>
    covers(capacities[one] as Amounts, capacities[other] as Amounts, wanted) &&
    hasNoDearerCpu(surplus[one], surplus[other]);
  const kept: number[] = [];
  // Without kept rows that another kept row covers: the other row excludes at least as many rows.
  let largest: number[] = [];
  for (const row of sorted) {
    if (capacities[row] === undefined || largest.some((other) => isAtLeast(other, row))) continue;
    kept.push(row);
    largest = largest.filter((other) => !isAtLeast(row, other));
    largest.push(row);
  }
  return kept;
}

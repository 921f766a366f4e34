/** Packing as numbers alone: kinds of pods, rows of instance types, and which kinds can share a node at what price. */
import type { Amounts } from '../solver/dimensions.ts';

/** Pods that are equal to packing. */
export interface PodKind {
  readonly amounts: Amounts;
  readonly count: number;
}

/** Kinds that can share a node, and what the node then costs as each row; infinite where it cannot be had. */
export interface Mix {
  readonly kinds: readonly number[];
  readonly prices: Float64Array;
}

export interface Problem {
  readonly kinds: readonly PodKind[];
  /** What pods can have of each row; undefined where they can have nothing. */
  readonly capacities: readonly (Amounts | undefined)[];
  /** Every kind is in one of them at least. */
  readonly mixes: readonly Mix[];
}

/** Nodes that are filled alike. */
export interface Bin {
  readonly row: number;
  readonly price: number;
  /** Pods on each of the nodes, per kind. */
  readonly counts: Int32Array;
  readonly copies: number;
}

export const costOf = (bins: readonly Bin[]): number =>
  bins.reduce((sum, { price, copies }) => sum + price * copies, 0);

export const nodesOf = (bins: readonly Bin[]): number => bins.reduce((sum, { copies }) => sum + copies, 0);

/** Whether one row has at least as much of everything that matters as another. */
function covers(one: Amounts, other: Amounts, dimensions: readonly number[]): boolean {
  for (const at of dimensions) if ((one[at] ?? 0) < (other[at] ?? 0)) return false;
  return true;
}

/** Rows of a mix worth looking at, from cheap to dear: those for which no cheaper one has as much of everything. */
export function worthwhileRows({ kinds, capacities }: Problem, mix: Mix): readonly number[] {
  const priceOf = (row: number): number => mix.prices[row] ?? Number.POSITIVE_INFINITY;
  const width = kinds[0]?.amounts.length ?? 0;
  const wanted = Array.from({ length: width }, (_, at) => at).filter((at) =>
    mix.kinds.some((kind) => (kinds[kind]?.amounts[at] ?? 0) > 0),
  );
  const sorted = capacities
    .map((_, row) => row)
    .filter((row) => Number.isFinite(priceOf(row)))
    .sort((a, b) => priceOf(a) - priceOf(b) || a - b);
  const kept: number[] = [];
  for (const row of sorted) {
    const capacity = capacities[row];
    if (capacity === undefined) continue;
    if (!kept.some((other) => covers(capacities[other] as Amounts, capacity, wanted))) kept.push(row);
  }
  return kept;
}

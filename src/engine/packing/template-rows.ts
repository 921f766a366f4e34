/** Capacities and prices of a NodePool's rows of instance types. */
import type { CompiledPool } from '../solver/compiled-pool.ts';
import type { Amounts } from '../solver/dimensions.ts';
import type { PoolLimits } from '../solver/limits.ts';
import type { Shape } from '../solver/shape.ts';

import type { Problem } from './problem.ts';

/** Limited capacity of a node besides resources. */
export interface Column {
  readonly capacity: number;
  /** Host port, as `protocol port`, that daemons can occupy. */
  readonly id: unknown;
}

/** Returns the capacity of each row for pods after daemons. Undefined if the daemons do not fit. */
export function capacitiesOf(
  { catalogue, groups }: CompiledPool,
  columns: readonly Column[] = [],
): Problem['capacities'] {
  const groupOf = (row: number) => groups.find(({ rows }) => rows.has(row));
  return Array.from({ length: catalogue.rowCount }, (_, row) => {
    const allocatable = catalogue.allocatableAt(row);
    const group = groupOf(row);
    if (allocatable === undefined || group === undefined) return undefined;
    const resources = allocatable.length;
    const capacity = new Float64Array(resources + columns.length);
    for (let at = 0; at < resources; at++) capacity[at] = (allocatable[at] ?? 0) - (group.amounts[at] ?? 0);
    for (const [position, { id, capacity: most }] of columns.entries()) {
      const isTaken = group.ports.some(({ protocol, port }) => id === `${protocol} ${port}`);
      capacity[resources + position] = isTaken ? 0 : most;
    }
    return capacity.some((amount) => amount < 0) ? undefined : capacity;
  });
}

export function surplusOf({ catalogue, surplusPrices }: CompiledPool): Pick<Problem, 'surplus' | 'cpuAt'> {
  const priceAt = (row: number) => surplusPrices.priceOf(catalogue.typeAt(row));
  return {
    surplus: Array.from({ length: catalogue.rowCount }, (_, row) => priceAt(row)),
    cpuAt: surplusPrices.cpuAt,
  };
}

interface PriceRequest {
  readonly shape: Shape;
  readonly capacities: readonly (Amounts | undefined)[];
  /** Prices of the shape's types, in USD per hour. Default: the prices of their offerings. */
  readonly prices?: Float64Array | undefined;
}

/** Returns the price of a node of each row without surplus CPU. Infinite if the shape does not allow the row. */
export function pricesOf({ catalogue, rows, extrasUsdPerHour }: CompiledPool, request: PriceRequest): Float64Array {
  const { possible, offerings } = request.shape;
  const prices = request.prices ?? offerings.prices;
  return Float64Array.from({ length: catalogue.rowCount }, (_, row) =>
    possible.has(row) && rows.has(row) && request.capacities[row] !== undefined
      ? (prices[catalogue.typeAt(row)] ?? Number.POSITIVE_INFINITY) + extrasUsdPerHour
      : Number.POSITIVE_INFINITY,
  );
}

/** Returns the price of each row in USD per hour for the use of limits. @param usdPerLimit price of a whole limit */
export function limitPricesOf({ catalogue }: CompiledPool, limits: PoolLimits, usdPerLimit: number): Float64Array {
  const shareOf = (row: number): number => limits.shareOfType(catalogue.typeAt(row));
  return Float64Array.from({ length: catalogue.rowCount }, (_, row) => usdPerLimit * shareOf(row));
}

/** Rows of compiled instance types in flat arrays, because there are tens of thousands of rows, separately for each NodeClass. */
import { allocatable, weighedUsdPerHour } from '../instance-types.ts';
import type { InstanceType, Offering } from '../model.ts';
import { countsVolumes, slotsAsResources } from '../volume-limits.ts';
import type { Amounts, Dimensions } from './dimensions.ts';

interface RowOptions {
  readonly dimensions: Dimensions;
  /** Offerings for which this function returns false are ignored. */
  readonly isSold: (offering: Offering) => boolean;
  /** Returns the number of the offering's requirements. */
  readonly kindOf: (offering: Offering) => number;
}

/** Number of volumes on a type without a limit. */
const UNLIMITED = Number.MAX_SAFE_INTEGER / 2;

/** Rows. A row is an instance type with those of its offerings that have the same capacity and overhead. */
export class CompiledRows {
  readonly count: number;
  /** Position of each row's instance type. */
  readonly types: Uint32Array;
  /**
   * Number of the requirements of each offering. `usdPerHour` is the price in USD per hour including spot risk. Offerings of one
   * row are adjacent.
   */
  readonly kinds: Uint32Array;
  readonly usdPerHour: Float64Array;
  /** Position of each row's first offering, followed by the total number of offerings. */
  readonly #first: Uint32Array;
  readonly #width: number;
  readonly #allocatable: Float64Array;

  constructor(instanceTypes: readonly InstanceType[], { dimensions, isSold, kindOf }: RowOptions) {
    const rows = instanceTypes.flatMap((type, at) => variantsOf(type).map((offerings) => ({ type, at, offerings })));
    const sold = rows.map(({ offerings }) => offerings.filter((offering) => offering.available && isSold(offering)));
    this.count = rows.length;
    this.types = Uint32Array.from(rows, ({ at }) => at);
    const all = sold.flat();
    this.kinds = Uint32Array.from(all, kindOf);
    this.usdPerHour = Float64Array.from(all, weighedUsdPerHour);
    this.#first = new Uint32Array(rows.length + 1);
    for (const [row, { length }] of sold.entries()) this.#first[row + 1] = this.firstOffering(row) + length;
    this.#width = dimensions.width;
    this.#allocatable = new Float64Array(rows.length * this.#width);
    const slots = dimensions.names.filter(countsVolumes);
    const unlimited = Object.fromEntries(slots.map((name) => [name, UNLIMITED]));
    for (const [row, { type, offerings }] of rows.entries())
      this.#allocatable.set(
        dimensions.amounts({
          ...unlimited,
          ...slotsAsResources(type.volumeLimits ?? {}),
          ...allocatable(type, offerings[0]),
        }),
        row * this.#width,
      );
  }

  firstOffering(row: number): number {
    return this.#first[row] ?? 0;
  }

  /** Returns the allocatable resources of the row for pods and daemons. Callers must not modify the result. */
  allocatableAt(row: number): Amounts {
    return this.#allocatable.subarray(row * this.#width, (row + 1) * this.#width);
  }

  /** Returns the amount of a resource in each row. */
  amountsOf(dimension: number): Float64Array {
    const amounts = new Float64Array(this.count);
    for (let row = 0; row < this.count; row++) amounts[row] = this.#allocatable[row * this.#width + dimension] ?? 0;
    return amounts;
  }
}

function variantsOf(type: InstanceType): readonly (readonly Offering[])[] {
  const variants = new Map<string, Offering[]>([['', []]]);
  for (const offering of type.offerings) {
    const { capacityOverride, overheadOverride } = offering;
    const key = capacityOverride || overheadOverride ? JSON.stringify([capacityOverride, overheadOverride]) : '';
    const variant = variants.get(key);
    if (variant === undefined) variants.set(key, [offering]);
    else variant.push(offering);
  }
  return [...variants.values()];
}

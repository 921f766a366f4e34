/** The rows of compiled instance types in flat arrays: there are tens of thousands of them, of each NodeClass its own. */
import { allocatable, weighedUsdPerHour } from '../instance-types.ts';
import type { InstanceType, Offering } from '../model.ts';
import type { Amounts, Dimensions } from './dimensions.ts';

interface RowOptions {
  readonly dimensions: Dimensions;
  /** Offerings for which it is false are passed over. */
  readonly isSold: (offering: Offering) => boolean;
  /** The number of what the offering asks for. */
  readonly kindOf: (offering: Offering) => number;
}

/** A row is an instance type as some of its offerings sell it: those with the same capacity and overhead. */
export class CompiledRows {
  readonly count: number;
  /** Position of each row's instance type. */
  readonly types: Uint32Array;
  /** By offering: number of what it asks for, and its price in USD per hour with its spot risk on top. Those of a row stand together. */
  readonly kinds: Uint32Array;
  readonly usdPerHour: Float64Array;
  /** Position of each row's first offering, and the number of all. */
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
    for (const [row, { type, offerings }] of rows.entries())
      this.#allocatable.set(dimensions.amounts(allocatable(type, offerings[0])), row * this.#width);
  }

  firstOffering(row: number): number {
    return this.#first[row] ?? 0;
  }

  /** What pods and daemons can have of the row. Not to be changed. */
  allocatableAt(row: number): Amounts {
    return this.#allocatable.subarray(row * this.#width, (row + 1) * this.#width);
  }

  /** What each row has of a resource. */
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

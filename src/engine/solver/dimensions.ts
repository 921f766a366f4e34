/** Maps resource names to positions in a vector. */

import type { ExtendedResources } from '../dra/extended-resources.ts';
import type { Resources } from '../model.ts';
import { amountIn } from '../resources.ts';

export type Amounts = Float64Array;

export class Dimensions {
  readonly names: readonly string[];
  /** Text that is equal for dimensions with the same amounts. */
  readonly identity: string;
  readonly #positions: ReadonlyMap<string, number>;
  readonly #isIgnored: (name: string) => boolean;

  /**
   * Creates the dimensions of the resources that nodes have. One extra position stands for all resources that no node has.
   * Resources that only devices provide are ignored.
   */
  constructor(occurring: Iterable<Resources>, extended?: ExtendedResources) {
    const names = new Set<string>();
    this.#isIgnored = (name) => extended?.isOnlyDevices(name) ?? false;
    for (const resources of occurring)
      for (const name in resources) if (!names.has(name) && !this.#isIgnored(name)) names.add(name);
    this.identity = JSON.stringify([...[...names].sort(), extended?.identity ?? '']);
    this.names = [...names].sort();
    this.#positions = new Map(this.names.map((name, position) => [name, position]));
  }

  /** Length of all amounts. */
  get width(): number {
    return this.names.length + 1;
  }

  amounts(resources: Resources): Amounts {
    const amounts = new Float64Array(this.width);
    for (const name in resources) {
      const known = this.#positions.get(name);
      if (known === undefined && this.#isIgnored(name)) continue;
      const position = known ?? this.names.length;
      amounts[position] = (amounts[position] ?? 0) + amountIn(resources, name);
    }
    return amounts;
  }

  position(name: string): number | undefined {
    return this.#positions.get(name);
  }
}

export function sum(a: Amounts, b: Amounts): Amounts {
  const total = a.slice();
  for (let at = 0; at < total.length; at++) total[at] = (total[at] ?? 0) + (b[at] ?? 0);
  return total;
}

/** Prices of the surplus CPU of a NodePool's burstable types, for the requests of pods and daemons. */
import { includedCpu, usdPerSurplusCpu } from '../cpu-burst.ts';
import type { CompiledTypes } from './compiled-types.ts';
import type { DaemonGroup } from './daemons.ts';
import type { Amounts, Dimensions } from './dimensions.ts';

/** Part of a type's price that depends on the requests of pods. */
export interface SurplusPrice {
  /** Requests of pods up to which the price does not change, in millicores. Negative if daemons request more than that. */
  readonly includedCpu: number;
  /** Price of each further millicore, in USD per hour. */
  readonly usdPerCpu: number;
}

export class SurplusPrices {
  /** Position of CPU in amounts. */
  readonly cpuAt: number;
  /** Burstable types by their position. */
  readonly #byType = new Map<number, SurplusPrice>();

  constructor(catalogue: CompiledTypes, groups: readonly DaemonGroup[], dimensions: Dimensions) {
    this.cpuAt = dimensions.position('cpu') ?? -1;
    for (const { rows, amounts } of groups) {
      for (const position of catalogue.typesOf(rows)) {
        const type = catalogue.types[position];
        if (type?.cpuBurst === undefined) continue;
        const included = includedCpu(type) - (amounts[this.cpuAt] ?? 0);
        this.#byType.set(position, { includedCpu: included, usdPerCpu: usdPerSurplusCpu(type) });
      }
    }
  }

  get isEmpty(): boolean {
    return this.#byType.size === 0;
  }

  priceOf(type: number): SurplusPrice | undefined {
    return this.#byType.get(type);
  }

  /** Returns the price of surplus credits for pods on a node of the type, in USD per hour. */
  usdPerHour(type: number, amounts: Amounts): number {
    const price = this.#byType.get(type);
    return price === undefined ? 0 : surplusUsd(price, amounts[this.cpuAt] ?? 0);
  }
}

/** @param cpu requests of the pods without daemons, in millicores */
export const surplusUsd = ({ includedCpu: included, usdPerCpu }: SurplusPrice, cpu: number): number =>
  cpu > included ? (cpu - included) * usdPerCpu : 0;

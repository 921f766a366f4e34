/** Random numbers of a generator. They depend only on the seed and the name, not on other parts of the trace. */

import { pseudoRandom } from '#engine/model';
import { hashText } from '#lib';

/** Log-normal distribution of positive numbers, defined by its median and 95th percentile. */
export interface LogNormal {
  readonly p50: number;
  readonly p95: number;
}

/** 95th percentile of the standard normal distribution. */
const Z95 = 1.6448536;
/**
 * Limit of draws in standard deviations. Without it, a single run could last a month and be a third of a small trace.
 */
const MOST_DEVIATIONS = 3;

const sigmaOf = ({ p50, p95 }: LogNormal): number => Math.log(p95 / p50) / Z95;

/** Returns the mean of a log-normal distribution. */
export const meanOf = (distribution: LogNormal): number => distribution.p50 * Math.exp(sigmaOf(distribution) ** 2 / 2);

export class Random {
  readonly #next: () => number;

  constructor(seed: number, name: string) {
    this.#next = pseudoRandom(Number(hashText(`${seed}/${name}`) & 0xffffffffn));
  }

  /** Returns a number in [0, 1). */
  next(): number {
    return this.#next();
  }

  between(from: number, to: number): number {
    return from + this.#next() * (to - from);
  }

  /** Returns an integer between both bounds, inclusive. */
  whole(from: number, to: number): number {
    return from + Math.floor(this.#next() * (to - from + 1));
  }

  chance(share: number): boolean {
    return this.#next() < share;
  }

  /** Returns one of the items, chosen by weight. */
  weighted<T>(items: readonly (readonly [item: T, weight: number])[]): T {
    let left = this.#next() * items.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [item, weight] of items) {
      left -= weight;
      if (left < 0) return item;
    }
    const last = items.at(-1);
    if (last === undefined) throw new RangeError('Cannot pick an item from an empty list');
    return last[0];
  }

  /** Returns a number of the standard normal distribution. */
  normal(): number {
    // 1 - x, because the logarithm of 0 is infinite
    return Math.sqrt(-2 * Math.log(1 - this.#next())) * Math.cos(2 * Math.PI * this.#next());
  }

  logNormal(distribution: LogNormal): number {
    const deviations = Math.max(-MOST_DEVIATIONS, Math.min(MOST_DEVIATIONS, this.normal()));
    return distribution.p50 * Math.exp(sigmaOf(distribution) * deviations);
  }

  /** Returns the time until the next independent event, with the given mean. */
  exponential(mean: number): number {
    return -mean * Math.log(1 - this.#next());
  }
}

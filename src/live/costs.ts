/** Cost of the nodes, now and over the last hours. */
import { type NodeClaim, type NodePool, poolNameOf } from '#api/objects';
import type { Logger } from '#observe/logger';
import type { CostSample } from './model.ts';

/** Interval of the samples: two per minute, for twelve hours. */
const SAMPLE_MS = 30_000;
const MOST = 12 * 120;

/** Price of a node, in USD per hour. */
export interface LiveNodePrice {
  /** Price as AWS bills it. */
  readonly usdPerHour: number;
  /** Planning figure that the price excludes: expected surplus CPU. */
  readonly surplusCreditsUsdPerHour: number;
}

/** Returns the prices of a NodePool's claims, in the order of the claims. Undefined if a price is unknown. */
export type PricesOf = (
  pool: NodePool,
  claims: readonly NodeClaim[],
) => Promise<readonly (LiveNodePrice | undefined)[]>;

export class Costs {
  readonly #pricesOf: PricesOf;
  readonly #log: Logger;
  readonly #samples: CostSample[] = [];
  /** Prices by the name of the NodeClaim. */
  #prices: ReadonlyMap<string, LiveNodePrice> = new Map();

  constructor(pricesOf: PricesOf, log: Logger) {
    this.#pricesOf = pricesOf;
    this.#log = log;
  }

  /** Updates the prices. If a price cannot be looked up, keeps the previous price. */
  async refresh(pools: readonly NodePool[], claims: readonly NodeClaim[]): Promise<void> {
    const byPool = Map.groupBy(claims, poolNameOf);
    const prices = new Map<string, LiveNodePrice>();
    for (const pool of pools) {
      const own = byPool.get(pool.metadata.name) ?? [];
      if (own.length === 0) continue;
      const found = await this.#pricesOf(pool, own).catch((error: unknown) => {
        this.#log.debug('failed looking up prices for the live page', {
          NodePool: { name: pool.metadata.name },
          error,
        });
        return [];
      });
      for (const [index, { metadata }] of own.entries()) {
        const price = found[index] ?? this.#prices.get(metadata.name);
        if (price !== undefined) prices.set(metadata.name, price);
      }
    }
    this.#prices = prices;
  }

  of(nodeClaim: string | undefined): LiveNodePrice | undefined {
    return nodeClaim === undefined ? undefined : this.#prices.get(nodeClaim);
  }

  /** Records the current cost of all nodes, unless the last sample is more recent than the interval. */
  sample(atMs: number, usdPerHour: number): void {
    const [lastMs = Number.NEGATIVE_INFINITY] = this.#samples.at(-1) ?? [];
    if (atMs - lastMs < SAMPLE_MS) return;
    this.#samples.push([atMs, usdPerHour]);
    if (this.#samples.length > MOST) this.#samples.shift();
  }

  get samples(): readonly CostSample[] {
    return this.#samples;
  }
}

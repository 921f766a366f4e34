/** Parts of the prices of nodes that commitments cover, for the live page. */
import type { NodeClaim } from '#api/objects';
import { nodePrices } from '#engine/costs';
import { monotonicMs, type Timepiece } from '#lib/clock';
import type { Deps } from '../deps.ts';
import { viewedPoolInputs } from '../pool-inputs.ts';

/** Age after which the parts are computed again, because they depend on all nodes and all offerings. */
const FRESH_MS = 30_000;

type Covered = ReadonlyMap<string, number>;
const NOTHING: Covered = new Map();

export class CoveredPrices {
  readonly #deps: Pick<Deps, 'cluster' | 'cloud' | 'settings' | 'log'> & { readonly clock: Timepiece };
  #covered: Promise<Covered> = Promise.resolve(NOTHING);
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(deps: Pick<Deps, 'cluster' | 'cloud' | 'settings' | 'log'> & { readonly clock: Timepiece }) {
    this.#deps = deps;
  }

  /** Returns the prices of NodeClaims without their covered part. Unknown prices stay unknown. */
  async withoutCovered<T extends { readonly usdPerHour: number }>(
    prices: readonly (T | undefined)[],
    claims: readonly NodeClaim[],
  ): Promise<readonly (T | undefined)[]> {
    const covered = await this.#current();
    if (covered.size === 0) return prices;
    return prices.map((price, at) => {
      const usd = covered.get(claims[at]?.status?.providerID ?? '') ?? 0;
      return price === undefined || usd === 0 ? price : { ...price, usdPerHour: Math.max(0, price.usdPerHour - usd) };
    });
  }

  #current(): Promise<Covered> {
    const nowMs = monotonicMs(this.#deps.clock);
    if (nowMs - this.#readMs >= FRESH_MS) {
      this.#readMs = nowMs;
      this.#covered = this.#read();
    }
    return this.#covered;
  }

  async #read(): Promise<Covered> {
    const { cluster, cloud } = this.#deps;
    const commitments = cloud.commitments?.() ?? [];
    if (commitments.length === 0) return NOTHING;
    const prices = nodePrices(cluster.nodes(), await viewedPoolInputs(this.#deps), commitments);
    return new Map(
      [...prices].map(([id, { usdPerHour, coveredUsdPerHour = 0 }]) => [id, Math.min(usdPerHour, coveredUsdPerHour)]),
    );
  }
}

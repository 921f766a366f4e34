/** Computes the cost of the nodes of a NodePool from the prices of their offerings. */

import {
  CAPACITY_TYPE_LABEL,
  INSTANCE_TYPE_LABEL,
  labelOf,
  type NodeClaim,
  type NodePool,
  ZONE_LABEL,
} from '#api/objects';
import { consolidationPolicy } from '#api/values';
import { billedUsdPerHour, chargesUsdPerHour } from '#engine/costs';
import { reportedSurplus } from '#engine/disruption';
import type { InstanceType, Requirement } from '#engine/model';
import { monotonicMs, type Timepiece } from '#lib/clock';
import type { ClusterState } from '#state';
import type { Deps } from '../deps.ts';
import { viewedExtras } from '../pool-inputs.ts';

/**
 * Prices are read again after one hour, or after one minute if a price was missing. Prices of new offerings are read
 * immediately.
 */
const PRICES_AGE_MS = 3_600_000;
const MISSING_AGE_MS = 60_000;

/** Prices of the offerings in use, because a region has thousands of offerings. An unknown price is undefined. */
type Prices = ReadonlyMap<string, number | undefined>;

/** Burstable instance types in use, by name. */
type Burstable = ReadonlyMap<string, InstanceType>;

/** Price of the node of a NodeClaim, in USD per hour. */
interface ClaimPrice {
  /** Price as AWS bills it, without commitments. */
  readonly usdPerHour: number;
  /** Planning figure that the price excludes: expected surplus CPU. */
  readonly surplusCreditsUsdPerHour: number;
}

/** Returns the key of a price, or undefined if the NodeClaim has no offering labels. */
function offeringKey(claim: NodeClaim): string | undefined {
  const { labels = {} } = claim.metadata;
  const parts = [labels[INSTANCE_TYPE_LABEL], labels[CAPACITY_TYPE_LABEL], labels[ZONE_LABEL]];
  return parts.every((part) => part) ? parts.join('/') : undefined;
}

/** Returns USD per hour by instance type, capacity type and zone. */
export function pricesOf(types: readonly InstanceType[]): ReadonlyMap<string, number> {
  const prices = new Map<string, number>();
  for (const { name, offerings } of types) {
    for (const { requirements, usdPerHour } of offerings) {
      for (const capacityType of valuesOf(requirements, CAPACITY_TYPE_LABEL)) {
        for (const zone of valuesOf(requirements, ZONE_LABEL))
          prices.set(`${name}/${capacityType}/${zone}`, usdPerHour);
      }
    }
  }
  return prices;
}

const valuesOf = (requirements: readonly Requirement[], key: string): readonly string[] =>
  requirements.find((requirement) => requirement.key === key)?.values ?? [];

interface CostDeps extends Pick<Deps, 'cloud' | 'settings'> {
  readonly cluster: Pick<ClusterState, 'nodeOfClaim'>;
  readonly clock: Timepiece;
}

/** Sums prices. NodeClaims with an unknown price count as zero. */
export class CostTracker {
  readonly #deps: CostDeps;
  readonly #known = new Map<
    string,
    { readonly prices: Prices; readonly burstable: Burstable; readonly readMs: number }
  >();

  constructor(deps: CostDeps) {
    this.#deps = deps;
  }

  /** Returns the sum of the prices of the offerings, as Karpenter's metric has it. @throws errors of the cloud */
  async offeringsUsdPerHour(pool: NodePool, claims: readonly NodeClaim[]): Promise<number> {
    const { prices, keys } = await this.#offeringsOf(pool, claims);
    return keys.reduce((sum, key) => sum + (prices.get(key ?? '') ?? 0), 0);
  }

  /** Returns the billed price of the nodes of the NodeClaims. @throws errors of the cloud */
  async usdPerHour(pool: NodePool, claims: readonly NodeClaim[]): Promise<number> {
    const prices = await this.pricesOf(pool, claims);
    return prices.reduce((sum, price) => sum + (price?.usdPerHour ?? 0), 0);
  }

  /** Returns the price of each NodeClaim, or undefined if it is unknown. @throws errors of the cloud */
  async pricesOf(pool: NodePool, claims: readonly NodeClaim[]): Promise<readonly (ClaimPrice | undefined)[]> {
    const { prices, burstable, keys } = await this.#offeringsOf(pool, claims);
    const policy = consolidationPolicy(this.#deps.settings.consolidation);
    const extras = viewedExtras(this.#deps, pool);
    return claims.map((claim, at) => {
      const usd = prices.get(keys[at] ?? '');
      if (usd === undefined) return undefined;
      const surplus = policy.expectsCosts ? this.#surplusOf(claim, burstable) : 0;
      const chargesUsd = chargesUsdPerHour(extras);
      return {
        usdPerHour: billedUsdPerHour({ usdPerHour: usd, chargesUsdPerHour: chargesUsd }),
        surplusCreditsUsdPerHour: surplus,
      };
    });
  }

  /** Returns the prices of the offerings, and the key of the offering of each NodeClaim. */
  async #offeringsOf(
    pool: NodePool,
    claims: readonly NodeClaim[],
  ): Promise<{ prices: Prices; burstable: Burstable; keys: readonly (string | undefined)[] }> {
    const keys = claims.map(offeringKey);
    const known = keys.filter((key) => key !== undefined);
    if (known.length === 0) return { prices: new Map(), burstable: new Map(), keys };
    return { ...(await this.#pricesFor(pool, known)), keys };
  }

  #surplusOf(claim: NodeClaim, burstable: Burstable): number {
    const type = burstable.get(labelOf(claim, INSTANCE_TYPE_LABEL));
    if (type === undefined) return 0;
    const node = this.#deps.cluster.nodeOfClaim(claim) ?? { nodeClaim: claim, pods: [], initialized: false };
    return reportedSurplus(node, type);
  }

  forget(poolName: string): void {
    this.#known.delete(poolName);
  }

  async #pricesFor(pool: NodePool, keys: readonly string[]): Promise<{ prices: Prices; burstable: Burstable }> {
    const { name } = pool.metadata;
    const known = this.#known.get(name);
    const ageMs = monotonicMs(this.#deps.clock) - (known?.readMs ?? Number.NEGATIVE_INFINITY);
    const isKnown = keys.every((key) => known?.prices.has(key));
    const limitMs = keys.every((key) => known?.prices.get(key) !== undefined) ? PRICES_AGE_MS : MISSING_AGE_MS;
    if (known && isKnown && ageMs < limitMs) return known;
    const wanted = new Set([...(known?.prices.keys() ?? []), ...keys]);
    const types = new Set([...wanted].map((key) => key.slice(0, key.indexOf('/'))));
    const used = (await this.#deps.cloud.instanceTypes(pool)).filter((type) => types.has(type.name));
    const fresh = pricesOf(used);
    // an offering that is no longer available keeps its last price
    const prices = new Map([...wanted].map((key) => [key, fresh.get(key) ?? known?.prices.get(key)]));
    const burstable = new Map(
      used.flatMap((type) => (type.cpuBurst === undefined ? [] : [[type.name, type] as const])),
    );
    this.#known.set(name, { prices, burstable, readMs: monotonicMs(this.#deps.clock) });
    return { prices, burstable };
  }
}

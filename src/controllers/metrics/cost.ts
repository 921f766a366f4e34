/** Computes the cost of the nodes of a NodePool from the prices of their offerings. */
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, ZONE_LABEL } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { surplusUsdPerHour } from '../../engine/cpu-credits.ts';
import type { InstanceType, Requirement } from '../../engine/model.ts';
import { extrasUsdPerHour } from '../../engine/node-extras.ts';
import { amountIn, resourcesOf } from '../../engine/resources.ts';
import { monotonicMs, type Timepiece } from '../../lib/clock.ts';
import type { Settings } from '../../process/settings.ts';
import type { Deps } from '../deps.ts';
import { nodeExtras } from '../node-extras.ts';

/**
 * Prices are read again after one hour, or after one minute if a price was missing. Prices of new offerings are read
 * immediately.
 */
const PRICES_AGE_MS = 3_600_000;
const MISSING_AGE_MS = 60_000;

/** Prices of the offerings in use, because a region has thousands of offerings. An unknown price is undefined. */
type Prices = ReadonlyMap<string, number | undefined>;

/** CPU credits by instance type. */
type Credits = ReadonlyMap<string, InstanceType['cpuCredits']>;

/** Returns the price of the surplus CPU credits for the requests for which a NodeClaim was launched. */
function surplusOf({ metadata, spec }: NodeClaim, credits: Credits, mode: Settings['consolidation']): number {
  const cpuCredits = mode === 'compatible' ? undefined : credits.get(metadata.labels?.[INSTANCE_TYPE_LABEL] ?? '');
  if (cpuCredits === undefined) return 0;
  return surplusUsdPerHour({ cpuCredits }, amountIn(resourcesOf(spec.resources?.requests), 'cpu'));
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

interface CostDeps extends Pick<Deps, 'cloud' | 'settings' | 'log'> {
  readonly clock: Timepiece;
}

/** Sums prices. NodeClaims with an unknown price count as zero. */
export class CostTracker {
  readonly #deps: CostDeps;
  readonly #clock: Timepiece;
  readonly #known = new Map<string, { readonly prices: Prices; readonly credits: Credits; readonly readMs: number }>();

  constructor(deps: CostDeps) {
    this.#deps = deps;
    this.#clock = deps.clock;
  }

  /**
   * Returns USD per hour of the NodeClaims, including extra costs of their nodes. @throws errors of the cloud if prices are
   * unknown
   */
  async usdPerHour(pool: NodePool, claims: readonly NodeClaim[]): Promise<number> {
    const prices = await this.pricesOf(pool, claims);
    return prices.reduce<number>((sum, usd) => sum + (usd ?? 0), 0);
  }

  /** Returns USD per hour of each NodeClaim, or undefined if the price is unknown. @throws errors of the cloud */
  async pricesOf(pool: NodePool, claims: readonly NodeClaim[]): Promise<readonly (number | undefined)[]> {
    const keys = claims.map(offeringKey);
    const known = keys.filter((key) => key !== undefined);
    if (known.length === 0) return claims.map(() => undefined);
    const { prices, credits } = await this.#pricesFor(pool, known);
    const { cloud, settings, log } = this.#deps;
    const { extras } = nodeExtras({ cloud, settings, log }, pool, settings.consolidation);
    return claims.map((claim, at) => {
      const usd = prices.get(keys[at] ?? '');
      if (usd === undefined) return undefined;
      return usd + surplusOf(claim, credits, settings.consolidation) + extrasUsdPerHour(extras);
    });
  }

  forget(poolName: string): void {
    this.#known.delete(poolName);
  }

  async #pricesFor(pool: NodePool, keys: readonly string[]): Promise<{ prices: Prices; credits: Credits }> {
    const { name } = pool.metadata;
    const known = this.#known.get(name);
    const ageMs = monotonicMs(this.#clock) - (known?.readMs ?? Number.NEGATIVE_INFINITY);
    const isKnown = keys.every((key) => known?.prices.has(key));
    const limitMs = keys.every((key) => known?.prices.get(key) !== undefined) ? PRICES_AGE_MS : MISSING_AGE_MS;
    if (known && isKnown && ageMs < limitMs) return known;
    const wanted = new Set([...(known?.prices.keys() ?? []), ...keys]);
    const types = new Set([...wanted].map((key) => key.slice(0, key.indexOf('/'))));
    const used = (await this.#deps.cloud.instanceTypes(pool)).filter((type) => types.has(type.name));
    const fresh = pricesOf(used);
    // an offering that is no longer available keeps its last price
    const prices = new Map([...wanted].map((key) => [key, fresh.get(key) ?? known?.prices.get(key)]));
    const credits = new Map(used.map((type) => [type.name, type.cpuCredits]));
    this.#known.set(name, { prices, credits, readMs: monotonicMs(this.#clock) });
    return { prices, credits };
  }
}

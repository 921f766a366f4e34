/** Current prices of instances. Lookups never wait, because a background controller refreshes the prices. */
import { type EC2Client, paginateDescribeSpotPriceHistory, type SpotPrice } from '@aws-sdk/client-ec2';
import { type Filter, type PricingClient, paginateGetProducts } from '@aws-sdk/client-pricing';
import { after, type Singleton } from '#kube/reconcilers';
import { rejections, tryRun } from '#lib';
import type { Clock } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { type Check, moment, problemOf, structure, text } from '../answers/checks.ts';
import { type ReportUnusable, usableItems } from '../answers/unusable.ts';
import { combineErrors } from '../errors.ts';
import { pagesOf } from '../pages.ts';
import { type FallbackPrices, fallbackPrices } from './fallback.ts';

const filter = (Field: string, Value: string): Filter => ({ Type: 'TERM_MATCH', Field, Value });

const QUERIES: readonly (readonly Filter[])[] = [
  [filter('tenancy', 'Shared'), filter('productFamily', 'Compute Instance')],
  [filter('tenancy', 'Dedicated'), filter('productFamily', 'Compute Instance (bare metal)')],
];

const commonFilters = (region: string): readonly Filter[] => [
  filter('regionCode', region),
  filter('serviceCode', 'AmazonEC2'),
  filter('preInstalledSw', 'NA'),
  filter('operatingSystem', 'Linux'),
  filter('capacitystatus', 'Used'),
  filter('marketoption', 'OnDemand'),
];

interface PriceListItem {
  readonly product?: { readonly attributes?: { readonly instanceType?: string } };
  readonly terms?: {
    readonly OnDemand?: Readonly<
      Record<string, { priceDimensions?: Readonly<Record<string, { pricePerUnit?: Record<string, string> }>> }>
    >;
  };
}

function pricesIn({ terms }: PriceListItem, currency: string): readonly (string | undefined)[] {
  const dimensions = Object.values(terms?.OnDemand ?? {}).flatMap((term) => Object.values(term.priceDimensions ?? {}));
  return dimensions.map(({ pricePerUnit }) => pricePerUnit?.[currency]);
}

/** Returns true for an item without a price. Free items are not offers of an instance. */
const isFree = (price: string | undefined): boolean => price === undefined || Number(price) === 0;

/** Parses an item of a price list. Returns undefined if it is not JSON. */
const itemIn = (json: string): PriceListItem | undefined => tryRun(() => JSON.parse(json) as PriceListItem);

const product =
  (currency: string): Check =>
  (field) => {
    const item = field.value as PriceListItem;
    let name: unknown;
    let prices: readonly unknown[];
    try {
      name = item.product?.attributes?.instanceType;
      prices = pricesIn(item, currency).filter((price) => !isFree(price));
    } catch {
      return field.fail('is not a product with prices');
    }
    if (name !== undefined && typeof name !== 'string') return field.fail('has no instance type name');
    for (const price of prices) priceText(field.with(price));
    return undefined;
  };

/** Returns the type and its price per hour, or undefined if the item is free or has no instance type. */
function priceOf(item: PriceListItem | undefined, currency: string): readonly [string, number] | undefined {
  const instanceType = item?.product?.attributes?.instanceType;
  if (item === undefined || instanceType === undefined) return undefined;
  const price = pricesIn(item, currency).findLast((each) => !isFree(each));
  return price === undefined ? undefined : [instanceType, Number(price)];
}

/** Returns the type and its price per hour, or undefined if the item contains no usable price. */
export function parsePriceListItem(json: string, currency: 'USD' | 'CNY'): readonly [string, number] | undefined {
  const item = itemIn(json);
  return problemOf(product(currency), item) === undefined ? priceOf(item, currency) : undefined;
}

const PRODUCTS = { service: 'Pricing', operation: 'GetProducts' };

async function query(
  client: PricingClient,
  filters: readonly Filter[],
  region: string,
  report: ReportUnusable,
): Promise<Map<string, number>> {
  const prices = new Map<string, number>();
  const currency = region.startsWith('cn-') ? 'CNY' : 'USD';
  const input = { ServiceCode: 'AmazonEC2', Filters: [...commonFilters(region), ...filters], MaxResults: 100 };
  for await (const page of pagesOf('GetProducts', paginateGetProducts({ client }, input))) {
    const items = ((page.PriceList ?? []) as readonly unknown[]).map((text) => itemIn(String(text)));
    for (const item of usableItems(PRODUCTS, items, product(currency), report)) {
      const price = priceOf(item, currency);
      if (price !== undefined) prices.set(...price);
    }
  }
  return prices;
}

/**
 * Returns shared and bare-metal prices.
 * @throws Error if one of the lists is empty, because an incomplete price list would be misleading
 */
async function fetchOnDemandPrices(
  client: PricingClient,
  region: string,
  report: ReportUnusable,
): Promise<Map<string, number>> {
  const answers = await Promise.all(QUERIES.map((filters) => query(client, filters, region, report)));
  if (answers.some((prices) => prices.size === 0)) throw new Error('no on-demand pricing found');
  return new Map(answers.flatMap((prices) => [...prices]));
}

/** USD per hour, far above any price. */
const HIGHEST = 1e6;

/**
 * Accepts a price as AWS writes it. A price of zero or below would always be preferred, and an implausibly high price
 * never.
 */
const priceText: Check = (field) => {
  const price = Number(text(field));
  if (!(price > 0 && price <= HIGHEST)) field.fail('is not a price');
};

const REFRESH_MS = 12 * 3_600_000;

interface PricingOptions {
  readonly ec2: EC2Client;
  readonly pricing: PricingClient;
  readonly region: string;
  /** If true, the Pricing API is not called, because it has no VPC endpoint in most regions. */
  readonly isolatedVpc: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

export class Pricing {
  readonly #options: PricingOptions;
  readonly #onDemand: Map<string, number>;
  readonly #fallback: FallbackPrices;
  /** Types for which a lookup returned an estimate. */
  readonly #estimated = new Set<string>();
  #onDemandKnown = false;
  readonly #spot = new Map<string, Map<string, number>>();
  #spotKnown = false;
  #skipLogged = false;
  #version = 0;

  constructor(options: PricingOptions) {
    this.#options = options;
    this.#fallback = fallbackPrices(options.region);
    this.#onDemand = new Map(this.#fallback.listed);
  }

  /** Changes if a price has changed. */
  get version(): number {
    return this.#version;
  }

  /**
   * Returns the on-demand price. Until AWS has listed the prices, a type that is missing in the embedded table has an
   * estimate.
   */
  onDemandPrice(instanceType: string): number | undefined {
    const listed = this.#onDemand.get(instanceType);
    if (listed !== undefined || this.#onDemandKnown) return listed;
    const estimate = this.#fallback.estimate(instanceType);
    if (estimate !== undefined) this.#estimated.add(instanceType);
    return estimate;
  }

  /** Types for which a lookup returned an estimated on-demand price. */
  get estimated(): ReadonlySet<string> {
    return this.#estimated;
  }

  /** Returns the spot price. Until spot prices are loaded, the on-demand price replaces it. */
  spotPrice(instanceType: string, zone: string): number | undefined {
    return this.#spotKnown ? this.#spot.get(instanceType)?.get(zone) : this.onDemandPrice(instanceType);
  }

  async updateOnDemand(): Promise<void> {
    const { pricing, region, isolatedVpc, log } = this.#options;
    if (isolatedVpc || region.startsWith('us-gov')) {
      if (!this.#skipLogged)
        log.debug('skipping on-demand pricing update, the pricing API is not used in this partition or VPC', {
          region,
        });
      this.#skipLogged = true;
      return;
    }
    // After this update, types that AWS does not list have no price.
    let changed = !this.#onDemandKnown && this.#estimated.size > 0;
    for (const [type, price] of await fetchOnDemandPrices(pricing, region, (error) => this.#report(error))) {
      changed ||= this.#onDemand.get(type) !== price;
      this.#onDemand.set(type, price);
    }
    this.#onDemandKnown = true;
    this.#estimated.clear();
    if (!changed) return;
    this.#version++;
    log.debug('updated on-demand pricing', { 'instance-type-count': this.#onDemand.size });
  }

  #report(error: Error): void {
    this.#options.log.error('ignoring invalid prices', { error });
  }

  async updateSpot(): Promise<void> {
    const { ec2, clock, log } = this.#options;
    let changed = !this.#spotKnown;
    let offerings = 0;
    for (const [type, zones] of await fetchSpotPrices(ec2, clock.now(), (error) => this.#report(error))) {
      const known = this.#spot.get(type) ?? new Map<string, number>();
      for (const [zone, price] of zones) {
        changed ||= known.get(zone) !== price;
        known.set(zone, price);
      }
      this.#spot.set(type, known);
      offerings += known.size;
    }
    this.#spotKnown = true;
    if (!changed) return;
    this.#version++;
    log.debug('updated spot pricing with instance types and offerings', {
      'instance-type-count': this.#spot.size,
      'offering-count': offerings,
    });
  }
}

export function pricingController(pricing: Pricing): Singleton {
  return {
    name: 'providers.pricing',
    singleton: true,
    async reconcile() {
      const results = await Promise.allSettled([pricing.updateSpot(), pricing.updateOnDemand()]);
      const failed = rejections(results);
      if (failed.length > 0) throw combineErrors('updating pricing', failed);
      return after(REFRESH_MS);
    },
  };
}

/** Prices by type and zone. */
type SpotPrices = ReadonlyMap<string, ReadonlyMap<string, number>>;

const CALL = { service: 'EC2', operation: 'DescribeSpotPriceHistory' };

const spotPrice = structure<SpotPrice>({
  InstanceType: text,
  AvailabilityZone: text,
  SpotPrice: priceText,
  Timestamp: moment,
});

/**
 * Returns the current spot prices. Unusable prices are left out.
 * @throws Error if AWS returns no price
 */
async function fetchSpotPrices(client: EC2Client, nowMs: number, report: ReportUnusable): Promise<SpotPrices> {
  const prices = new Map<string, Map<string, number>>();
  const input = {
    ProductDescriptions: ['Linux/UNIX', 'Linux/UNIX (Amazon VPC)'],
    StartTime: new Date(nowMs),
    MaxResults: 2000,
  };
  for await (const page of pagesOf('DescribeSpotPriceHistory', paginateDescribeSpotPriceHistory({ client }, input)))
    for (const item of usableItems(CALL, page.SpotPriceHistory ?? [], spotPrice, report)) {
      const { InstanceType = '', AvailabilityZone = '', SpotPrice: price } = item;
      const zones = prices.get(InstanceType) ?? new Map<string, number>();
      zones.set(AvailabilityZone, Number(price));
      prices.set(InstanceType, zones);
    }
  if (prices.size === 0) throw new Error('no spot pricing found');
  return prices;
}

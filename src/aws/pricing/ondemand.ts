/** On-demand prices from the AWS Price List. */
import { type Filter, type PricingClient, paginateGetProducts } from '@aws-sdk/client-pricing';
import { type Check, problemOf, text } from '../answers/checks.ts';
import { type ReportUnusable, usableItems } from '../answers/unusable.ts';
import { pagesOf } from '../pages.ts';

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
function itemIn(json: string): PriceListItem | undefined {
  try {
    return JSON.parse(json) as PriceListItem;
  } catch {
    return undefined;
  }
}

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

const CALL = { service: 'Pricing', operation: 'GetProducts' };

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
    for (const item of usableItems(CALL, items, product(currency), report)) {
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
export async function fetchOnDemandPrices(
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
export const priceText: Check = (field) => {
  const price = Number(text(field));
  if (!(price > 0 && price <= HIGHEST)) field.fail('is not a price');
};

/** On-demand prices from the AWS Price List. */
import { type Filter, type PricingClient, paginateGetProducts } from '@aws-sdk/client-pricing';

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

/** The type and its price per hour in one item of a price list; undefined when it holds no usable price. */
export function parsePriceListItem(json: string, currency: 'USD' | 'CNY'): readonly [string, number] | undefined {
  let item: PriceListItem;
  try {
    item = JSON.parse(json) as PriceListItem;
  } catch {
    return undefined;
  }
  const instanceType = item.product?.attributes?.instanceType;
  if (instanceType === undefined) return undefined;
  const dimensions = Object.values(item.terms?.OnDemand ?? {}).flatMap((term) =>
    Object.values(term.priceDimensions ?? {}),
  );
  const prices = dimensions.map((dimension) => Number(dimension.pricePerUnit?.[currency])).filter((price) => price > 0);
  const price = prices.at(-1);
  return price === undefined ? undefined : [instanceType, price];
}

async function query(client: PricingClient, filters: readonly Filter[], region: string): Promise<Map<string, number>> {
  const prices = new Map<string, number>();
  const currency = region.startsWith('cn-') ? 'CNY' : 'USD';
  const input = { ServiceCode: 'AmazonEC2', Filters: [...commonFilters(region), ...filters], MaxResults: 100 };
  for await (const page of paginateGetProducts({ client }, input))
    for (const item of page.PriceList ?? []) {
      const parsed = parsePriceListItem(String(item), currency);
      if (parsed !== undefined) prices.set(...parsed);
    }
  return prices;
}

/** Shared and bare-metal prices together. @throws when either list is empty: half a price list would mislead */
export async function fetchOnDemandPrices(client: PricingClient, region: string): Promise<Map<string, number>> {
  const answers = await Promise.all(QUERIES.map((filters) => query(client, filters, region)));
  if (answers.some((prices) => prices.size === 0)) throw new Error('no on-demand pricing found');
  return new Map(answers.flatMap((prices) => [...prices]));
}

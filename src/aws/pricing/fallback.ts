/**
 * Prices that apply while the Pricing API is unavailable: an embedded table, and estimates for types that it does not
 * contain.
 */
import { PriceEstimates } from './estimates.ts';
import { PRICE_TABLE } from './price-table.ts';

/** Rounds a price to six decimals. */
const roundPrice = (usd: number): number => Number(usd.toFixed(6));

/**
 * Price of an m5.large per hour in other regions, in USD or, in China, CNY. The ratio to us-east-1 applies to other
 * types within a few percent (China: approximately). This is sufficient for comparisons of types and for comparisons
 * with spot.
 */
const M5_LARGE: Readonly<Record<string, number>> = {
  'us-west-1': 0.112,
  'ca-central-1': 0.107,
  'ca-west-1': 0.107,
  'sa-east-1': 0.153,
  'eu-west-1': 0.107,
  'eu-west-2': 0.111,
  'eu-west-3': 0.112,
  'eu-central-1': 0.115,
  'eu-central-2': 0.1265,
  'eu-north-1': 0.102,
  'eu-south-1': 0.112,
  'eu-south-2': 0.107,
  'af-south-1': 0.127,
  'me-south-1': 0.118,
  'me-central-1': 0.118,
  'il-central-1': 0.112,
  'ap-northeast-1': 0.124,
  'ap-northeast-2': 0.118,
  'ap-northeast-3': 0.124,
  'ap-southeast-1': 0.12,
  'ap-southeast-2': 0.12,
  'ap-southeast-3': 0.12,
  'ap-southeast-4': 0.12,
  'ap-south-1': 0.101,
  'ap-south-2': 0.101,
  'ap-east-1': 0.132,
  'us-gov-west-1': 0.121,
  'us-gov-east-1': 0.121,
  'cn-northwest-1': 0.67,
  'cn-north-1': 0.96,
};
const M5_LARGE_US_EAST_1 = 0.096;

/** Prices per hour in the currency of the region. */
export interface FallbackPrices {
  /** Prices of every type in the table. */
  readonly listed: ReadonlyMap<string, number>;
  /** Estimates the price of a type that is not in the table. Returns undefined if there is no related type. */
  estimate(instanceType: string): number | undefined;
}

const byType = (): Map<string, number> =>
  new Map(
    Object.entries(PRICE_TABLE).flatMap(([family, sizes]) =>
      sizes.split(' ').map((entry) => {
        const [size = '', usd] = entry.split('=');
        return [`${family}.${size}`, Number(usd)] as const;
      }),
    ),
  );

/** Returns the prices of a region, or of us-east-1 if the region is not in the table. */
export function fallbackPrices(region: string): FallbackPrices {
  const factor = (M5_LARGE[region] ?? M5_LARGE_US_EAST_1) / M5_LARGE_US_EAST_1;
  const listed = byType();
  if (factor !== 1) for (const [type, usd] of listed) listed.set(type, roundPrice(usd * factor));
  let estimates: PriceEstimates | undefined;
  return {
    listed,
    estimate: (instanceType) => {
      estimates ??= new PriceEstimates(listed);
      const price = estimates.of(instanceType);
      return price === undefined ? undefined : roundPrice(price);
    },
  };
}

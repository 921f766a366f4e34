/** Spot prices per zone, from the current price history. */
import { type EC2Client, paginateDescribeSpotPriceHistory, type SpotPrice } from '@aws-sdk/client-ec2';
import { moment, structure, text } from '../answers/checks.ts';
import { type ReportUnusable, usableItems } from '../answers/items.ts';
import { pagesOf } from '../pages.ts';
import { priceText } from './price-text.ts';

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
export async function fetchSpotPrices(client: EC2Client, nowMs: number, report: ReportUnusable): Promise<SpotPrices> {
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

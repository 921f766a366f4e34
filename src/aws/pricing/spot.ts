/** Spot prices per zone, from the price history of this moment. */
import { type EC2Client, paginateDescribeSpotPriceHistory } from '@aws-sdk/client-ec2';

/** Prices by `type` then zone. */
export type SpotPrices = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** @throws when AWS knows no price at all */
export async function fetchSpotPrices(client: EC2Client, nowMs: number): Promise<SpotPrices> {
  const prices = new Map<string, Map<string, number>>();
  const input = {
    ProductDescriptions: ['Linux/UNIX', 'Linux/UNIX (Amazon VPC)'],
    StartTime: new Date(nowMs),
    MaxResults: 2000,
  };
  for await (const page of paginateDescribeSpotPriceHistory({ client }, input))
    for (const { InstanceType, AvailabilityZone, SpotPrice, Timestamp } of page.SpotPriceHistory ?? []) {
      const price = Number.parseFloat(SpotPrice ?? '');
      if (Timestamp === undefined || Number.isNaN(price) || InstanceType === undefined) continue;
      const zones = prices.get(InstanceType) ?? new Map<string, number>();
      zones.set(AvailabilityZone ?? '', price);
      prices.set(InstanceType, zones);
    }
  if (prices.size === 0) throw new Error('no spot pricing found');
  return prices;
}

/** Describes instance types, their offerings, and their spot prices. */
import type {
  _InstanceType,
  DescribeInstanceTypeOfferingsRequest,
  DescribeInstanceTypeOfferingsResult,
  DescribeInstanceTypesRequest,
  DescribeInstanceTypesResult,
  DescribeSpotPriceHistoryRequest,
  DescribeSpotPriceHistoryResult,
  SpotPrice,
} from '@aws-sdk/client-ec2';
import { SPOT_STEP_MS } from '../catalogue/catalogue.ts';
import { applyFilters, page } from '../filters.ts';
import type { Account } from '../state/account.ts';
import { AwsError } from '../wire/error.ts';

export function describeInstanceTypes(
  { catalogue, types }: Account,
  input: DescribeInstanceTypesRequest,
): DescribeInstanceTypesResult {
  const unknown = input.InstanceTypes?.filter((name) => !types.has(name)) ?? [];
  if (unknown.length > 0) {
    throw new AwsError(
      'InvalidInstanceType',
      `The following supplied instance types do not exist: [${unknown.join(', ')}]`,
    );
  }
  const named = input.InstanceTypes?.flatMap((name) => types.get(name) ?? []);
  const found = applyFilters(named ?? catalogue.types, input.Filters, {
    'instance-type': (info) => info.InstanceType,
    'supported-virtualization-type': (info) => info.SupportedVirtualizationTypes,
    'processor-info.supported-architecture': (info) => info.ProcessorInfo?.SupportedArchitectures,
    'supported-usage-class': (info) => info.SupportedUsageClasses,
    'bare-metal': (info) => String(info.BareMetal),
    'current-generation': (info) => String(info.CurrentGeneration),
    'burstable-performance-supported': (info) => String(info.BurstablePerformanceSupported),
    'instance-storage-supported': (info) => String(info.InstanceStorageSupported),
    hypervisor: (info) => info.Hypervisor,
    'vcpu-info.default-vcpus': (info) => String(info.VCpuInfo?.DefaultVCpus),
    'memory-info.size-in-mib': (info) => String(info.MemoryInfo?.SizeInMiB),
    'network-info.efa-supported': (info) => String(info.NetworkInfo?.EfaSupported),
  });
  const { items, next } = page(found, input, { min: 5, max: 100, fallback: 100 });
  return { InstanceTypes: items, NextToken: next };
}

export function describeInstanceTypeOfferings(
  { catalogue, zones, region }: Account,
  input: DescribeInstanceTypeOfferingsRequest,
): DescribeInstanceTypeOfferingsResult {
  const location = input.LocationType ?? 'region';
  const idOf = new Map(zones.map((zone) => [zone.name, zone.id]));
  const locations = (names: readonly string[]): readonly string[] => {
    if (location === 'region') return names.length > 0 ? [region] : [];
    return location === 'availability-zone-id' ? names.map((name) => idOf.get(name) ?? name) : names;
  };
  const rows = catalogue.types.flatMap(({ InstanceType: type = 'm1.small' }) =>
    locations(catalogue.zonesOf(type)).map((place) => ({ type, place })),
  );
  const found = applyFilters(rows, input.Filters, {
    'instance-type': (row) => row.type,
    location: (row) => row.place,
  });
  const { items, next } = page(found, input, { min: 5, max: 1000, fallback: 1000 });
  return {
    InstanceTypeOfferings: items.map(({ type, place }) => ({
      InstanceType: type,
      LocationType: location,
      Location: place,
    })),
    NextToken: next,
  };
}

const LINUX = ['Linux/UNIX', 'Linux/UNIX (Amazon VPC)'] as const;

/**
 * Returns the prices within the time range, newest first. As in EC2, this includes the price that applied at its start.
 */
export function describeSpotPriceHistory(
  account: Account,
  input: DescribeSpotPriceHistoryRequest,
): DescribeSpotPriceHistoryResult {
  const now = account.clock.now();
  const end = Math.min(now, input.EndTime?.getTime() ?? now);
  const start = Math.min(end, input.StartTime?.getTime() ?? end);
  const products = LINUX.filter(
    (name) => !input.ProductDescriptions?.length || input.ProductDescriptions.includes(name),
  );
  const rows = pricesIn(account, input, { start, end, product: products.at(-1) });
  const found = applyFilters(rows, input.Filters, {
    'availability-zone': (row) => row.AvailabilityZone,
    'instance-type': (row) => row.InstanceType,
    'product-description': (row) => row.ProductDescription,
    'spot-price': (row) => row.SpotPrice,
  });
  const size = Math.min(input.MaxResults ?? 1000, 1000);
  const { items, next } = page(found, { ...input, MaxResults: size }, { max: 1000 });
  // EC2 also returns an empty token on the last page
  return { SpotPriceHistory: items, NextToken: next ?? '' };
}

/** Times are counted in steps at which prices may change. */
interface Window {
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
  readonly product: SpotPrice['ProductDescription'];
}

/** Rows of the last query, because a query is read in pages. */
const latest = new WeakMap<Account, { readonly query: string; readonly rows: readonly SpotPrice[] }>();

function pricesIn(
  account: Account,
  { InstanceTypes: named, AvailabilityZone: only }: DescribeSpotPriceHistoryRequest,
  { start, end, product }: { readonly start: number; readonly end: number; readonly product: Window['product'] },
): readonly SpotPrice[] {
  const { catalogue } = account;
  const { spotStepMs: stepMs = SPOT_STEP_MS } = catalogue;
  const window: Window = { from: Math.floor(start / stepMs), to: Math.floor(end / stepMs), stepMs, product };
  const query = JSON.stringify([window, named, only]);
  const known = latest.get(account);
  if (known?.query === query) return known.rows;
  const types = named?.length ? new Set<string>(named) : undefined;
  const rows: SpotPrice[] = [];
  for (const { InstanceType: type } of catalogue.types) {
    if (!type || (types && !types.has(type))) continue;
    for (const zone of catalogue.zonesOf(type))
      if (!only || only === zone) rows.push(...pricesOf(account, type, zone, window));
  }
  latest.set(account, { query, rows });
  return rows;
}

function pricesOf(
  { catalogue, zones }: Account,
  type: _InstanceType,
  zone: string,
  { from, to, stepMs, product }: Window,
): SpotPrice[] {
  const rows: SpotPrice[] = [];
  if (!product) return rows;
  for (let step = to; step >= from; step -= 1) {
    const since = step * stepMs;
    const usd = catalogue.spotUsd(type, zone, since);
    if (usd === undefined) break;
    rows.push({
      InstanceType: type,
      AvailabilityZone: zone,
      AvailabilityZoneId: zones.find((each) => each.name === zone)?.id,
      ProductDescription: product,
      SpotPrice: usd.toFixed(6),
      Timestamp: new Date(since),
    });
  }
  return rows;
}

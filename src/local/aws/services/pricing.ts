/**
 * Price list of EC2 in the format of GetProducts: one product per type, operating system, tenancy and capacity status.
 */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { Filter, GetProductsRequest, GetProductsResponse } from '@aws-sdk/client-pricing';
import { own } from '#lib';
import { page } from '../filters.ts';
import type { Account } from '../state/account.ts';
import { AwsError } from '../wire/error.ts';
import type { Handlers } from '../wire/service.ts';

interface Product {
  readonly sku: string;
  readonly family: string;
  readonly usd: number;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Factors relative to the Linux price: Windows includes its license, and dedicated tenancy a surcharge. */
const SYSTEMS = [
  { operatingSystem: 'Linux', preInstalledSw: 'NA', factor: 1 },
  { operatingSystem: 'Linux', preInstalledSw: 'SQL Std', factor: 2.4 },
  { operatingSystem: 'Windows', preInstalledSw: 'NA', factor: 1.6 },
] as const;
const KEPT_ANSWERS = 10;
const STATUSES = ['Used', 'UnusedCapacityReservation'] as const;

export function pricingHandlers(account: Account): Handlers {
  let products: readonly Product[] | undefined;
  // List prices never change, and clients request them in pages.
  const answers = new Map<string, readonly string[]>();
  const matching = (filters: readonly Filter[]): readonly string[] => {
    const key = JSON.stringify(filters);
    const known = answers.get(key);
    if (known !== undefined) return known;
    products ??= account.catalogue.types.flatMap((info) => productsOf(account, info));
    const tests = filters.map(filterTest);
    const found = products
      .filter((product) => tests.every((test) => test(product)))
      .map((product) => priceList(account, product));
    if (answers.size >= KEPT_ANSWERS) answers.clear();
    answers.set(key, found);
    return found;
  };
  return {
    GetProducts: (input: GetProductsRequest): GetProductsResponse => {
      if (input.ServiceCode !== 'AmazonEC2') {
        throw new AwsError(
          'NotFoundException',
          `The local price list supports only AmazonEC2, not ${input.ServiceCode}`,
        );
      }
      const { items, next } = page(matching(input.Filters ?? []), input, { max: 100, fallback: 100 });
      return { FormatVersion: 'aws_v1', PriceList: items, NextToken: next };
    },
  };
}

function productsOf(account: Account, info: InstanceTypeInfo): Product[] {
  const type = info.InstanceType ?? '';
  const usd = account.catalogue.onDemandUsd(type);
  if (usd === undefined) return [];
  const family = info.BareMetal ? 'Compute Instance (bare metal)' : 'Compute Instance';
  // Bare metal instances exist only with dedicated tenancy.
  const tenancies = info.BareMetal ? ['Dedicated'] : ['Shared', 'Dedicated'];
  return tenancies.flatMap((tenancy) =>
    SYSTEMS.flatMap(({ operatingSystem, preInstalledSw, factor }) =>
      STATUSES.map((capacitystatus, index) => ({
        sku: `${type}.${tenancy}.${operatingSystem}.${preInstalledSw}.${index}`
          .replaceAll(/[^A-Za-z0-9]/g, '')
          .toUpperCase(),
        family,
        usd: Number((usd * factor * (tenancy === 'Dedicated' && !info.BareMetal ? 1.06 : 1)).toFixed(6)),
        attributes: {
          servicecode: 'AmazonEC2',
          servicename: 'Amazon Elastic Compute Cloud',
          instanceType: type,
          instanceFamily: 'General purpose',
          regionCode: account.region,
          locationType: 'AWS Region',
          operatingSystem,
          preInstalledSw,
          tenancy,
          capacitystatus,
          marketoption: 'OnDemand',
          vcpu: String(info.VCpuInfo?.DefaultVCpus),
          memory: `${(info.MemoryInfo?.SizeInMiB ?? 0) / 1024} GiB`,
        },
      })),
    ),
  );
}

/** Returns the predicate of a filter. Its field is the case-insensitive name of an attribute, or `productFamily`. */
function filterTest({ Type: type, Field: field = '', Value: value = '' }: Filter): (product: Product) => boolean {
  const key = field.toLowerCase();
  let name: string | undefined;
  const read = (product: Product): string | undefined => {
    if (key === 'productfamily') return product.family;
    // Every product has the same attributes.
    name ??= Object.keys(product.attributes).find((each) => each.toLowerCase() === key) ?? '';
    return own(product.attributes, name);
  };
  switch (type) {
    case 'TERM_MATCH':
    case 'EQUALS':
      return (product) => read(product)?.toLowerCase() === value.toLowerCase();
    case 'CONTAINS':
      return (product) => read(product)?.includes(value) ?? false;
    case 'ANY_OF':
      return (product) => value.split(',').includes(read(product) ?? '');
    case 'NONE_OF':
      return (product) => !value.split(',').includes(read(product) ?? '');
    default:
      throw new AwsError('InvalidParameterException', `Unknown filter type ${type ?? ''}`);
  }
}

function priceList(account: Account, { sku, family, usd, attributes }: Product): string {
  const rate = `${sku}.JRTCKXETXF`;
  return JSON.stringify({
    product: { productFamily: family, attributes, sku },
    serviceCode: 'AmazonEC2',
    terms: {
      OnDemand: {
        [rate]: {
          offerTermCode: 'JRTCKXETXF',
          sku,
          effectiveDate: '2026-08-01T00:00:00Z',
          priceDimensions: {
            [`${rate}.6YS6EN2CT7`]: {
              rateCode: `${rate}.6YS6EN2CT7`,
              unit: 'Hrs',
              beginRange: '0',
              endRange: 'Inf',
              description: `$${usd} per ${attributes.operatingSystem} ${attributes.instanceType} Instance Hour`,
              appliesTo: [],
              pricePerUnit: { [account.region.startsWith('cn-') ? 'CNY' : 'USD']: usd.toFixed(10) },
            },
          },
          termAttributes: {},
        },
      },
    },
    version: '20260801000000',
    publicationDate: '2026-08-01T00:00:00Z',
  });
}

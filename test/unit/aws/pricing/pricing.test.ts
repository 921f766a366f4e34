import { EC2Client } from '@aws-sdk/client-ec2';
import { PricingClient } from '@aws-sdk/client-pricing';
import { describe, expect, it } from '@jest/globals';
import { after } from '#kube/reconcilers';
import { silent } from '#observe/logger';
import { pricingRegion } from '../../../../src/aws/clients.ts';
import { fallbackPrices } from '../../../../src/aws/pricing/fallback.ts';
import { Pricing, parsePriceListItem, pricingController } from '../../../../src/aws/pricing/pricing.ts';
import type { Json } from '../support/json.ts';
import { recordings } from '../support/recordings.ts';

describe('fallbackPrices', () => {
  it('returns the prices of the recorded world', () => {
    const onDemandPrices: Record<string, number> = recordings().world.onDemandPrices;
    const { listed: known } = fallbackPrices('us-east-1');
    for (const [type, price] of Object.entries(onDemandPrices)) expect([type, known.get(type)]).toEqual([type, price]);
  });

  it.each([
    ['us-west-2', 0.096],
    ['eu-central-1', 0.115],
    ['us-gov-west-1', 0.121],
    ['cn-north-1', 0.96],
    ['some-where-9', 0.096],
  ])('follows the level of %s', (region, price) => {
    const { listed, estimate } = fallbackPrices(region);
    expect(listed.get('m5.large')).toBeCloseTo(price, 6);
    expect(listed.get('m5.xlarge')).toBeCloseTo(2 * price, 6);
    expect(estimate('m5.32xlarge')).toBeCloseTo(64 * price, 6);
  });
});

describe('the built-in table', () => {
  const { listed } = fallbackPrices('us-east-1');

  it.each([
    ['c8a.large', 0.10777],
    ['r7a.medium', 0.07608],
    ['c8gn.large', 0.1185],
    ['t2.micro', 0.0116],
    ['c3.large', 0.105],
    ['m4.large', 0.1],
    ['r4.large', 0.133],
    ['x1.16xlarge', 6.669],
    // AWS lists bare metal with the price of a dedicated instance.
    ['c7i.metal-24xl', 4.7124],
    ['m8g.metal-24xl', 4.73933],
  ])('has %s at %p', (type, usd) => {
    expect(listed.get(type)).toBe(usd);
  });

  it.each(['c4', 'm3', 'm5zn', 'm6idn', 'r3', 'r5dn', 'r7iz', 'r8i', 'i7ie', 'r7gd'])('has %s', (family) => {
    expect([...listed.keys()].filter((type) => type.startsWith(`${family}.`))).not.toEqual([]);
  });

  it.each(['p4de.24xlarge', 'p5en.48xlarge'])('has no price for %s, and estimates it', (type) => {
    expect([listed.get(type), fallbackPrices('us-east-1').estimate(type)]).toEqual([undefined, expect.any(Number)]);
  });

  it('has only prices that grow with the size', () => {
    for (const [type, usd] of listed) expect([type, usd > 0 && usd < 1_000]).toEqual([type, true]);
    for (const family of ['m5', 'c6g', 'r7a', 't3', 'm8i'])
      expect(['large', 'xlarge', '4xlarge'].map((size) => listed.get(`${family}.${size}`))).toEqual(
        ['large', 'xlarge', '4xlarge'].map((size) => listed.get(`${family}.${size}`)).sort((a = 0, b = 0) => a - b),
      );
  });
});

describe('parsePriceListItem', () => {
  const item = (terms: unknown): string =>
    JSON.stringify({ product: { attributes: { instanceType: 'm5.large' } }, terms });
  const priced = (pricePerUnit: unknown): string =>
    item({ OnDemand: { a: { priceDimensions: { b: { pricePerUnit } } } } });

  it.each([
    ['a price', priced({ USD: '0.0960000000' }), 'USD', ['m5.large', 0.096]],
    ['a price in China', priced({ CNY: '0.7' }), 'CNY', ['m5.large', 0.7]],
    ['a zero price', priced({ USD: '0' }), 'USD', undefined],
    ['another currency', priced({ CNY: '0.7' }), 'USD', undefined],
    ['no terms', item(undefined), 'USD', undefined],
    ['no JSON', '{', 'USD', undefined],
  ] as const)('reads %s', (_, json, currency, is) => {
    expect(parsePriceListItem(json, currency)).toEqual(is);
  });
});

describe('the region of the Pricing API endpoint', () => {
  it.each([
    ['ap-southeast-2', 'ap-south-1'],
    ['cn-north-1', 'cn-northwest-1'],
    ['eu-west-1', 'eu-central-1'],
    ['us-west-2', 'us-east-1'],
    ['me-south-1', 'us-east-1'],
  ])('is, for %s: %s', (region, asked) => {
    expect(pricingRegion(region)).toBe(asked);
  });
});

interface Answers {
  /** Prices by type of the two queries: shared and bare metal. */
  shared: Record<string, string>;
  metal: Record<string, string>;
  spot: Json[];
}

/** A price list and a spot market that can be changed, with the recorded requests. */
function market(region: string, { isolatedVpc = false, currency = 'USD' } = {}) {
  const answers: Answers = {
    shared: { 'm5.large': '0.2' },
    metal: { 'm5.metal': '9' },
    spot: [{ InstanceType: 'm5.large', AvailabilityZone: 'a', SpotPrice: '0.05', Timestamp: new Date(0) }],
  };
  const asked: Json[] = [];
  const client = <T extends object>(kind: { prototype: T }, answer: (input: Json) => object): T =>
    Object.assign(Object.create(kind.prototype) as T, {
      send: async ({ input }: { input: Json }) => {
        asked.push(input);
        return answer(input);
      },
    });
  const list = (input: Json) => {
    const metal = input.Filters.some(({ Value }: Json) => Value === 'Compute Instance (bare metal)');
    return Object.entries(metal ? answers.metal : answers.shared).map(([instanceType, price]) =>
      JSON.stringify({
        product: { attributes: { instanceType } },
        terms: { OnDemand: { t: { priceDimensions: { d: { pricePerUnit: { [currency]: price } } } } } },
      }),
    );
  };
  const pricing = new Pricing({
    ec2: client(EC2Client, () => ({ SpotPriceHistory: answers.spot })),
    pricing: client(PricingClient, (input) => ({ PriceList: list(input) })),
    region,
    isolatedVpc,
    clock: { now: () => 1_000, sleep: async () => undefined, after: () => () => undefined },
    log: silent,
  });
  return { pricing, answers, asked };
}

const run = (pricing: Pricing) =>
  pricingController(pricing).reconcile({ signal: new AbortController().signal, log: silent });

describe('the list of prices', () => {
  it('is the table until AWS has returned prices, also for spot', () => {
    const { pricing } = market('eu-west-1');
    expect(pricing.onDemandPrice('m5.large')).toBeCloseTo(0.107, 6);
    expect(pricing.spotPrice('m5.large', 'anywhere')).toBeCloseTo(0.107, 6);
    expect(pricing.onDemandPrice('q9.large')).toBeUndefined();
    expect(pricing.estimated.size).toBe(0);
  });

  it('has estimates for types without a table price, until AWS has listed its types', async () => {
    const { pricing } = market('us-west-2');
    const estimate = pricing.onDemandPrice('m8azn.large') ?? 0;
    expect(estimate).toBeGreaterThan(pricing.onDemandPrice('m8a.large') ?? 0);
    expect(pricing.spotPrice('m8azn.large', 'a')).toBe(estimate);
    expect([...pricing.estimated]).toEqual(['m8azn.large']);
    const version = pricing.version;
    await run(pricing);
    expect(pricing.onDemandPrice('m8azn.large')).toBeUndefined();
    expect(pricing.estimated.size).toBe(0);
    expect(pricing.version).toBeGreaterThan(version);
  });

  it('is read from both price lists and the spot market, twice a day', async () => {
    const { pricing, asked } = market('us-west-2');
    expect(await run(pricing)).toEqual(after(12 * 3_600_000));
    expect(pricing.onDemandPrice('m5.large')).toBe(0.2);
    expect(pricing.onDemandPrice('m5.metal')).toBe(9);
    // Types that AWS does not list keep the price of the table.
    expect(pricing.onDemandPrice('c5.large')).toBe(0.085);
    expect(pricing.spotPrice('m5.large', 'a')).toBe(0.05);
    // After spot prices have been read, an unlisted market has no price.
    expect(pricing.spotPrice('m5.large', 'b')).toBeUndefined();
    expect(pricing.spotPrice('c5.large', 'a')).toBeUndefined();
    const filters = asked.flatMap(({ Filters = [] }) =>
      Filters.map(({ Type, Field, Value }: Json) => [Type, Field, Value].join()),
    );
    for (const filter of [
      'regionCode,us-west-2',
      'preInstalledSw,NA',
      'operatingSystem,Linux',
      'capacitystatus,Used',
      'marketoption,OnDemand',
      'tenancy,Shared',
      'tenancy,Dedicated',
    ])
      expect(filters).toContain(`TERM_MATCH,${filter}`);
    expect(asked.find(({ ProductDescriptions }) => ProductDescriptions)).toMatchObject({
      ProductDescriptions: ['Linux/UNIX', 'Linux/UNIX (Amazon VPC)'],
      StartTime: new Date(1_000),
    });
  });

  it('is in yuan in China', async () => {
    const { pricing } = market('cn-north-1', { currency: 'CNY' });
    expect(pricing.onDemandPrice('m5.large')).toBeCloseTo(0.96, 6);
    await run(pricing);
    expect(pricing.onDemandPrice('m5.large')).toBe(0.2);
  });

  it.each([
    ['an isolated VPC', market('us-west-2', { isolatedVpc: true })],
    ['GovCloud', market('us-gov-west-1')],
  ])('is the table in %s, except for spot', async (_, { pricing, asked }) => {
    const before = pricing.onDemandPrice('m5.large');
    await run(pricing);
    expect(asked).toHaveLength(1);
    expect(pricing.onDemandPrice('m5.large')).toBe(before);
    expect(pricing.onDemandPrice('m8azn.large')).toBeGreaterThan(0);
    expect(pricing.spotPrice('m5.large', 'a')).toBe(0.05);
  });

  it('stays unchanged if either list or the market is empty', async () => {
    const { pricing, answers } = market('us-west-2');
    await run(pricing);
    const version = pricing.version;
    answers.shared = { 'm5.large': '0.3' };
    answers.metal = {};
    answers.spot = [];
    await expect(run(pricing)).rejects.toThrow('updating pricing');
    expect(pricing.onDemandPrice('m5.large')).toBe(0.2);
    expect(pricing.spotPrice('m5.large', 'a')).toBe(0.05);
    expect(pricing.version).toBe(version);
  });

  it('skips spot records without a time or a price, uses the later of two, and keeps missing prices', async () => {
    const { pricing, answers } = market('us-west-2');
    await run(pricing);
    const record = (AvailabilityZone: string, SpotPrice: string, Timestamp: Date | undefined = new Date(0)) => ({
      InstanceType: 'm5.large',
      AvailabilityZone,
      SpotPrice,
      Timestamp,
    });
    answers.spot = [
      record('b', '0.06'),
      record('b', '0.07'),
      record('c', 'cheap'),
      { ...record('d', '1'), Timestamp: undefined },
    ];
    await run(pricing);
    expect(['a', 'b', 'c', 'd'].map((zone) => pricing.spotPrice('m5.large', zone))).toEqual([
      0.05,
      0.07,
      undefined,
      undefined,
    ]);
  });

  it('keeps its version without a change', async () => {
    const { pricing } = market('us-west-2');
    await run(pricing);
    const version = pricing.version;
    await run(pricing);
    expect(pricing.version).toBe(version);
  });
});

import { describe, expect, it } from '@jest/globals';
import { readPriceBook } from '#api/price-book';
import { drawOf } from '#engine/testing';
import { bookInForce } from '../../../../src/aws/pricing/book-entries.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const context = { region: 'eu-central-1', nowMs: NOW };

const bookOf = (body: object) => {
  const { book, problems } = readPriceBook(
    JSON.stringify({ apiVersion: 'karpenter-ts/v1', kind: 'PriceBook', ...body }),
    'book',
  );
  expect(problems).toEqual([]);
  return book;
};
const priceWith = (discounts: readonly object[], capacityType = 'on-demand', type = 'm5.large') =>
  bookInForce(bookOf({ discounts }), context).discounted?.(type, capacityType, 1);

const commitmentsOf = (...given: Parameters<typeof bookInForce>) => bookInForce(...given).commitments;

describe('a discount', () => {
  it('leaves at least 1 % of the list price, so that larger types still cost more', () => {
    const discounts = [
      { usdPerHour: 0.000001, instanceType: 'm5.large' },
      { usdPerHour: 0.000001, instanceType: 'p5.48xlarge' },
    ];
    const price = bookInForce(bookOf({ discounts }), context).discounted;
    expect(price?.('m5.large', 'on-demand', 0.096)).toBeCloseTo(0.00096, 10);
    expect(price?.('p5.48xlarge', 'on-demand', 98)).toBeCloseTo(0.98, 10);
  });

  it.each([
    ['none', [], undefined],
    ['one for all regions and types', [{ discount: 0.1 }], 0.9],
    ['one of another region', [{ discount: 0.1, region: 'us-east-1' }], undefined],
    [
      'one of this region before one for all regions',
      [{ discount: 0.1 }, { discount: 0.2, region: 'eu-central-1' }],
      0.8,
    ],
    [
      'one of a capacity type before one of a region',
      [
        { discount: 0.2, region: 'eu-central-1' },
        { discount: 0.3, capacityType: 'on-demand' },
      ],
      0.7,
    ],
    [
      'one of the family before one of a capacity type',
      [
        { discount: 0.3, capacityType: 'on-demand' },
        { discount: 0.4, family: 'm5' },
      ],
      0.6,
    ],
    [
      'one of the type before one of its family',
      [
        { discount: 0.4, family: 'm5' },
        { usdPerHour: 0.123, instanceType: 'm5.large' },
      ],
      0.123,
    ],
    [
      'the first of equals',
      [
        { discount: 0.1, family: 'm5' },
        { discount: 0.2, family: 'm5' },
      ],
      0.9,
    ],
    ['one of another family', [{ discount: 0.1, family: 'c5' }], 1],
    ['one of spot', [{ discount: 0.1, capacityType: 'spot' }], 1],
    ['one that has expired', [{ discount: 0.1, end: '2026-06-01T00:00:00Z' }], undefined],
    ['one that starts now', [{ discount: 0.1, start: '2026-06-01T00:00:00Z' }], 0.9],
    ['one that has not started', [{ discount: 0.1, start: '2026-06-02T00:00:00Z' }], undefined],
  ])('has %s', (_, discounts, price) => {
    const found = priceWith(discounts);
    if (price === undefined) expect(found).toBeUndefined();
    else expect(found).toBeCloseTo(price);
  });
});

describe('a commitment', () => {
  const usage = (instanceType: string, zone = 'a') => ({ instanceType, zone, usdPerHour: 1, listUsdPerHour: 1 });

  it('is granted with the fraction for this cluster, in the order in which AWS applies commitments', () => {
    const found = commitmentsOf(
      bookOf({
        availableToThisCluster: 0.5,
        savingsPlans: [
          { id: 'all', type: 'Compute', commitmentUsdPerHour: 10, rates: [{ share: 0.7 }] },
          {
            id: 'm5',
            type: 'EC2Instance',
            region: 'eu-central-1',
            family: 'm5',
            commitmentUsdPerHour: 4,
            rates: [{ share: 0.6 }],
          },
        ],
        reservedInstances: [
          { id: 'regional', instanceType: 'm5.xlarge', count: 3 },
          { id: 'zonal', instanceType: 'm5.large', count: 2, zone: 'a', availableToThisCluster: 1 },
        ],
      }),
      context,
    );
    expect(found.map(({ name, amount }) => [name, amount])).toEqual([
      ['zonal', 2],
      ['regional', 6],
      ['m5', 2],
      ['all', 5],
    ]);
  });

  it('uses the most specific rate of this region', () => {
    const [plan] = commitmentsOf(
      bookOf({
        savingsPlans: [
          {
            type: 'Compute',
            commitmentUsdPerHour: 1,
            rates: [
              { region: 'us-east-1', instanceType: 'm5.large', usdPerHour: 9 },
              { share: 0.7 },
              { family: 'm5', share: 0.6 },
              { instanceType: 'm5.large', usdPerHour: 0.055 },
            ],
          },
        ],
      }),
      context,
    );
    const draws = ['m5.large', 'm5.xlarge', 'c5.large'].map((type) => plan && drawOf(plan, usage(type)));
    expect(draws).toEqual([0.055, 0.6, 0.7]);
  });

  it('covers only its family if it is a plan for a family, and only with a rate', () => {
    const [plan] = commitmentsOf(
      bookOf({
        savingsPlans: [
          {
            type: 'EC2Instance',
            region: 'eu-central-1',
            family: 'm5',
            commitmentUsdPerHour: 1,
            rates: [
              { instanceType: 'm5.large', usdPerHour: 0.05 },
              { instanceType: 'c5.large', usdPerHour: 0.01 },
            ],
          },
        ],
      }),
      context,
    );
    const draws = ['m5.large', 'm5.xlarge', 'c5.large'].map((type) => plan && drawOf(plan, usage(type)));
    expect(draws).toEqual([0.05, undefined, undefined]);
  });

  it.each([
    ['m5.2xlarge', 8],
    ['m5.large', 2],
    ['m5.metal', undefined],
    ['c5.large', undefined],
  ])('is used by %s at a rate of %p if it is size-flexible', (type, draw) => {
    const [flexible] = commitmentsOf(bookOf({ reservedInstances: [{ instanceType: 'm5.large', count: 1 }] }), context);
    expect(flexible && drawOf(flexible, usage(type))).toBe(draw);
  });

  it.each([
    ['bare metal', { instanceType: 'm5.metal' }, 'm5.metal', 'm5.large'],
    ['entries with sizeFlexible: false', { instanceType: 'm5.large', sizeFlexible: false }, 'm5.large', 'm5.xlarge'],
    ['zonal instances', { instanceType: 'm5.large', zone: 'a' }, 'm5.large', 'm5.xlarge'],
  ])('covers a single size: %s', (_, entry, same, other) => {
    const [reserved] = commitmentsOf(bookOf({ reservedInstances: [{ count: 2, ...entry }] }), context);
    expect(reserved?.amount).toBe(2);
    expect(reserved && [drawOf(reserved, usage(same)), drawOf(reserved, usage(other))]).toEqual([1, undefined]);
  });

  it('is excluded if it expired, is for another region, or has no share for this cluster', () => {
    const base = { instanceType: 'm5.large', count: 1 };
    const entries = [
      { ...base, region: 'us-east-1' },
      { ...base, end: '2026-01-01T00:00:00Z' },
      { ...base, availableToThisCluster: 0 },
    ];
    expect(commitmentsOf(bookOf({ reservedInstances: entries }), context)).toEqual([]);
  });
});

import { describe, expect, it } from '@jest/globals';
import { MOST_BYTES } from '../../../../src/api/price-book/price-book.ts';
import { readPriceBook } from '../../../../src/api/price-book/read.ts';

const HEAD = 'apiVersion: karpenter-ts/v1\nkind: PriceBook\n';
const read = (body: string) => readPriceBook(HEAD + body, 'book.yaml');

const WHOLE = `
availableToThisCluster: 0.5
discounts:
  - {id: edp, discount: 0.1}
  - {region: eu-central-1, capacityType: spot, family: m7i, discount: 0.02, end: 2027-01-01T00:00:00Z}
  - {instanceType: m7i.large, usdPerHour: 0.07}
savingsPlans:
  - {id: sp-1, type: Compute, commitmentUsdPerHour: 12.5, rates: [{share: 0.72}, {instanceType: m7i.large, region: eu-central-1, usdPerHour: 0.06}]}
  - {id: sp-2, type: EC2Instance, region: eu-central-1, family: m7i, commitmentUsdPerHour: 3, rates: [{share: 0.6}]}
reservedInstances:
  - {id: ri-1, instanceType: m5.large, count: 4, start: 2026-01-01T00:00:00Z, end: 2027-01-01T00:00:00Z}
  - {instanceType: c5.large, count: 2, zone: eu-central-1a, availableToThisCluster: 1}
`;

describe('a price book', () => {
  it('is parsed from YAML and from JSON', () => {
    const { book, problems } = read(WHOLE);
    expect(problems).toEqual([]);
    expect(book).toMatchObject({ availableToThisCluster: 0.5 });
    expect([book.discounts.length, book.savingsPlans.length, book.reservedInstances.length]).toEqual([3, 2, 2]);
    const json = JSON.stringify({ apiVersion: 'karpenter-ts/v1', kind: 'PriceBook', discounts: book.discounts });
    expect(readPriceBook(json, 'book.json').book.discounts).toEqual(book.discounts);
  });

  it('includes a whole commitment by default', () => {
    expect(read('').book).toEqual({
      discounts: [],
      savingsPlans: [],
      reservedInstances: [],
      availableToThisCluster: 1,
    });
  });

  it.each([
    ['discounts: [{id: x, discount: "0.1"}]', 'discounts[0] "x": discount: Invalid value'],
    ['discounts: [{discount: 1.5}]', 'discounts[0]: discount: Invalid value'],
    ['discounts: [{discount: .nan}]', 'discounts[0]: discount must be a finite number'],
    [
      'discounts: [{discount: 0.1, usdPerHour: 1, instanceType: m5.large}]',
      'set exactly one of discount and usdPerHour',
    ],
    [
      'discounts: [{id: x, discount: 1}]',
      'discounts[0] "x": discount: 1 would make instances free, and the largest as cheap as the smallest; use the part that is subtracted, up to 0.99, for example 0.12 for 12 %',
    ],
    ['discounts: [{discount: 0.995}]', 'discount: 0.995 would make instances free'],
    [
      'discounts: [{instanceType: p5.48xlarge, usdPerHour: 0}]',
      'discounts[0]: usdPerHour: 0 would make instances free, and the largest as cheap as the smallest; use the actual price, for example 0.07',
    ],
    [
      'savingsPlans: [{type: Compute, commitmentUsdPerHour: 1, rates: [{share: 0}]}]',
      'savingsPlans[0]: rates[0].share: 0 would make instances free',
    ],
    [
      'savingsPlans: [{type: Compute, commitmentUsdPerHour: 1, rates: [{instanceType: m5.large, usdPerHour: 0}]}]',
      'savingsPlans[0]: rates[0].usdPerHour: 0 would make instances free',
    ],
    ['discounts: [{usdPerHour: 1}]', 'usdPerHour: requires instanceType'],
    ['discounts: [{discount: 0.1, famly: m5}]', 'unknown field "famly", is "family" meant?'],
    [
      'discounts: [{discount: 0.1, family: m5.large}]',
      'family: "m5.large" is not an instance family; set instanceType for a single type',
    ],
    ['discounts: [{discount: 0.1, family: m5, instanceType: c5.large}]', '"m5" is not the family of "c5.large"'],
    ['discounts: [7]', 'discounts[0]: must be an object, not 7'],
    ['discounts: {}', 'discounts: must be a list, not {}'],
    [
      'discounts: [{discount: 0.1, start: 2027-01-01T00:00:00Z, end: 2026-01-01T00:00:00Z}]',
      'end: 2026-01-01T00:00:00Z must be later than start',
    ],
    ['discounts: [{discount: 0.1, end: tomorrow}]', 'end: Invalid value: "tomorrow"'],
    [
      'savingsPlans: [{id: s, type: SageMaker, commitmentUsdPerHour: 1, rates: [{share: 1}]}]',
      'savingsPlans[0] "s": type',
    ],
    ['savingsPlans: [{type: Compute, commitmentUsdPerHour: 1, rates: []}]', 'savingsPlans[0]: rates'],
    [
      'savingsPlans: [{type: EC2Instance, region: r, commitmentUsdPerHour: 1, rates: [{share: 1}]}]',
      'family: an EC2Instance Savings Plan requires a family and a region',
    ],
    [
      'savingsPlans: [{type: Compute, family: m5, commitmentUsdPerHour: 1, rates: [{share: 1}]}]',
      'family: a Compute Savings Plan applies to all families',
    ],
    [
      'savingsPlans: [{type: Compute, commitmentUsdPerHour: 1, rates: [{share: 1}, {family: m5}]}]',
      'rates[1].set exactly one of',
    ],
    [
      'savingsPlans: [{type: Compute, commitmentUsdPerHour: 1, rates: [{shar: 1, share: 1}]}]',
      'unknown field "rates[0].shar"',
    ],
    [
      'reservedInstances: [{instanceType: large, count: 1}]',
      '"large" is not an instance type; use a name such as m7i.large',
    ],
    ['reservedInstances: [{instanceType: m5.large, count: 0}]', 'reservedInstances[0]: count'],
    [
      'reservedInstances: [{instanceType: m5.large, count: 1, zone: a, sizeFlexible: true}]',
      'zonal reserved instances cover one size',
    ],
    ['availableToThisCluster: 2', 'availableToThisCluster: must be a number from 0 to 1, not 2'],
    ['discount: []', 'unknown field "discount", is "discounts" meant?'],
  ])('skips the invalid entry of %s and reports file, entry, field and remedy', (body, problem) => {
    const { book, problems } = read(`${body}\n`);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain('book.yaml: ');
    expect(problems[0]).toContain(problem);
    expect(problems[0]).toContain('correct the field, or remove the entry');
    expect([...book.discounts, ...book.savingsPlans, ...book.reservedInstances]).toEqual([]);
  });

  it('uses the valid entries beside an invalid one', () => {
    const { book, problems } = read('discounts: [{discount: 2}, {id: good, discount: 0.2}]\n');
    expect(problems).toHaveLength(1);
    expect(book.discounts).toEqual([{ id: 'good', discount: 0.2 }]);
  });

  it('uses no commitment if the share of this cluster cannot be parsed', () => {
    expect(read('availableToThisCluster: all\n').book.availableToThisCluster).toBe(0);
  });

  it('is limited in entries and in reported errors', () => {
    const many = Array.from({ length: 1_200 }, () => ({ discount: 2 }));
    const { problems } = read(`discounts: ${JSON.stringify(many)}\n`);
    expect(problems).toHaveLength(101);
    expect(problems[0]).toContain('has 1200 entries, the first 1000 are used');
    expect(problems.at(-1)).toContain('more entries are ignored');
  });

  it.each([
    ['discounts: [', 'neither YAML nor JSON'],
    ['[]', 'must be an object with apiVersion and kind'],
    ['apiVersion: karpenter-ts/v2\nkind: PriceBook', 'apiVersion must be karpenter-ts/v1, not "karpenter-ts/v2"'],
    ['apiVersion: karpenter-ts/v1\nkind: Prices', 'kind must be PriceBook, not "Prices"'],
    ['a: &a [1]\nb: [*a, *a]', 'neither YAML nor JSON'],
    [`#${'x'.repeat(MOST_BYTES)}`, 'at most 1048576 bytes'],
  ])('is rejected as a whole: %.40s', (content, wrong) => {
    expect(() => readPriceBook(content, 'book.yaml')).toThrow(`book.yaml: `);
    expect(() => readPriceBook(content, 'book.yaml')).toThrow(wrong);
  });
});

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readPriceBook } from '#api/price-book';
import { importEntries } from '../../../../src/cli/prices/aws-answers.ts';
import { mergeImported, pricesCommand, pricesFrom } from '../../../../src/cli/prices.ts';

// Responses as in the documentation of the AWS CLI.
const PLANS = {
  savingsPlans: [
    {
      offeringId: '4f0b2a6c-0000',
      savingsPlanId: 'sp-compute',
      savingsPlanArn: 'arn:aws:savingsplans::111122223333:savingsplan/sp-compute',
      description: '1 year No Upfront Compute Savings Plan',
      start: '2026-01-01T00:00:00.000Z',
      end: '2027-01-01T00:00:00.000Z',
      state: 'active',
      savingsPlanType: 'Compute',
      paymentOption: 'No Upfront',
      productTypes: ['EC2', 'Fargate', 'Lambda'],
      currency: 'USD',
      commitment: '12.5',
      upfrontPaymentAmount: '0.0',
      termDurationInSeconds: 31536000,
    },
    {
      savingsPlanId: 'sp-m5',
      savingsPlanType: 'EC2Instance',
      region: 'eu-central-1',
      ec2InstanceFamily: 'm5',
      state: 'active',
      currency: 'USD',
      commitment: '1.0',
    },
    { savingsPlanId: 'sp-sage', savingsPlanType: 'SageMaker', state: 'active', commitment: '1' },
    { savingsPlanId: 'sp-old', savingsPlanType: 'Compute', state: 'retired', commitment: '1' },
  ],
};

const rate = (instanceType: string, region: string, usd: string, more: object = {}, properties: object = {}) => ({
  rate: usd,
  currency: 'USD',
  unit: 'Hrs',
  productType: 'EC2',
  serviceCode: 'AmazonEC2',
  usageType: `EUC1-BoxUsage:${instanceType}`,
  operation: 'RunInstances',
  properties: Object.entries({
    region,
    instanceType,
    productDescription: 'Linux/UNIX',
    tenancy: 'shared',
    ...properties,
  }).map(([name, value]) => ({ name, value })),
  ...more,
});
const RATES = {
  savingsPlanId: 'sp-compute',
  searchResults: [
    rate('m5.large', 'eu-central-1', '0.0713'),
    rate('m5.large', 'us-east-1', '0.061'),
    rate('c5.large', 'eu-central-1', '0.06', {}, { productDescription: 'Windows' }),
    rate('c5.large', 'eu-central-1', '0.07', {}, { tenancy: 'dedicated' }),
    rate('c5.large', 'eu-central-1', '0.08', { usageType: 'EUC1-UnusedBox:c5.large' }),
    rate('c5.large', 'eu-central-1', '0.0555'),
    {
      rate: '0.03',
      serviceCode: 'AmazonECS',
      usageType: 'Fargate',
      properties: [{ name: 'region', value: 'eu-central-1' }],
    },
  ],
};
const RATES_M5 = { savingsPlanId: 'sp-m5', searchResults: [rate('m5.xlarge', 'eu-central-1', '0.12')] };

const RESERVED = {
  ReservedInstances: [
    {
      Duration: 31536000,
      End: '2027-05-01T10:00:00+00:00',
      FixedPrice: 0,
      InstanceCount: 3,
      InstanceType: 'm5.xlarge',
      ProductDescription: 'Linux/UNIX',
      ReservedInstancesId: 'ri-regional',
      Start: '2026-05-01T10:00:00.000Z',
      State: 'active',
      UsagePrice: 0,
      CurrencyCode: 'USD',
      InstanceTenancy: 'default',
      OfferingClass: 'standard',
      Scope: 'Region',
    },
    {
      InstanceCount: 1,
      InstanceType: 'c5.large',
      ProductDescription: 'Linux/UNIX (Amazon VPC)',
      ReservedInstancesId: 'ri-zonal',
      State: 'active',
      Scope: 'Availability Zone',
      AvailabilityZone: 'eu-central-1a',
    },
    { InstanceCount: 1, InstanceType: 'c5.large', ProductDescription: 'Windows', ReservedInstancesId: 'ri-win' },
    { InstanceCount: 1, InstanceType: 'c5.large', State: 'retired', ReservedInstancesId: 'ri-old' },
    { InstanceCount: 1, InstanceType: 'c5.large', InstanceTenancy: 'dedicated', ReservedInstancesId: 'ri-own' },
  ],
};

const source = (where: string, value: unknown) => ({ where, text: JSON.stringify(value, null, 4) });
const ALL = [source('plans', PLANS), source('rates', RATES), source('m5', RATES_M5), source('reserved', RESERVED)];
const bookFrom = (existing?: string, sources = ALL) => {
  const { text, notes } = mergeImported(importEntries(sources, { region: 'eu-central-1' }), existing, 'book.yaml');
  return { ...readPriceBook(text, 'book.yaml'), text, notes };
};

describe('a response of AWS', () => {
  it('becomes a price book', () => {
    const { book, problems } = bookFrom();
    expect(problems).toEqual([]);
    expect(book.savingsPlans).toEqual([
      {
        id: 'sp-compute',
        type: 'Compute',
        commitmentUsdPerHour: 12.5,
        start: '2026-01-01T00:00:00.000Z',
        end: '2027-01-01T00:00:00.000Z',
        rates: [
          { region: 'eu-central-1', instanceType: 'c5.large', usdPerHour: 0.0555 },
          { region: 'eu-central-1', instanceType: 'm5.large', usdPerHour: 0.0713 },
        ],
      },
      {
        id: 'sp-m5',
        type: 'EC2Instance',
        region: 'eu-central-1',
        family: 'm5',
        commitmentUsdPerHour: 1,
        rates: [{ region: 'eu-central-1', instanceType: 'm5.xlarge', usdPerHour: 0.12 }],
      },
    ]);
    expect(book.reservedInstances).toEqual([
      {
        id: 'ri-regional',
        instanceType: 'm5.xlarge',
        count: 3,
        region: 'eu-central-1',
        start: '2026-05-01T10:00:00.000Z',
        end: '2027-05-01T10:00:00.000Z',
      },
      { id: 'ri-zonal', instanceType: 'c5.large', count: 1, region: 'eu-central-1', zone: 'eu-central-1a' },
    ]);
  });

  it('is skipped with a note if it does not apply to nodes', () => {
    expect(bookFrom().notes).toEqual([
      'Savings Plan sp-sage is skipped: it is for SageMaker, not for EC2',
      'Savings Plan sp-old is skipped: its state is retired',
      'Reserved instances ri-win are skipped: they are for Windows, not for Linux/UNIX',
      'Reserved instances ri-old are skipped: their state is retired',
      'Reserved instances ri-own are skipped: their tenancy is dedicated',
    ]);
  });

  it('is reported if a plan has no rates', () => {
    const { book, notes } = bookFrom(undefined, [source('plans', PLANS), source('rates', RATES)]);
    expect(book.savingsPlans.map(({ id }) => id)).toEqual(['sp-compute']);
    expect(notes.at(-1)).toContain('aws savingsplans describe-savings-plan-rates --savings-plan-id sp-m5');
    expect(bookFrom(undefined, [source('rates', RATES)]).notes).toEqual([
      expect.stringContaining('sp-compute has rates but is not listed'),
    ]);
  });

  it('is read from one file with several responses, and from several pages of rates', () => {
    const page = { savingsPlanId: 'sp-compute', searchResults: [rate('r5.large', 'eu-central-1', '0.08')] };
    const text = [PLANS, RATES, page, RATES_M5].map((each) => JSON.stringify(each, null, 4)).join('\n');
    const [plan] = bookFrom(undefined, [{ where: 'all', text }]).book.savingsPlans;
    expect(plan?.rates.map(({ instanceType }) => instanceType)).toEqual(['c5.large', 'm5.large', 'r5.large']);
  });

  it.each([
    ['x.json', 'not json', 'x.json: not valid JSON; run the AWS command with --output json'],
    ['x.json', '', 'x.json: is empty'],
    ['x.json', '[]', 'x.json: must be an object'],
    ['x.json', '{}', 'x.json: is not the output of aws savingsplans describe-savings-plans'],
    ['x.json', '{"savingsPlans":{}}', 'x.json: savingsPlans: must be a list'],
    ['x.json', '{"savingsPlans":[{}]}', 'x.json: savingsPlans[0].savingsPlanId: must be a string'],
    [
      'x.json',
      '{"savingsPlans":[{"savingsPlanId":"a","savingsPlanType":"Compute","commitment":"much"}]}',
      'x.json: savingsPlans[0].commitment: must be a number of at least 0',
    ],
    [
      'x.json',
      '{"ReservedInstances":[{"ReservedInstancesId":"a","InstanceType":"m5.large","InstanceCount":1,"End":"soon"}]}',
      'x.json: ReservedInstances[0].End: must be a valid time',
    ],
  ])('is rejected with file and field if it is invalid: %s %s', (where, text, message) => {
    expect(() => importEntries([{ where, text }], {})).toThrow(message);
  });

  it('is reported if it is incomplete', () => {
    const page = { ...RATES_M5, nextToken: 'abc' };
    expect(bookFrom(undefined, [source('m5', page)]).notes[0]).toContain('m5: the list is incomplete');
  });
});

describe('an existing price book', () => {
  const MINE = `# ours
apiVersion: karpenter-ts/v1
kind: PriceBook
discounts:
  - discount: 0.1 # since May
savingsPlans:
  # of the whole company
  - id: sp-compute
    type: Compute
    commitmentUsdPerHour: 5
    availableToThisCluster: 0.5 # agreed with finance
    rates: [{share: 0.7}]
  - id: by-hand
    type: Compute
    commitmentUsdPerHour: 1
    rates: [{share: 0.7}]
`;

  it('keeps its comments and other fields, and gets the new numbers', () => {
    const { book, text } = bookFrom(MINE);
    for (const comment of ['# ours', '# since May', '# of the whole company', '# agreed with finance'])
      expect(text).toContain(comment);
    expect(book.discounts).toEqual([{ discount: 0.1 }]);
    expect(book.savingsPlans.map(({ id, commitmentUsdPerHour }) => [id, commitmentUsdPerHour])).toEqual([
      ['sp-compute', 12.5],
      ['by-hand', 1],
      ['sp-m5', 1],
    ]);
    expect(book.savingsPlans[0]).toMatchObject({ availableToThisCluster: 0.5, rates: [{}, {}] });
  });

  it('keeps the rates of a plan without imported rates', () => {
    const { book } = bookFrom(MINE, [source('plans', PLANS)]);
    expect(book.savingsPlans[0]).toMatchObject({ commitmentUsdPerHour: 12.5, rates: [{ share: 0.7 }] });
    expect(bookFrom(MINE, [source('rates', RATES)]).book.savingsPlans[0]).toMatchObject({
      commitmentUsdPerHour: 5,
      rates: [{}, {}],
    });
  });

  it('does not change in a second import', () => {
    const { text } = bookFrom(MINE);
    expect(bookFrom(text).text).toBe(text);
  });

  it('is rejected if it is not a price book', () => {
    expect(() => bookFrom('kind: ConfigMap\n')).toThrow('book.yaml: apiVersion must be');
  });
});

describe('karpenter prices import', () => {
  let folder: string;
  const file = (name: string): string => join(folder, name);
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'prices-import-'));
    writeFileSync(file('reserved.json'), JSON.stringify(RESERVED));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('writes the file of --into, and changes nothing the second time', async () => {
    const run = () =>
      pricesCommand().parseAsync(['import', file('reserved.json'), '--into', file('book.yaml')], { from: 'user' });
    await run();
    const written = readFileSync(file('book.yaml'), 'utf8');
    expect(readPriceBook(written, 'book').book.reservedInstances).toHaveLength(2);
    await run();
    expect(readFileSync(file('book.yaml'), 'utf8')).toBe(written);
  });

  it('names a file that does not exist', () => {
    expect(() => pricesFrom([file('none.json')], {})).toThrow('none.json: cannot be read');
  });
});

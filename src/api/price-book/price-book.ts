/**
 * Price book: prices that a company pays for EC2 instead of AWS's list prices. Negotiated discounts change the price of an
 * offering. Savings Plans and reserved instances cover running instances, and cost the same if they are not used.
 */
import { choice, type Declared, flag, integer, list, number, object, optional, text, time } from '../schema/declare.ts';

export const PRICE_BOOK_KIND = { apiVersion: 'karpenter-ts/v1', kind: 'PriceBook' } as const;

/** Maximum size. This is also the maximum size of a ConfigMap. */
export const MOST_BYTES = 1_048_576;
/** Maximum number of entries in each list. */
export const MOST_ENTRIES = 1_000;
/** Maximum number of rates of one Savings Plan. */
export const MOST_RATES = 10_000;

/** Minimum price, as a part of the list price. No instance type is free, and larger types still cost more. */
export const LOWEST_PRICE_SHARE = 0.01;

const name = (description: string) => text({ description, minLength: 1, maxLength: 128 });
const usd = (description: string) => number({ description, minimum: 0 });
const share = (description: string) => number({ description, minimum: 0, maximum: 1 });

const region = optional(name('AWS region, such as eu-central-1. If it is not set, the entry applies to all regions.'));
const period = {
  start: optional(time({ description: 'Time from which the entry applies. If it is not set, there is no start.' })),
  end: optional(time({ description: 'Time until which the entry applies. If it is not set, there is no end.' })),
};
const available = optional(
  share('Part of the commitment that this cluster may use, from 0 to 1. Other users of the account need the rest.'),
);
const family = optional(name('Instance family, such as m7i.'));
const instanceType = optional(name('Instance type, such as m7i.large.'));

export const DISCOUNT = object(
  {
    id: optional(name('Name of the entry in messages.')),
    region,
    capacityType: optional(
      choice(['on-demand', 'spot'], { description: 'Capacity type. If it is not set, the entry applies to both.' }),
    ),
    family,
    instanceType,
    discount: optional(share('Part of the list price that is subtracted, up to 0.99. For example, 0.12 for 12 %.')),
    usdPerHour: optional(usd('Price in USD per hour, greater than 0, for one instance type.')),
    ...period,
  },
  { description: 'Negotiated discount. If several discounts match, the most specific discount applies.' },
);

const RATE = object(
  {
    region,
    family,
    instanceType,
    share: optional(
      share('Rate as a fraction of the on-demand list price, at least 0.01. For example, 0.66 for 66 %.'),
    ),
    usdPerHour: optional(usd('Rate in USD per hour, greater than 0, for one instance type.')),
  },
  { description: 'Part of the commitment that an instance uses per hour. The most specific rate applies.' },
);

export const SAVINGS_PLAN = object(
  {
    id: optional(name('Name of the entry in messages, for example the ID of the Savings Plan.')),
    type: choice(['Compute', 'EC2Instance'], {
      description: 'Type of the plan. Compute covers every instance type; EC2Instance covers one family in one region.',
    }),
    region,
    family,
    commitmentUsdPerHour: usd('Commitment in USD per hour.'),
    rates: list(RATE, {
      description: 'Rates of the plan. Instance types without a rate are not covered.',
      minItems: 1,
    }),
    availableToThisCluster: available,
    ...period,
  },
  { description: 'Savings Plan.' },
);

export const RESERVED_INSTANCES = object(
  {
    id: optional(name('Name of the entry in messages, for example the ID of the reserved instances.')),
    instanceType: name('Instance type of the reserved instances.'),
    count: integer({ description: 'Number of instances.', minimum: 1 }),
    region,
    zone: optional(name('Zone of zonal reserved instances. Do not set it for regional reserved instances.')),
    sizeFlexible: optional(
      flag({
        description:
          'If true, the reserved instances cover other sizes of the family by normalization factors. The default is true for regional and false for zonal reserved instances.',
      }),
    ),
    availableToThisCluster: available,
    ...period,
  },
  { description: 'Reserved instances.' },
);

export const PRICE_BOOK = object(
  {
    apiVersion: choice([PRICE_BOOK_KIND.apiVersion], { description: 'Version of the format.' }),
    kind: choice([PRICE_BOOK_KIND.kind], { description: 'Kind of the file.' }),
    availableToThisCluster: available,
    discounts: optional(list(DISCOUNT, { description: 'Negotiated discounts.', maxItems: MOST_ENTRIES })),
    savingsPlans: optional(list(SAVINGS_PLAN, { description: 'Savings Plans.', maxItems: MOST_ENTRIES })),
    reservedInstances: optional(
      list(RESERVED_INSTANCES, { description: 'Reserved instances.', maxItems: MOST_ENTRIES }),
    ),
  },
  { description: 'Prices that a company pays for EC2 instead of the list prices.' },
);

export type Discount = Declared<typeof DISCOUNT>;
export type SavingsPlanRate = Declared<typeof RATE>;
export type SavingsPlan = Declared<typeof SAVINGS_PLAN>;
export type ReservedInstances = Declared<typeof RESERVED_INSTANCES>;

/** Valid entries of a file. */
export interface PriceBook {
  readonly discounts: readonly Discount[];
  readonly savingsPlans: readonly SavingsPlan[];
  readonly reservedInstances: readonly ReservedInstances[];
  /** Part of the commitments that this cluster may use, for entries without their own value. */
  readonly availableToThisCluster: number;
}

/** Price book without entries. */
export const EMPTY_BOOK: PriceBook = {
  discounts: [],
  savingsPlans: [],
  reservedInstances: [],
  availableToThisCluster: 1,
};

/** Returns the family in the name of an instance type. */
export const instanceFamilyOf = (instanceType: string): string =>
  instanceType.slice(0, Math.max(0, instanceType.indexOf('.')));

/** Returns the JSON Schema of the file, for editors. */
export const priceBookSchemaText = (): string =>
  `${JSON.stringify({ $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Price book', $comment: 'Written by npm run generate; change src/api/price-book instead', ...PRICE_BOOK }, null, 2)}\n`;

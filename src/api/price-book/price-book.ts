/**
 * The price book: what a company pays for EC2 instead of AWS's list prices. Negotiated discounts change the price of an
 * offering. Savings Plans and reserved instances are paid for in any case, and cover what runs.
 */
import { Type } from 'typebox';
import { choice, type Declared, flag, integer, list, object, optional, text, time } from '../schema/declare.ts';

export const PRICE_BOOK_KIND = { apiVersion: 'karpenter-ts/v1', kind: 'PriceBook' } as const;

/** A ConfigMap holds no more than a mebibyte either. */
export const MOST_BYTES = 1_048_576;
/** In each list of the book; and rates of one Savings Plan. */
export const MOST_ENTRIES = 1_000;
export const MOST_RATES = 10_000;

/** Price that counts at least, as a part of the list price: no instance type is free, and larger ones stay dearer. */
export const LOWEST_PRICE_SHARE = 0.01;

const name = (description: string) => text({ description, minLength: 1, maxLength: 128 });
const usd = (description: string) => Type.Number({ description, minimum: 0 });
const share = (description: string) => Type.Number({ description, minimum: 0, maximum: 1 });

const region = optional(name('AWS region, such as eu-central-1; any when left out.'));
const period = {
  start: optional(time({ description: 'From when on the entry counts; always when left out.' })),
  end: optional(time({ description: 'When the entry expires; never when left out.' })),
};
const available = optional(
  share('Part of it that this cluster may count on, from 0 to 1; the rest serves others that share the account.'),
);
const family = optional(name('Instance family, such as m7i.'));
const instanceType = optional(name('Instance type, such as m7i.large.'));

export const DISCOUNT = object(
  {
    id: optional(name('What messages call the entry.')),
    region,
    capacityType: optional(
      choice(['on-demand', 'spot'], { description: 'Capacity type that it is for; both when left out.' }),
    ),
    family,
    instanceType,
    discount: optional(share('Part of the list price that is taken off, up to 0.99: 0.12 for 12 %.')),
    usdPerHour: optional(usd('Price in USD per hour, for one instance type; above 0.')),
    ...period,
  },
  { description: 'A negotiated discount. Of several that match, the most specific one counts.' },
);

const RATE = object(
  {
    region,
    family,
    instanceType,
    share: optional(share('Rate as part of the on-demand list price, from 0.01: 0.66 for 66 %.')),
    usdPerHour: optional(usd('Rate in USD per hour, for one instance type; above 0.')),
  },
  { description: 'What an instance takes of the commitment in an hour. The most specific rate counts.' },
);

export const SAVINGS_PLAN = object(
  {
    id: optional(name('Savings Plan id, or any name; what messages call the entry.')),
    type: choice(['Compute', 'EC2Instance'], {
      description: 'Compute covers every instance type, EC2Instance one family in one region.',
    }),
    region,
    family,
    commitmentUsdPerHour: usd('Commitment in USD per hour.'),
    rates: list(RATE, { description: 'Rates of the plan; an instance type without one is not covered.', minItems: 1 }),
    availableToThisCluster: available,
    ...period,
  },
  { description: 'A Savings Plan.' },
);

export const RESERVED_INSTANCES = object(
  {
    id: optional(name('Id of the reserved instances, or any name; what messages call the entry.')),
    instanceType: name('Instance type that is reserved.'),
    count: integer({ description: 'Number of instances.', minimum: 1 }),
    region,
    zone: optional(name('Zone of zonal reserved instances; regional ones have none.')),
    sizeFlexible: optional(
      flag({
        description:
          'Whether they cover other sizes of the family by normalisation factors: regional ones do unless it says false, zonal ones never.',
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
    kind: choice([PRICE_BOOK_KIND.kind], { description: 'What the file is.' }),
    availableToThisCluster: available,
    discounts: optional(list(DISCOUNT, { description: 'Negotiated discounts.', maxItems: MOST_ENTRIES })),
    savingsPlans: optional(list(SAVINGS_PLAN, { description: 'Savings Plans.', maxItems: MOST_ENTRIES })),
    reservedInstances: optional(
      list(RESERVED_INSTANCES, { description: 'Reserved instances.', maxItems: MOST_ENTRIES }),
    ),
  },
  { description: 'What a company pays for EC2 instead of the list prices.' },
);

export type Discount = Declared<typeof DISCOUNT>;
export type SavingsPlanRate = Declared<typeof RATE>;
export type SavingsPlan = Declared<typeof SAVINGS_PLAN>;
export type ReservedInstances = Declared<typeof RESERVED_INSTANCES>;

/** The entries of a file that can be used. */
export interface PriceBook {
  readonly discounts: readonly Discount[];
  readonly savingsPlans: readonly SavingsPlan[];
  readonly reservedInstances: readonly ReservedInstances[];
  /** Part of the commitments for this cluster where an entry does not say. */
  readonly availableToThisCluster: number;
}

/** A book that changes nothing. */
export const EMPTY_BOOK: PriceBook = {
  discounts: [],
  savingsPlans: [],
  reservedInstances: [],
  availableToThisCluster: 1,
};

/** The part of an instance type's name that names its family. */
export const instanceFamilyOf = (instanceType: string): string =>
  instanceType.slice(0, Math.max(0, instanceType.indexOf('.')));

/** The JSON Schema of the file, for editors. */
export const priceBookSchemaText = (): string =>
  `${JSON.stringify({ $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Price book', $comment: 'Written by npm run generate; change src/api/price-book instead', ...PRICE_BOOK }, null, 2)}\n`;

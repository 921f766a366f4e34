/** Parses a price book. Invalid entries are left out and reported. */
import { parse } from 'yaml';
import { InputError, isObject, type JsonObject, messageOf, quoted, timeOf } from '#lib';
import { checkSchema } from '../schema/check.ts';
import { formatValue, infinite, unknownFields } from '../schema/file-faults.ts';
import type { OpenApiSchema } from '../schema/openapi.ts';
import {
  DISCOUNT,
  type Discount,
  instanceFamilyOf,
  LOWEST_PRICE_SHARE,
  MOST_BYTES,
  MOST_ENTRIES,
  MOST_RATES,
  PRICE_BOOK,
  PRICE_BOOK_KIND,
  type PriceBook,
  RESERVED_INSTANCES,
  type ReservedInstances,
  SAVINGS_PLAN,
  type SavingsPlan,
  type SavingsPlanRate,
} from './price-book.ts';

interface ReadBook {
  readonly book: PriceBook;
  /** Errors of invalid entries, with file, entry, field and remedy. */
  readonly problems: readonly string[];
}

const LISTS = ['discounts', 'savingsPlans', 'reservedInstances'] as const;
type ListName = (typeof LISTS)[number];

/** Maximum number of reported errors. Further errors are only counted. */
const MOST_PROBLEMS = 100;

/**
 * Parses the content of a price book.
 * @param file name of the file, for messages
 * @throws InputError if the content is too large, neither YAML nor JSON, or of another kind or version
 */
export function readPriceBook(content: string, file: string): ReadBook {
  const root = documentIn(content, file);
  const problems: string[] = [];
  const report = (where: string, wrong: string): void => {
    problems.push(`${file}: ${where}: ${wrong}; correct the field, or remove the entry`);
  };
  for (const name of unknownFields(withoutLists(root), schemaOf(PRICE_BOOK))) report('top level', name);
  const available = root.availableToThisCluster ?? 1;
  const isShare = typeof available === 'number' && available >= 0 && available <= 1;
  if (!isShare)
    report('availableToThisCluster', `must be a number from 0 to 1, not ${formatValue(available)}; 0 is used`);
  const entries = <T>(list: ListName, schema: object, faultOf: (entry: T) => string | undefined): readonly T[] =>
    itemsOf(root, list, report).filter((entry, at): entry is T => {
      const wrong = faultIn(entry, schemaOf(schema)) ?? periodFault(entry as Period) ?? faultOf(entry as T);
      if (wrong !== undefined) report(entryName(list, entry, at), wrong);
      return wrong === undefined;
    });
  const book: PriceBook = {
    discounts: entries<Discount>('discounts', DISCOUNT, discountFault),
    savingsPlans: entries<SavingsPlan>('savingsPlans', SAVINGS_PLAN, planFault),
    reservedInstances: entries<ReservedInstances>('reservedInstances', RESERVED_INSTANCES, reservedFault),
    // an invalid share must not make nodes look free
    availableToThisCluster: isShare ? available : 0,
  };
  return { book, problems: limitProblems(problems, file) };
}

/** Returns the name of an entry in messages. */
export function entryName(list: ListName, entry: unknown, at: number): string {
  const id = isObject(entry) && typeof entry.id === 'string' ? ` ${quoted(entry.id.slice(0, 128))}` : '';
  return `${list}[${at}]${id}`;
}

function documentIn(content: string, file: string): JsonObject {
  if (Buffer.byteLength(content) > MOST_BYTES)
    throw new InputError(file, `a price book has at most ${MOST_BYTES} bytes; remove unused entries`);
  let root: unknown;
  try {
    root = parse(content, { maxAliasCount: 0 });
  } catch (error) {
    throw new InputError(file, `neither YAML nor JSON: ${messageOf(error)}`, { cause: error });
  }
  if (!isObject(root)) throw new InputError(file, 'must be an object with apiVersion and kind');
  for (const [field, wanted] of Object.entries(PRICE_BOOK_KIND))
    if (root[field] !== wanted)
      throw new InputError(file, `${field} must be ${wanted}, not ${formatValue(root[field])}`);
  return root;
}

/** Removes the lists, because their entries are checked one by one. */
const withoutLists = (root: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(root).filter(([key]) => !LISTS.some((list) => list === key)));

function itemsOf(root: JsonObject, list: ListName, report: (where: string, wrong: string) => void): readonly unknown[] {
  const items = root[list] ?? [];
  if (!Array.isArray(items)) {
    report(list, `must be a list, not ${formatValue(items)}`);
    return [];
  }
  if (items.length > MOST_ENTRIES)
    report(list, `has ${items.length} entries, the first ${MOST_ENTRIES} are used; remove unneeded entries`);
  return items.slice(0, MOST_ENTRIES);
}

const schemaOf = (declared: object): OpenApiSchema => declared as OpenApiSchema;

function faultIn(entry: unknown, schema: OpenApiSchema): string | undefined {
  if (!isObject(entry)) return `must be an object, not ${formatValue(entry)}`;
  if (Array.isArray(entry.rates) && entry.rates.length > MOST_RATES)
    return `rates has ${entry.rates.length} items, at most ${MOST_RATES} are allowed`;
  const [cause] = checkSchema(schema, entry);
  if (cause !== undefined) return `${cause.field}: ${cause.message}`;
  return unknownFields(entry, schema)[0] ?? infinite(entry);
}

interface Period {
  readonly start?: string;
  readonly end?: string;
}

function periodFault({ start, end }: Period): string | undefined {
  if (start === undefined || end === undefined) return undefined;
  return timeOf(start) < timeOf(end) ? undefined : `end: ${end} must be later than start, ${start}`;
}

interface Selected {
  readonly family?: string;
  readonly instanceType?: string;
  readonly usdPerHour?: number;
}

/** Checks that an instance type is valid, and that a price has an instance type. */
function selectionFault({ family, instanceType, usdPerHour }: Selected): string | undefined {
  if (instanceType !== undefined && instanceFamilyOf(instanceType) === '')
    return `instanceType: ${quoted(instanceType)} is not an instance type; use a name such as m7i.large`;
  if (family?.includes('.'))
    return `family: ${quoted(family)} is not an instance family; set instanceType for a single type`;
  if (family !== undefined && instanceType !== undefined && instanceFamilyOf(instanceType) !== family)
    return `family: ${quoted(family)} is not the family of ${quoted(instanceType)}`;
  if (usdPerHour !== undefined && instanceType === undefined) return 'usdPerHour: requires instanceType';
  return undefined;
}

const exactlyOne = (fields: Readonly<Record<string, unknown>>): string | undefined =>
  Object.values(fields).filter((value) => value !== undefined).length === 1
    ? undefined
    : `set exactly one of ${Object.keys(fields).join(' and ')}`;

const discountFault = (entry: Discount): string | undefined =>
  exactlyOne({ discount: entry.discount, usdPerHour: entry.usdPerHour }) ??
  selectionFault(entry) ??
  freeDiscountFault(entry) ??
  freeFault(entry);

/** If instance types were free, they would cost the same, and the solver could launch the largest. */
const FREE = 'would make instances free, and the largest as cheap as the smallest';

function freeDiscountFault({ discount = 0 }: Discount): string | undefined {
  if (discount <= 1 - LOWEST_PRICE_SHARE) return undefined;
  return `discount: ${discount} ${FREE}; use the part that is subtracted, up to ${1 - LOWEST_PRICE_SHARE}, for example 0.12 for 12 %`;
}

function freeFault({
  usdPerHour,
  share,
}: {
  readonly usdPerHour?: number;
  readonly share?: number;
}): string | undefined {
  if (usdPerHour === 0) return `usdPerHour: 0 ${FREE}; use the actual price, for example 0.07`;
  if (share !== undefined && share < LOWEST_PRICE_SHARE)
    return `share: ${share} ${FREE}; use a part of the list price of at least ${LOWEST_PRICE_SHARE}, for example 0.66`;
  return undefined;
}

function planFault({ type, region, family, rates }: SavingsPlan): string | undefined {
  if (type === 'EC2Instance' && (family === undefined || region === undefined))
    return `${family === undefined ? 'family' : 'region'}: an EC2Instance Savings Plan requires a family and a region`;
  if (type === 'Compute' && family !== undefined)
    return 'family: a Compute Savings Plan applies to all families, so family must not be set';
  for (const [at, rate] of rates.entries()) {
    const wrong = rateFault(rate);
    if (wrong !== undefined) return `rates[${at}].${wrong}`;
  }
  return undefined;
}

const rateFault = (rate: SavingsPlanRate): string | undefined =>
  selectionFault(rate) ?? exactlyOne({ share: rate.share, usdPerHour: rate.usdPerHour }) ?? freeFault(rate);

function reservedFault({ instanceType, zone, sizeFlexible }: ReservedInstances): string | undefined {
  if (zone !== undefined && sizeFlexible === true)
    return 'sizeFlexible: zonal reserved instances cover one size only, so sizeFlexible must not be true';
  return selectionFault({ instanceType });
}

function limitProblems(problems: readonly string[], file: string): readonly string[] {
  if (problems.length <= MOST_PROBLEMS) return problems;
  const more = problems.length - MOST_PROBLEMS;
  return [...problems.slice(0, MOST_PROBLEMS), `${file}: ${more} more entries are ignored`];
}

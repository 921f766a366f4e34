/** Converts the output of AWS's command line for Savings Plans and reserved instances to entries of a price book. */
import type { ReservedInstances, SavingsPlan, SavingsPlanRate } from '#api/price-book';
import { type Field, isObject, type JsonObject } from '#lib';
import { fieldIn } from '../objects/check.ts';
import { InputError, messageOf } from '../objects/errors.ts';

interface ImportOptions {
  /** Region of the rates to keep. It is also set for regional reserved instances, whose list does not contain it. */
  readonly region?: string;
}

/** Savings Plan without rates, which a separate list contains. */
type PlanWithoutRates = Omit<SavingsPlan, 'rates'> & { readonly id: string };

export interface Imported {
  readonly plans: readonly PlanWithoutRates[];
  /** Rates by Savings Plan ID. */
  readonly rates: ReadonlyMap<string, readonly SavingsPlanRate[]>;
  readonly reserved: readonly (ReservedInstances & { readonly id: string })[];
  readonly notes: readonly string[];
}

interface Source {
  /** Place in messages. */
  readonly where: string;
  readonly text: string;
}

/** @throws InputError with the file and the field */
export function importEntries(sources: readonly Source[], options: ImportOptions): Imported {
  const plans: PlanWithoutRates[] = [];
  const rates = new Map<string, readonly SavingsPlanRate[]>();
  const reserved: (ReservedInstances & { id: string })[] = [];
  const notes: string[] = [];
  for (const { where, document } of sources.flatMap(documentsIn)) {
    const answer = fieldIn(where, document);
    if ('savingsPlans' in document) for (const item of list(answer, 'savingsPlans')) keep(planOf(item), plans, notes);
    else if ('searchResults' in document) {
      const id = text(answer, 'savingsPlanId');
      rates.set(id, [...(rates.get(id) ?? []), ...ratesIn(answer, options)]);
    } else if ('ReservedInstances' in document)
      for (const item of list(answer, 'ReservedInstances')) keep(reservedInstancesOf(item, options), reserved, notes);
    else
      throw new InputError(
        where,
        'is not the output of aws savingsplans describe-savings-plans, describe-savings-plan-rates or aws ec2 describe-reserved-instances with --output json',
      );
    if (maybe(answer, 'nextToken') !== undefined)
      notes.push(`${where}: the list is incomplete; run the AWS command without --max-results and --max-items`);
  }
  return { plans, rates, reserved, notes };
}

function keep<T>(found: T | string, list: T[], notes: string[]): void {
  if (typeof found === 'string') notes.push(found);
  else list.push(found);
}

/** Splits several concatenated responses, which a pipe of several commands can contain. */
function documentsIn({ where, text }: Source): readonly { readonly where: string; readonly document: JsonObject }[] {
  const parts = text.split(/(?<=^\})\s*(?=^\{)/m).filter((part) => part.trim() !== '');
  if (parts.length === 0) throw new InputError(where, 'is empty');
  return parts.map((part, at) => {
    const name = parts.length === 1 ? where : `${where}, document ${at + 1}`;
    let document: unknown;
    try {
      document = JSON.parse(part);
    } catch (error) {
      throw new InputError(name, `not valid JSON; run the AWS command with --output json: ${messageOf(error)}`, {
        cause: error,
      });
    }
    if (!isObject(document)) throw new InputError(name, 'must be an object');
    return { where: name, document };
  });
}

const maybe = (answer: Field, name: string): string | undefined => {
  const { value } = answer.at(name);
  return typeof value === 'string' && value !== '' ? value : undefined;
};

const text = (answer: Field, name: string): string => maybe(answer, name) ?? answer.at(name).fail('must be a string');

/** Reads a number. AWS returns most numbers as text. */
function number(answer: Field, name: string): number {
  const field = answer.at(name);
  const value = Number(field.value ?? Number.NaN);
  return Number.isFinite(value) && value >= 0 ? value : field.fail('must be a number of at least 0');
}

function time(answer: Field, name: string): string | undefined {
  const value = maybe(answer, name);
  if (value === undefined) return undefined;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? answer.at(name).fail('must be a valid time') : new Date(ms).toISOString();
}

const list = (answer: Field, name: string): readonly Field[] => answer.at(name).required().items();

/** Returns the Savings Plan, or the reason for omitting it. */
function planOf(plan: Field): PlanWithoutRates | string {
  const id = text(plan, 'savingsPlanId');
  const type = text(plan, 'savingsPlanType');
  const state = maybe(plan, 'state') ?? 'active';
  if (type !== 'Compute' && type !== 'EC2Instance')
    return `Savings Plan ${id} is skipped: it is for ${type}, not for EC2`;
  if (state !== 'active' && state !== 'queued') return `Savings Plan ${id} is skipped: its state is ${state}`;
  const currency = maybe(plan, 'currency') ?? 'USD';
  if (currency !== 'USD') return `Savings Plan ${id} is skipped: its currency is ${currency}, not USD`;
  return {
    id,
    type,
    ...(type === 'EC2Instance' && { region: text(plan, 'region'), family: text(plan, 'ec2InstanceFamily') }),
    commitmentUsdPerHour: number(plan, 'commitment'),
    ...periodOf(plan, 'start', 'end'),
  };
}

function periodOf(entry: Field, from: string, to: string): { readonly start?: string; readonly end?: string } {
  const [start, end] = [time(entry, from), time(entry, to)];
  return { ...(start !== undefined && { start }), ...(end !== undefined && { end }) };
}

/** Returns the rates of running Linux instances on shared hardware, but not of unused reserved capacity. */
function ratesIn(answer: Field, { region: wanted }: ImportOptions): readonly SavingsPlanRate[] {
  const found = new Map<string, SavingsPlanRate>();
  for (const rate of list(answer, 'searchResults')) {
    const properties = new Map(
      list(rate, 'properties').map((each) => [text(each, 'name'), maybe(each, 'value') ?? '']),
    );
    const [instanceType = '', region = ''] = [properties.get('instanceType'), properties.get('region')];
    const isNode =
      (maybe(rate, 'serviceCode') ?? 'AmazonEC2') === 'AmazonEC2' &&
      (properties.get('productDescription') ?? 'Linux/UNIX') === 'Linux/UNIX' &&
      (properties.get('tenancy') ?? 'shared') === 'shared' &&
      !/UnusedBox|Dedicated/.test(maybe(rate, 'usageType') ?? '');
    if (!isNode || instanceType === '' || (wanted !== undefined && region !== '' && region !== wanted)) continue;
    const entry = { ...(region !== '' && { region }), instanceType, usdPerHour: number(rate, 'rate') };
    found.set(`${region} ${instanceType}`, entry);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rate]) => rate);
}

/** Returns the reserved instances, or the reason for omitting them. */
function reservedInstancesOf(
  entry: Field,
  { region }: ImportOptions,
): (ReservedInstances & { readonly id: string }) | string {
  const id = text(entry, 'ReservedInstancesId');
  const state = maybe(entry, 'State') ?? 'active';
  const product = maybe(entry, 'ProductDescription') ?? 'Linux/UNIX';
  const tenancy = maybe(entry, 'InstanceTenancy') ?? 'default';
  const leftOut = (why: string): string => `Reserved instances ${id} are skipped: ${why}`;
  if (state !== 'active') return leftOut(`their state is ${state}`);
  if (!product.startsWith('Linux/UNIX')) return leftOut(`they are for ${product}, not for Linux/UNIX`);
  if (tenancy !== 'default') return leftOut(`their tenancy is ${tenancy}`);
  const zone = maybe(entry, 'AvailabilityZone');
  return {
    id,
    instanceType: text(entry, 'InstanceType'),
    count: number(entry, 'InstanceCount'),
    ...(region !== undefined && { region }),
    ...(zone !== undefined && { zone }),
    ...periodOf(entry, 'Start', 'End'),
  };
}

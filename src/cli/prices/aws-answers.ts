/** What AWS's command line prints of Savings Plans and reserved instances, as entries of a price book. */
import type { ReservedInstances, SavingsPlan, SavingsPlanRate } from '../../api/price-book/price-book.ts';
import { isObject, type JsonObject } from '../../api/schema/openapi.ts';
import { InputError, messageOf } from '../objects/errors.ts';

interface ImportOptions {
  /** Keeps rates of this region alone, and says it of regional reserved instances, whose list does not. */
  readonly region?: string;
}

/** A plan without rates covers nothing: they come by a list of their own. */
type PlanWithoutRates = Omit<SavingsPlan, 'rates'> & { readonly id: string };

export interface Imported {
  readonly plans: readonly PlanWithoutRates[];
  /** By Savings Plan id. */
  readonly rates: ReadonlyMap<string, readonly SavingsPlanRate[]>;
  readonly reserved: readonly (ReservedInstances & { readonly id: string })[];
  readonly notes: readonly string[];
}

interface Source {
  /** For messages. */
  readonly where: string;
  readonly text: string;
}

/** @throws InputError that names the file and the field */
export function importedFrom(sources: readonly Source[], options: ImportOptions): Imported {
  const plans: PlanWithoutRates[] = [];
  const rates = new Map<string, readonly SavingsPlanRate[]>();
  const reserved: (ReservedInstances & { id: string })[] = [];
  const notes: string[] = [];
  for (const { where, document } of sources.flatMap(documentsIn)) {
    const answer = new Answer(where, document);
    if ('savingsPlans' in document) for (const item of answer.list('savingsPlans')) keep(planOf(item), plans, notes);
    else if ('searchResults' in document) {
      const id = answer.text('savingsPlanId');
      rates.set(id, [...(rates.get(id) ?? []), ...ratesIn(answer, options)]);
    } else if ('ReservedInstances' in document)
      for (const item of answer.list('ReservedInstances')) keep(reservedOf(item, options), reserved, notes);
    else
      answer.fail(
        'is not what aws savingsplans describe-savings-plans, describe-savings-plan-rates or aws ec2 describe-reserved-instances print with --output json',
      );
    if (answer.has('nextToken'))
      notes.push(`${where}: there is more to list; leave out --max-results and --max-items of the AWS command`);
  }
  return { plans, rates, reserved, notes };
}

function keep<T>(found: T | string, list: T[], notes: string[]): void {
  if (typeof found === 'string') notes.push(found);
  else list.push(found);
}

/** Several answers may stand behind one another, as a pipe of several commands gives them. */
function documentsIn({ where, text }: Source): readonly { readonly where: string; readonly document: JsonObject }[] {
  const parts = text.split(/(?<=^\})\s*(?=^\{)/m).filter((part) => part.trim() !== '');
  if (parts.length === 0) throw new InputError(where, 'is empty');
  return parts.map((part, at) => {
    const name = parts.length === 1 ? where : `${where}, document ${at + 1}`;
    let document: unknown;
    try {
      document = JSON.parse(part);
    } catch (error) {
      throw new InputError(name, `not valid JSON, ask AWS with --output json: ${messageOf(error)}`, { cause: error });
    }
    if (!isObject(document)) throw new InputError(name, 'must be an object');
    return { where: name, document };
  });
}

/** An object of an answer, with its place for messages. */
class Answer {
  readonly #where: string;
  readonly #value: JsonObject;
  readonly #path: string;

  constructor(where: string, value: JsonObject, path = '') {
    this.#where = where;
    this.#value = value;
    this.#path = path;
  }

  fail(what: string, field = ''): never {
    const at = [this.#path, field].filter((part) => part !== '').join('.');
    throw new InputError(this.#where, at === '' ? what : `${at}: ${what}`);
  }

  has(field: string): boolean {
    return typeof this.#value[field] === 'string' && this.#value[field] !== '';
  }

  text(field: string): string {
    const value = this.#value[field];
    return typeof value === 'string' && value !== '' ? value : this.fail('must be text', field);
  }

  maybe(field: string): string | undefined {
    return this.has(field) ? this.text(field) : undefined;
  }

  /** AWS gives most numbers as text. */
  number(field: string): number {
    const value = Number(this.#value[field] ?? Number.NaN);
    return Number.isFinite(value) && value >= 0 ? value : this.fail('must be a number from 0 on', field);
  }

  time(field: string): string | undefined {
    const ms = this.has(field) ? Date.parse(this.text(field)) : undefined;
    if (ms === undefined) return undefined;
    return Number.isNaN(ms) ? this.fail('must be a time', field) : new Date(ms).toISOString();
  }

  list(field: string): readonly Answer[] {
    const items = this.#value[field];
    if (!Array.isArray(items)) return this.fail('must be a list', field);
    return items.map((item, at) => {
      const path = `${this.#path === '' ? '' : `${this.#path}.`}${field}[${at}]`;
      return isObject(item) ? new Answer(this.#where, item, path) : this.fail('must be an object', `${field}[${at}]`);
    });
  }
}

/** The plan, or why it is left out. */
function planOf(plan: Answer): PlanWithoutRates | string {
  const id = plan.text('savingsPlanId');
  const type = plan.text('savingsPlanType');
  const state = plan.maybe('state') ?? 'active';
  if (type !== 'Compute' && type !== 'EC2Instance')
    return `Savings Plan ${id} is left out: it is for ${type}, not for EC2`;
  if (state !== 'active' && state !== 'queued') return `Savings Plan ${id} is left out: its state is ${state}`;
  const currency = plan.maybe('currency') ?? 'USD';
  if (currency !== 'USD') return `Savings Plan ${id} is left out: its currency is ${currency}, not USD`;
  return {
    id,
    type,
    ...(type === 'EC2Instance' && { region: plan.text('region'), family: plan.text('ec2InstanceFamily') }),
    commitmentUsdPerHour: plan.number('commitment'),
    ...periodOf(plan, 'start', 'end'),
  };
}

function periodOf(entry: Answer, from: string, to: string): { readonly start?: string; readonly end?: string } {
  const [start, end] = [entry.time(from), entry.time(to)];
  return { ...(start !== undefined && { start }), ...(end !== undefined && { end }) };
}

/** Of Linux on shared hardware, as nodes run; of instances that run, not of reserved capacity that nobody uses. */
function ratesIn(answer: Answer, { region: wanted }: ImportOptions): readonly SavingsPlanRate[] {
  const found = new Map<string, SavingsPlanRate>();
  for (const rate of answer.list('searchResults')) {
    const properties = new Map(rate.list('properties').map((each) => [each.text('name'), each.maybe('value') ?? '']));
    const [instanceType = '', region = ''] = [properties.get('instanceType'), properties.get('region')];
    const isNode =
      (rate.maybe('serviceCode') ?? 'AmazonEC2') === 'AmazonEC2' &&
      (properties.get('productDescription') ?? 'Linux/UNIX') === 'Linux/UNIX' &&
      (properties.get('tenancy') ?? 'shared') === 'shared' &&
      !/UnusedBox|Dedicated/.test(rate.maybe('usageType') ?? '');
    if (!isNode || instanceType === '' || (wanted !== undefined && region !== '' && region !== wanted)) continue;
    const entry = { ...(region !== '' && { region }), instanceType, usdPerHour: rate.number('rate') };
    found.set(`${region} ${instanceType}`, entry);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rate]) => rate);
}

/** The reserved instances, or why they are left out. */
function reservedOf(entry: Answer, { region }: ImportOptions): (ReservedInstances & { readonly id: string }) | string {
  const id = entry.text('ReservedInstancesId');
  const state = entry.maybe('State') ?? 'active';
  const product = entry.maybe('ProductDescription') ?? 'Linux/UNIX';
  const tenancy = entry.maybe('InstanceTenancy') ?? 'default';
  const leftOut = (why: string): string => `Reserved instances ${id} are left out: ${why}`;
  if (state !== 'active') return leftOut(`their state is ${state}`);
  if (!product.startsWith('Linux/UNIX')) return leftOut(`they are for ${product}, not for Linux/UNIX`);
  if (tenancy !== 'default') return leftOut(`their tenancy is ${tenancy}`);
  const zone = entry.maybe('AvailabilityZone');
  return {
    id,
    instanceType: entry.text('InstanceType'),
    count: entry.number('InstanceCount'),
    ...(region !== undefined && { region }),
    ...(zone !== undefined && { zone }),
    ...periodOf(entry, 'Start', 'End'),
  };
}

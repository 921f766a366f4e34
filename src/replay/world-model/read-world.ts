/** Reads the file that describes the world of a replay. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parse } from 'yaml';
import {
  checkSchema,
  type Declared,
  formatValue,
  infinite,
  integer,
  list,
  number,
  type OpenApiSchema,
  object,
  optional,
  text,
  time,
  unknownFields,
} from '#api/schema';
import { InputError, isObject, messageOf, timeOf, timestamp } from '#lib';
import { standardZones } from '#local/aws';
import type { TraceHeader } from '../trace/trace.ts';
import { DEFAULT_WORLD, type SpotPrice, type WorldModel } from './world-model.ts';

/** Start and duration of the trace, which determine the relevant part of a price history. */
export type TraceTimes = Pick<TraceHeader, 'start' | 'seconds'>;

/** @throws InputError with the file, the field and the remedy */
export async function readWorld(path: string, span: TraceTimes): Promise<WorldModel> {
  const file = worldIn(await textOf(path, path, 'the world'), path);
  const { pricesFrom } = file.spot ?? {};
  const model = withDefaults(file);
  checkTogether(model, path);
  if (pricesFrom === undefined) return model;
  if (file.spot?.prices !== undefined)
    throw new InputError(path, 'spot.pricesFrom: must not be combined with spot.prices; remove one of them');
  const history = await textOf(resolve(dirname(path), pricesFrom.file), path, 'spot.pricesFrom.file');
  const startMs = timeOf(pricesFrom.start ?? span.start);
  const from = { world: path, file: pricesFrom.file, region: model.region, startMs, seconds: span.seconds };
  return { ...model, spot: { ...model.spot, prices: readPriceHistory(history, from) } };
}

async function textOf(path: string, world: string, what: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new InputError(world, `${what} cannot be read from ${path}: ${messageOf(error)}; correct the path`, {
      cause: error,
    });
  }
}

function worldIn(text: string, path: string): WorldFile {
  let root: unknown;
  try {
    root = parse(text, { maxAliasCount: 0 }) ?? {};
  } catch (error) {
    throw new InputError(path, `neither YAML nor JSON: ${messageOf(error)}; correct the syntax`, { cause: error });
  }
  if (!isObject(root))
    throw new InputError(path, `must be an object with fields such as spot, not ${formatValue(root)}`);
  const schema = WORLD_FILE as object as OpenApiSchema;
  const [unknown] = unknownFields(root, schema);
  if (unknown !== undefined) throw new InputError(path, `${unknown}; correct its name, or remove it`);
  const [cause] = checkSchema(schema, root);
  const wrong = cause === undefined ? infinite(root) : `${cause.field}: ${cause.message}`;
  if (wrong !== undefined) throw new InputError(path, `${wrong}; correct the field, or remove it to use the default`);
  return root as WorldFile;
}

function withDefaults(file: WorldFile): WorldModel {
  const { bootSeconds, spot, soldOut, ...rest } = file;
  const { pricesFrom: _, ...market } = spot ?? {};
  return {
    ...DEFAULT_WORLD,
    ...rest,
    bootSeconds: { ...DEFAULT_WORLD.bootSeconds, ...bootSeconds },
    spot: { ...DEFAULT_WORLD.spot, ...market },
    soldOut: { ...DEFAULT_WORLD.soldOut, ...soldOut },
  };
}

/** Checks constraints between several fields. */
function checkTogether({ bootSeconds: { p50, p95 } }: WorldModel, path: string): void {
  if (p95 < p50)
    throw new InputError(
      path,
      `bootSeconds.p95: is ${p95}, less than the median p50, ${p50}; set p95 to ${p50} or more`,
    );
}

/** Maximum number of prices. More prices belong in a separate file, which is read faster. */
const MOST_PRICES = 100_000;
const LONGEST_SECONDS = 86_400;
const DEAREST_USD = 10_000;

const seconds = (description: string) => number({ description, minimum: 0, maximum: LONGEST_SECONDS });
const share = (description: string) => number({ description, minimum: 0, maximum: 1 });
/** Schema of a share below one, because a process with a share of one would never end. */
const shareBelowOne = (description: string) => number({ description, minimum: 0, maximum: 0.99 });

const PRICE = object({
  at: number({ description: 'Seconds since the start of the trace.', minimum: 0, maximum: 1e9 }),
  instanceType: text({ minLength: 1, maxLength: 64 }),
  zone: text({ minLength: 1, maxLength: 64 }),
  usdPerHour: number({ minimum: 0.000_001, maximum: DEAREST_USD }),
});

const SPOT = object({
  prices: optional(list(PRICE, { description: 'Hourly prices.', maxItems: MOST_PRICES })),
  pricesFrom: optional(
    object({
      file: text({ description: 'File with the output of aws ec2 describe-spot-price-history.', minLength: 1 }),
      start: optional(time({ description: 'Time in the price history that corresponds to the start of the trace.' })),
    }),
  ),
  volatility: optional(
    number({
      description: 'Standard deviation of the daily change of a price, as a fraction.',
      minimum: 0,
      maximum: 2,
    }),
  ),
  interruptionsPerDay: optional(shareBelowOne('Share of running spot instances that are interrupted per day.')),
  unevenness: optional(
    number({
      description: 'Ratio between the interruption rates of the pools with the least and the most spare capacity.',
      minimum: 1,
      maximum: 1_000,
    }),
  ),
});

/** Schema of the file that describes the world of a replay. Every field is optional. */
const WORLD_FILE = object({
  region: optional(text({ pattern: '^[a-z]{2}(-[a-z]+)+-[0-9]+$' })),
  seed: optional(integer({ minimum: 0, maximum: 2 ** 31 })),
  bootSeconds: optional(object({ p50: optional(seconds('Median.')), p95: optional(seconds('95th percentile.')) })),
  podStartSeconds: optional(seconds('Seconds from the binding of a pod until its containers run.')),
  cpuUtilization: optional(share('Part of the requested CPU that pods use.')),
  spot: optional(SPOT),
  soldOut: optional(
    object({
      spot: optional(share('Share of spot pools that are sold out at a time.')),
      onDemand: optional(share('Share of on-demand pools that are sold out at a time.')),
      hours: optional(number({ minimum: 0.01, maximum: 10_000 })),
    }),
  ),
  imageRotationDays: optional(number({ minimum: 0, maximum: 10_000 })),
});

type WorldFile = Declared<typeof WORLD_FILE>;

/** A file of past spot prices: the output of `aws ec2 describe-spot-price-history`, as JSON or as CSV with a header. */
interface HistoryFile {
  /** Path of the world file, and of the price file as the world file names it. Errors include both. */
  readonly world: string;
  readonly file: string;
  readonly region: string;
  /** Moment of the history at which the trace starts. */
  readonly startMs: number;
  /** Duration of the trace. */
  readonly seconds: number;
}

const FIELDS = ['AvailabilityZone', 'InstanceType', 'ProductDescription', 'SpotPrice', 'Timestamp'] as const;
type Row = Readonly<Partial<Record<(typeof FIELDS)[number], unknown>>>;
/** Product descriptions to keep. Prices of other operating systems are ignored. */
const LINUX = /^Linux\/UNIX/;

/**
 * Returns prices in order of time. For the time before the trace, only the last price of each pool remains.
 * @throws InputError if the text cannot be parsed, or has no prices for the region and the time of the trace
 */
function readPriceHistory(text: string, history: HistoryFile): readonly SpotPrice[] {
  const wrong = (detail: string): InputError =>
    new InputError(history.world, `spot.pricesFrom: ${history.file}: ${detail}`);
  const zones = new Set(standardZones(history.region).map(({ name }) => name));
  const rows =
    text.trimStart().startsWith('{') || text.trimStart().startsWith('[') ? jsonRows(text, wrong) : csvRows(text, wrong);
  const linux = rows.filter(({ ProductDescription: product }) => product === undefined || LINUX.test(String(product)));
  const prices = linux.map((row, at) => priceOf(row, at, history.startMs, wrong)).filter(({ zone }) => zones.has(zone));
  if (prices.length === 0)
    throw wrong(`has no Linux price in ${[...zones].join(', ')}; set region to the region of the prices`);
  prices.sort((a, b) => a.at - b.at);
  checkTime(prices, history, wrong);
  return current(prices);
}

type Wrong = (detail: string) => InputError;

function jsonRows(text: string, wrong: Wrong): readonly Row[] {
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch (error) {
    throw wrong(
      `is not valid JSON: ${messageOf(error)}; write it with aws ec2 describe-spot-price-history --output json`,
    );
  }
  const list = isObject(root) ? root.SpotPriceHistory : root;
  if (!Array.isArray(list) || !list.every(isObject))
    throw wrong(
      'does not contain the list SpotPriceHistory; write it with aws ec2 describe-spot-price-history --output json',
    );
  return list;
}

function csvRows(text: string, wrong: Wrong): readonly Row[] {
  const cells = (line: string): string[] => line.split(',').map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'));
  const [head = '', ...lines] = text.split('\n').filter((line) => line.trim() !== '');
  const names = cells(head);
  const missing = FIELDS.find((field) => field !== 'ProductDescription' && !names.includes(field));
  if (missing !== undefined)
    throw wrong(`does not contain the column ${missing}; the first line must list ${FIELDS.join(', ')}`);
  return lines.map((line) => Object.fromEntries(cells(line).map((cell, at) => [names[at] ?? '', cell])));
}

function priceOf(row: Row, at: number, startMs: number, wrong: Wrong): SpotPrice {
  const { InstanceType: instanceType, AvailabilityZone: zone, SpotPrice: price, Timestamp: time } = row;
  const [usdPerHour, atMs] = [Number(price), Date.parse(String(time))];
  const bad = (field: string, wanted: string): InputError =>
    wrong(`price ${at + 1}: ${field} is ${wanted}; correct it, or remove the price`);
  if (typeof instanceType !== 'string' || instanceType === '') throw bad('InstanceType', 'missing');
  if (typeof zone !== 'string' || zone === '') throw bad('AvailabilityZone', 'missing');
  if (!(usdPerHour > 0 && usdPerHour < Number.POSITIVE_INFINITY)) throw bad('SpotPrice', 'not a number greater than 0');
  if (Number.isNaN(atMs)) throw bad('Timestamp', 'not a valid time');
  return { at: (atMs - startMs) / 1000, instanceType, zone, usdPerHour };
}

/** Refuses a history of another time, because the prices of the replay would never change. */
function checkTime(prices: readonly SpotPrice[], { startMs, seconds }: HistoryFile, wrong: Wrong): void {
  const [first, last] = [prices[0]?.at ?? 0, prices.at(-1)?.at ?? 0];
  if (first < seconds && last > 0) return;
  const when = (at: number): string => timestamp(startMs + 1000 * at);
  throw wrong(
    `has prices from ${when(first)} to ${when(last)}, but none between ${when(0)} and ${when(seconds)}; ` +
      'set spot.pricesFrom.start to the time in the price history that corresponds to the start of the trace',
  );
}

/** Sets the time of prices before the start to the start, and keeps only the last of them for each pool. */
function current(prices: readonly SpotPrice[]): readonly SpotPrice[] {
  const before = new Map<string, SpotPrice>();
  for (const price of prices) if (price.at <= 0) before.set(`${price.instanceType}/${price.zone}`, { ...price, at: 0 });
  return [...before.values(), ...prices.filter(({ at }) => at > 0)];
}

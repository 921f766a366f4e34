/** Past spot prices: the output of `aws ec2 describe-spot-price-history`, as JSON or as CSV with a header. */

import { messageOf } from '../../lib/error-message.ts';
import { InputError } from '../../lib/input-error.ts';
import { isObject } from '../../lib/json-object.ts';
import { timestamp } from '../../lib/times.ts';
import { standardZones } from '../../local/aws/open-account.ts';
import type { SpotPrice } from './world-model.ts';

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
export function readPriceHistory(text: string, history: HistoryFile): readonly SpotPrice[] {
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

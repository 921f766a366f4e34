/** Text form of the capacities that nodes reported, version 1. */
import type { Resources } from '#engine/model';

export interface CapacityReport {
  /** UID of the node. */
  readonly uid: string;
  /** Name of the node. */
  readonly node: string;
  /** ID of its image. */
  readonly image: string;
  readonly capacity: Resources;
}

interface StoredReport extends CapacityReport {
  /** RFC 3339. Time of the report. */
  readonly at: string;
}

/** Reports for a key, oldest first. */
interface StoredReports {
  readonly key: string;
  readonly reports: readonly StoredReport[];
}

interface Stored {
  readonly version: 1;
  readonly types: readonly StoredReports[];
}

/** Limits of a stored text, which other clients may have changed. */
const MOST_TYPES = 2_000;
const MOST_REPORTS = 8;
const MOST_RESOURCES = 64;
const LONGEST_TEXT = 512;

export const storedText = (types: readonly StoredReports[]): string =>
  JSON.stringify({ version: 1, types } satisfies Stored);

/** Reads a text. One invalid entry makes the whole text unreliable. @throws Error with the field */
export function readStored(text: string): readonly StoredReports[] {
  const stored = JSON.parse(text) as Partial<Stored> | null;
  if (stored?.version !== 1) throw new Error('it is not a document of node capacities of version 1');
  return listIn(stored.types, 'types', MOST_TYPES).map((type, at) => {
    const where = `types[${at}]`;
    const reports = listIn(type?.reports, `${where}.reports`, MOST_REPORTS).map((report, position) =>
      reportIn(report, `${where}.reports[${position}]`),
    );
    if (new Set(reports.map(({ uid }) => uid)).size < reports.length)
      throw new Error(`${where}.reports: a node has several reports`);
    return { key: textIn(type?.key, `${where}.key`), reports };
  });
}

function reportIn(report: Partial<StoredReport> | null, where: string): StoredReport {
  const { uid, node, image, at, capacity } = report ?? {};
  if (typeof at !== 'string' || Number.isNaN(Date.parse(at))) throw new Error(`${where}.at: it is not a time`);
  const amounts = Object.entries(typeof capacity === 'object' ? (capacity ?? {}) : {});
  if (typeof capacity !== 'object' || amounts.length > MOST_RESOURCES)
    throw new Error(`${where}.capacity: it is not a list of up to ${MOST_RESOURCES} resources`);
  for (const [name, amount] of amounts)
    if (!(Number.isSafeInteger(amount) && amount >= 0))
      throw new Error(`${where}.capacity.${name}: it is not an amount`);
  return {
    uid: textIn(uid, `${where}.uid`),
    node: textIn(node, `${where}.node`),
    image: textIn(image, `${where}.image`),
    capacity: Object.fromEntries(amounts),
    at,
  };
}

function listIn<T>(value: readonly T[] | undefined, where: string, most: number): readonly T[] {
  if (!Array.isArray(value) || value.length > most)
    throw new Error(`${where}: it is not a list of up to ${most} items`);
  return value;
}

function textIn(value: string | undefined, where: string): string {
  if (typeof value !== 'string' || value.length > LONGEST_TEXT) throw new Error(`${where}: it is not a name`);
  return value;
}

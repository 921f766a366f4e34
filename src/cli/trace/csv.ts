/** Creates a trace from a CSV file of tasks. */
import { InputError } from '#lib';
import { type LineSource, MOST_SECONDS, openLines, type Trace } from '#replay/trace';
import { type CsvColumns, cellsOf, columnsOf } from './csv-columns.ts';
import { eventsOf } from './csv-events.ts';
import { type CsvUnits, type Row, RowReader } from './csv-rows.ts';

export interface CsvOptions extends CsvColumns, CsvUnits {
  readonly hasHeader: boolean;
  readonly name: string;
  readonly start: string;
  /** Share of the lines that are used, evenly distributed. Samples a large cluster. */
  readonly sample: number;
  /** True if pods claim GPUs by ResourceClaims instead of `nvidia.com/gpu`. */
  readonly gpuClaims?: boolean | undefined;
}

/** Maximum number of rows that are sorted in memory. */
const MOST_ROWS = 5_000_000;

interface FromCsv {
  readonly trace: Trace;
  readonly rows: number;
  /** Rows without a duration or a submit time. Public traces contain such rows for tasks that never ended. */
  readonly incomplete: number;
}

/** @throws InputError with the file, the line, the column and the remedy */
export async function fromCsv(path: string, options: CsvOptions): Promise<FromCsv> {
  const source = await openLines(path);
  const { rows, incomplete } = await rowsOf(source, options);
  if (rows.length === 0)
    throw new InputError(source.name, 'no tasks found; check the column names, or add --no-header');
  rows.sort((a, b) => a.at - b.at);
  const firstAt = rows[0]?.at ?? 0;
  const seconds = rows.reduce((most, { at, runsFor }) => Math.max(most, at - firstAt + runsFor), 0);
  const header = {
    trace: 'karpenter/v1' as const,
    name: options.name,
    start: options.start,
    seconds: Math.min(MOST_SECONDS, Math.max(1, Math.ceil(seconds))),
    source: `converted from CSV${options.sample < 1 ? `, ${options.sample} of the tasks` : ''}`,
  };
  return {
    trace: { header, events: () => eventsOf(rows, { lastAt: header.seconds, claimsGpus: options.gpuClaims }) },
    rows: rows.length,
    incomplete,
  };
}

async function rowsOf(source: LineSource, options: CsvOptions): Promise<{ rows: Row[]; incomplete: number }> {
  let reader: RowReader | undefined;
  const rows: Row[] = [];
  let [incomplete, seen] = [0, 0];
  for await (const { text, number } of source.lines()) {
    if (text.trim() === '') continue;
    const cells = cellsOf(text);
    const where = `${source.name}, line ${number}`;
    if (reader === undefined) {
      reader = new RowReader(columnsOf(options, options.hasHeader ? cells : undefined, where), options);
      if (options.hasHeader) continue;
    }
    seen += 1;
    // evenly distributed: takes each line for which the sum reaches the next whole number
    if (Math.floor(seen * options.sample) === Math.floor((seen - 1) * options.sample)) continue;
    const row = reader.row(cells, where);
    if (row === undefined) incomplete += 1;
    else rows.push(row);
    if (rows.length > MOST_ROWS)
      throw new InputError(source.name, `has more than ${MOST_ROWS} tasks; select a part with --sample`);
  }
  return { rows, incomplete };
}

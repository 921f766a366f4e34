/**
 * Creates a trace from a CSV file of tasks, with the submit time, the duration, the requests and the number of equal
 * tasks.
 */

import type { Pod } from '../../api/kubernetes.ts';
import { InputError } from '../../lib/input-error.ts';
import { quoted } from '../../lib/quoted.ts';
import { MOST_PODS, MOST_SECONDS } from '../../replay/trace/events.ts';
import { type LineSource, openLines } from '../../replay/trace/source.ts';
import type { Trace, TraceEvent } from '../../replay/trace/trace.ts';

/** Columns, by name in the header or by number starting at 1, and their units. */
interface CsvColumns {
  readonly submit: string;
  readonly duration: string;
  readonly cpu: string;
  readonly memory: string;
  /** Number of equal tasks. By default one. */
  readonly count?: string | undefined;
  readonly hasHeader: boolean;
  /** Time unit in seconds. */
  readonly timeUnit: number;
  /** CPU unit in cores. */
  readonly cpuUnit: number;
  /** Memory unit in bytes. */
  readonly memoryUnit: number;
}

export interface CsvOptions extends CsvColumns {
  readonly name: string;
  readonly start: string;
  /** Share of the lines that are used, evenly distributed. Samples a large cluster. */
  readonly sample: number;
}

/** Maximum number of rows that are sorted in memory. */
const MOST_ROWS = 5_000_000;
const MIB = 2 ** 20;
const LEAST_CPU_MILLI = 1;

interface Row {
  readonly at: number;
  readonly runsFor: number;
  readonly cpuMilli: number;
  readonly memoryMi: number;
  readonly count: number;
}

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
    throw new InputError(source.name, 'no task in it; is --no-header missing, or are columns named wrongly?');
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
  return { trace: { header, events: () => eventsOf(rows, firstAt) }, rows: rows.length, incomplete };
}

function* eventsOf(rows: readonly Row[], firstAt: number): Generator<TraceEvent> {
  for (const [index, { at, runsFor, cpuMilli, memoryMi, count }] of rows.entries()) {
    const requests = { cpu: `${cpuMilli}m`, memory: `${memoryMi}Mi` };
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `task-${index + 1}`, namespace: 'default' },
      spec: { restartPolicy: 'Never', containers: [{ name: 'task', image: 'pause', resources: { requests } }] },
    };
    yield {
      at: Math.round((at - firstAt) * 10) / 10,
      apply: pod,
      runsFor: Math.round(runsFor * 10) / 10,
      ...(count === 1 ? {} : { count }),
    };
  }
}

async function rowsOf(source: LineSource, options: CsvOptions): Promise<{ rows: Row[]; incomplete: number }> {
  let columns: Columns | undefined;
  const rows: Row[] = [];
  let [incomplete, seen] = [0, 0];
  for await (const { text, number } of source.lines()) {
    if (text.trim() === '') continue;
    const cells = cellsOf(text);
    const where = `${source.name}, line ${number}`;
    if (columns === undefined) {
      columns = columnsOf(options, options.hasHeader ? cells : undefined, where);
      if (options.hasHeader) continue;
    }
    seen += 1;
    // evenly distributed: takes each line for which the sum reaches the next whole number
    if (Math.floor(seen * options.sample) === Math.floor((seen - 1) * options.sample)) continue;
    const row = rowOf(cells, columns, options, where);
    if (row === undefined) incomplete += 1;
    else rows.push(row);
    if (rows.length > MOST_ROWS)
      throw new InputError(source.name, `has more than ${MOST_ROWS} tasks; take a part with --sample`);
  }
  return { rows, incomplete };
}

type Column = 'submit' | 'duration' | 'cpu' | 'memory' | 'count';
type Columns = Readonly<Partial<Record<Column, number>>>;

/** Splits a line into cells. Quoted cells may contain commas and doubled quotes. */
function cellsOf(line: string): readonly string[] {
  const cells: string[] = [];
  let [cell, isQuoted] = ['', false];
  for (const part of line.replace(/^\uFEFF/, '').split(/([",])/)) {
    if (part === '"') {
      // the second of two adjacent quotes reopens the quoted text that the first has closed
      if (!isQuoted && cell.trim() !== '') cell += '"';
      isQuoted = !isQuoted;
    } else if (part === ',' && !isQuoted) {
      cells.push(cell.trim());
      cell = '';
    } else cell += part;
  }
  return [...cells, cell.trim()];
}

function columnsOf(options: CsvColumns, header: readonly string[] | undefined, where: string): Columns {
  const names: readonly Column[] = ['submit', 'duration', 'cpu', 'memory', 'count'];
  const found: Partial<Record<Column, number>> = {};
  for (const name of names) {
    const wanted = options[name];
    if (wanted === undefined) continue;
    const number = /^\d{1,4}$/.test(wanted) ? Number(wanted) - 1 : header?.indexOf(wanted);
    if (number === undefined || number < 0)
      throw new InputError(
        where,
        header === undefined
          ? `--${name} ${quoted(wanted)} is no number, and there is no header; give the number of the column, from 1`
          : `no column ${quoted(wanted)} for --${name}; there are ${header.slice(0, 20).map(quoted).join(', ')}`,
      );
    found[name] = number;
  }
  return found;
}

function rowOf(cells: readonly string[], columns: Columns, units: CsvColumns, where: string): Row | undefined {
  const read = (column: Column): number | undefined => {
    const text = cells[columns[column] ?? -1] ?? '';
    if (text === '') return undefined;
    const value = Number(text);
    if (!Number.isFinite(value))
      throw new InputError(where, `column ${column} is ${quoted(text)}; it must be a number`);
    return value;
  };
  const [submit, duration] = [read('submit'), read('duration')];
  if (submit === undefined || duration === undefined || duration < 0 || submit < 0) return undefined;
  const count = columns.count === undefined ? 1 : (read('count') ?? 1);
  return {
    at: submit * units.timeUnit,
    runsFor: Math.min(MOST_SECONDS, duration * units.timeUnit),
    cpuMilli: Math.max(LEAST_CPU_MILLI, Math.round((read('cpu') ?? 0) * units.cpuUnit * 1000)),
    memoryMi: Math.max(1, Math.round(((read('memory') ?? 0) * units.memoryUnit) / MIB)),
    count: Math.max(1, Math.min(MOST_PODS, Math.round(count))),
  };
}

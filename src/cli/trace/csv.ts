/** Makes a trace of a CSV of tasks: when each was submitted, for how long it ran, how much it asked for, and how many equal ones. */

import type { Pod } from '../../api/kubernetes.ts';
import { InputError } from '../../lib/input-error.ts';
import { quoted } from '../../lib/quoted.ts';
import { MOST_PODS, MOST_SECONDS } from '../../replay/trace/events.ts';
import { type LineSource, openLines } from '../../replay/trace/source.ts';
import type { Trace, TraceEvent } from '../../replay/trace/trace.ts';

/** Columns, by names of the header or numbers from 1, and what one unit of each is. */
interface CsvColumns {
  readonly submit: string;
  readonly duration: string;
  readonly cpu: string;
  readonly memory: string;
  /** Equal tasks; one when left out. */
  readonly count?: string | undefined;
  readonly hasHeader: boolean;
  /** Seconds in one unit of the times. */
  readonly timeUnit: number;
  /** Cores in one unit of CPU. */
  readonly cpuUnit: number;
  /** Bytes in one unit of memory. */
  readonly memoryUnit: number;
}

export interface CsvOptions extends CsvColumns {
  readonly name: string;
  readonly start: string;
  /** Share of the lines that are taken, evenly: a sample of a large cluster. */
  readonly sample: number;
}

/** More rows do not fit into memory, where they are sorted. */
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
  /** Rows without a duration or a submit time: public traces have those of tasks that never ended. */
  readonly incomplete: number;
}

/** @throws InputError that names the file, the line, the column and the remedy */
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
    // evenly: each line that takes the sum over the next whole number
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

/** The cells of a line; those in quotes may hold commas, and quotes that are doubled. */
function cellsOf(line: string): readonly string[] {
  const cells: string[] = [];
  let [cell, isQuoted] = ['', false];
  for (const part of line.replace(/^\uFEFF/, '').split(/([",])/)) {
    if (part === '"') {
      // the second of two quotes in a row opens what the first has closed
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

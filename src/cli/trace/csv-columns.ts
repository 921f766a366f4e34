/** Columns of a CSV file of tasks, and the cells of its lines. */
import { InputError, quoted } from '#lib';

/** Columns, by name in the header or by number starting at 1. */
export interface CsvColumns {
  readonly submit: string;
  readonly duration: string;
  readonly cpu: string;
  readonly memory: string;
  /** Number of equal tasks. By default one. */
  readonly count?: string | undefined;
  /** Number of GPUs, which become `nvidia.com/gpu`. */
  readonly gpu?: string | undefined;
  /** Workload of a task. */
  readonly owner?: string | undefined;
  /** Kind of the workload. */
  readonly kind?: string | undefined;
  /** Columns by the name of an extended resource, a label or an annotation. */
  readonly resource?: Named | undefined;
  readonly label?: Named | undefined;
  readonly annotation?: Named | undefined;
}

type Named = Readonly<Record<string, string>>;

const SINGLE = ['submit', 'duration', 'cpu', 'memory', 'count', 'gpu', 'owner', 'kind'] as const;

type Single = (typeof SINGLE)[number];
type NamedOption = 'resource' | 'label' | 'annotation';

/** Positions of the columns, from 0. */
export interface Columns {
  readonly single: Readonly<Partial<Record<Single, number>>>;
  readonly named: Readonly<Record<NamedOption, readonly (readonly [name: string, position: number])[]>>;
}

/** Splits a line into cells. Quoted cells may contain commas and doubled quotes. */
export function cellsOf(line: string): readonly string[] {
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

/**
 * @param header undefined if the file has none
 * @throws InputError with the option and the existing columns
 */
export function columnsOf(options: CsvColumns, header: readonly string[] | undefined, where: string): Columns {
  const positionOf = (option: string, wanted: string): number => {
    const position = /^\d{1,4}$/.test(wanted) ? Number(wanted) - 1 : header?.indexOf(wanted);
    if (position !== undefined && position >= 0) return position;
    throw new InputError(
      where,
      header === undefined
        ? `--${option} ${quoted(wanted)} is not a number, and there is no header; use the number of the column, starting with 1`
        : `no column ${quoted(wanted)} for --${option}; existing columns: ${header.slice(0, 20).map(quoted).join(', ')}`,
    );
  };
  const single = SINGLE.flatMap((option) => {
    const wanted = options[option];
    return wanted === undefined ? [] : [[option, positionOf(option, wanted)] as const];
  });
  const namedOf = (option: NamedOption): Columns['named'][NamedOption] =>
    Object.entries(options[option] ?? {}).map(([name, wanted]) => [name, positionOf(option, wanted)]);
  return {
    single: Object.fromEntries(single),
    named: { resource: namedOf('resource'), label: namedOf('label'), annotation: namedOf('annotation') },
  };
}

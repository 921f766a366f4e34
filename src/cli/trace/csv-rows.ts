/** Reads the tasks of a CSV file. */
import { labelValueErrors } from '#api/values';
import { InputError, quoted } from '#lib';
import { MOST_PODS, MOST_SECONDS } from '#replay/trace';
import type { Columns } from './csv-columns.ts';

export const CSV_KINDS = ['Job', 'Pod', 'Deployment', 'ReplicaSet', 'StatefulSet'] as const;
export type CsvKind = (typeof CSV_KINDS)[number];

export interface CsvUnits {
  /** Time unit in seconds. */
  readonly timeUnit: number;
  /** CPU unit in cores. */
  readonly cpuUnit: number;
  /** Memory unit in bytes. */
  readonly memoryUnit: number;
}

/** Pods of equal tasks. Rows share this object, because a large file has few different tasks. */
export interface Task {
  readonly kind: CsvKind;
  readonly owner: string;
  readonly cpuMilli: number;
  readonly memoryMi: number;
  /** Whole amounts by name. */
  readonly extended: Readonly<Record<string, number>>;
  /** Number of GPUs that each pod claims by a ResourceClaim. */
  readonly claimedGpus?: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Row {
  readonly at: number;
  readonly runsFor: number;
  readonly count: number;
  readonly task: Task;
}

const MIB = 2 ** 20;
const LEAST_CPU_MILLI = 1;
/** Resource of GPUs, unless they are claimed. */
export const GPU = 'nvidia.com/gpu';

export class RowReader {
  readonly #columns: Columns;
  readonly #units: CsvUnits;
  readonly #tasks = new Map<string, Task>();

  constructor(columns: Columns, units: CsvUnits) {
    this.#columns = columns;
    this.#units = units;
  }

  /**
   * Returns undefined if the row has no submit time or no duration.
   * @throws InputError with the column and the value
   */
  row(cells: readonly string[], where: string): Row | undefined {
    const { single } = this.#columns;
    const { timeUnit } = this.#units;
    const read = (column: keyof typeof single): number | undefined => {
      const position = single[column];
      return position === undefined ? undefined : numberOf(cells[position] ?? '', column, where);
    };
    const [submit, duration] = [read('submit'), read('duration')];
    if (submit === undefined || duration === undefined || duration < 0 || submit < 0) return undefined;
    return {
      at: submit * timeUnit,
      runsFor: Math.min(MOST_SECONDS, duration * timeUnit),
      count: Math.max(1, Math.min(MOST_PODS, Math.round(read('count') ?? 1))),
      task: this.#task(cells, { cpu: read('cpu') ?? 0, memory: read('memory') ?? 0, gpu: read('gpu') ?? 0 }, where),
    };
  }

  #task(cells: readonly string[], amounts: Readonly<Record<'cpu' | 'memory' | 'gpu', number>>, where: string): Task {
    const { single, named } = this.#columns;
    const textsOf = (columns: readonly (readonly [string, number])[]): readonly (readonly [string, string])[] =>
      columns.flatMap(([name, position]) => {
        const text = cells[position] ?? '';
        return text === '' ? [] : [[name, text] as const];
      });
    const extended = textsOf(named.resource).map(([name, text]) => [name, numberOf(text, name, where) ?? 0] as const);
    const task: Task = {
      kind: kindOf(cells[single.kind ?? -1] ?? '', where),
      owner: cells[single.owner ?? -1] ?? '',
      cpuMilli: Math.max(LEAST_CPU_MILLI, Math.round(amounts.cpu * this.#units.cpuUnit * 1000)),
      memoryMi: Math.max(1, Math.round((amounts.memory * this.#units.memoryUnit) / MIB)),
      extended: wholeAmounts([[GPU, amounts.gpu], ...extended]),
      labels: Object.fromEntries(textsOf(named.label).map(([name, text]) => [name, labelOf(text, name, where)])),
      annotations: Object.fromEntries(textsOf(named.annotation)),
    };
    const key = JSON.stringify(task);
    const known = this.#tasks.get(key);
    if (known === undefined) this.#tasks.set(key, task);
    return known ?? task;
  }
}

function numberOf(text: string, column: string, where: string): number | undefined {
  if (text === '') return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new InputError(where, `column ${column} is ${quoted(text)}; it must be a number`);
  return value;
}

/** Rounds up, because Kubernetes has no parts of a device. */
const wholeAmounts = (amounts: readonly (readonly [string, number])[]): Readonly<Record<string, number>> =>
  Object.fromEntries(amounts.filter(([, amount]) => amount > 0).map(([name, amount]) => [name, Math.ceil(amount)]));

function labelOf(text: string, name: string, where: string): string {
  const [wrong] = labelValueErrors(text);
  if (wrong !== undefined) throw new InputError(where, `label ${name} is ${quoted(text)}: ${wrong}`);
  return text;
}

function kindOf(text: string, where: string): CsvKind {
  const kind = text === '' ? 'Job' : CSV_KINDS.find((each) => each === text);
  if (kind === undefined)
    throw new InputError(where, `column kind is ${quoted(text)}; it must be ${CSV_KINDS.join(', ')} or empty`);
  return kind;
}

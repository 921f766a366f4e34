/** Command `karpenter trace`. Creates traces for `karpenter replay`, and summarizes them. */
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import type { KubeObject } from '#api/objects';
import { formatDuration, qualifiedNameErrors } from '#api/values';
import { timestamp } from '#lib';
import {
  DEFAULT_START,
  GENERATORS,
  type GeneratorKind,
  generateTrace,
  readTrace,
  summaryOf,
  type Trace,
  type TraceEvent,
  type TraceSummary,
  writeTrace,
} from '#replay/trace';
import { periodOption } from './budgets.ts';
import { type Example, withExamples } from './describe.ts';
import { numberFrom, wholeFrom } from './number-arguments.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { counted, table } from './render/table.ts';
import { collect, parseTime, writeNotes } from './scenario.ts';
import { fromAudit } from './trace/audit.ts';
import { fromCsv } from './trace/csv.ts';
import { CSV_KINDS } from './trace/csv-rows.ts';
import { limitOption } from './trace/limit.ts';
import { historyNotes } from './trace/notes.ts';

const MOST_PODS = 50_000;

const toOption = (): Option =>
  new Option('-o, --output <file>', 'output file; compressed if the name ends in .gz').default('-', 'standard output');

const startOption = (): Option => new Option('--start <time>', 'start of the trace, in RFC 3339').argParser(parseTime);

const write = ({ header, events }: Trace, path: string): Promise<void> => writeTrace(header, events(), path);

const startMsOf = (start: number | undefined): number => start ?? Date.parse(DEFAULT_START);

interface GenerateFlags {
  readonly seed: number;
  readonly duration: number;
  readonly pods: number;
  readonly start?: number;
  readonly output: string;
}

const generateNotes = `
Kinds:
${Object.entries(GENERATORS)
  .map(([kind, [, says]]) => `  ${kind.padEnd(18)}${says}`)
  .join('\n')}

The same kind, seed and options create the same trace, byte for byte. The load follows the time of day in UTC from --start,
and is lower on weekends.`;

const generateCommand = (): Command =>
  withExamples(
    new Command('generate')
      .description('Generate a trace from a seed')
      .addArgument(new Argument('<kind>', 'kind of workload').choices(Object.keys(GENERATORS))),
    [
      { what: 'a week of web services', command: 'karpenter trace generate web-service --pods 300 -o week.jsonl' },
      {
        what: 'a month of mixed workloads; each seed creates another trace',
        command: 'karpenter trace generate mix --seed 2 --duration 30d -o month.jsonl.gz',
      },
    ],
  )
    .addOption(
      new Option('--seed <number>', 'seed of the random numbers').argParser(wholeFrom(0, 2 ** 32 - 1)).default(1),
    )
    .addOption(periodOption('--duration <duration>', 'length of the trace, for example 7d or 36h'))
    .addOption(
      new Option('--pods <count>', 'average number of running pods').argParser(wholeFrom(1, MOST_PODS)).default(100),
    )
    .addOption(startOption().default(undefined, DEFAULT_START))
    .addOption(toOption())
    .addHelpText('after', generateNotes)
    .action(async (kind: GeneratorKind, { seed, duration, pods, start, output }: GenerateFlags) => {
      const options = { seed, pods, startMs: startMsOf(start), seconds: Math.max(1, Math.round(duration / 1000)) };
      await write(generateTrace(kind, options), output);
    });

const checkCommand = (): Command =>
  withExamples(
    new Command('check')
      .description('Validate a trace and summarize its contents')
      .argument('<file>', 'trace, or - for standard input'),
    [
      { what: 'summary of a trace', command: 'karpenter trace check week.jsonl' },
      { what: 'a compressed trace, as JSON', command: 'karpenter trace check week.jsonl.gz -o json' },
    ],
  )
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nThe numbers assume that each pod starts immediately. The command exits with 1 if a line is invalid.',
    )
    .action(async (file: string, { output }: { readonly output: Format }) => {
      await printAs(output, await summaryOf(await readTrace(file)), traceSummaryText);
    });

interface AuditFlags {
  readonly namespace?: readonly string[];
  readonly name: string;
  readonly limit: number;
  readonly output: string;
}

const AUDIT_NOTES = `
The log must consist of JSON lines of audit.k8s.io/v1, with earlier files first. Use the level RequestResponse for workloads, pods
and pods/status, because only this level contains whole objects. With the level Request, patches other than changes of replicas
are missing. With Metadata, only deletions and times are known. DRA drivers need writes of nodes and resourceslices. Missing
changes are counted and reported by reason. Objects that are not written during the log are missing; use \`karpenter record\` if
you need them. Both commands omit the same fields.`;

const fromAuditCommand = (): Command =>
  withExamples(
    new Command('from-audit')
      .description('Create a trace from Kubernetes audit logs')
      .argument('<file...>', 'logs of JSON lines, plain or .gz; - for standard input'),
    [{ what: 'one day', command: 'karpenter trace from-audit audit-*.log.gz -o day.jsonl' }],
  )
    .addOption(
      new Option('-n, --namespace <name>', 'include objects of this namespace only; repeatable').argParser(collect),
    )
    .addOption(new Option('--name <name>', 'name of the trace').default('audit'))
    .addOption(limitOption())
    .addOption(toOption())
    .addHelpText('after', AUDIT_NOTES)
    .action(async (files: readonly string[], { namespace, name, limit, output }: AuditFlags) => {
      const { history, devices, startMs, endMs, lines, changes } = await fromAudit(files, {
        limitBytes: limit,
        namespaces: namespace,
      });
      const header = {
        trace: 'karpenter/v1' as const,
        name,
        start: new Date(startMs).toISOString(),
        seconds: Math.max(1, Math.ceil((endMs - startMs) / 1000)),
        source: `audit log of ${lines} events`,
      };
      writeNotes([`${changes} of ${lines} events are relevant for a trace`, ...historyNotes(history)]);
      await writeTrace(header, startingWith(devices, history.until(endMs)), output);
    });

function* startingWith(objects: readonly KubeObject[], events: Iterable<TraceEvent>): Generator<TraceEvent> {
  for (const apply of objects) yield { at: 0, apply };
  yield* events;
}

type Named = Readonly<Record<string, string>>;

/** Option that may be repeated, with a name and a column: `--label app=job_name`. */
const namedOption = (flag: string, says: string): Option =>
  new Option(`--${flag} <name=column>`, `${says}; repeatable`).argParser((text: string, before: Named = {}): Named => {
    const [name = '', column = ''] = text.split(/=(.*)/s);
    const [wrong] = qualifiedNameErrors(name);
    if (wrong !== undefined || column === '') throw new InvalidArgumentError(`Expected NAME=COLUMN.`);
    return { ...before, [name]: column };
  });

interface CsvFlags {
  readonly submit: string;
  readonly runs: string;
  readonly cpu: string;
  readonly memory: string;
  readonly count?: string;
  readonly gpu?: string;
  readonly gpuClaims?: boolean;
  readonly owner?: string;
  readonly kind?: string;
  readonly resource?: Named;
  readonly label?: Named;
  readonly annotation?: Named;
  readonly header: boolean;
  readonly timeUnit: number;
  readonly cpuUnit: number;
  readonly memoryUnit: number;
  readonly sample: number;
  readonly start?: number;
  readonly name: string;
  readonly output: string;
}

const unit = (flag: string, says: string, fallback: number): Option =>
  new Option(flag, says).argParser(numberFrom(Number.MIN_VALUE, 1e18)).default(fallback);

const CSV_EXAMPLES: readonly Example[] = [
  {
    what: 'services and Jobs with GPUs: a task of a Deployment is one of its replicas',
    command:
      'karpenter trace from-csv tasks.csv --submit start --runs seconds --cpu cores --memory bytes --gpu gpus --owner app --kind kind --label team=team -o tasks.jsonl',
  },
  {
    what: 'columns of one’s own: seconds, cores and bytes',
    command:
      'karpenter trace from-csv tasks.csv --submit submitted --runs seconds --cpu cores --memory bytes -o tasks.jsonl',
  },
  {
    what: 'batch_task of Alibaba from 2018, without header, in hundredths of a core and of 64 GiB',
    command:
      "awk -F, -v OFS=, '$6>0 {print $6,$7-$6,$8,$9,$2}' batch_task.csv | karpenter trace from-csv - --no-header --submit 1 --runs 2 --cpu 3 --memory 4 --count 5 --cpu-unit 0.01 --memory-unit 687194767 --sample 0.01 -o alibaba.jsonl",
  },
];

const fromCsvCommand = (): Command =>
  withExamples(
    new Command('from-csv')
      .description('Create a trace from a CSV file of tasks, for example from a public cluster trace')
      .argument('<file>', 'CSV, plain or .gz; - for standard input'),
    CSV_EXAMPLES,
  )
    .requiredOption('--submit <column>', 'submission time: name of the header, or number from 1')
    .requiredOption('--runs <column>', 'duration of the task')
    .requiredOption('--cpu <column>', 'requested CPU')
    .requiredOption('--memory <column>', 'requested memory')
    .option('--count <column>', 'number of equal tasks')
    .option('--gpu <column>', 'requested GPUs, rounded up to nvidia.com/gpu')
    .option('--gpu-claims', 'request GPUs by resource claims of the class gpu.nvidia.com instead of nvidia.com/gpu')
    .addOption(namedOption('resource', 'requested extended resource, rounded up to whole numbers'))
    .addOption(namedOption('label', 'label of its pods'))
    .addOption(namedOption('annotation', 'annotation of its pods, such as karpenter.sh/do-not-disrupt'))
    .option('--owner <column>', 'workload of the task')
    .option('--kind <column>', `kind of the workload: ${CSV_KINDS.join(', ')} (default: Job)`)
    .option('--no-header', 'the first line is a task already')
    .addOption(unit('--time-unit <seconds>', 'seconds in one unit of the times', 1))
    .addOption(unit('--cpu-unit <cores>', 'cores in one unit of CPU', 1))
    .addOption(unit('--memory-unit <bytes>', 'bytes in one unit of memory', 1))
    .addOption(
      new Option('--sample <share>', 'share of the tasks to include, evenly distributed')
        .argParser(numberFrom(1e-9, 1))
        .default(1),
    )
    .addOption(startOption().default(undefined, DEFAULT_START))
    .addOption(new Option('--name <name>', 'name of the trace').default('csv'))
    .addOption(toOption())
    .action(async (file: string, { runs, header, start, output, ...flags }: CsvFlags) => {
      const options = {
        ...flags,
        duration: runs,
        hasHeader: header,
        start: timestamp(startMsOf(start)),
      };
      const { trace, rows, incomplete } = await fromCsv(file, options);
      writeNotes([
        counted(rows, 'task'),
        ...(incomplete === 0
          ? []
          : [`skipped because the time or the duration is missing: ${counted(incomplete, 'line')}`]),
      ]);
      await write(trace, output);
    });

export const traceCommand = (): Command =>
  new Command('trace')
    .description('Create and check traces for `karpenter replay`')
    .addCommand(generateCommand())
    .addCommand(checkCommand())
    .addCommand(fromAuditCommand())
    .addCommand(fromCsvCommand());

/** Renders the summary of a trace as text. */
const DAY_MS = 86_400_000;

/** Formats a duration: `7d`, `1d12h0m0s`. */
function lasting(seconds: number): string {
  const days = Math.floor((seconds * 1000) / DAY_MS);
  const rest = seconds * 1000 - days * DAY_MS;
  return `${days === 0 ? '' : `${days}d`}${rest === 0 && days > 0 ? '' : formatDuration(rest)}`;
}

function traceSummaryText(summary: TraceSummary): string {
  const { name, start, seconds, source, events, objects, podStarts, warnings } = summary;
  const amounts = [
    ['pods', summary.pods],
    ['CPU, cores', summary.cpu],
    ['memory, GiB', summary.memoryGib],
    ...(summary.gpus.most === 0 ? [] : [['GPUs', summary.gpus] as const]),
  ] as const;
  const kinds = Object.entries(objects).map(([kind, count]) => counted(count, kind));
  return `${[
    `${name}: ${lasting(seconds)} from ${start}${source === undefined ? '' : ` (${source})`}`,
    `${counted(events, 'event')}; ${kinds.join(', ')}`,
    `${counted(podStarts, 'pod')} started, not counting pods of DaemonSets`,
    '',
    table(
      ['RUNNING', 'AVERAGE', 'AT MOST'],
      amounts.map(([what, { average, most }]) => [what, `${average}`, `${most}`]),
    ),
    ...warnings.map((warning) => `warning: ${warning}`),
  ].join('\n')}\n`;
}

/** Command `karpenter replay`. Replays the life of a cluster in virtual time with one or several sets of settings. */
import { accessSync, constants, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { ReplayResult } from '#replay/run';
import { period } from './budgets.ts';
import { type Example, withExamples } from './describe.ts';
import { sizeFrom, wholeFrom } from './number-arguments.ts';
import { InputError, messageOf } from './objects/errors.ts';
import { formatted } from './render/output.ts';
import { unfinishedSentences } from './replay/compare.ts';
import { pageOf } from './replay/page/page.ts';
import { PARTS, type PlayableSet, type PlayOptions, preparePlay, type ReplayParts } from './replay/play.ts';
import { SUMMARY_WIDTH, summaryText } from './replay/summary.ts';
import { INTERRUPTED, playWithProgress } from './replay/watched-play.ts';
import { collect, filenameOption, priceBookOption, writeNotes } from './scenario.ts';

interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** @throws Error if a file cannot be written */
async function writeResult(
  result: ReplayResult,
  destinations: readonly Destination[],
  output: Terminal & { write(text: string): unknown } = process.stdout,
): Promise<void> {
  for (const { form, file } of destinations) {
    const text = await textOf(result, form, file === undefined ? output : {});
    if (file === undefined) output.write(text);
    else writeFileSync(file, text);
  }
}

function textOf(
  result: ReplayResult,
  form: Form,
  { isTTY = false, columns = SUMMARY_WIDTH }: Terminal,
): string | Promise<string> {
  switch (form) {
    case 'html':
      return pageOf(result);
    case 'summary':
      return summaryText(result, { width: Math.min(columns, SUMMARY_WIDTH), isStyled: isTTY && !process.env.NO_COLOR });
    default:
      return formatted(form, result, () => '');
  }
}

interface Flags extends PlayOptions {
  readonly output?: readonly Destination[];
}

const MOST_AT_ONCE = 64;
const MOST_LIVES = 100;

const EXAMPLES: readonly Example[] = [
  {
    what: 'costs and waiting times of a week',
    command: 'karpenter replay -f examples/ --trace week.jsonl',
  },
  {
    what: "comparison of Karpenter's packing and consolidation with the defaults, as an HTML page with plots",
    command:
      "karpenter replay -f examples/ --trace week.jsonl --compare compatible='--packing=compatible --consolidation=compatible --node-hourly-fee=0' --compare ours= -o html=replay.html",
  },
  {
    what: 'a generated trace: a week of services whose load follows the time of day',
    command: 'karpenter replay -f examples/ --trace "generate:web-service?pods=500&duration=7d&seed=7"',
  },
  {
    what: 'sets with different NodePools; see docs/replay.md',
    command: 'karpenter replay -f examples/ --trace week.jsonl --sets sets.yaml',
  },
  {
    what: 'eight lives with each set, to see whether the difference is more than chance',
    command: "karpenter replay -f examples/ --trace week.jsonl --lives 8 --compare compatible='--packing=compatible'",
  },
  {
    what: 'the first three days with higher spot prices, for a script',
    command:
      "karpenter replay -f examples/ --trace week.jsonl --world world.yaml --until 3d -o json | jq '.runs[].cost'",
  },
];

const HELP = `
No instances are launched. The controllers of the operator run in this process against a simulated cluster and simulated AWS
endpoints, in virtual time. Runs are compared with the first run. Ctrl-C stops the replay, prints the results so far, and exits
with 130. A second Ctrl-C exits immediately.`;

export const replayCommand = (parts: ReplayParts = PARTS): Command =>
  withExamples(new Command('replay'), EXAMPLES)
    .description('Replay a trace in virtual time and compare the costs of different settings')
    .addOption(filenameOption())
    .addOption(
      new Option(
        '--trace <source>',
        'trace of the workloads: a file of JSON lines, plain or gzip, - for standard input, or generate:KIND?pods=500&duration=7d&seed=1',
      ).makeOptionMandatory(),
    )
    .addOption(
      new Option('--world <file>', 'file that describes machines, prices and shortages, instead of the defaults'),
    )
    .addOption(
      new Option(
        '--compare <set>',
        "NAME=ARGS: run with these arguments of the operator, for example compatible='--packing=compatible'; repeatable; a single run is compared with the defaults",
      ).argParser(collect),
    )
    .addOption(new Option('--sets <file>', 'YAML file with sets of settings and objects'))
    .addOption(priceBookOption())
    .addOption(new Option('--until <duration>', 'part of the trace to replay, for example 3d or 36h').argParser(period))
    .addOption(
      new Option(
        '--lives <number>',
        'how many lives to play with each set; they differ in boot times and in the choice between nodes that suit a pod equally well, and show which differences between sets are not chance',
      )
        .argParser(wholeFrom(1, MOST_LIVES))
        .default(1),
    )
    .addOption(
      new Option(
        '--parallel <number>',
        'number of runs to replay at the same time (default: depends on cores and memory)',
      ).argParser(wholeFrom(1, MOST_AT_ONCE)),
    )
    .addOption(
      new Option(
        '--memory <size>',
        'memory limit of the replay, for example 4Gi, shared by the runs that are replayed at the same time (default: three quarters of the memory of the machine or container)',
      ).argParser(sizeFrom('256Mi', '16Ti', '4Gi')),
    )
    .addOption(destinationsOption())
    .addHelpText('after', HELP)
    .action(async (flags: Flags) => {
      const destinations = withSummary(flags.output);
      checkWritable(destinations);
      const prepared = await preparePlay(flags, parts);
      writeNotes(prepared.notes);
      const { result, isStopped } = await playWithProgress(prepared);
      await writeResult(result, destinations);
      writeNotes(leftText(prepared, result));
      if (isStopped) process.exitCode = INTERRUPTED;
    });

/**
 * Returns messages for standard error about parts that were not played. Machine-readable forms contain this
 * information as data.
 */
function leftText({ sets }: PlayableSet, result: ReplayResult): readonly string[] {
  const played = new Set(result.runs.map(({ name }) => name));
  const missing = sets.filter(({ name }) => !played.has(name)).map(({ name }) => name);
  return [...unfinishedSentences(result), ...(missing.length === 0 ? [] : [`not replayed: ${missing.join(', ')}`])];
}

/** Option `-o`: forms and destinations of a replay's output. */
const FORMS = ['summary', 'json', 'yaml', 'html'] as const;
type Form = (typeof FORMS)[number];

interface Destination {
  readonly form: Form;
  /** Output file. Undefined for standard output. */
  readonly file?: string;
}

/** Returns true for forms that cannot be printed on standard output. */
const needsFile = (form: Form): boolean => form === 'html';

/** @throws InvalidArgumentError */
export function destination(text: string, before: readonly Destination[] = []): readonly Destination[] {
  const [, name, file] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
  const form = FORMS.find((each) => each === name);
  if (form === undefined || file === '')
    throw new InvalidArgumentError(
      `Expected ${FORMS.join(', ')}, or one of them with a file, for example html=replay.html.`,
    );
  if (file === undefined && needsFile(form)) throw new InvalidArgumentError(`Add a file name: ${form}=replay.${form}.`);
  const given = { form, ...(file !== undefined && { file }) };
  const clash = before.find((each) => each.file === file);
  if (clash !== undefined)
    throw new InvalidArgumentError(
      `${clash.form} is already written to ${file === undefined ? 'standard output' : file}; choose another file.`,
    );
  return [...before, given];
}

const destinationsOption = (): Option =>
  new Option(
    '-o, --output <form>',
    'summary, json or yaml, optionally with =FILE, or html=FILE for a page with plots; repeatable; the summary is printed unless another format is',
  ).argParser(destination);

/** Adds the summary if standard output is not used otherwise. */
export const withSummary = (given: readonly Destination[] = []): readonly Destination[] =>
  given.some(({ file, form }) => file === undefined || form === 'summary') ? given : [{ form: 'summary' }, ...given];

/**
 * Checks the output files before a long replay starts.
 *
 * @throws InputError if a file cannot be written
 */
function checkWritable(destinations: readonly Destination[]): void {
  for (const { file } of destinations) {
    if (file === undefined) continue;
    try {
      accessSync(dirname(file), constants.W_OK);
    } catch (error) {
      throw new InputError(file, `cannot be written: ${messageOf(error)}`, { cause: error });
    }
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
      throw new InputError(file, 'is a folder; use a file name');
  }
}

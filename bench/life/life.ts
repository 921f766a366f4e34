/**
 * Plays lives of kinds of clusters with several settings, and compares the settings in each kind.
 *
 *   npm run bench -- life [--kind NAME,…] [--lives 8] [--settings karpenter,balanced,default] [--with NAME=ARGS]…
 *     [--seeds tune] [--capacity on-demand] [--consolidate-after 30s] [--daemonsets true] [--traces FOLDER]
 *     [--processes N] [--results FILE] [--before FILE] [--until-decided] [--quick] [--write]
 *
 * `--kind` selects kinds by the beginnings of their names. `--with` adds a setting with arguments of the operator.
 * `--capacity`, `--consolidate-after` and `--daemonsets` fix a parameter that differs between lives by default. `--traces`, or
 * LIFE_TRACES, adds the trace files of a folder. `--results` keeps the result of each life, so that a run that was stopped
 * continues. `--before` adds the default of another file of results as a setting. `--until-decided` ends a kind after three lives
 * or more if its interval shows that it is below or above the tolerance. `--quick` plays one life with two settings. `--write`
 * writes the table of bench/results/replay.md, and requires the seeds for reports.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  CAPACITIES,
  type Capacity,
  type ClusterKind,
  type FixedParameters,
  fileNamed,
  KINDS,
  lifeOf,
  OF_FILES,
  SEEDS,
  type SeedUse,
  type TraceFile,
} from './kinds.ts';
import { type LifeJob, type LifeResult, type PlayLives, playLives, resultOf } from './runs.ts';
import { REFERENCES, SETTINGS, type Setting, SPOT_SETTINGS, settingFrom } from './settings.ts';
import { boundTable, isDecided, lifeTable, Results, verdictLines, withTable } from './table.ts';
import { isSelected, resultsIn, traceFilesIn } from './traces.ts';

export const PAGE = join(import.meta.dirname, '../results/replay.md');
const BEFORE = 'before';
/** Each capacity type has been played once then. */
const LEAST_LIVES = CAPACITIES.length;
const QUICK = { lives: 1, settings: 'karpenter,default' };

interface LifeOptions {
  readonly kinds: readonly (ClusterKind | TraceFile)[];
  readonly lives: number;
  readonly settings: readonly Setting[];
  readonly seeds: SeedUse;
  readonly fixed: FixedParameters;
  readonly processes: number;
  readonly results: string | undefined;
  readonly before: string | undefined;
  /** True if kinds end early whose interval is below or above the tolerance. */
  readonly endsDecided: boolean;
  readonly isWritten: boolean;
}

/** @throws Error if an option is unknown or not valid */
export function readOptions(args: readonly string[], env: Readonly<Record<string, string | undefined>>): LifeOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kind: { type: 'string', default: '' },
      lives: { type: 'string' },
      settings: { type: 'string' },
      with: { type: 'string', multiple: true, default: [] },
      seeds: { type: 'string', default: 'tune' },
      capacity: { type: 'string' },
      'consolidate-after': { type: 'string' },
      daemonsets: { type: 'string' },
      traces: { type: 'string' },
      processes: { type: 'string', default: String(availableParallelism()) },
      results: { type: 'string' },
      before: { type: 'string' },
      'until-decided': { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  });
  const usual = values.quick ? QUICK : { lives: 8, settings: 'karpenter,balanced,default' };
  const capacity = oneOf('capacity', values.capacity, CAPACITIES);
  const daemonSets = oneOf('daemonsets', values.daemonsets, ['true', 'false']);
  const seeds = oneOf('seeds', values.seeds, Object.keys(SEEDS) as readonly SeedUse[]) ?? 'tune';
  if (values.write && seeds !== 'report') throw new Error('--write requires --seeds report');
  return {
    kinds: kindsFrom(values.kind, values.traces ?? env.LIFE_TRACES),
    lives: wholeNumber('lives', values.lives ?? String(usual.lives)),
    settings: [...(values.settings ?? usual.settings).split(',').map(settingNamed), ...values.with.map(settingFrom)],
    seeds,
    fixed: {
      ...(capacity !== undefined && { capacity: capacity as Capacity }),
      ...(values['consolidate-after'] !== undefined && { consolidateAfter: values['consolidate-after'] }),
      ...(daemonSets !== undefined && { hasDaemonSets: daemonSets === 'true' }),
    },
    processes: wholeNumber('processes', values.processes),
    ...{ results: values.results, before: values.before },
    endsDecided: values['until-decided'],
    isWritten: values.write,
  };
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--${option} must be a positive integer, not ${JSON.stringify(text)}`);
  return value;
}

function oneOf<T extends string>(option: string, text: string | undefined, values: readonly T[]): T | undefined {
  if (text !== undefined && !values.includes(text as T))
    throw new Error(`--${option} must be one of ${values.join(', ')}, not ${JSON.stringify(text)}`);
  return text as T | undefined;
}

function settingNamed(name: string): Setting {
  const all = [...SETTINGS, ...SPOT_SETTINGS];
  const found = all.find((setting) => setting.name === name);
  if (found !== undefined) return found;
  const names = all.map((setting) => setting.name).join(', ');
  throw new Error(`--settings has no ${JSON.stringify(name)}; use ${names}, or --with NAME=ARGS`);
}

function kindsFrom(only: string, folder: string | undefined): readonly (ClusterKind | TraceFile)[] {
  const files = traceFilesIn(folder).map((file) => fileNamed(join(folder ?? '', file)));
  const kinds = [...KINDS, ...files].filter(({ name }) => isSelected(name, only));
  if (kinds.length === 0) throw new Error(`no kind begins with ${JSON.stringify(only)}; correct --kind or --traces`);
  return kinds;
}

/** Returns the jobs of one life of each kind. */
export const jobsOf = ({ kinds, settings, seeds, fixed }: LifeOptions, number: number): readonly LifeJob[] =>
  kinds.flatMap((kind) => {
    const life = lifeOf(number, seeds, 'file' in kind ? OF_FILES : fixed);
    return settings.map((setting) => ({ kind, life, setting }));
  });

const faceOf = ({ kind, life, setting, args }: LifeResult): string => JSON.stringify([kind, life, setting, args]);

/** Returns the report. */
export async function lifeBenchmark(
  args: readonly string[],
  play: PlayLives = playLives,
  onProgress: (text: string) => void = () => {},
): Promise<string> {
  const options = readOptions(args, process.env);
  const names = options.settings.map(({ name }) => name);
  const known = new Map(resultsIn<LifeResult>(options.results).map((result) => [faceOf(result), result]));
  const results: LifeResult[] = [];
  // all kinds have the same lives if a run is stopped
  for (let number = 1; number <= options.lives; number++) {
    const decided = new Results(results, names);
    const isOver = ({ name }: LifeJob['kind']): boolean =>
      options.endsDecided && number > LEAST_LIVES && isDecided(decided, name);
    const jobs = jobsOf(options, number).filter(({ kind }) => !isOver(kind));
    const found = jobs.map((job) => known.get(faceOf(resultOf(job, { cpuSeconds: 0 }))));
    results.push(...found.filter((result) => result !== undefined));
    let left = found.filter((result) => result === undefined).length;
    const missing = jobs.filter((_, index) => found[index] === undefined);
    await play(missing, options.processes, (result) => {
      results.push(result);
      if (options.results !== undefined) appendFileSync(options.results, `${JSON.stringify(result)}\n`);
      onProgress(`${progressText(result)}, ${--left} left of life ${number}`);
    });
  }
  const before = beforeOf(options, results);
  const shown = new Results([...results, ...before], before.length === 0 ? names : [...names, BEFORE]);
  const report = reportOf(shown, options);
  if (options.isWritten) writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), report));
  return `${report}\n${footOf(results)}`;
}

const progressText = ({ kind, life, setting, figures, failure, cpuSeconds }: LifeResult): string =>
  `${kind} life ${life.number} ${setting}: ${failure ?? `$${figures?.usd.toFixed(2)}, ${figures?.evictions} evictions`}, ${cpuSeconds.toFixed(1)} s`;

/** Returns the results of the default setting in the file of `--before`, as a setting of its own. */
function beforeOf({ before, settings }: LifeOptions, results: readonly LifeResult[]): readonly LifeResult[] {
  const own = settings.find(({ name }) => !REFERENCES.includes(name))?.name;
  const lives = new Set(results.map(({ kind, life }) => JSON.stringify([kind, life])));
  return resultsIn<LifeResult>(before)
    .filter(({ kind, life, setting }) => setting === own && lives.has(JSON.stringify([kind, life])))
    .map((result) => ({ ...result, setting: BEFORE }));
}

function reportOf(results: Results, { settings, seeds, lives, fixed, endsDecided }: LifeOptions): string {
  const titles = Object.fromEntries(settings.map(({ name, title }) => [name, title]));
  const parameters = Object.entries(fixed).map(([name, value]) => `, ${name} ${value}`);
  const letters = results.settings.map((name, index) => `${'ABCDEFGH'[index]}: ${titles[name] ?? name}`);
  return [
    `${endsDecided ? `${Math.min(LEAST_LIVES, lives)} to ${lives}` : lives} lives of each kind, seeds for ${seeds === 'tune' ? 'tuning' : 'reports'}${parameters.join('')}. ${letters.join(', ')}.`,
    `Ratios of costs with 95 % confidence intervals:`,
    '',
    lifeTable(results, titles),
    '',
    ...verdictLines(results),
    '',
    'Costs above the lower bound, and CPUs of nodes that no pod requested, in the lives with on-demand nodes:',
    '',
    boundTable(results, titles),
  ].join('\n');
}

function footOf(results: readonly LifeResult[]): string {
  const minutes = results.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0) / 60;
  const failures = results.filter(({ failure }) => failure !== undefined);
  const repeated = results.filter(({ failure, repeatedAfter }) => failure === undefined && repeatedAfter !== undefined);
  const unfinished = results.filter(({ figures }) => (figures?.unfinishedPods ?? 0) > 0);
  return [
    `${results.length} lives took ${minutes.toFixed(1)} min of CPU time.`,
    ...failures.map((result) => `Failed twice: ${progressText(result)}`),
    ...repeated.map((result) => `Played again after "${result.repeatedAfter}": ${progressText(result)}`),
    ...unfinished.map((result) => `Jobs failed, so the cost is too low: ${progressText(result)}`),
  ].join('\n');
}

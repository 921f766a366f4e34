/** `karpenter simulate`: which nodes would be bought for the pods in some manifests, without a cluster or an account. */
import { Command, InvalidArgumentError, Option } from 'commander';
import type { SolveOptions } from '../engine/model.ts';
import { solve } from '../engine/solve.ts';
import { readInstanceTypes } from './objects/catalogue.ts';
import { type Manifest, readManifests } from './objects/read.ts';
import { type WorldOptions, worldOf } from './objects/snapshot.ts';
import { type Simulation, simulationOf } from './render/plan.ts';

export interface SimulateOptions {
  /** Files, folders, or `-` for standard input. */
  readonly filename: readonly string[];
  /** A catalogue file in place of the built-in one. */
  readonly instanceTypes?: string;
  readonly explain?: boolean;
  readonly preferencePolicy?: SolveOptions['preferencePolicy'];
  readonly minValuesPolicy?: SolveOptions['minValuesPolicy'];
  readonly packing?: SolveOptions['packing'];
  /** The time at which it plays, milliseconds since the epoch; only ages depend on it. */
  readonly nowMs?: number;
}

export interface SimulateResult {
  readonly simulation: Simulation;
  readonly notes: readonly string[];
}

/** @throws InputError that names the document and the field */
export async function simulate(options: SimulateOptions): Promise<SimulateResult> {
  const manifests = readManifests(options.filename);
  const nowMs = options.nowMs ?? Date.now();
  const instanceTypes = await typesFor(options, manifests, nowMs);
  const { snapshot, notes } = worldOf(manifests, { instanceTypes, nowMs });
  const plan = solve(snapshot, {
    preferencePolicy: options.preferencePolicy ?? 'Respect',
    minValuesPolicy: options.minValuesPolicy ?? 'Strict',
    reservedMode: 'strict',
    ignoreDraRequests: true,
    packing: options.packing ?? 'cheapest',
  });
  return { simulation: simulationOf(plan, { explain: options.explain ?? false }), notes };
}

/** The catalogue of the local world is loaded only when it is needed. */
export async function typesFor(
  { instanceTypes: file }: SimulateOptions,
  manifests: readonly Manifest[],
  nowMs: number,
): Promise<WorldOptions['instanceTypes']> {
  if (file === undefined) return (await import('./objects/builtin.ts')).builtInTypes(manifests, nowMs);
  const types = readInstanceTypes(file);
  return () => types;
}

type Format = 'table' | 'json' | 'yaml';

async function print(simulation: Simulation, format: Format): Promise<string> {
  switch (format) {
    case 'json':
      return `${JSON.stringify(simulation)}\n`;
    case 'yaml':
      return (await import('yaml')).stringify(simulation);
    case 'table':
      return (await import('./render/simulation.ts')).simulationText(simulation);
  }
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

function time(text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new InvalidArgumentError('Expected a time such as 2026-06-03T10:30:00Z.');
  return ms;
}

interface Flags extends SimulateOptions {
  readonly output: Format;
  readonly now?: number;
  readonly disruption?: boolean;
  readonly options?: string;
}

/** Policies that were not asked for on the command line are left to the file of `--options`. */
async function runDisruption(command: Command, parsed: Flags): Promise<void> {
  const { now, preferencePolicy, minValuesPolicy, ...flags } = parsed;
  const isSet = (name: string): boolean => command.getOptionValueSource(name) === 'cli';
  const given = {
    ...flags,
    ...(now === undefined ? {} : { nowMs: now }),
    ...(isSet('preferencePolicy') && preferencePolicy !== undefined ? { preferencePolicy } : {}),
    ...(isSet('minValuesPolicy') && minValuesPolicy !== undefined ? { minValuesPolicy } : {}),
  };
  const verb = await import('./disruption.ts');
  await verb.runDisruption(given, (manifests, nowMs) => typesFor(flags, manifests, nowMs));
}

export function simulateCommand(): Command {
  return new Command('simulate')
    .description('Show which nodes would be bought for the pods in some manifests, and why the rest stays pending')
    .addOption(
      new Option('-f, --filename <path>', 'file or folder with manifests, or - for standard input; repeatable')
        .argParser(collect)
        .default([], 'none')
        .makeOptionMandatory(),
    )
    .option('--instance-types <file>', 'JSON file with instance types, in place of the built-in catalogue')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json', 'yaml']).default('table'))
    .option('--explain', 'add the structured reason per pod and NodePool')
    .addOption(
      new Option('--preference-policy <policy>', 'whether preferences of pods count')
        .choices(['Respect', 'Ignore'])
        .default('Respect'),
    )
    .addOption(
      new Option('--min-values-policy <policy>', 'whether minValues may be missed')
        .choices(['Strict', 'BestEffort'])
        .default('Strict'),
    )
    .addOption(
      new Option('--packing <mode>', 'whether to look for cheaper nodes than Karpenter would buy')
        .choices(['cheapest', 'compatible'])
        .default('cheapest'),
    )
    .option('--now <time>', 'the time at which it plays', time)
    .option('--disruption', 'show which nodes would be given back or replaced instead')
    .addOption(
      new Option('--consolidation <mode>', 'whether to look for savings that Karpenter would not find')
        .choices(['thorough', 'compatible'])
        .default('thorough'),
    )
    .option('--options <file>', 'JSON file with now, featureGates and policies for --disruption')
    .action(async (flags: Flags, command: Command) => {
      if (flags.filename.length === 0)
        command.error('error: name at least one file or folder with -f, or - for standard input');
      const { now } = flags;
      if (flags.disruption) return runDisruption(command, flags);
      if (flags.options !== undefined) command.error('error: --options goes with --disruption only');
      const { simulation, notes } = await simulate({ ...flags, ...(now === undefined ? {} : { nowMs: now }) });
      for (const note of notes) process.stderr.write(`note: ${note}\n`);
      process.stdout.write(await print(simulation, flags.output));
    });
}

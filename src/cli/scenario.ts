/** Common options and notes of commands that run the engine on manifests. */

import { existsSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { TopologySpreadConstraint } from '#api/objects';
import {
  type ConsolidationMode,
  consolidationPolicy,
  cpuUtilizationError,
  defaultPreferencePolicy,
  nodeHourlyFeeError,
} from '#api/values';
import { withCpuUtilization } from '#engine/costs';
import type { InstanceType } from '#engine/model';
import type { DecisionSettings, PassSettings } from '#planner';
import {
  CORE_GATES,
  DEFAULT_BATCH_MAX_MS,
  DEFAULT_EVICTION_PRICE,
  evictionPriceError,
  openGates,
  parseSchedulerConfig,
} from '#process/settings';
import { isOperator } from './holds.ts';
import { catalogueIn, readCatalogue } from './objects/catalogue.ts';
import { DRA_DRIVERS } from './objects/devices.ts';
import { InputError, messageOf } from './objects/errors.ts';
import type { KnownGates } from './objects/gated-kinds.ts';
import { refuseOldVersions } from './objects/old-versions.ts';
import { isFromCluster, type Manifest, readManifests, readText } from './objects/read.ts';
import type { WorldOptions } from './objects/snapshot.ts';
import { askOperator } from './operator.ts';
import { indented, terminalWidth } from './render/wrap.ts';
import { applyChanges, CHANGES, type ChangedManifests } from './what-if/changes.ts';
import { atOtherPrices, priceChangeOf } from './what-if/prices.ts';

export interface ScenarioOptions {
  /** Files, folders, or `-` for standard input. */
  readonly filename: readonly string[];
  /** Changes in words, and files that are read later and replace objects with the same name. */
  readonly whatIf?: readonly string[];
  /** File, or URL of an operator's metrics port. Replaces the built-in catalogue. */
  readonly instanceTypes?: string;
  /** Price book file. */
  readonly priceBook?: string;
  /** Operator setting of the same name, or a file that contains it. */
  readonly schedulerConfig?: string;
  /** Time of the simulation, in milliseconds since the epoch. */
  readonly nowMs?: number;
  /** Operator setting of the same name, in USD per hour. */
  readonly nodeHourlyFee?: number;
  /** Operator setting of the same name. */
  readonly expectedCpuUtilization?: number;
  /** If true, resource claims count. */
  readonly dra?: boolean;
}

/** Returns the DRA drivers of nodes, or undefined if resource claims are ignored. */
export const driversFor = ({ dra }: Pick<ScenarioOptions, 'dra'>): WorldOptions['drivers'] =>
  dra ? DRA_DRIVERS : undefined;

/** Returns a parser of numbers for which the operator reports no error. */
const numberBy =
  (errorOf: (value: number) => string | undefined) =>
  (text: string): number => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    const problem = errorOf(value);
    if (problem !== undefined) throw new InvalidArgumentError(`It ${problem}.`);
    return value;
  };

/** Returns the instance types of the NodePools in manifests. */
export type TypesFor = (manifests: readonly Manifest[], nowMs: number) => Promise<WorldOptions['instanceTypes']>;

/** Collects the values of a repeatable option. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** Parses a time to milliseconds since the epoch. */
export function parseTime(text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw new InvalidArgumentError('Expected a time in RFC 3339, for example 2026-06-03T10:30:00Z.');
  return ms;
}

export const filenameOption = (): Option =>
  new Option('-f, --filename <path>', 'file or folder with manifests, or - for standard input; repeatable')
    .argParser(collect)
    .default([], 'none');

export const whatIfOption = (): Option =>
  new Option(
    '--what-if <change>',
    `manifests that replace those with the same name or are added to them, or ${CHANGES}; repeatable`,
  ).argParser(collect);

export const instanceTypesOption = (): Option =>
  new Option(
    '--instance-types <source>',
    'JSON file, or http://… address of the operator, used instead of the built-in catalogue and prices',
  );

export const nowOption = (): Option => new Option('--now <time>', 'time of the simulation').argParser(parseTime);

export const nodeFeeOption = (): Option =>
  new Option(
    '--node-hourly-fee <usd>',
    'NODE_HOURLY_FEE of the operator: hourly cost of a node in addition to the charges of AWS',
  ).argParser(numberBy(nodeHourlyFeeError));

export const cpuUtilizationOption = (): Option =>
  new Option(
    '--expected-cpu-utilization <part>',
    'EXPECTED_CPU_UTILIZATION of the operator: part of the requested CPU that pods use',
  ).argParser(numberBy(cpuUtilizationError));

export const evictionPriceOption = (): Option =>
  new Option('--eviction-price <usd>', 'EVICTION_PRICE of the operator: additional USD for each evicted pod')
    .argParser(numberBy(evictionPriceError))
    .env('EVICTION_PRICE')
    .default(DEFAULT_EVICTION_PRICE);

export const priceBookOption = (): Option =>
  new Option('--price-book <file>', 'discounts, Savings Plans and reserved instances of the operator');

export const draOption = (): Option =>
  new Option('--dra', 'count resource claims, as with the chart value settings.enableDRA');

/** Adds the options of {@link ScenarioOptions} to a command. `--now` is stored as `now`. */
export const withScenario = (command: Command): Command =>
  command
    .addOption(filenameOption())
    .addOption(whatIfOption())
    .addOption(instanceTypesOption())
    .addOption(priceBookOption())
    .option('--scheduler-config <config>', 'SCHEDULER_CONFIG of the operator, or a file with its content')
    .addOption(nowOption())
    .addOption(draOption())
    .addOption(nodeFeeOption())
    .addOption(cpuUtilizationOption());

type Sources = Pick<ScenarioOptions, 'filename' | 'whatIf' | 'nowMs'>;

/** Manifests with and without the changes of `--what-if`. */
export interface ManifestChange extends Pick<ChangedManifests, 'manifests' | 'drained'> {
  readonly before: readonly Manifest[];
}

/** @throws InputError with the document */
export function manifestChangeOf({ filename, whatIf = [], nowMs = Date.now() }: Sources): ManifestChange {
  const before = readManifests(filename);
  refuseOldVersions(before);
  const { manifests, added, drained } = applyChanges(before, whatIf, nowMs);
  refuseOldVersions(added);
  return { before, manifests, drained };
}

/** @throws InputError with the document */
export const manifestsOf = (options: Sources): readonly Manifest[] => manifestChangeOf(options).manifests;

/** Returns the instance types. Loads the local world's catalogue only if it is needed. */
export async function typesFor(
  { instanceTypes: file, expectedCpuUtilization }: TypesOptions,
  manifests: readonly Manifest[],
  nowMs: number,
): Promise<WorldOptions['instanceTypes']> {
  const types = await listedTypes(file, manifests, nowMs);
  if (expectedCpuUtilization === undefined) return types;
  const known = new Map<readonly InstanceType[], readonly InstanceType[]>();
  return (nodePool) => {
    const listed = types(nodePool);
    const used = known.get(listed) ?? withCpuUtilization(listed, expectedCpuUtilization);
    known.set(listed, used);
    return used;
  };
}

type TypesOptions = Pick<ScenarioOptions, 'instanceTypes' | 'expectedCpuUtilization'>;

async function listedTypes(
  file: string | undefined,
  manifests: readonly Manifest[],
  nowMs: number,
): Promise<WorldOptions['instanceTypes']> {
  if (file === undefined) return (await import('./objects/builtin.ts')).builtInTypes(manifests, nowMs);
  const found = isOperator(file)
    ? catalogueIn(await askOperator(file, '/debug/instancetypes'), file)
    : readCatalogue(file);
  return ({ metadata }) => found.nodePools.get(metadata.name) ?? found.instanceTypes;
}

/** Note about the limits of the built-in catalogue for manifests of a cluster. */
const SALES =
  'current offerings and prices, because the built-in catalogue is used; use --instance-types http://… with the metrics port ' +
  'of the operator to include its prices, unavailable offerings, interrupted spot pools and pods that it holds back';

interface NotedTypes {
  readonly types: TypesFor;
  readonly notes: readonly string[];
  /** Unknown facts that affect results based on the instance types. */
  readonly unknown: readonly string[];
}

/** Returns a source of instance types, and notes that are complete after it was used. */
export function typesNoting(options: Partial<ScenarioOptions>): NotedTypes {
  const notes: string[] = [];
  const unknown: string[] = [];
  const types: TypesFor = async (manifests, nowMs) => {
    if (options.instanceTypes === undefined) {
      const { inventedClasses, pricesNote } = await import('./objects/builtin.ts');
      const { imageFacts } = await import('./objects/images.ts');
      const images = imageFacts(manifests);
      notes.push(...inventedClasses(manifests), ...pricesNote(manifests), ...images.notes);
      unknown.push(...images.unknown);
      if (manifests.some(isFromCluster)) unknown.push(SALES);
    }
    const changes = (options.whatIf ?? []).flatMap((text) => priceChangeOf(text) ?? []);
    return atOtherPrices(await typesFor(options, manifests, nowMs), changes, manifests);
  };
  return { types, notes, unknown };
}

interface GivenSettings extends Partial<Pick<DecisionSettings, 'minValuesPolicy' | 'packing'>> {
  /** Default: the policy of the packing. */
  readonly preferencePolicy?: DecisionSettings['preferencePolicy'] | undefined;
  readonly consolidation?: ConsolidationMode;
  readonly evictionPrice?: number | undefined;
  readonly drivers: WorldOptions['drivers'];
  readonly featureGates?: KnownGates | undefined;
}

/** Returns the settings of decisions, with the defaults of the operator. */
export function decisionSettings({ drivers, featureGates = {}, evictionPrice, ...given }: GivenSettings) {
  const { consolidation = 'thorough', packing = 'cheapest' } = given;
  return {
    minValuesPolicy: 'Strict',
    packing,
    ...given,
    preferencePolicy: given.preferencePolicy ?? defaultPreferencePolicy(packing, consolidation),
    consolidation,
    steering: consolidationPolicy(consolidation).steers,
    evictionPrice: evictionPrice ?? DEFAULT_EVICTION_PRICE,
    batchMaxMs: DEFAULT_BATCH_MAX_MS,
    ignoreDraRequests: drivers === undefined,
    featureGates: openGates(CORE_GATES, new Map(Object.entries(featureGates))),
  } satisfies DecisionSettings & PassSettings & { batchMaxMs: number };
}

/** @throws InputError with the file, or SettingsError with the field */
export function defaultConstraintsOf({
  schedulerConfig,
}: Pick<ScenarioOptions, 'schedulerConfig'>): readonly TopologySpreadConstraint[] {
  if (schedulerConfig === undefined) return [];
  if (existsSync(schedulerConfig)) {
    try {
      return parseSchedulerConfig(readText(schedulerConfig)).defaultConstraints;
    } catch (error) {
      throw error instanceof InputError ? error : new InputError(schedulerConfig, messageOf(error), { cause: error });
    }
  }
  if (!schedulerConfig.includes(':')) throw new InputError(schedulerConfig, 'no such file');
  return parseSchedulerConfig(schedulerConfig).defaultConstraints;
}

/**
 * Exit code of `--exit-code` if nodes would be launched, replaced or removed, as in `terraform plan
 * -detailed-exitcode`.
 */
export const CHANGES_EXIT_CODE = 2;

/** Returns a note if the manifests contain no object of the command's kind. */
export const noneOf = (what: string, found: readonly unknown[]): readonly string[] =>
  found.length === 0 ? [`the manifests contain no ${what}`] : [];

/** Returns notes on unknown facts that affect a result. */
export const notKnown = (unknown: readonly string[]): readonly string[] => unknown.map((text) => `unknown: ${text}`);

export function writeNotes(notes: readonly string[]): void {
  const width = terminalWidth(process.stderr);
  for (const note of notes) process.stderr.write(`${indented(`note: ${note}`, '  ', width)}\n`);
}

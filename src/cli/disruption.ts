/** Command `karpenter simulate --disruption`. Lists the nodes of manifests that would be removed or replaced. */

import type { TopologySpreadConstraint } from '#api/objects';
import { type ConsolidationMode, type PackingMode, PREFERENCE_POLICIES } from '#api/values';
import { REPAIR_RULES } from '#aws/node-classes';
import {
  budgetErrors,
  type MethodReview,
  type PassInput,
  type RepairSettings,
  review,
  Simulator,
  simulateOn,
} from '#engine/disruption';
import { type PoolInput, podKey, type Snapshot, type SolveOptions } from '#engine/model';
import { bufferOutcomes, isVirtual, solve } from '#engine/solve';
import {
  disruptionInput,
  launchOptions,
  methodsFor,
  nominateNode,
  passOf,
  placedPods,
  repairSettingsOf,
  simulationSnapshot,
} from '#planner';
import { CORE_GATES, parseGates, unknownGates } from '#process/settings';
import { disruptionEnd, type EndStart } from './disruption-end.ts';
import { holdsFor } from './holds.ts';
import { fieldIn } from './objects/check.ts';
import { isFromCluster } from './objects/read.ts';
import { type World, type WorldOptions, worldOf } from './objects/snapshot.ts';
import { readJson } from './objects/text.ts';
import { type DisruptionAnswer, disruptionOf, disruptionText } from './render/commands.ts';
import { type Format, printAs } from './render/output.ts';
import {
  CHANGES_EXIT_CODE,
  decisionSettings,
  defaultConstraintsOf,
  driversFor,
  manifestsOf,
  noneOf,
  type ScenarioOptions,
  type TypesFor,
  typesNoting,
  writeNotes,
} from './scenario.ts';

/** Settings in the file of `--options`. */
export interface CaseOptions {
  /** Time of the simulation. */
  readonly now?: string;
  readonly featureGates?: Readonly<Record<string, boolean>>;
  readonly preferencePolicy?: SolveOptions['preferencePolicy'];
  readonly minValuesPolicy?: SolveOptions['minValuesPolicy'];
}

const CASE_OPTIONS: readonly (keyof CaseOptions)[] = ['now', 'featureGates', 'preferencePolicy', 'minValuesPolicy'];

/** Returns notes on unknown settings in the file of `--options`. */
const unknownOptions = (file: string, options: CaseOptions): readonly string[] =>
  Object.keys(options)
    .filter((name) => !CASE_OPTIONS.some((known) => known === name))
    .map((name) => `${file}: ${name}: unknown option is ignored; use one of ${CASE_OPTIONS.join(', ')}`);

/** @throws InputError with the field */
export function readCaseOptions(file: string): CaseOptions {
  const parsed = readJson(file);
  const options = fieldIn(file, parsed);
  options.given?.object();
  options.at('preferencePolicy').given?.oneOf(...PREFERENCE_POLICIES);
  options.at('minValuesPolicy').given?.oneOf('Strict', 'BestEffort');
  options.at('featureGates').given?.object();
  options.at('now').given?.text();
  const { now, featureGates = {} } = parsed as CaseOptions;
  if (now !== undefined && Number.isNaN(Date.parse(now)))
    options.at('now').fail(`"${now}" is not a valid time; use RFC 3339, for example 2026-06-03T10:30:00Z`);
  for (const [gate, value] of Object.entries(featureGates))
    if (typeof value !== 'boolean') options.at('featureGates').at(gate).fail('must be true or false');
  return parsed as CaseOptions;
}

export interface SceneOptions {
  /** Files, folders, or `-` for standard input. */
  readonly filename: readonly string[];
  /** Changes in words, and files that are read later and replace objects with the same name. */
  readonly whatIf?: readonly string[];
  readonly instanceTypes: TypesFor;
  /** Value of `--instance-types`. */
  readonly operator?: string | undefined;
  readonly nowMs: number;
  readonly priceBook?: string | undefined;
  readonly nodeHourlyFee?: number | undefined;
  readonly evictionPrice?: number | undefined;
  readonly defaultConstraints?: readonly TopologySpreadConstraint[] | undefined;
  readonly preferencePolicy?: SolveOptions['preferencePolicy'] | undefined;
  readonly minValuesPolicy: SolveOptions['minValuesPolicy'];
  readonly featureGates: Readonly<Record<string, boolean>>;
  readonly packing: PackingMode;
  readonly consolidation: ConsolidationMode;
  readonly drivers?: WorldOptions['drivers'];
}

interface Scene extends Pick<World, 'notes' | 'unknown'>, EndStart {
  readonly pass: PassInput;
  /** Returns the settings of repairs in force for the nodes of a NodePool. */
  readonly repairSettingsOf: (pool: string) => RepairSettings;
}

/** @throws InputError with the document and the field */
export async function sceneOf(options: SceneOptions): Promise<Scene> {
  const { nowMs, featureGates, preferencePolicy, minValuesPolicy, packing, consolidation, drivers } = options;
  const settings = decisionSettings({
    preferencePolicy,
    minValuesPolicy,
    packing,
    consolidation,
    drivers,
    featureGates,
    evictionPrice: options.evictionPrice,
  });
  const manifests = manifestsOf(options);
  const instanceTypes = await options.instanceTypes(manifests, nowMs);
  const { defaultConstraints, priceBook } = options;
  const held = await holdsFor(options.operator);
  const world = await worldOf(manifests, {
    instanceTypes,
    nowMs,
    featureGates,
    defaultConstraints,
    priceBook,
    held,
    settings: { packing, consolidation, nodeHourlyFee: options.nodeHourlyFee },
    drivers,
  });
  const { cluster, allPools, notes, unknown } = world;
  nominateNodes(world, settings, manifests.some(isFromCluster));
  // the operator waits for launches in progress
  const workload = { ...world.input.workload, nodes: cluster.nodes(), overdue: [] };
  const snapshot = simulationSnapshot({ ...world.input, workload }, allPools);
  const nodePools = allPools.map(({ nodePool }) => nodePool);
  const passOn = (present: Snapshot): PassInput => {
    const { simulation, ...input } = disruptionInput(present, {
      pools: allPools,
      settings,
      nodePools,
      inProgress: new Set(),
    });
    return passOf(input, {
      cluster,
      settings,
      nowMs,
      simulate: simulateOn(new Simulator(present, simulation)),
      showsPrices: settings.steering,
      elapsedMs: () => performance.now(),
    });
  };
  const unread = budgetErrors(nodePools, nowMs).map(
    (text) => `${text}; none of its nodes can be disrupted until this is corrected`,
  );
  const methods = methodsFor(settings);
  return {
    pass: passOn(snapshot),
    methods,
    unknown,
    snapshot,
    pools: allPools,
    passOn,
    repairSettingsOf: repairSettingsOf(cluster.stores, REPAIR_RULES),
    notes: [...notes, ...unread, ...(settings.featureGates.staticCapacity ? [] : leftAlone(allPools))],
  };
}

/**
 * Places pods on existing nodes, as provisioning would. The virtual pods of capacity buffers are always placed. In a running
 * cluster, nodes are also nominated for pending pods and for pods of nodes that are being removed. The operator repeats the
 * nominations every ten seconds while these pods are pending.
 */
function nominateNodes(
  { cluster, snapshot, nodes, leaving }: World,
  settings: ReturnType<typeof decisionSettings>,
  runs: boolean,
): void {
  const virtual = snapshot.pendingPods.filter(isVirtual);
  const pods = [...snapshot.pendingPods, ...leaving];
  if (virtual.length === 0 && !(runs && pods.length > 0)) return;
  const plan = solve({ ...snapshot, nodes, pendingPods: pods }, launchOptions(settings));
  cluster.setBufferPods(bufferOutcomes(plan, virtual).byNode);
  if (!runs) return;
  const real = new Map(pods.filter((pod) => !isVirtual(pod)).map((pod) => [podKey(pod), pod]));
  for (const { node } of placedPods(plan, cluster, (key) => real.get(key))) nominateNode({ cluster, settings }, node);
}

/** Returns notes on static NodePools, which the operator ignores without their feature gate. */
const leftAlone = (pools: readonly PoolInput[]): readonly string[] =>
  pools
    .filter(({ nodePool }) => nodePool.spec.replicas !== undefined)
    .map(
      ({ nodePool }) =>
        `NodePool ${nodePool.metadata.name}: spec.replicas has no effect, because the feature gate StaticCapacity is disabled`,
    );

/** Runs the methods in order until one has a command, or all methods if `everyMethod` is true. */
export async function reviewsOf(
  { pass, methods }: Pick<Scene, 'pass' | 'methods'>,
  everyMethod: boolean,
): Promise<readonly MethodReview[]> {
  const reviews: MethodReview[] = [];
  for (const method of methods) {
    const found = await review(method, pass);
    reviews.push(found);
    if (found.result.commands.length > 0 && !everyMethod) break;
  }
  return reviews;
}

export interface DisruptionOptions extends SceneOptions {
  /** If true, runs every method instead of stopping at the first method with a command. */
  readonly everyMethod: boolean;
  /** If true, also computes the state after all commands. */
  readonly untilEnd?: boolean;
  /** Further unknown facts that affect the result. */
  readonly unknown?: readonly string[];
}

export interface DisruptionResult {
  readonly disruption: DisruptionAnswer;
  readonly notes: readonly string[];
}

/** @throws InputError with the document and the field */
export async function simulateDisruption(options: DisruptionOptions): Promise<DisruptionResult> {
  const { everyMethod, untilEnd = false } = options;
  const { notes, unknown, ...scene } = await sceneOf(options);
  const reviews = await reviewsOf(scene, everyMethod);
  const end = untilEnd ? await disruptionEnd(scene) : undefined;
  const disruption = disruptionOf(reviews, { everyMethod, end, unknown: [...unknown, ...(options.unknown ?? [])] });
  return { disruption, notes: [...notes, ...noneOf('Node', scene.pass.nodes)] };
}

/** Options of the command line. */
export interface DisruptionFlags extends ScenarioOptions {
  readonly explain?: boolean;
  readonly preferencePolicy?: SolveOptions['preferencePolicy'];
  readonly minValuesPolicy?: SolveOptions['minValuesPolicy'];
  readonly options?: string;
  /** For example `Name=true,Other=false`. */
  readonly featureGates?: string;
  readonly packing?: PackingMode | undefined;
  readonly consolidation?: ConsolidationMode;
  /** Operator setting of the same name, in USD. */
  readonly evictionPrice?: number;
  /** If true, exits with code 2 if a node would be disrupted. */
  readonly exitCode?: boolean;
  readonly output: Format;
}

/** Merges the options of the command line with the file of `--options`. The command line takes precedence. */
export function sceneOptions(flags: DisruptionFlags, instanceTypes: TypesFor): SceneOptions {
  const file = flags.options === undefined ? {} : readCaseOptions(flags.options);
  if (flags.options !== undefined) writeNotes(unknownOptions(flags.options, file));
  const { filename, whatIf } = flags;
  const gates = parseGates('--feature-gates', flags.featureGates ?? '');
  writeNotes([
    ...unknownGates('--feature-gates', CORE_GATES, gates.keys()),
    ...unknownGates(flags.options ?? '', CORE_GATES, Object.keys(file.featureGates ?? {})),
  ]);
  return {
    filename,
    ...(whatIf && { whatIf }),
    defaultConstraints: defaultConstraintsOf(flags),
    priceBook: flags.priceBook,
    instanceTypes,
    operator: flags.instanceTypes,
    nowMs: flags.nowMs ?? (file.now === undefined ? Date.now() : Date.parse(file.now)),
    preferencePolicy: flags.preferencePolicy ?? file.preferencePolicy,
    minValuesPolicy: flags.minValuesPolicy ?? file.minValuesPolicy ?? 'Strict',
    featureGates: { ...file.featureGates, ...Object.fromEntries(gates) },
    packing: flags.packing ?? 'cheapest',
    consolidation: flags.consolidation ?? 'thorough',
    nodeHourlyFee: flags.nodeHourlyFee,
    evictionPrice: flags.evictionPrice,
    drivers: driversFor(flags),
  };
}

/** Runs the command and prints the result. */
export async function runDisruption(flags: DisruptionFlags): Promise<void> {
  const { types, notes: ofTypes, unknown } = typesNoting(flags);
  const options = { ...sceneOptions(flags, types), everyMethod: flags.explain ?? false, untilEnd: true, unknown };
  const { disruption, notes } = await simulateDisruption(options);
  writeNotes([...ofTypes, ...notes]);
  await printAs(flags.output, disruption, disruptionText);
  if (flags.exitCode && disruption.first !== null) process.exitCode = CHANGES_EXIT_CODE;
}

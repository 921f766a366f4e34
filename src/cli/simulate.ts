/**
 * Command `karpenter simulate`. Computes the nodes that would be launched for pods of manifests, without a cluster or
 * an account.
 */

import { Command, Option } from 'commander';
import type { Pod } from '#api/objects';
import { PREFERENCE_POLICIES } from '#api/values';
import type { WaitingPod } from '#engine/explanations';
import type { Snapshot } from '#engine/model';
import { defined } from '#lib';
import { type Example, withExamples } from './describe.ts';
import type { Manifest } from './objects/read.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { type SimulationAnswer, simulationOf } from './render/plan.ts';
import {
  CHANGES_EXIT_CODE,
  evictionPriceOption,
  manifestChangeOf,
  noneOf,
  withScenario,
  writeNotes,
} from './scenario.ts';
import {
  compareManifests,
  type ManifestSolveOptions,
  type SolvedManifests,
  solveManifests,
} from './solve-manifests.ts';

interface ResultOptions extends ManifestSolveOptions {
  readonly explain?: boolean;
}

export interface SimulateOptions extends ResultOptions {
  /** Files, folders, or `-` for standard input. */
  readonly filename: readonly string[];
}

export interface SimulateResult extends Pick<SolvedManifests, 'proveRemedy'> {
  readonly simulation: SimulationAnswer;
  readonly snapshot: Snapshot;
  /** Pods of nodes that are being removed. These must also be placed. */
  readonly leaving: readonly Pod[];
  /** Pending pods for which no node is launched now. */
  readonly waiting: readonly WaitingPod[];
  readonly notes: readonly string[];
}

/**
 * Simulates manifests. With `--what-if`, also simulates the manifests without the changes, and compares the results.
 *
 * @throws InputError with the document and the field
 */
export async function simulate(options: SimulateOptions): Promise<SimulateResult> {
  const { whatIf = [] } = options;
  const change = manifestChangeOf(options);
  if (whatIf.length === 0) return simulateManifests(change.manifests, options);
  const { effect, after } = await compareManifests(change, options);
  const found = resultOf(after, options);
  return { ...found, simulation: { ...found.simulation, ...defined({ effect }) } };
}

/**
 * Simulates manifests that were already read or created.
 *
 * @throws InputError with the document and the field
 */
export const simulateManifests = async (
  manifests: readonly Manifest[],
  options: ResultOptions,
): Promise<SimulateResult> => resultOf(await solveManifests(manifests, options), options);

function resultOf(
  { world, plan, proveRemedy, notes, unknown }: SolvedManifests,
  { explain = false }: ResultOptions,
): SimulateResult {
  const { snapshot, waiting, leaving } = world;
  const simulation = simulationOf(plan, { explain, waiting, unknown, pools: snapshot.pools });
  return { simulation, snapshot, waiting, leaving, proveRemedy, notes };
}

interface Flags extends SimulateOptions {
  readonly output: Format;
  readonly now?: number;
  readonly disruption?: boolean;
  readonly exitCode?: boolean;
  readonly options?: string;
}

/**
 * Runs the disruption simulation. If a policy is not set on the command line, the file of `--options` determines it.
 */
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
  await verb.runDisruption(given);
}

const spelled = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const EXAMPLES: readonly Example[] = [
  { what: 'nodes that would be launched for these pods', command: 'karpenter simulate -f examples/ -f my-pods.yaml' },
  {
    what: 'a file with the objects of a cluster, for this and other commands',
    command:
      'kubectl get nodes,nodeclaims,nodepools,ec2nodeclasses,pods,poddisruptionbudgets,daemonsets -A -o yaml > now.yaml',
  },
  { what: 'nodes that would be disrupted', command: 'karpenter simulate --disruption -f now.yaml' },
  {
    what: 'the effect of a change: another NodePool, more pods, fewer nodes or other prices',
    command: 'karpenter simulate -f now.yaml --what-if nodepool.yaml --what-if "scale deploy/web=50"',
  },
  {
    what: 'costs with the discounts and commitments of a price book',
    command: 'karpenter simulate -f now.yaml --price-book price-book.yaml',
  },
  {
    what: 'nodes that would be launched after a drain',
    command: 'karpenter simulate -f now.yaml --what-if "drain ip-10-0-0-1"',
  },
  {
    what: 'for a script: exit code 2 if higher spot prices would disrupt nodes',
    command: 'karpenter simulate --disruption -f now.yaml --what-if "spot+30%" --exit-code',
  },
];

export function simulateCommand(): Command {
  const command = new Command('simulate').description(
    'Show which nodes would be launched for the pods in the manifests, and why other pods stay pending',
  );
  return withExamples(withScenario(command), EXAMPLES)
    .addOption(outputOption())
    .option('--explain', 'add the structured reason for each pod and NodePool')
    .addOption(
      new Option(
        '--preference-policy <policy>',
        'satisfy preferences of pods if they are worth their price, always, or never; default: Priced, or Respect with compatible packing',
      ).choices(PREFERENCE_POLICIES),
    )
    .addOption(
      new Option('--min-values-policy <policy>', 'policy for minValues')
        .choices(['Strict', 'BestEffort'])
        .default('Strict'),
    )
    .addOption(
      new Option('--packing <mode>', 'search for cheaper nodes than Karpenter, or pack like Karpenter')
        .choices(['cheapest', 'compatible'])
        .default('cheapest'),
    )
    .option('--disruption', 'show which nodes would be disrupted')
    .addOption(
      new Option('--consolidation <mode>', 'search for more savings than Karpenter, or consolidate like Karpenter')
        .choices(['thorough', 'compatible'])
        .default('thorough'),
    )
    .addOption(evictionPriceOption())
    .option('--feature-gates <gates>', 'FEATURE_GATES of the operator, for example SpotToSpotConsolidation=true')
    .option(
      '--options <file>',
      'JSON file with now, featureGates, preferencePolicy and minValuesPolicy, for --disruption',
    )
    .option('--exit-code', 'exit with 2 if a node would be launched, replaced or removed, and with 1 for errors')
    .action(async (flags: Flags) => {
      if (flags.filename.length === 0)
        command.error('error: specify at least one file or folder with -f, or - for standard input');
      const { now } = flags;
      if (flags.disruption) return runDisruption(command, flags);
      for (const name of ['options', 'consolidation', 'evictionPrice'])
        if (command.getOptionValueSource(name) === 'cli') command.error(`error: ${spelled(name)} needs --disruption`);
      const { simulation, snapshot, leaving, waiting, notes } = await simulate({
        ...flags,
        ...(now === undefined ? {} : { nowMs: now }),
      });
      writeNotes([
        ...notes,
        ...noneOf('pending pod', [...snapshot.pendingPods, ...leaving, ...waiting.map(({ pod }) => pod)]),
      ]);
      await printAs(flags.output, simulation, async (found) =>
        (await import('./render/simulation.ts')).simulationText(found),
      );
      const { nodeClaims, effect } = simulation;
      const drains = effect?.drains ?? [];
      if (flags.exitCode && nodeClaims.length + drains.length > 0) process.exitCode = CHANGES_EXIT_CODE;
    });
}

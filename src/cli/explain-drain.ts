/** Command `karpenter explain drain`. Shows the obstacles to the drain of a node, where its pods go, and the cost. */
import { Command } from 'commander';
import { type ChangeEffect, type DrainPlan, drainPlanOf } from '#engine/what-if';
import { reading, withCluster } from './cluster.ts';
import { clusterManifests } from './cluster-manifests.ts';
import { type Example, withExamples } from './describe.ts';
import type { Manifest } from './objects/read.ts';
import { askOperator, DEFAULT_SERVER } from './operator.ts';
import { fromOperator, notAsked } from './operator-or-cluster.ts';
import type { OperatorFlags } from './operator-pod.ts';
import { drainText } from './render/effect.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import {
  CHANGES_EXIT_CODE,
  manifestsOf,
  notKnown,
  type ScenarioOptions,
  withScenario,
  writeNotes,
} from './scenario.ts';
import { compareManifests, type ManifestSolveOptions } from './solve-manifests.ts';
import { clusterServerOption, operatorNamespaceOption, refuseTwoSources } from './source.ts';
import { applyToManifests } from './what-if/changes.ts';

export interface DrainResult {
  readonly drain: DrainPlan;
  readonly notes: readonly string[];
}

interface Flags extends ScenarioOptions, OperatorFlags {
  readonly server?: string;
  readonly featureGates?: string;
  readonly now?: number;
  readonly output: Format;
}

/**
 * Predicts the drain of a node of manifests. Changes of `--what-if` apply before and after the drain.
 *
 * @param name name of the Node or its NodeClaim, or the part of the Node's name before the first dot
 * @throws InputError with the document and the field, or with the names of the nodes
 */
export const explainDrain = (
  name: string,
  { filename, ...options }: ScenarioOptions & ManifestSolveOptions,
): Promise<DrainResult> => drainIn(manifestsOf({ ...options, filename }), name, options, filename.join(', '));

/** @param where place of the manifests in messages */
async function drainIn(
  before: readonly Manifest[],
  name: string,
  options: ManifestSolveOptions,
  where: string,
): Promise<DrainResult> {
  const { nowMs = Date.now() } = options;
  const after = applyToManifests(before, { change: { verb: 'drain', node: name }, nowMs, where });
  const { effect, after: solved } = await compareManifests({ before, ...after }, { ...options, nowMs });
  return { drain: drainOf(name, effect), notes: [...solved.notes, ...notKnown(solved.unknown)] };
}

/** @throws Error if the operator ignores the node */
function drainOf(name: string, effect: ChangeEffect | undefined): DrainPlan {
  const drain = effect && drainPlanOf(effect);
  if (drain === undefined) throw new Error(`Node "${name}" has no spec.providerID, so the operator ignores it`);
  return drain;
}

/** Reads the prediction of an operator. */
async function drainAt(server: string, name: string): Promise<DrainPlan> {
  const change = encodeURIComponent(`drain ${name}`);
  const { effect } = await askOperator<{ readonly effect: ChangeEffect }>(server, `/debug/what-if?change=${change}`);
  return drainOf(name, effect);
}

/** Reads the prediction of the operator in the cluster. If this is impossible, computes it from the objects of the cluster. */
const drainInCluster = (name: string, flags: Flags): Promise<DrainResult> =>
  reading(flags, 'karpenter-explain', async (client) => {
    const told = await fromOperator(client, flags, (server) => drainAt(server, name));
    if ('answer' in told) return { drain: told.answer, notes: [] };
    const { manifests, notRead } = await clusterManifests(client);
    const { drain, notes } = await drainIn(manifests, name, solveOptionsOf(flags), 'the cluster');
    const missing = notRead.map(({ kind, why, effect }) => `${kind}s cannot be read (${why}): ${effect}`);
    return { drain, notes: [notAsked(told.why), ...missing, ...notes] };
  });

const solveOptionsOf = ({ now, ...flags }: Flags): ManifestSolveOptions => ({
  ...flags,
  ...(now !== undefined && { nowMs: now }),
});

async function predict(name: string, flags: Flags): Promise<DrainResult> {
  const { filename, server } = flags;
  if (filename.length > 0) return explainDrain(name, { ...solveOptionsOf(flags), filename });
  return server === undefined ? drainInCluster(name, flags) : { drain: await drainAt(server, name), notes: [] };
}

const EXAMPLES: readonly Example[] = [
  {
    what: 'a node of the cluster of the kubeconfig; exit code 2 if the drain cannot finish',
    command: 'karpenter explain drain ip-10-0-0-1',
  },
  { what: 'a node, from an operator', command: `karpenter explain drain ip-10-0-0-1 --server ${DEFAULT_SERVER}` },
  { what: 'a node of a file', command: 'karpenter explain drain ip-10-0-0-1 -f now.yaml' },
];

export function explainDrainCommand(): Command {
  const command = new Command('drain')
    .description(
      'Show the obstacles to the drain of a node, the places of its pods, and the cost; exit code 2 if it cannot finish',
    )
    .argument('<name>', 'name of the Node or of its NodeClaim')
    .addOption(clusterServerOption())
    .addOption(operatorNamespaceOption());
  return withExamples(withScenario(withCluster(command)), EXAMPLES)
    .option('--feature-gates <gates>', 'FEATURE_GATES of the operator, for example NodeOverlay=true')
    .addOption(outputOption())
    .action(async (name: string, flags: Flags) => {
      refuseTwoSources(command, flags);
      const { drain, notes } = await predict(name, flags);
      writeNotes(notes);
      await printAs(flags.output, drain, drainText);
      if (!drain.canFinish) process.exitCode = CHANGES_EXIT_CODE;
    });
}

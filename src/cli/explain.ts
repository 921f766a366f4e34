/** Command `karpenter explain`. Shows whether nodes would be disrupted, or the reason why not. */
import { Command } from 'commander';
import { poolNameOf } from '#api/objects';
import {
  healthObstacle,
  type RepairSettings,
  repairsIn,
  surveyHealth,
  type Verdict,
  verdictsOf,
  withRepairs,
} from '#engine/disruption';
import type { StateNode } from '#engine/model';
import { blockersCommand } from './blockers.ts';
import { budgetsCommand } from './budgets.ts';
import { withCluster } from './cluster.ts';
import { withExamples } from './describe.ts';
import { type DisruptionFlags, reviewsOf, sceneOf, sceneOptions } from './disruption.ts';
import { explainDrainCommand } from './explain-drain.ts';
import { explainInstanceTypeCommand } from './explain-instance-type.ts';
import { explainNodeClaimCommand } from './explain-nodeclaim.ts';
import { explainPod } from './explain-pod.ts';
import { explainProvisioningRequestCommand } from './explain-provisioning-request.ts';
import { askLeader, type LeaderFlags } from './operator-or-cluster.ts';
import { nodeNamed } from './render/known.ts';
import { outputOption, printAs } from './render/output.ts';
import { verdictsText, verdictText } from './render/verdicts.ts';
import { evictionPriceOption, notKnown, type TypesFor, typesNoting, withScenario, writeNotes } from './scenario.ts';
import { clusterServerOption, operatorNamespaceOption, refuseTwoSources, sourceOf } from './source.ts';

export interface ExplainFlags extends DisruptionFlags, LeaderFlags {}

/** Verdict in a public format. */
export interface ExplainedVerdict extends Verdict {
  /** Unknown facts that affect the verdict. Undefined if the list is empty. */
  readonly unknown?: readonly string[];
}

/**
 * Returns the verdicts on nodes of manifests.
 *
 * @throws InputError with the document and the field
 */
export async function explainNodes(
  flags: ExplainFlags,
  instanceTypes: TypesFor,
): Promise<{ readonly verdicts: readonly ExplainedVerdict[]; readonly notes: readonly string[] }> {
  const options = sceneOptions(flags, instanceTypes);
  const { notes, unknown, ...scene } = await sceneOf(options);
  const reviews = await reviewsOf(scene, true);
  const { nodes, nowMs } = scene.pass;
  const verdicts = withRepairs(
    verdictsOf(nodes, reviews, nowMs),
    options.featureGates.NodeRepair ? repairsOf(nodes, scene.repairSettingsOf) : new Map(),
  );
  const known = unknown.length === 0 ? verdicts : verdicts.map((verdict) => ({ ...verdict, unknown }));
  return { verdicts: known, notes: [...notes, ...notKnown(unknown)] };
}

/** Returns the repairs of unhealthy nodes, which need the feature gate NodeRepair. Manifests do not show budgets in use. */
function repairsOf(nodes: readonly StateNode[], settingsOf: (pool: string) => RepairSettings) {
  const survey = surveyHealth(
    nodes.flatMap(({ node }) => node ?? []),
    (node) => settingsOf(poolNameOf(node)).rules,
  );
  const claims = new Map(nodes.flatMap(({ node, nodeClaim }) => (node && nodeClaim ? [[node, nodeClaim]] : [])));
  return repairsIn(survey, (node) => {
    const claim = claims.get(node);
    return claim && { obstacle: healthObstacle(node, poolNameOf(claim), survey) };
  });
}

async function verdictsFor(flags: ExplainFlags): Promise<readonly ExplainedVerdict[]> {
  if (flags.filename.length === 0) return askLeader(flags, '/debug/verdicts');
  const { types, notes: ofTypes, unknown: ofSales } = typesNoting(flags);
  const { verdicts, notes } = await explainNodes(flags, types);
  writeNotes([...ofTypes, ...notes, ...notKnown(ofSales)]);
  return ofSales.length === 0
    ? verdicts
    : verdicts.map(({ unknown = [], ...verdict }) => ({ ...verdict, unknown: [...unknown, ...ofSales] }));
}

function explainNode(): Command {
  const command = new Command('node')
    .description('Explain why a node, or each node, would be disrupted or not')
    .argument('[name]', 'name of the Node or of its NodeClaim (default: all nodes)')
    .addOption(clusterServerOption())
    .addOption(operatorNamespaceOption());
  return withExamples(withScenario(withCluster(command)), [
    { what: 'all nodes, from the operator in the cluster of the kubeconfig', command: 'karpenter explain node' },
    { what: 'one node, from a file', command: 'karpenter explain node ip-10-0-0-1 -f now.yaml' },
    { what: 'with higher spot prices', command: 'karpenter explain node -f now.yaml --what-if "spot+30%"' },
  ])
    .addOption(evictionPriceOption())
    .option('--feature-gates <gates>', 'FEATURE_GATES of the operator, for example SpotToSpotConsolidation=true')
    .option('--options <file>', 'JSON file with now, featureGates, preferencePolicy and minValuesPolicy')
    .addOption(outputOption())
    .action(async (name: string | undefined, flags: ExplainFlags & { readonly now?: number }) => {
      refuseTwoSources(command, flags);
      const { now } = flags;
      const verdicts = await verdictsFor({ ...flags, ...(now === undefined ? {} : { nowMs: now }) });
      const chosen = name === undefined ? verdicts : nodeNamed(name, verdicts, sourceOf(flags));
      await printAs(flags.output, chosen, (found) =>
        'code' in found ? verdictText(found, now ?? Date.now()) : verdictsText(found, now ?? Date.now()),
      );
    });
}

export const explainCommand = (): Command =>
  new Command('explain')
    .description(
      'Explain the state of pods, NodeClaims, ProvisioningRequests and nodes, the room of new nodes, and objects that block the disruption of nodes',
    )
    .addCommand(explainPod())
    .addCommand(explainNodeClaimCommand())
    .addCommand(explainProvisioningRequestCommand())
    .addCommand(explainNode())
    .addCommand(explainInstanceTypeCommand())
    .addCommand(blockersCommand())
    .addCommand(explainDrainCommand())
    .addCommand(budgetsCommand());

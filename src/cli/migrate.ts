/**
 * Command `karpenter migrate`. Shows the progress of a migration to this operator, and its plan. Changes nothing in
 * the cluster.
 */
import { Command, Option } from 'commander';
import type { Node } from '../api/kubernetes.ts';
import { messageOf } from '../lib/error-message.ts';
import { type ClusterFlags, reading, withCluster } from './cluster.ts';
import { type Example, withExamples } from './describe.ts';
import { type AccountFlags, accountItems, accountOfFile } from './migrate/account.ts';
import { type Facts, factsOfCluster, factsOfManifests } from './migrate/facts.ts';
import { instanceIdOfNode, originOf } from './migrate/origins.ts';
import { planMarkdown } from './migrate/plan/markdown.ts';
import { planOf } from './migrate/plan/plan.ts';
import { type MigrationPlan, SOURCES, type Source } from './migrate/plan/step.ts';
import { isDone, type Status, statusOf, statusText } from './migrate/status.ts';
import { readManifests } from './objects/read.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { terminalWidth } from './render/wrap.ts';
import { filenameOption, writeNotes } from './scenario.ts';

/** Exit code if items are open or unknown, which is neither a failure nor the end of the migration. */
const LEFT = 2;

interface StatusFlags extends ClusterFlags, AccountFlags {
  readonly filename: readonly string[];
  readonly output: Format;
}

/** Adds options for a live cluster, or for a snapshot with -f. */
const withClusterOrFile = (command: Command): Command =>
  withCluster(command)
    .addOption(filenameOption())
    .addOption(
      new Option('--cluster-name <name>', 'default: that of the installation in the cluster').env('CLUSTER_NAME'),
    );

async function status(flags: StatusFlags, version: string): Promise<Status> {
  if (flags.filename.length > 0) return statusOf(factsOfManifests(readManifests(flags.filename)), accountOfFile());
  return reading(flags, `karpenter-migrate/${version}`, async (client) => {
    const facts = await factsOfCluster(client);
    return statusOf(facts, await accountItems(client, facts, flags));
  });
}

const STATUS_HELP = `
Reads with GETs, and asks AWS with reads and dry runs, as karpenter doctor does. Every finding is ok, to do, blocked (by
something that comes before it) or not known, with the command to type next. What could not be asked is never ok.

Ends with 0 when nothing is left, 2 while something is to do, blocked or not known, 1 on errors.`;

const STATUS_EXAMPLES: readonly Example[] = [
  { what: 'where the cluster of the kubeconfig is', command: 'karpenter migrate status' },
  { what: 'of a snapshot, as far as it shows it', command: 'karpenter migrate status -f now.yaml' },
  {
    what: 'what can be done now',
    command: `karpenter migrate status -o json | jq '.items[] | select(.state == "todo")'`,
  },
];

const statusCommand = (version: string): Command =>
  withExamples(
    withClusterOrFile(
      new Command('status').description(
        'Say where a cluster is on its way from older versions or other autoscalers, and what comes next',
      ),
    ),
    STATUS_EXAMPLES,
  )
    .addOption(
      new Option('--interruption-queue <name>', 'default: that of the installation in the cluster').env(
        'INTERRUPTION_QUEUE',
      ),
    )
    .addOption(outputOption())
    .addHelpText('after', STATUS_HELP)
    .action(async (flags: StatusFlags) => {
      const found = await status(flags, version);
      await printAs(flags.output, found, (each) => statusText(each));
      if (!isDone(found)) process.exitCode = LEFT;
    });

interface PlanFlags extends ClusterFlags, AccountFlags {
  readonly filename: readonly string[];
  readonly from?: Source;
  readonly output: 'markdown' | 'json';
}

/**
 * Returns the names of Auto Scaling groups by instance. Nodes have no label with this name, so without AWS the plan
 * contains placeholders.
 */
async function groupNames(facts: Facts): Promise<ReadonlyMap<string, string>> {
  const nodes = facts.of<Node>('Node').filter((node) => originOf(node).kind === 'auto-scaling-group');
  try {
    const { autoScalingGroups } = await import('../aws/doctor/upgrade.ts');
    return await autoScalingGroups(nodes.flatMap((node) => instanceIdOfNode(node) ?? []));
  } catch (error) {
    writeNotes([`the Auto Scaling groups of ${nodes.length} nodes are not known: ${messageOf(error)}`]);
    return new Map();
  }
}

async function plan(flags: PlanFlags, version: string): Promise<MigrationPlan> {
  const { clusterName, from, filename } = flags;
  if (filename.length > 0)
    return planOf(factsOfManifests(readManifests(filename)), { from, clusterName, groups: new Map() });
  return reading(flags, `karpenter-migrate/${version}`, async (client) => {
    const facts = await factsOfCluster(client);
    return planOf(facts, { from, clusterName, groups: await groupNames(facts) });
  });
}

const PLAN_HELP = `
The names in it are those of the cluster: node groups, Provisioners, NodePools, nodes, namespaces. Nothing is changed.
Without --from it says which way it has guessed, and why.`;

const PLAN_EXAMPLES: readonly Example[] = [
  { what: 'the way of this cluster, by what is found in it', command: 'karpenter migrate plan' },
  { what: 'a runbook to read and to keep', command: 'karpenter migrate plan --from cluster-autoscaler > plan.md' },
  { what: 'of a snapshot, as data', command: 'karpenter migrate plan -f now.yaml -o json' },
];

const planCommand = (version: string): Command =>
  withExamples(
    withClusterOrFile(
      new Command('plan').description(
        'Write the runbook of a migration for this very cluster: steps, what to look at, how to go back',
      ),
    ),
    PLAN_EXAMPLES,
  )
    .addOption(
      new Option('--from <source>', 'where the cluster comes from; default: by what is found').choices(SOURCES),
    )
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['markdown', 'json']).default('markdown'))
    .addHelpText('after', PLAN_HELP)
    .action(async (flags: PlanFlags) => {
      const found = await plan(flags, version);
      const format = flags.output === 'json' ? 'json' : 'table';
      await printAs(format, found, (each) => planMarkdown(each, terminalWidth()));
    });

/** @param version version of the product */
export const migrateCommand = (version: string): Command =>
  new Command('migrate')
    .description('Say where a cluster is on its way to this operator, and what the way is; nothing is changed')
    .addCommand(statusCommand(version))
    .addCommand(planCommand(version));

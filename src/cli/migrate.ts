/**
 * Command `karpenter migrate`. Shows the progress of a migration to this operator, and its plan. Changes nothing in
 * the cluster.
 */
import { Command, Option } from 'commander';
import type { Node } from '#api/objects';
import { messageOf } from '#lib';
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
      new Option('--cluster-name <name>', 'default: from the installation in the cluster').env('CLUSTER_NAME'),
    );

async function status(flags: StatusFlags, version: string): Promise<Status> {
  if (flags.filename.length > 0) return statusOf(factsOfManifests(readManifests(flags.filename)), accountOfFile());
  return reading(flags, `karpenter-migrate/${version}`, async (client) => {
    const facts = await factsOfCluster(client);
    return statusOf(facts, await accountItems(client, facts, flags));
  });
}

const STATUS_HELP = `
Only reads the cluster. AWS is checked with reads and dry runs, as in karpenter doctor. Each finding is ok, to do, blocked
(by an earlier step) or unknown, and has the next command. A check that cannot be made is unknown, never ok.

Exits with 0 if no work is left, with 2 if findings are to do, blocked or unknown, and with 1 on errors.`;

const STATUS_EXAMPLES: readonly Example[] = [
  { what: 'status of the cluster of the kubeconfig', command: 'karpenter migrate status' },
  { what: 'status of a snapshot', command: 'karpenter migrate status -f now.yaml' },
  {
    what: 'findings that can be resolved now',
    command: `karpenter migrate status -o json | jq '.items[] | select(.state == "todo")'`,
  },
];

const statusCommand = (version: string): Command =>
  withExamples(
    withClusterOrFile(
      new Command('status').description(
        'Show the status of a migration from older versions or other autoscalers, and the next step',
      ),
    ),
    STATUS_EXAMPLES,
  )
    .addOption(
      new Option('--interruption-queue <name>', 'default: from the installation in the cluster').env(
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
    const { autoScalingGroups } = await import('#aws/doctor');
    return await autoScalingGroups(nodes.flatMap((node) => instanceIdOfNode(node) ?? []));
  } catch (error) {
    writeNotes([`the Auto Scaling groups of ${nodes.length} nodes are unknown: ${messageOf(error)}`]);
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
The plan contains the names of the cluster's node groups, Provisioners, NodePools, nodes and namespaces. Nothing is changed.
Without --from, the command detects the source and prints the reason.`;

const PLAN_EXAMPLES: readonly Example[] = [
  { what: 'plan for this cluster, with the detected source', command: 'karpenter migrate plan' },
  { what: 'plan as Markdown file', command: 'karpenter migrate plan --from cluster-autoscaler > plan.md' },
  { what: 'plan for a snapshot, as JSON', command: 'karpenter migrate plan -f now.yaml -o json' },
];

const planCommand = (version: string): Command =>
  withExamples(
    withClusterOrFile(
      new Command('plan').description('Write a migration runbook for this cluster, with steps, checks and rollback'),
    ),
    PLAN_EXAMPLES,
  )
    .addOption(new Option('--from <source>', 'source of the migration (default: detected)').choices(SOURCES))
    .addOption(new Option('-o, --output <format>', 'output format').choices(['markdown', 'json']).default('markdown'))
    .addHelpText('after', PLAN_HELP)
    .action(async (flags: PlanFlags) => {
      const found = await plan(flags, version);
      const format = flags.output === 'json' ? 'json' : 'table';
      await printAs(format, found, (each) => planMarkdown(each, terminalWidth()));
    });

/** @param version version of the product */
export const migrateCommand = (version: string): Command =>
  new Command('migrate')
    .description('Show the status and the plan of a migration to this operator; nothing is changed')
    .addCommand(statusCommand(version))
    .addCommand(planCommand(version));

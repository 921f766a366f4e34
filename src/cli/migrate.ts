/** `karpenter migrate`: where a cluster is on its way here, and what the way is. Neither changes anything. */
import { Command, Option } from 'commander';
import { type ClusterFlags, reading, withCluster } from './cluster.ts';
import { type AccountFlags, accountItems, accountOfFile } from './migrate/account.ts';
import { factsOfCluster, factsOfManifests } from './migrate/facts.ts';
import { isDone, type Status, statusOf, statusText } from './migrate/status.ts';
import { readManifests } from './objects/read.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { progressOn } from './render/progress.ts';

/** Something is left to do, or is not known: not a failure, and not the end. */
const LEFT = 2;

interface StatusFlags extends ClusterFlags, AccountFlags {
  readonly filename: readonly string[];
  readonly output: Format;
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

const withSource = (command: Command): Command =>
  withCluster(command)
    .addOption(
      new Option('-f, --filename <path>', 'a snapshot, or manifests, in place of a live cluster; repeatable')
        .argParser(collect)
        .default([], 'none'),
    )
    .addOption(
      new Option('--cluster-name <name>', 'default: that of the installation in the cluster').env('CLUSTER_NAME'),
    );

async function status(flags: StatusFlags, version: string): Promise<Status> {
  if (flags.filename.length > 0) return statusOf(factsOfManifests(readManifests(flags.filename)), accountOfFile());
  const progress = progressOn();
  try {
    return await reading(flags, `karpenter-migrate/${version}`, async (client) => {
      const facts = await factsOfCluster(client, progress);
      progress.at('asking AWS');
      return statusOf(facts, await accountItems(client, facts, flags));
    });
  } finally {
    progress.done();
  }
}

const STATUS_HELP = `
Reads with GETs, and asks AWS with reads and dry runs, as karpenter doctor does. Every finding is ok, to do, blocked (by
something that comes before it) or not known, with the command to type next. What could not be asked is never ok.

Ends with 0 when nothing is left, 2 while something is to do, blocked or not known, 1 on errors.

Examples:
  karpenter migrate status
  karpenter migrate status -f now.yaml         of a snapshot, as far as it shows it
  karpenter migrate status -o json | jq '.items[] | select(.state == "todo")'`;

const statusCommand = (version: string): Command =>
  withSource(
    new Command('status').description(
      'Say where a cluster is on its way from older versions or other autoscalers, and what comes next',
    ),
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

/** `version`: of the product. */
export const migrateCommand = (version: string): Command =>
  new Command('migrate')
    .description('Say where a cluster is on its way to this operator, and what the way is; nothing is changed')
    .addCommand(statusCommand(version));

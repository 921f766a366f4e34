/** Command `karpenter cost`. Shows the current costs of the nodes and their users, or past costs. */
import { Command, Option } from 'commander';
import type { CostReport } from '../engine/cost/report.ts';
import { type HistoryView, historySince } from '../process/history-view.ts';
import { period } from './budgets.ts';
import { reading } from './cluster.ts';
import { type CostHistory, costHistory, type Per } from './cost/history.ts';
import { costManifests, keptHistory } from './cost/live-cluster.ts';
import { type By, type CostNow, costNow, costOfManifests, DIMENSIONS } from './cost/now.ts';
import { type Example, withExamples } from './describe.ts';
import { askOperator, DEFAULT_SERVER } from './operator.ts';
import { costText, historyText } from './render/cost.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import {
  cpuUtilizationOption,
  instanceTypesOption,
  manifestsOf,
  nodeFeeOption,
  nowOption,
  priceBookOption,
  typesNoting,
  writeNotes,
} from './scenario.ts';
import { refuseTwoSources, type SourceFlags, withSource } from './source.ts';

interface Flags extends SourceFlags {
  /** Cluster to read, if either option is set. */
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace: string;
  readonly by: By;
  readonly history?: boolean;
  readonly since: number;
  readonly per?: Per;
  readonly instanceTypes?: string;
  readonly priceBook?: string;
  readonly nodeHourlyFee?: number;
  readonly expectedCpuUtilization?: number;
  readonly now?: number;
  readonly output: Format;
}

const DAY_MS = 86_400_000;
/** Maximum period that is shown by hour. */
const HOURLY_MS = 2 * DAY_MS;

const isCluster = ({ kubeconfig, context }: Flags): boolean => kubeconfig !== undefined || context !== undefined;

/** Returns the current costs. The operator's own figures do not depend on unknown facts. */
async function nowFor(flags: Flags, userAgent: string): Promise<CostNow> {
  const { filename, server, by, nodeHourlyFee, priceBook, now: nowMs = Date.now() } = flags;
  if (filename.length === 0 && !isCluster(flags))
    return costNow(await askOperator<CostReport>(server ?? DEFAULT_SERVER, '/debug/cost'), by);
  const read = isCluster(flags)
    ? await reading(flags, userAgent, costManifests)
    : { manifests: manifestsOf({ filename }), unknown: [] };
  const { types, notes: ofTypes, unknown: ofSales } = typesNoting(flags);
  const { report, notes, unknown } = await costOfManifests(read.manifests, {
    ...{ types, nowMs, nodeHourlyFee, priceBook },
  });
  writeNotes([...ofTypes, ...notes]);
  return costNow(report, by, [...read.unknown, ...unknown, ...ofSales]);
}

async function historyFor(flags: Flags, userAgent: string): Promise<CostHistory> {
  const { server = DEFAULT_SERVER, namespace, now: untilMs = Date.now(), since } = flags;
  const sinceMs = untilMs - since;
  const per = flags.per ?? (since <= HOURLY_MS ? 'hour' : 'day');
  const view = isCluster(flags)
    ? historySince(await reading(flags, userAgent, (client) => keptHistory(client, namespace)), sinceMs)
    : await askOperator<HistoryView>(server, `/debug/history?since=${new Date(sinceMs).toISOString()}`);
  return costHistory(view, { per, sinceMs, untilMs });
}

const EXAMPLES: readonly Example[] = [
  {
    what: 'what each NodePool costs now, by the operator through kubectl port-forward -n kube-system deployment/karpenter 8080',
    command: 'karpenter cost',
  },
  { what: 'which workloads it is spent on', command: 'karpenter cost --by workload' },
  {
    what: 'the cluster of a kubeconfig, without its operator',
    command: 'karpenter cost --by namespace --context staging',
  },
  { what: 'over a dump', command: 'karpenter cost --by zone -f now.yaml' },
  { what: 'what was spent in the last week, day by day', command: 'karpenter cost --history --since 7d' },
  {
    what: 'how much of it is idle, in percent',
    command: `karpenter cost -o json | jq '.total | 100 * .idleUsdPerHour / .usdPerHour'`,
  },
];

const HELP = `
A node costs what its instance, surplus CPU credits, volumes, public address and fee cost, less what commitments cover. It is shared among
its pods by what they request: the price is split over CPU, memory and accelerators as OpenCost does, and of each a pod
pays its part. What nobody requests is IDLE. LIST is the same at AWS's list prices. docs/cost.md has the formula.`;

/** Exits if options contradict each other, because otherwise one of them would be ignored silently. */
function refuse(command: Command, flags: Flags): void {
  refuseTwoSources(command, flags);
  if (isCluster(flags) && (flags.filename.length > 0 || flags.server !== undefined))
    command.error('error: --kubeconfig and --context name a cluster: say neither -f nor --server with them');
  if (!flags.history && (flags.per !== undefined || command.getOptionValueSource('since') === 'cli'))
    command.error('error: --since and --per go with --history');
  if (flags.history && flags.filename.length > 0)
    command.error('error: manifests have no history: ask the operator, or name a cluster with --context');
  if (flags.history && command.getOptionValueSource('by') === 'cli')
    command.error('error: a history knows NodePools alone: --by goes without --history');
}

const withOptions = (command: Command): Command =>
  withSource(command)
    .option('--kubeconfig <file>', 'read the cluster of this kubeconfig, without its operator')
    .option('--context <name>', 'read the cluster of this context of the kubeconfig, without its operator')
    .addOption(new Option('--by <what>', 'what to group by').choices(Object.keys(DIMENSIONS)).default('nodepool'))
    .option('--history', 'say what was spent, in place of what is spent now')
    .addOption(
      new Option('--since <duration>', 'with --history: how far to look back, such as 7d or 36h')
        .argParser(period)
        .default(7 * DAY_MS, '7d'),
    )
    .addOption(
      new Option('--per <step>', 'with --history: a row for each (default: "hour" up to 2d, else "day")').choices([
        'hour',
        'day',
      ]),
    )
    .option('-n, --namespace <name>', 'with --history and --context: where the operator keeps it', 'kube-system')
    .addOption(instanceTypesOption())
    .addOption(priceBookOption())
    .addOption(nodeFeeOption())
    .addOption(cpuUtilizationOption())
    .addOption(nowOption())
    .addOption(outputOption())
    .addHelpText('after', HELP);

/** @param version version of the product */
export function costCommand(version: string): Command {
  const userAgent = `karpenter-cost/${version}`;
  const command = new Command('cost').description(
    'Say what the nodes cost now, by NodePool, zone, namespace or workload, idle and DaemonSets apart; or what was spent',
  );
  return withExamples(withOptions(command), EXAMPLES).action(async (flags: Flags) => {
    refuse(command, flags);
    if (flags.history) await printAs(flags.output, await historyFor(flags, userAgent), historyText);
    else await printAs(flags.output, await nowFor(flags, userAgent), costText);
  });
}

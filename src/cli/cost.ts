/** Command `karpenter cost`. Shows the current costs of the nodes and their users, or past costs. */
import { Command, Option } from 'commander';
import type { CostReport } from '#engine/costs';
import type { HttpKubeReader } from '#kube/connection';
import { type HistoryView, historySince } from '#process/server';
import { periodOption } from './budgets.ts';
import { reading } from './cluster.ts';
import { clusterManifests } from './cluster-manifests.ts';
import { type CostHistory, costHistory, type Per } from './cost/history.ts';
import { type By, type CostNow, costNow, costOfNodes, DIMENSIONS, type PricedNodes, pricedNodes } from './cost/now.ts';
import { type Example, withExamples } from './describe.ts';
import { keptHistory } from './kept-history.ts';
import type { Manifest } from './objects/read.ts';
import { askOperator } from './operator.ts';
import { askLeader, fromOperator, notAsked } from './operator-or-cluster.ts';
import { costText, historyText } from './render/cost.ts';
import { focusCsv, focusHistoryRows, focusRows } from './render/focus.ts';
import { type Format, printAs } from './render/output.ts';
import {
  cpuUtilizationOption,
  filenameOption,
  instanceTypesOption,
  manifestsOf,
  nodeFeeOption,
  notKnown,
  nowOption,
  priceBookOption,
  typesNoting,
  writeNotes,
} from './scenario.ts';
import { READ_KINDS } from './snapshot/kinds.ts';
import { clusterServerOption, operatorNamespaceOption, refuseTwoSources, type SourceFlags } from './source.ts';

interface Flags extends SourceFlags {
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
  readonly output: Format | 'focus';
}

const DAY_MS = 86_400_000;
/** Maximum period that is shown by hour. */
const HOURLY_MS = 2 * DAY_MS;

/** Returns true if the user names the cluster. */
const isCluster = ({ kubeconfig, context }: Flags): boolean => kubeconfig !== undefined || context !== undefined;

/** Returns the current costs. The operator's own figures do not depend on unknown facts. */
async function nowFor(flags: Flags, userAgent: string): Promise<CostNow> {
  const { filename, by, now: nowMs = Date.now() } = flags;
  const readsObjects = filename.length > 0 || (isCluster(flags) && changesPrices(flags));
  const reported = readsObjects ? undefined : await reportOf(flags, userAgent);
  if (reported !== undefined) return costNow(reported, by);
  const found = await nodesFor(flags, userAgent);
  return costNow(costOfNodes(found, nowMs), by, found.unknown);
}

/** Returns true if options replace figures of the operator. */
const changesPrices = ({ instanceTypes, priceBook, nodeHourlyFee, expectedCpuUtilization }: Flags): boolean =>
  [instanceTypes, priceBook, nodeHourlyFee, expectedCpuUtilization].some((value) => value !== undefined);

/** Returns the figures of the operator. Returns undefined with a note if the named cluster has no reachable operator. */
async function reportOf(flags: Flags, userAgent: string): Promise<CostReport | undefined> {
  if (!isCluster(flags)) return askLeader<CostReport>(flags, '/debug/cost');
  const found = await reading(flags, userAgent, (client) =>
    fromOperator(client, flags, (server) => askOperator<CostReport>(server, '/debug/cost')),
  );
  if ('answer' in found) return found.answer;
  writeNotes([notAsked(found.why)]);
  return undefined;
}

/** Reads nodes with their prices from files, or from the cluster of the kubeconfig. */
async function nodesFor(flags: Flags, userAgent: string): Promise<PricedNodes> {
  const { filename, nodeHourlyFee, priceBook, now: nowMs = Date.now() } = flags;
  const read =
    filename.length > 0
      ? { manifests: manifestsOf({ filename }), unknown: [] }
      : await reading(flags, userAgent, costManifests);
  const { types, notes: ofTypes, unknown: ofSales } = typesNoting(flags);
  const found = await pricedNodes(read.manifests, { types, nowMs, nodeHourlyFee, priceBook });
  writeNotes([...ofTypes, ...found.notes]);
  return { ...found, unknown: [...read.unknown, ...found.unknown, ...ofSales] };
}

const historyPath = (sinceMs: number): string => `/debug/history?since=${new Date(sinceMs).toISOString()}`;

/** Reads the history of the period that the flags name. */
async function viewFor(flags: Flags, userAgent: string): Promise<HistoryView> {
  const { namespace, since } = flags;
  const sinceMs = (flags.now ?? Date.now()) - since;
  if (!isCluster(flags)) return askLeader<HistoryView>(flags, historyPath(sinceMs));
  return reading(flags, userAgent, async (client) => {
    const found = await fromOperator(client, flags, (server) => askOperator<HistoryView>(server, historyPath(sinceMs)));
    if ('answer' in found) return found.answer;
    writeNotes([`the operator cannot be reached (${found.why}), so the costs of its last five minutes can be missing`]);
    return historySince(await keptHistory(client, namespace, '--namespace'), sinceMs);
  });
}

async function historyFor(flags: Flags, userAgent: string): Promise<CostHistory> {
  const { now: untilMs = Date.now(), since } = flags;
  const per = flags.per ?? (since <= HOURLY_MS ? 'hour' : 'day');
  return costHistory(await viewFor(flags, userAgent), { per, sinceMs: untilMs - since, untilMs });
}

const EXAMPLES: readonly Example[] = [
  {
    what: 'the current cost of each NodePool, from the operator in the cluster of the kubeconfig',
    command: 'karpenter cost',
  },
  { what: 'the cost of each workload', command: 'karpenter cost --by workload' },
  {
    what: 'another cluster of the kubeconfig',
    command: 'karpenter cost --by namespace --context staging',
  },
  { what: 'the charges of the nodes for a tool that reads FOCUS', command: 'karpenter cost -o focus > nodes.csv' },
  { what: 'over a dump', command: 'karpenter cost --by zone -f now.yaml' },
  { what: 'the cost of each day of the last week', command: 'karpenter cost --history --since 7d' },
  {
    what: 'the cost of each NodePool and hour of the last month, for a tool that reads FOCUS',
    command: 'karpenter cost --history --since 30d -o focus > history.csv',
  },
  {
    what: 'the idle part of the cost, in percent',
    command: `karpenter cost -o json | jq '.total | 100 * .idleUsdPerHour / .usdPerHour'`,
  },
];

const HELP = `
The cost of a node is what AWS bills: its instance, volumes and public IPv4 address, minus commitments. The fee and expected
surplus CPU credits are planning figures and shown apart. The cost is divided among the pods of the node by their requests for CPU, memory and accelerators, with the weights of OpenCost. The part
that no pod requests is IDLE. LIST is the cost at the list prices of AWS. See docs/cost.md for the formula.`;

/** Exits if options contradict each other, because otherwise one of them would be ignored silently. */
function refuse(command: Command, flags: Flags): void {
  refuseTwoSources(command, flags);
  if (isCluster(flags) && (flags.filename.length > 0 || flags.server !== undefined))
    command.error('error: --kubeconfig and --context cannot be combined with -f or --server');
  if (!flags.history && (flags.per !== undefined || command.getOptionValueSource('since') === 'cli'))
    command.error('error: --since and --per need --history');
  if (flags.history && flags.filename.length > 0)
    command.error(
      'error: --history cannot be combined with -f, because manifests have no history; use the operator or --context',
    );
  if (flags.output === 'focus' && !flags.history && flags.server !== undefined)
    command.error('error: -o focus reads the nodes of the cluster or of -f; --server needs --history');
  if (flags.output === 'focus' && flags.per !== undefined)
    command.error('error: -o focus has a row for each hour and cannot be combined with --per');
  if (flags.history && command.getOptionValueSource('by') === 'cli')
    command.error('error: --by cannot be combined with --history, because the history is kept by NodePool only');
}

const withOptions = (command: Command): Command =>
  command
    .addOption(filenameOption())
    .addOption(clusterServerOption())
    .addOption(operatorNamespaceOption())
    .option('--kubeconfig <file>', 'kubeconfig of the cluster (default: the operator in the cluster of KUBECONFIG)')
    .option('--context <name>', 'context of the kubeconfig')
    .addOption(
      new Option('--by <what>', 'property to group the cost by').choices(Object.keys(DIMENSIONS)).default('nodepool'),
    )
    .option('--history', 'show past costs instead of current costs')
    .addOption(periodOption('--since <duration>', 'with --history: period to show, for example 7d or 36h'))
    .addOption(
      new Option('--per <step>', 'with --history: length of a row (default: "hour" up to 2d, else "day")').choices([
        'hour',
        'day',
      ]),
    )
    .option(
      '-n, --namespace <name>',
      'with --history and --context: namespace in which the operator stores the history',
      'kube-system',
    )
    .addOption(instanceTypesOption())
    .addOption(priceBookOption())
    .addOption(nodeFeeOption())
    .addOption(cpuUtilizationOption())
    .addOption(nowOption())
    .addOption(
      new Option(
        '-o, --output <format>',
        'output format; focus: CSV with a row for each charge of a node, or with --history for each NodePool and hour (FOCUS 1.0)',
      )
        .choices(['table', 'json', 'yaml', 'focus'])
        .default('table'),
    )
    .addHelpText('after', HELP);

/** @param version version of the product */
export function costCommand(version: string): Command {
  const userAgent = `karpenter-cost/${version}`;
  const command = new Command('cost').description(
    'Show the current cost of nodes by NodePool, zone, namespace or workload, with idle and DaemonSet costs; or past costs',
  );
  return withExamples(withOptions(command), EXAMPLES).action(async (flags: Flags) => {
    refuse(command, flags);
    const { output } = flags;
    if (output === 'focus' && flags.history)
      process.stdout.write(focusCsv(focusHistoryRows(await viewFor(flags, userAgent))));
    else if (output === 'focus') {
      const { nodes, prices, unknown } = await nodesFor(flags, userAgent);
      writeNotes(notKnown(unknown));
      process.stdout.write(focusCsv(focusRows(nodes, prices, flags.now ?? Date.now())));
    } else if (flags.history) await printAs(output, await historyFor(flags, userAgent), historyText);
    else await printAs(output, await nowFor(flags, userAgent), costText);
  });
}

/** Kinds that determine the costs of nodes and their users. */
const KINDS: ReadonlySet<string> = new Set(['NodePool', 'EC2NodeClass', 'NodeOverlay', 'NodeClaim', 'Node', 'Pod']);

/** @throws Error if the cluster cannot be reached, its nodes cannot be read, or it has objects of older versions */
async function costManifests(
  client: Pick<HttpKubeReader, 'list' | 'raw'>,
): Promise<{ readonly manifests: readonly Manifest[]; readonly unknown: readonly string[] }> {
  const kinds = READ_KINDS.filter(({ versions: [{ kind }] }) => KINDS.has(kind));
  const { manifests, notRead } = await clusterManifests(client, kinds);
  const refused = notRead.filter(({ kind }) => KINDS.has(kind));
  const needed = refused.find(({ kind }) => kind === 'Node' || kind === 'NodePool');
  if (needed !== undefined)
    throw new Error(`${needed.kind}s cannot be read: ${needed.why}; use a kubeconfig with the permission to list them`);
  return { manifests, unknown: refused.map(({ kind, why, effect }) => `${kind}s cannot be read (${why}): ${effect}`) };
}

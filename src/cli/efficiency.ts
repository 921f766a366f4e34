/** Command `karpenter efficiency`. Compares requests with use, and shows the cost with requests that fit. */
import { Command, InvalidArgumentError, Option } from 'commander';
import type { EfficiencyDimension } from '#engine/costs';
import type { HttpKubeReader } from '#kube/connection';
import { messageOf } from '#lib';
import { type UseReport, usesFromMetricsApi } from '#live/view';
import { type ClusterFlags, reading, withCluster } from './cluster.ts';
import { clusterManifests } from './cluster-manifests.ts';
import { pricedNodes } from './cost/now.ts';
import { type Example, withExamples } from './describe.ts';
import { type Efficiency, efficiencyOf } from './efficiency/report.ts';
import { DEFAULT_RANGE, usesFromPrometheus } from './efficiency/use.ts';
import type { Manifest } from './objects/read.ts';
import { efficiencyHtml, efficiencyMarkdown, efficiencyText } from './render/efficiency.ts';
import { focusCsv, focusRows } from './render/focus.ts';
import { printAs } from './render/output.ts';
import {
  cpuUtilizationOption,
  filenameOption,
  instanceTypesOption,
  manifestsOf,
  nodeFeeOption,
  notKnown,
  nowOption,
  priceBookOption,
  type ScenarioOptions,
  typesNoting,
  writeNotes,
} from './scenario.ts';

interface Flags extends Omit<ScenarioOptions, 'whatIf' | 'nowMs'>, ClusterFlags {
  readonly prometheus?: string;
  readonly range: string;
  readonly by?: 'namespace' | 'workload';
  readonly label?: string;
  readonly now?: number;
  readonly output: 'table' | 'json' | 'yaml' | 'markdown' | 'html' | 'focus';
}

interface Read {
  readonly manifests: readonly Manifest[];
  readonly unknown: readonly string[];
  readonly use: UseReport | undefined;
}

/** Reads objects and their use. Focus output needs no use. */
function readAll(flags: Flags, userAgent: string): Promise<Read> {
  const { filename, prometheus, range, output } = flags;
  const needsUse = output !== 'focus';
  const fromPrometheus = async (): Promise<UseReport | undefined> =>
    prometheus === undefined || !needsUse ? undefined : usesFromPrometheus(prometheus, range);
  if (filename.length > 0)
    return fromPrometheus().then((use) => ({ manifests: manifestsOf({ filename }), unknown: [], use }));
  return reading(flags, userAgent, async (client) => {
    const use = (await fromPrometheus()) ?? (needsUse ? await readSample(client) : undefined);
    const { manifests, notRead } = await clusterManifests(client);
    const unknown = notRead.map(({ kind, why, effect }) => `${kind}s cannot be read (${why}): ${effect}`);
    return { manifests, unknown, use };
  });
}

/** @throws Error with both ways to provide the use */
const readSample = (client: Pick<HttpKubeReader, 'raw'>): Promise<UseReport> =>
  usesFromMetricsApi(client).catch((error: unknown) => {
    throw new Error(`${messageOf(error)}, or name a Prometheus with --prometheus URL`, { cause: error });
  });

async function run(flags: Flags, userAgent: string): Promise<void> {
  const { now: nowMs = Date.now(), by, label, output, nodeHourlyFee, priceBook } = flags;
  const { manifests, unknown, use } = await readAll(flags, userAgent);
  const { types, notes, unknown: ofTypes } = typesNoting(flags);
  const priced = await pricedNodes(manifests, { types, nowMs, nodeHourlyFee, priceBook });
  writeNotes([...notes, ...priced.notes]);
  const all = { ...priced, unknown: [...unknown, ...priced.unknown, ...ofTypes] };
  if (use === undefined) {
    writeNotes(notKnown(all.unknown));
    process.stdout.write(focusCsv(focusRows(all.nodes, all.prices, nowMs)));
    return;
  }
  const dimension: EfficiencyDimension = by ?? (label === undefined ? 'workload' : 'label');
  const { filename: _, ...options } = flags;
  const found = await efficiencyOf({
    manifests,
    priced: all,
    use,
    by: dimension,
    label,
    options: { ...options, nowMs },
  });
  await print(found, output === 'focus' ? 'table' : output);
}

async function print(found: Efficiency, output: Exclude<Flags['output'], 'focus'>): Promise<void> {
  if (output === 'markdown') process.stdout.write(efficiencyMarkdown(found));
  else if (output === 'html') process.stdout.write(efficiencyHtml(found));
  else await printAs(output, found, efficiencyText);
}

function range(text: string): string {
  if (!/^[1-9]\d{0,3}[hdw]$/.test(text))
    throw new InvalidArgumentError('Expected a duration of Prometheus, for example 7d or 36h.');
  return text;
}

const EXAMPLES: readonly Example[] = [
  { what: 'the cluster of the kubeconfig, with a sample of metrics-server', command: 'karpenter efficiency' },
  {
    what: 'the last seven days, by team',
    command: 'karpenter efficiency --prometheus http://127.0.0.1:9090 --label team',
  },
  {
    what: 'the same for a mail',
    command: 'karpenter efficiency --prometheus http://127.0.0.1:9090 --by namespace -o html > use.html',
  },
  {
    what: 'the workloads with the highest idle cost',
    command: `karpenter efficiency -o json | jq -r '.groups[:10][] | [.name, .idleUsdPerMonth] | @tsv'`,
  },
];

const HELP = `
P50 and P95 are quantiles of the use. The metrics API has one sample only, which says nothing about peaks: use --prometheus before
you reduce requests. RIGHT is P95 with 15 % more CPU and 25 % more memory, by the pod of the workload with the highest use.
IDLE is the cost of requests beyond P95. The cost after a plan is that of new nodes for all pods, as the operator would pack them.
The command needs the permission to list the objects and pods.metrics.k8s.io of the cluster.`;

/** @param version version of the product */
export function efficiencyCommand(version: string): Command {
  const command = new Command('efficiency').description(
    'Compare the requests of pods with their use, and show the cost of the cluster with requests that fit',
  );
  return withExamples(withCluster(command.addOption(filenameOption())), EXAMPLES)
    .option('--prometheus <url>', 'Prometheus with the metrics of kubelet (default: the metrics API of the cluster)')
    .addOption(
      new Option('--range <duration>', 'with --prometheus: period of the quantiles')
        .argParser(range)
        .default(DEFAULT_RANGE),
    )
    .addOption(
      new Option('--by <what>', 'property to group pods by (default: workload)').choices(['namespace', 'workload']),
    )
    .option('--label <key>', 'group pods by this label, for example team')
    .addOption(instanceTypesOption())
    .addOption(priceBookOption())
    .addOption(nodeFeeOption())
    .addOption(cpuUtilizationOption())
    .addOption(nowOption())
    .addOption(
      new Option(
        '-o, --output <format>',
        'output format; focus: CSV with the charges of the nodes, as karpenter cost -o focus',
      )
        .choices(['table', 'json', 'yaml', 'markdown', 'html', 'focus'])
        .default('table'),
    )
    .addHelpText('after', HELP)
    .action((flags: Flags) => {
      const { filename, prometheus, by, label, output } = flags;
      if (by !== undefined && label !== undefined) command.error('error: --by and --label cannot be combined');
      if (filename.length > 0 && (flags.context !== undefined || command.getOptionValueSource('kubeconfig') === 'cli'))
        command.error('error: -f cannot be combined with --kubeconfig or --context');
      if (filename.length > 0 && prometheus === undefined && output !== 'focus')
        command.error('error: -f needs --prometheus, because manifests have no use of pods');
      return run(flags, `karpenter-efficiency/${version}`);
    });
}

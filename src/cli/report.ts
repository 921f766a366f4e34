/**
 * Command `karpenter report`. Shows the operator's actions in the last days, their savings, and the nodes with the
 * highest idle cost.
 */
import { Command, Option } from 'commander';
import type { CostReport } from '#engine/costs';
import type { Verdict } from '#engine/disruption';
import { defined, nearestName, own } from '#lib';
import type { HistoryView } from '#process/server';
import { periodOption } from './budgets.ts';
import { type Example, withExamples } from './describe.ts';
import { movesCommand } from './moves.ts';
import { wholeFrom } from './number-arguments.ts';
import { askOperator } from './operator.ts';
import { fromLeader, type LeaderFlags } from './operator-or-cluster.ts';
import { printAs } from './render/output.ts';
import { reportHtml, reportMarkdown, reportText } from './render/report.ts';
import { reportOf, type SupportReport } from './render/support-report.ts';
import { PARTS, type ReplayParts } from './replay/play.ts';
import { recordedSavings } from './replay/savings.ts';
import { nowOption, priceBookOption } from './scenario.ts';
import { withLeader } from './source.ts';

interface Flags extends LeaderFlags {
  readonly since: number;
  readonly now?: number;
  readonly weekly?: boolean;
  readonly record?: string;
  readonly lives: number;
  readonly priceBook?: string;
  readonly output?: 'table' | 'markdown' | 'html' | 'json' | 'yaml';
}

async function reportFor(
  { since, now: untilMs = Date.now(), output: _, weekly: __, record, lives, priceBook, ...flags }: Flags,
  parts: ReplayParts,
): Promise<SupportReport> {
  const sinceMs = untilMs - since;
  const [history, cost, verdicts] = await fromLeader(flags, (server) =>
    Promise.all([
      askOperator<HistoryView>(server, `/debug/history?since=${new Date(sinceMs).toISOString()}`),
      askOperator<CostReport>(server, '/debug/cost'),
      askOperator<readonly Verdict[]>(server, '/debug/verdicts'),
    ]),
  );
  const report = reportOf({ history, cost, verdicts, sinceMs, untilMs });
  if (record === undefined) return report;
  return { ...report, savings: await recordedSavings({ record, lives, ...defined({ priceBook }) }, parts) };
}

const EXAMPLES: readonly Example[] = [
  {
    what: 'the last days, from the operator in the cluster of the kubeconfig',
    command: 'karpenter report',
  },
  { what: 'the last month, as Markdown', command: 'karpenter report --since 30d -o markdown > nodes.md' },
  { what: 'the last week for a mail', command: 'karpenter report --weekly -o html > week.html' },
  {
    what: "the last month, with the savings against Karpenter's rules for a recorded workload",
    command: 'karpenter report --since 30d --record month.jsonl.gz',
  },
  {
    what: 'the most idle nodes, with their reason codes',
    command: `karpenter report -o json | jq -r '.wasteful[] | [.node, .idleUsdPerHour, .code] | @tsv'`,
  },
];

const MOST_LIVES = 100;

const HELP = `
The operator stores its last 5,000 decisions across restarts. PROMISED is the predicted saving per hour. PREDICTED and REALISED
are savings in the 30 minutes for which a consolidation is observed. They are unknown if the operator restarted in this time.

--record replays the file of \`karpenter record\` with Karpenter's rules and with the defaults of the operator. Nodes, boot times and
interruptions are simulated, so the costs differ from the bill; the difference between both is the result.`;

function refuseSubcommand(command: Command, name: string): never {
  const known = command.commands.map((each) => each.name());
  const near = nearestName(name, known);
  const remedy = near === undefined ? `(karpenter report --help lists the commands)` : `(Did you mean ${near}?)`;
  return command.error(`error: unknown command '${name}'\n${remedy}`);
}

export const reportCommand = (parts: ReplayParts = PARTS): Command =>
  withExamples(withLeader(new Command('report')), EXAMPLES)
    // options after the subcommand belong to it
    .enablePositionalOptions()
    .addCommand(movesCommand())
    .description('Report decisions, savings, evicted pods and idle nodes of the last days')
    .addOption(periodOption('--since <duration>', 'period of the report, for example 7d or 36h'))
    .addOption(nowOption())
    .addOption(
      new Option('-o, --output <format>', 'output format')
        .choices(['table', 'markdown', 'html', 'json', 'yaml'])
        .default(undefined, '"table", with --weekly "markdown"'),
    )
    .option('--weekly', 'the last seven days for a mail, as Markdown, or with -o html as HTML')
    .option('--record <file>', "file of `karpenter record`: adds the savings against Karpenter's rules")
    .addOption(
      new Option('--lives <number>', 'with --record: number of replays with each set of rules')
        .argParser(wholeFrom(2, MOST_LIVES))
        .default(3),
    )
    .addOption(priceBookOption())
    .addHelpText('after', HELP)
    // a misspelled subcommand is an argument of this command
    .allowExcessArguments()
    .action(async (flags: Flags, command: Command) => {
      const [unknown] = command.args;
      if (unknown !== undefined) refuseSubcommand(command, unknown);
      if (flags.weekly && command.getOptionValueSource('since') === 'cli')
        command.error('error: --weekly cannot be combined with --since');
      const { output = flags.weekly ? 'markdown' : 'table' } = flags;
      const text = { table: reportText, markdown: reportMarkdown, html: reportHtml };
      const format = output === 'markdown' || output === 'html' ? 'table' : output;
      await printAs(format, await reportFor(flags, parts), own(text, output) ?? reportText);
    });

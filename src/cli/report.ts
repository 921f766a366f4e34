/**
 * Command `karpenter report`. Shows the operator's actions in the last days, their savings, and the nodes with the
 * highest idle cost.
 */
import { Command, Option } from 'commander';
import type { CostReport } from '../engine/cost/report.ts';
import type { Verdict } from '../engine/disruption/verdicts.ts';
import type { HistoryView } from '../process/history-view.ts';
import { period } from './budgets.ts';
import { type Example, withExamples } from './describe.ts';
import { askOperator, DEFAULT_SERVER } from './operator.ts';
import { printAs } from './render/output.ts';
import { reportMarkdown, reportText } from './render/report.ts';
import { reportOf, type SupportReport } from './render/support-report.ts';
import { nowOption } from './scenario.ts';

interface Flags {
  readonly server: string;
  readonly since: number;
  readonly now?: number;
  readonly output: 'table' | 'markdown' | 'json' | 'yaml';
}

const DAY_MS = 86_400_000;

async function reportFor({ server, since, now: untilMs = Date.now() }: Flags): Promise<SupportReport> {
  const sinceMs = untilMs - since;
  const [history, cost, verdicts] = await Promise.all([
    askOperator<HistoryView>(server, `/debug/history?since=${new Date(sinceMs).toISOString()}`),
    askOperator<CostReport>(server, '/debug/cost'),
    askOperator<readonly Verdict[]>(server, '/debug/verdicts'),
  ]);
  return reportOf({ history, cost, verdicts, sinceMs, untilMs });
}

const EXAMPLES: readonly Example[] = [
  { what: 'through kubectl port-forward -n kube-system deployment/karpenter 8080', command: 'karpenter report' },
  { what: 'a page about the last month', command: 'karpenter report --since 30d -o markdown > nodes.md' },
  {
    what: 'the most idle nodes, and the codes of why they stay',
    command: `karpenter report -o json | jq -r '.wasteful[] | [.node, .idleUsdPerHour, .code] | @tsv'`,
  },
];

const HELP = `
The operator remembers its last 2,000 decisions, over restarts. PROMISED is what the nodes cost less from then on;
PREDICTED and REALISED are of the 30 minutes for which a consolidation is watched, and are not known of moves whose watch
a restart has ended.`;

export const reportCommand = (): Command =>
  withExamples(new Command('report'), EXAMPLES)
    .description(
      'Say what the operator did in the last days, what it saved, whom it disturbed, and which nodes are idle',
    )
    .addOption(
      new Option('--since <duration>', 'how far to look back, such as 7d or 36h')
        .argParser(period)
        .default(7 * DAY_MS, '7d'),
    )
    .option('--server <url>', 'where the operator serves its metrics', DEFAULT_SERVER)
    .addOption(nowOption())
    .addOption(
      new Option('-o, --output <format>', 'how to print')
        .choices(['table', 'markdown', 'json', 'yaml'])
        .default('table'),
    )
    .addHelpText('after', HELP)
    .action(async (flags: Flags) => {
      const { output } = flags;
      const isMarkdown = output === 'markdown';
      await printAs(isMarkdown ? 'table' : output, await reportFor(flags), isMarkdown ? reportMarkdown : reportText);
    });

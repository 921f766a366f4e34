/** Renders a plan as Markdown for a terminal. Each command is on one line, so that it can be copied. */
import { commandOrText } from '../../render/shell.ts';
import { indented } from '../../render/wrap.ts';
import type { MigrationPlan, MigrationStep, Source } from './step.ts';

/** Width of text in a file or a pipe. */
const WIDTH = 100;

const TITLES: Readonly<Record<Source, string>> = {
  'cluster-autoscaler': 'from cluster-autoscaler',
  'managed-node-groups': 'from managed node groups',
  'karpenter-alpha': 'from Karpenter with alpha APIs',
  karpenter: 'from Karpenter',
};

export function planMarkdown(plan: MigrationPlan, columns: number): string {
  const width = Number.isFinite(columns) ? columns : WIDTH;
  const item = (text: string): string => `- ${commandOrText(text, '  ', width - 2)}`;
  const head = [
    `# ${plan.cluster.replace('$CLUSTER_NAME', 'A cluster')}: ${TITLES[plan.from]} to this operator`,
    ...(plan.guessed === null
      ? []
      : [indented(`Detected source, because ${plan.guessed}. Use \`--from\` for another source.`, '', width)]),
    indented(
      'The plan does not change the cluster. Each step has its commands, checks before the next step, and a rollback. `karpenter migrate status` shows the progress at any time.',
      '',
      width,
    ),
    ['Before the first step:', '', ...plan.open.map(item)].join('\n'),
  ];
  return `${[...head, ...plan.steps.map((step, at) => stepText(step, at + 1, { width, item }))].join('\n\n')}\n`;
}

interface Layout {
  readonly width: number;
  readonly item: (text: string) => string;
}

function stepText(step: MigrationStep, number: number, { width, item }: Layout): string {
  const { title, text, warnings = [], commands, check, back = [] } = step;
  const list = (heading: string, items: readonly string[]): readonly string[] =>
    items.length === 0 ? [] : [[heading, '', ...items.map(item)].join('\n')];
  return [
    `## ${number}. ${title}`,
    indented(text.join(' '), '', width),
    ...warnings.map((warning) => indented(`> **Warning:** ${warning}`, '> ', width)),
    ...(commands.length === 0 ? [] : [['```sh', ...commands, '```'].join('\n')]),
    ...list('Check:', check),
    ...list('Roll back:', back),
  ].join('\n\n');
}

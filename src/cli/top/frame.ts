/** Renders one frame of `karpenter top` as lines of styled text. */
import type { Verdict } from '../../engine/disruption/verdicts.ts';
import type { LiveDecision, LiveNode, LiveState, PendingPod } from '../../live/model.ts';
import { HOURS_PER_MONTH } from '../cost/now.ts';
import { sparkline } from '../render/cost.ts';
import { counted } from '../render/table.ts';
import { type Choices, INITIAL, type NodeGroup, priceOf, rowsOf, shareOf } from './choices.ts';
import { details } from './details.ts';
import { ageText, bar, cell, firstLine, type Line, type Span } from './spans.ts';

export interface FrameInput {
  readonly state: LiveState;
  readonly choices: Choices;
  readonly columns: number;
  /** Height of the terminal. Undefined prints every row. */
  readonly rows?: number | undefined;
  readonly verdictOf: (node: string) => Verdict | undefined;
  readonly problem?: string | undefined;
}

/** Number of cost samples that the header shows, the last 15 minutes. */
const SPARKS = 30;
const MOST_PENDING = 6;
const MOST_DECISIONS = 6;
const DECISION_COLORS: Readonly<Record<LiveDecision['topic'], Span['color']>> = {
  bought: 'green',
  'given-back': 'blue',
  disruption: 'cyan',
  interruption: 'magenta',
  problem: 'red',
  other: undefined,
};

/** Returns a frame with every row, as plain text. */
export function printFrame(input: Omit<FrameInput, 'choices' | 'rows'>): string {
  const lines = frame({ ...input, choices: INITIAL });
  return `${lines
    .map((line) =>
      line
        .map(({ text: part }) => part)
        .join('')
        .trimEnd(),
    )
    .join('\n')}\n`;
}

export function frame(input: FrameInput): readonly Line[] {
  const { choices, state, columns, rows } = input;
  const head = header(input);
  const body = choices.isOpen
    ? details(input)
    : overview(input, rows === undefined ? undefined : rows - head.length - 2);
  const shown = rows === undefined ? body : body.slice(0, rows - head.length - 2);
  const blank = Array.from({ length: Math.max(0, (rows ?? 0) - head.length - shown.length - 2) }, (): Line => []);
  const foot = rows === undefined ? [] : [...blank, selection(choices, state), footer(choices, state)];
  return [...head, ...shown, ...foot].map((line) => cut(line, columns));
}

/** Returns the verdict on the selected node. In a narrow terminal, the rows have no column for it. */
function selection({ selected, isOpen }: Choices, { nodes }: LiveState): Line {
  const { verdict } = (isOpen ? undefined : nodes.find(({ name }) => name === selected)) ?? {};
  return verdict === undefined ? [] : [{ text: `▶ ${firstLine(verdict.text)}`, color: 'cyan' }];
}

function header({ state, columns, problem }: FrameInput): readonly Line[] {
  const { summary, nodes, costs } = state;
  const facts: Span[] = [
    { text: summary.clusterName, bold: true },
    { text: `  ${counted(summary.nodes, 'node')}  ${counted(summary.pods, 'pod')}  ` },
    { text: `${summary.pendingPods} pending`, ...(summary.pendingPods > 0 && { color: 'yellow' as const }) },
    { text: '  ' },
    { text: `${usd(summary.usdPerHour)}/h`, bold: true },
    { text: ` (${usd(summary.usdPerHour * HOURS_PER_MONTH, 0)}/month)`, dim: true },
    ...(summary.unpriced > 0 ? [{ text: `  ${summary.unpriced} without a price`, dim: true }] : []),
  ];
  const usage: Span[] = ['cpu', 'memory'].flatMap((resource): Span[] => [
    { text: `${resource} ` },
    ...bar(totalShare(nodes, resource), 20),
    { text: '   ' },
  ]);
  const trend =
    costs.length > 1 ? [{ text: `$/h ${sparkline(costs.slice(-SPARKS).map(([, usd]) => usd))}`, dim: true }] : [];
  const wide = columns >= 110;
  return [facts, wide ? [...usage, ...trend] : usage, problem === undefined ? [] : [{ text: problem, color: 'red' }]];
}

const usd = (amount: number, digits = 2): string =>
  `$${amount.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;

function totalShare(nodes: readonly LiveNode[], resource: string): number {
  const sum = (at: 0 | 1): number => nodes.reduce((total, { shares }) => total + (shares[resource]?.[at] ?? 0), 0);
  return sum(1) > 0 ? sum(0) / sum(1) : 0;
}

interface Column {
  readonly title: string;
  readonly width: number;
  readonly cell: (node: LiveNode, nowMs: number) => readonly Span[];
  /** Minimum width of the terminal in columns for this column. */
  readonly from: number;
}

const STATE_COLORS: Readonly<Record<LiveNode['state'], Span['color']>> = {
  launching: 'cyan',
  starting: 'yellow',
  ready: 'green',
  leaving: 'magenta',
};

const COLUMNS: readonly Column[] = [
  { title: 'NODE', width: 22, from: 0, cell: ({ name, nodeClaim }) => cell(shortName(name, nodeClaim), 22) },
  { title: 'TYPE', width: 16, from: 60, cell: ({ instanceType }) => cell(instanceType, 16) },
  { title: 'CAPACITY', width: 9, from: 130, cell: ({ capacityType }) => cell(capacityType, 9) },
  { title: 'ZONE', width: 11, from: 150, cell: ({ zone }) => cell(zone, 11) },
  { title: 'CPU', width: 14, from: 0, cell: (node) => bar(shareOf(node, 'cpu'), 8) },
  { title: 'MEMORY', width: 14, from: 80, cell: (node) => bar(shareOf(node, 'memory'), 8) },
  { title: 'PODS', width: 4, from: 70, cell: ({ pods }) => cell(String(pods), 4, true) },
  {
    title: '$/H',
    width: 7,
    from: 0,
    cell: ({ usdPerHour }) => cell(usdPerHour === undefined ? '–' : usdPerHour.toFixed(3), 7, true),
  },
  { title: 'AGE', width: 6, from: 76, cell: ({ createdMs }, nowMs) => cell(ageText(createdMs, nowMs), 6, true) },
  {
    title: 'STATE',
    width: 9,
    from: 0,
    cell: ({ state }) => cell(state, 9).map((span) => ({ ...span, color: STATE_COLORS[state] })) as readonly Span[],
  },
];

/** Returns the node's name up to the first dot, or the NodeClaim's name before the node exists. */
const shortName = (name: string, nodeClaim: string | undefined): string =>
  (name || nodeClaim || '').split('.')[0] ?? '';

const NEXT: ReadonlySet<string> = new Set(['chosen', 'next']);
const MOST_VERDICT_COLUMNS = 20;

function overview(input: FrameInput, height: number | undefined): readonly Line[] {
  const { state, choices, columns } = input;
  const { groups, pending } = rowsOf(state, choices);
  const present = COLUMNS.filter(({ from }) => columns >= from);
  const used = present.reduce((sum, { width }) => sum + width + 2, 2);
  const left = columns - used;
  const heading: Line = [
    {
      text: `  ${present.map(({ title, width }) => title.padEnd(width)).join('  ')}${left >= MOST_VERDICT_COLUMNS ? '  DISRUPTION' : ''}`,
      bold: true,
    },
  ];
  const { lines, selectedAt } = nodeLines(groups, input, present, left);
  const waiting = pendingLines(pending, input);
  const decided = decisionLines(state.decisions);
  const rest = [...waiting, ...decided];
  const space = height === undefined ? lines.length : Math.max(3, height - rest.length - 1);
  return [heading, ...window(lines, selectedAt, space), ...rest];
}

/** Returns the part of the lines around the selected line that fits. */
function window(lines: readonly Line[], selectedAt: number, space: number): readonly Line[] {
  if (lines.length <= space) return lines;
  const from = Math.max(0, Math.min(lines.length - space + 1, selectedAt - Math.floor(space / 2)));
  const shown = lines.slice(from, from + space - 1);
  return [...shown, [{ text: `  … ${lines.length - shown.length} more lines`, dim: true }]];
}

function nodeLines(
  groups: readonly NodeGroup[],
  { state, choices }: FrameInput,
  present: readonly Column[],
  left: number,
): { readonly lines: readonly Line[]; readonly selectedAt: number } {
  const nowMs = state.summary.atMs;
  const lines: Line[] = [];
  let selectedAt = 0;
  for (const { name, nodes } of groups) {
    if (name !== '')
      lines.push([
        { text: name, bold: true, color: 'cyan' },
        { text: `  ${counted(nodes.length, 'node')}  ${usd(priceOf(nodes))}/h  cpu `, dim: true },
        ...bar(totalShare(nodes, 'cpu'), 8),
        { text: '  memory ', dim: true },
        ...bar(totalShare(nodes, 'memory'), 8),
      ]);
    for (const node of nodes) {
      const isSelected = node.name === choices.selected;
      if (isSelected) selectedAt = lines.length;
      lines.push([
        { text: isSelected ? '▶ ' : '  ', ...(isSelected && { color: 'cyan' as const }) },
        ...present.flatMap(({ cell }, at): readonly Span[] => [
          ...(at > 0 ? [{ text: '  ' }] : []),
          ...cell(node, nowMs).map((span) => (isSelected && at === 0 ? { ...span, inverse: true } : span)),
        ]),
        ...verdictSpans(node, left),
      ]);
    }
  }
  if (lines.length === 0)
    lines.push([{ text: choices.filter === '' ? '  no nodes' : '  no node matches the filter', dim: true }]);
  return { lines, selectedAt };
}

function verdictSpans({ verdict }: LiveNode, left: number): readonly Span[] {
  if (verdict === undefined || left < MOST_VERDICT_COLUMNS) return [];
  const isNext = NEXT.has(verdict.code);
  const said = firstLine(verdict.text);
  return [{ text: `  ${said}`, ...(isNext ? { color: 'magenta' as const } : { dim: true }) }];
}

function pendingLines(pending: readonly PendingPod[], { state, choices }: FrameInput): readonly Line[] {
  if (pending.length === 0) return [];
  const { atMs, pendingPods } = state.summary;
  const at = pending.findIndex(({ pod }) => pod === choices.selected);
  const from = Math.max(0, Math.min(at - MOST_PENDING + 1, pending.length - MOST_PENDING));
  return [
    [],
    [{ text: `PENDING PODS (${pendingPods})`, bold: true, color: 'yellow' }],
    ...pending.slice(from, from + MOST_PENDING).map(({ pod, sinceMs, reason }): Line => {
      const isSelected = pod === choices.selected;
      return [
        { text: isSelected ? '▶ ' : '  ', ...(isSelected && { color: 'cyan' as const }) },
        ...cell(pod, 34).map((span) => ({ ...span, ...(isSelected && { inverse: true }) })),
        ...cell(ageText(sinceMs, atMs), 8, true),
        { text: `  ${firstLine(reason ?? 'waits for kube-scheduler or for the first attempt of the operator')}` },
      ];
    }),
  ];
}

function decisionLines(decisions: readonly LiveDecision[]): readonly Line[] {
  if (decisions.length === 0) return [];
  return [
    [],
    [{ text: 'DECISIONS', bold: true }],
    ...decisions
      .slice(-MOST_DECISIONS)
      .reverse()
      .map(({ atMs, topic, object, text: said, usdPerHour, times }): Line => {
        const color = DECISION_COLORS[topic];
        const price =
          usdPerHour === undefined ? '' : `  ${usdPerHour < 0 ? '−' : '+'}$${Math.abs(usdPerHour).toFixed(3)}/h`;
        return [
          { text: `  ${new Date(atMs).toISOString().slice(11, 19)}  `, dim: true },
          { text: object, ...(color && { color }) },
          { text: `  ${firstLine(said)}${times > 1 ? ` (${times} times)` : ''}${price}` },
        ];
      }),
  ];
}

function footer({ sort, group, filter, isTyping, isOpen }: Choices, { summary }: LiveState): Line {
  if (isTyping)
    return [
      { text: `filter: ${filter}█`, color: 'cyan' },
      { text: '  Enter: apply  Esc: clear', dim: true },
    ];
  const time = new Date(summary.atMs).toISOString().slice(11, 19);
  const keys = isOpen ? 'Esc: back' : `↑↓: select  Enter: explain  s: sort (${sort})  g: group (${group})  /: filter`;
  return [
    { text: `${keys}  q: quit  ${time} UTC`, dim: true },
    ...(filter === '' ? [] : [{ text: `  filter: ${filter} (Esc clears)`, color: 'cyan' as const }]),
  ];
}

/** Cuts a line at the width of the terminal. */
function cut(line: Line, columns: number): Line {
  let left = columns;
  return line.flatMap((span) => {
    const part = { ...span, text: span.text.slice(0, Math.max(0, left)) };
    left -= span.text.length;
    return part.text === '' ? [] : [part];
  });
}

/** Renders one frame of `karpenter top` as lines of styled text. */
import type { Verdict } from '#engine/disruption';
import type { LiveDecision, LiveNode, PendingGroup } from '#live/view';
import { LOG_KINDS, type LogLine } from '#observe/history';
import { sparkline } from '../render/cost.ts';
import { counted } from '../render/table.ts';
import { INITIAL, type NodeGroup, rowsOf, type ScreenChoices, screenPrice, type TopState } from './choices.ts';
import { columnsFor, MARK, type ScreenColumns } from './columns.ts';
import { details } from './details.ts';
import { paneRows } from './panes.ts';
import { ageText, bar, cell, firstLine, type StyledLine, type StyledText, shorten } from './spans.ts';

export interface FrameInput {
  readonly state: TopState;
  readonly choices: ScreenChoices;
  readonly columns: number;
  /** Height of the terminal. Undefined prints every row. */
  readonly rows?: number | undefined;
  readonly verdictOf: (node: string) => Verdict | undefined;
  readonly problem?: string | undefined;
}

/** Number of cost samples that the header shows, the last 15 minutes. */
const SPARKS = 30;
/** Minimum number of characters of the cluster's name. */
const SHORTEST_CLUSTER = 8;
const LOG_COLORS: Readonly<Partial<Record<LogLine['kind'], StyledText['color']>>> = {
  launch: 'green',
  move: 'cyan',
  drift: 'cyan',
  interruption: 'magenta',
  failure: 'red',
  refusal: 'red',
  hold: 'red',
};
/** Width of the longest kind. */
const KIND_WIDTH = Math.max(...LOG_KINDS.map((kind) => kind.length));

const DECISION_COLORS: Readonly<Record<LiveDecision['topic'], StyledText['color']>> = {
  bought: 'green',
  'given-back': 'blue',
  disruption: 'cyan',
  interruption: 'magenta',
  problem: 'red',
  other: undefined,
};

/** Returns a frame with every row, as plain text. */
export function printFrame(input: Omit<FrameInput, 'choices' | 'rows'> & { readonly choices?: ScreenChoices }): string {
  const lines = frame({ choices: INITIAL, ...input });
  return `${lines
    .map((line) =>
      line
        .map(({ text: part }) => part)
        .join('')
        .trimEnd(),
    )
    .join('\n')}\n`;
}

export function frame(input: FrameInput): readonly StyledLine[] {
  const { choices, state, columns, rows } = input;
  const head = header(input);
  const body = choices.isOpen
    ? details(input)
    : overview(input, rows === undefined ? undefined : rows - head.length - 2);
  const shown = rows === undefined ? body : body.slice(0, rows - head.length - 2);
  const blank = Array.from({ length: Math.max(0, (rows ?? 0) - head.length - shown.length - 2) }, (): StyledLine => []);
  const foot = rows === undefined ? [] : [...blank, selection(choices, state), footer(choices, input)];
  return [...head, ...shown, ...foot].map((line) => cut(line, columns));
}

/** Returns the verdict on the selected node or the reason of the selected pod. In a narrow terminal, their rows are shorter. */
function selection({ selected, isOpen }: ScreenChoices, { nodes, pending }: TopState): StyledLine {
  if (isOpen) return [];
  const text =
    nodes.find(({ name }) => name === selected)?.verdict?.text ?? pending.find(({ pod }) => pod === selected)?.reason;
  return text === undefined ? [] : [{ text: `▶ ${firstLine(text)}`, color: 'cyan' }];
}

function header({ state, columns, problem }: FrameInput): readonly StyledLine[] {
  const { summary, nodes, costs } = state;
  const amounts: StyledText[] = [
    { text: `  ${counted(summary.nodes, 'node')}  ${counted(summary.pods, 'pod')}  ` },
    { text: `${summary.pendingPods} pending`, ...(summary.pendingPods > 0 && { color: 'yellow' as const }) },
    { text: '  ' },
    { text: `${usd(summary.usdPerHour)}/h`, bold: true },
    { text: ` (${usd(summary.usdPerMonth, 0)}/month)`, dim: true },
    ...(summary.unpriced > 0 ? [{ text: `  ${summary.unpriced} without a price`, dim: true }] : []),
  ];
  const room = columns - amounts.reduce((sum, { text }) => sum + text.length, 0);
  const name = shorten(summary.clusterName, Math.max(SHORTEST_CLUSTER, room));
  const facts: StyledText[] = [{ text: name, bold: true }, ...amounts];
  const { used } = summary;
  const usage: StyledText[] = (['cpu', 'memory'] as const).flatMap((resource): StyledText[] => [
    { text: `${resource} ` },
    ...bar(totalShare(nodes, resource), 20),
    ...(used === undefined ? [] : [{ text: `, ${Math.round(100 * used[resource])} % used`, dim: true }]),
    { text: '   ' },
  ]);
  const trend =
    costs.length > 1 ? [{ text: `$/h ${sparkline(costs.slice(-SPARKS).map(([, usd]) => usd))}`, dim: true }] : [];
  const wide = columns >= 110;
  const notes: StyledText[] = [
    ...[summary.paused, summary.observed, summary.rollout].flatMap((text) =>
      text === undefined ? [] : [{ text: `${text}  `, color: 'yellow' as const }],
    ),
    ...(problem === undefined ? [] : [{ text: problem, color: 'red' as const }]),
  ];
  return [facts, wide ? [...usage, ...trend] : usage, notes];
}

const usd = (amount: number, digits = 2): string =>
  `$${amount.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;

function totalShare(nodes: readonly LiveNode[], resource: string): number {
  const sum = (at: 0 | 1): number => nodes.reduce((total, { shares }) => total + (shares[resource]?.[at] ?? 0), 0);
  return sum(1) > 0 ? sum(0) / sum(1) : 0;
}

function overview(input: FrameInput, height: number | undefined): readonly StyledLine[] {
  const { state, choices, columns } = input;
  const { groups, pending } = rowsOf(state, choices);
  const { labels } = choices;
  const nowMs = state.summary.atMs;
  const chosen = columnsFor(
    groups.flatMap(({ nodes }) => nodes),
    { columns, labels, nowMs },
  );
  const titles = chosen.shown.map(({ title, width, isRight }) =>
    isRight ? title.padStart(width) : title.padEnd(width),
  );
  const { lines, selectedAt } = nodeLines(groups, choices, chosen);
  const wanted = { nodes: lines.length, pending: pending.length, decisions: (state.log ?? state.decisions).length };
  const rows = paneRows(wanted, height === undefined ? undefined : height - 1);
  return [
    [{ text: `${' '.repeat(MARK)}${titles.join(chosen.gap)}`, bold: true }],
    ...window(lines, selectedAt, rows.nodes),
    ...pendingLines(pending, input, rows.pending),
    ...(state.log === undefined ? decisionLines(state.decisions, rows.decisions) : logLines(state.log, rows.decisions)),
  ];
}

/** Returns the part of the lines around the selected line that fits. */
function window(lines: readonly StyledLine[], selectedAt: number, space: number): readonly StyledLine[] {
  if (lines.length <= space) return lines;
  const from = Math.max(0, Math.min(lines.length - space + 1, selectedAt - Math.floor(space / 2)));
  const shown = lines.slice(from, from + space - 1);
  const below = lines.length - shown.length - from;
  const hidden = [...(from > 0 ? [`${from} above`] : []), ...(below > 0 ? [`${below} below`] : [])].join(', ');
  return [...shown, [{ text: `  … more lines: ${hidden}`, dim: true }]];
}

function nodeLines(
  groups: readonly NodeGroup[],
  choices: ScreenChoices,
  { shown, gap }: ScreenColumns,
): { readonly lines: readonly StyledLine[]; readonly selectedAt: number } {
  const lines: StyledLine[] = [];
  let selectedAt = 0;
  for (const { name, nodes } of groups) {
    if (name !== '')
      lines.push([
        { text: name, bold: true, color: 'cyan' },
        { text: `  ${counted(nodes.length, 'node')}  ${usd(screenPrice(nodes))}/h  cpu `, dim: true },
        ...bar(totalShare(nodes, 'cpu'), 8),
        { text: '  memory ', dim: true },
        ...bar(totalShare(nodes, 'memory'), 8),
      ]);
    for (const node of nodes) {
      const isSelected = node.name === choices.selected;
      if (isSelected) selectedAt = lines.length;
      lines.push([
        { text: isSelected ? '▶ ' : ' '.repeat(MARK), ...(isSelected && { color: 'cyan' as const }) },
        ...shown.flatMap(({ spans }, at): readonly StyledText[] => [
          ...(at > 0 ? [{ text: gap }] : []),
          ...spans(node).map((span) => (isSelected && at === 0 ? { ...span, inverse: true } : span)),
        ]),
      ]);
    }
  }
  if (lines.length === 0)
    lines.push([{ text: choices.filter === '' ? '  no nodes' : '  no node matches the filter', dim: true }]);
  return { lines, selectedAt };
}

function pendingLines(
  pending: readonly PendingGroup[],
  { state, choices, columns }: FrameInput,
  rows: number,
): readonly StyledLine[] {
  if (rows === 0) return [];
  const { atMs, pendingPods } = state.summary;
  const at = pending.findIndex(({ pod }) => pod === choices.selected);
  const from = Math.max(0, Math.min(at - rows + 1, pending.length - rows));
  // leaves most of a narrow terminal to the reason
  const width = Math.min(34, Math.floor(columns * 0.3), Math.max(...pending.map(({ pod }) => pod.length)));
  return [
    [],
    [{ text: `PENDING PODS (${pendingPods})`, bold: true, color: 'yellow' }],
    ...pending.slice(from, from + rows).map(({ pod, sinceMs, reason, pods }): StyledLine => {
      const isSelected = pod === choices.selected;
      const count = pods === 1 ? '' : `${counted(pods, 'pod')}: `;
      return [
        { text: isSelected ? '▶ ' : '  ', ...(isSelected && { color: 'cyan' as const }) },
        ...cell(pod, width).map((span) => ({ ...span, ...(isSelected && { inverse: true }) })),
        ...cell(ageText(sinceMs, atMs), 6, true),
        {
          text: `  ${count}${firstLine(reason ?? 'waits for kube-scheduler or for the first attempt of the operator')}`,
        },
      ];
    }),
  ];
}

/** Shows the log of the operator, latest first. */
function logLines(log: readonly LogLine[], rows: number): readonly StyledLine[] {
  if (rows === 0) return [];
  return [
    [],
    [{ text: 'LOG', bold: true }],
    ...log
      .slice(-rows)
      .reverse()
      .map(({ at, kind, text, before, after }): StyledLine => {
        const color = LOG_COLORS[kind];
        const nodes = before && after ? `${before.nodes} → ${after.nodes} nodes: ` : '';
        return [
          { text: `  ${at.slice(11, 19)}  `, dim: true },
          { text: kind.padEnd(KIND_WIDTH), ...(color && { color }) },
          { text: `  ${nodes}${firstLine(text)}` },
        ];
      }),
  ];
}

/** Shows decisions in the events of the operator, if its log cannot be read. */
function decisionLines(decisions: readonly LiveDecision[], rows: number): readonly StyledLine[] {
  if (rows === 0) return [];
  return [
    [],
    [{ text: 'DECISIONS', bold: true }],
    ...decisions
      .slice(-rows)
      .reverse()
      .map(({ atMs, topic, object, text: said, usdPerHour, times }): StyledLine => {
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

/** Width of the terminal from which the last line lists all keys. */
const LONG_KEYS = 120;

function footer(
  { sort, isReversed, group, filter, isTyping, isOpen }: ScreenChoices,
  { state: { summary }, columns }: FrameInput,
): StyledLine {
  if (isTyping)
    return [
      { text: `filter: ${filter}█`, color: 'cyan' },
      { text: '  Enter: apply  Esc: clear', dim: true },
    ];
  const time = new Date(summary.atMs).toISOString().slice(11, 19);
  const order = `${sort}${isReversed ? ', reversed' : ''}`;
  const choosing = `s: sort (${order})  r: reverse  g: group (${group})  /: filter`;
  const keys = isOpen ? 'Esc: back' : columns < LONG_KEYS ? choosing : `↑↓: select  Enter: explain  ${choosing}`;
  return [
    { text: `${keys}  q: quit${columns < LONG_KEYS ? '' : `  ${time} UTC`}`, dim: true },
    ...(filter === '' ? [] : [{ text: `  filter: ${filter} (Esc clears)`, color: 'cyan' as const }]),
  ];
}

/** Cuts a line at the width of the terminal, with an ellipsis as the last character. */
function cut(line: StyledLine, columns: number): StyledLine {
  const { text: end = '' } = line.at(-1) ?? {};
  const blanks = end.length - end.trimEnd().length;
  const isLonger = line.reduce((sum, { text }) => sum + text.length, -blanks) > columns;
  let left = isLonger ? columns - 1 : columns;
  const shown = line.flatMap((span) => {
    const part = { ...span, text: span.text.slice(0, Math.max(0, left)) };
    left -= span.text.length;
    return part.text === '' ? [] : [part];
  });
  return isLonger ? [...shown, { ...shown.at(-1), text: '…' }] : shown;
}

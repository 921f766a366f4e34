/** Columns of the nodes in `karpenter top`: the most important ones that fit into the terminal, as wide as their content. */
import { own } from '#lib';
import type { LiveNode } from '#live/view';
import { resourceShare, type TopNode } from './choices.ts';
import { ageText, bar, cell, firstLine, type StyledText } from './spans.ts';

export interface ScreenColumn {
  readonly title: string;
  readonly width: number;
  readonly isRight: boolean;
  readonly spans: (node: TopNode) => readonly StyledText[];
}

export interface ScreenColumns {
  readonly shown: readonly ScreenColumn[];
  /** Blanks between columns. */
  readonly gap: string;
}

interface Field {
  readonly id: string;
  readonly title: string;
  readonly text: (node: TopNode) => string;
  /** Maximum width of the column, in characters. */
  readonly widest: number;
  readonly isRight?: boolean;
  readonly style?: (node: TopNode) => Partial<StyledText>;
}

const STATE_COLORS: Readonly<Record<LiveNode['state'], StyledText['color']>> = {
  launching: 'cyan',
  starting: 'yellow',
  ready: 'green',
  leaving: 'magenta',
};
const NEXT: ReadonlySet<string> = new Set(['chosen', 'next']);

/** Returns the node's name up to the first dot, or the NodeClaim's name before the node exists. */
const shortName = ({ name, nodeClaim }: LiveNode): string => (name || nodeClaim || '').split('.')[0] ?? '';

const percent = (node: LiveNode, resource: string): string => `${Math.round(100 * resourceShare(node, resource))} %`;
/** Returns the used parts of CPU and memory, or an empty text if they are unknown. */
const usedText = ({ used }: TopNode): string =>
  used === undefined ? '' : `${Math.round(100 * used.cpu)} / ${Math.round(100 * used.memory)} %`;
const styleOfState = ({ state }: TopNode): Partial<StyledText> => {
  const color = STATE_COLORS[state];
  return color === undefined ? {} : { color };
};
const styleOfVerdict = ({ verdict }: TopNode): Partial<StyledText> =>
  NEXT.has(verdict?.code ?? '') ? { color: 'magenta' } : { dim: true };

function fieldsAt(nowMs: number, labels: readonly string[]): readonly Field[] {
  return [
    { id: 'node', title: 'NODE', text: shortName, widest: 40 },
    { id: 'type', title: 'TYPE', text: ({ instanceType }) => instanceType, widest: 20 },
    { id: 'capacity', title: 'CAPACITY', text: ({ capacityType }) => capacityType, widest: 9 },
    { id: 'zone', title: 'ZONE', text: ({ zone }) => zone, widest: 16 },
    ...labels.map((key): Field => {
      const title = key.slice(key.lastIndexOf('/') + 1).toUpperCase();
      return { id: `label ${key}`, title, text: ({ labels: all }) => own(all, key) ?? '', widest: 30 };
    }),
    { id: 'cpu', title: 'CPU', text: (node) => percent(node, 'cpu'), widest: 5, isRight: true },
    { id: 'memory', title: 'MEM', text: (node) => percent(node, 'memory'), widest: 5, isRight: true },
    { id: 'used', title: 'USED', text: usedText, widest: 13, isRight: true },
    { id: 'pods', title: 'PODS', text: ({ pods }) => String(pods), widest: 5, isRight: true },
    { id: 'price', title: '$/H', text: ({ usdPerHour }) => usdPerHour?.toFixed(3) ?? '–', widest: 8, isRight: true },
    { id: 'age', title: 'AGE', text: ({ createdMs }) => ageText(createdMs, nowMs), widest: 6, isRight: true },
    { id: 'state', title: 'STATE', text: ({ state }) => state, widest: 9, style: styleOfState },
    {
      id: 'verdict',
      title: 'DISRUPTION',
      text: ({ verdict }) => verdict?.code ?? '',
      widest: 24,
      style: styleOfVerdict,
    },
  ];
}

/** Stands for state and verdict where both do not fit: the verdict of a ready node, the state of each other node. */
const SHORT_STATE: Field = {
  id: 'state',
  title: 'STATE',
  text: ({ state, verdict }) => (state === 'ready' ? (verdict?.code ?? state) : state),
  widest: 20,
  style: (node) => (node.state === 'ready' && node.verdict ? styleOfVerdict(node) : styleOfState(node)),
};

const ESSENTIAL: readonly string[] = ['node', 'type', 'capacity', 'cpu', 'memory', 'price', 'state'];
/** Further columns, the most important first. */
const OPTIONAL: readonly string[] = ['age', 'pods', 'verdict', 'zone'];
const BAR = 8;
const BAR_WIDTH = BAR + ' 100 %'.length;
/** Minimum width for the sentence of a verdict instead of its code. */
const SENTENCE = 40;
/** Width of the terminal in columns from which columns are two blanks apart. */
const WIDE = 100;
/** Characters before the first column, for the mark of the selected row. */
export const MARK = 2;
/** Minimum widths of the columns that are cut, in the order of the cuts. */
const SHORTEST: Readonly<Record<string, number>> = { state: 12, node: 8 };
const BARS: ReadonlySet<string> = new Set(['cpu', 'memory']);

/** Chooses the columns for the nodes. Label columns always have a place. */
export function columnsFor(
  nodes: readonly TopNode[],
  {
    columns: terminal,
    labels,
    nowMs,
  }: { readonly columns: number; readonly labels: readonly string[]; readonly nowMs: number },
): ScreenColumns {
  const gap = terminal < WIDE ? ' ' : '  ';
  const all = fieldsAt(nowMs, labels).map((field) => columnOf(field, nodes));
  const short = columnOf(SHORT_STATE, nodes);
  const asked = labels.map((key) => `label ${key}`);
  const pick = (ids: readonly string[]): readonly Sized[] =>
    all
      .filter(({ id }) => ids.includes(id))
      .map((column) => (column.id === 'state' && !ids.includes('verdict') ? short : column));
  const room = (shown: readonly Sized[]): number =>
    terminal - MARK - shown.reduce((sum, { width }) => sum + width + gap.length, -gap.length);

  let ids = [...ESSENTIAL, ...asked];
  const optional = nodes.some(({ used }) => used !== undefined) ? ['used', ...OPTIONAL] : OPTIONAL;
  for (const id of optional) if (room(pick([...ids, id])) >= 0) ids = [...ids, id];
  let shown = pick(ids);
  // names with the same beginning look equal if they are cut, so the state is cut first
  for (const [id, least] of Object.entries(SHORTEST)) {
    const missing = Math.max(0, -room(shown));
    shown = shown.map((column) =>
      column.id === id ? { ...column, width: Math.max(Math.min(least, column.width), column.width - missing) } : column,
    );
  }
  const wider = shown.map((column) => (BARS.has(column.id) ? barOf(column) : column));
  if (room(wider) >= 0) shown = wider;
  const left = room(shown);
  const last = shown.at(-1);
  if (last?.id === 'verdict' && last.width + left >= SENTENCE)
    shown = [
      ...shown.slice(0, -1),
      { ...last, width: last.width + left, text: ({ verdict }) => firstLine(verdict?.text ?? '') },
    ];
  return { shown: shown.map(toColumn), gap };
}

interface Sized extends Field {
  readonly width: number;
  readonly isBar?: true;
}

const columnOf = (field: Field, nodes: readonly TopNode[]): Sized => ({
  ...field,
  width: Math.min(
    Math.max(field.widest, field.title.length),
    nodes.reduce((most, node) => Math.max(most, field.text(node).length), field.title.length),
  ),
});

const barOf = (column: Sized): Sized => ({ ...column, width: BAR_WIDTH, isRight: false, isBar: true });

const toColumn = ({ id, title, text, width, isRight = false, style, isBar }: Sized): ScreenColumn => ({
  title: id === 'memory' && isBar ? 'MEMORY' : title,
  width,
  isRight,
  spans: (node) =>
    isBar
      ? bar(resourceShare(node, id), BAR)
      : cell(text(node), width, isRight).map((span) => ({ ...span, ...style?.(node) })),
});

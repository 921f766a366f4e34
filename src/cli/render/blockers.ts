/** Renders blockers of nodes as text. */
import type { Blocker, NodeBlockers } from '../../engine/blockers/blocker.ts';
import { counted, inShort, table, usdPerHour } from './table.ts';
import { indented, terminalWidth } from './wrap.ts';

const HEADINGS = ['CODE', 'IN THE WAY', 'PODS', 'SINCE', 'UNTIL'];

const usd = (amount: number): string => `$${amount.toFixed(4)}`;

export function blockersText(nodes: readonly NodeBlockers[], { all }: { readonly all: boolean }): string {
  const waiting = nodes.filter(({ waitsFor }) => waitsFor !== 'nothing');
  const shown = all ? nodes : waiting;
  const hidden = nodes.length - shown.length;
  const rest =
    hidden === 0
      ? ''
      : `${counted(hidden, 'other node')} cannot be disrupted, but ${hidden === 1 ? 'is' : 'are'} not being drained, drifted or consolidatable; use --all to see the reasons`;
  return `${[...shown.map(nodeText), totals(waiting), rest].filter((text) => text !== '').join('\n\n')}\n`;
}

/** Sums up the waiting nodes: the cost of each further hour, and the cost that is already paid. */
function totals(waiting: readonly NodeBlockers[]): string {
  if (waiting.length === 0) return 'no node that is being drained, drifted or consolidatable is blocked';
  const perHour = waiting.reduce((sum, node) => sum + (node.usdPerHour ?? 0), 0);
  const soFar = waiting.reduce((sum, node) => sum + (node.usdSoFar ?? 0), 0);
  return `${counted(waiting.length, 'node')} wait${waiting.length === 1 ? 's' : ''}: ${usdPerHour(perHour)}, ${usd(soFar)} so far`;
}

const WAITS: Readonly<Record<NodeBlockers['waitsFor'], string>> = {
  drain: 'is being drained',
  drift: 'is drifted and waits for its replacement',
  consolidation: 'can be consolidated',
  nothing: 'cannot be disrupted',
};

function nodeText(found: NodeBlockers): string {
  const { node, nodePool, waitsFor, since, endsAt, terminationGracePeriod } = found;
  const pool = nodePool === undefined ? '' : ` of NodePool ${nodePool}`;
  const begun = since === undefined ? '' : waitsFor === 'nothing' ? `, first reported at ${since}` : ` since ${since}`;
  const cost = costText(found);
  const lines = [
    `Node ${node}${pool} ${WAITS[waitsFor]}${begun}${cost === '' ? '' : `, ${cost}`}`,
    ...endText(waitsFor, endsAt, terminationGracePeriod),
  ].map((line) => indented(line, '  ', terminalWidth()));
  return [...lines, withoutEmptyColumns(found.blockers.map(row))].join('\n');
}

/** Omits empty columns, because they would make the other columns narrower in a narrow terminal. */
function withoutEmptyColumns(rows: readonly (readonly string[])[]): string {
  const isUsed = (_: string, column: number): boolean => rows.some((cells) => cells[column] !== '');
  return table(
    HEADINGS.filter(isUsed),
    rows.map((cells) => cells.filter(isUsed)),
  );
}

function costText({ usdPerHour: perHour, usdSoFar }: NodeBlockers): string {
  if (perHour === undefined) return '';
  return usdSoFar === undefined ? usdPerHour(perHour) : `${usdPerHour(perHour)}, ${usd(usdSoFar)} so far`;
}

function endText(
  waitsFor: NodeBlockers['waitsFor'],
  endsAt: string | undefined,
  grace: string | undefined,
): readonly string[] {
  if (waitsFor !== 'drain')
    return grace === undefined ? [] : [`once the drain starts, terminationGracePeriod limits it to ${grace}`];
  return [
    endsAt === undefined
      ? 'the drain waits without limit, because the NodeClaim has no terminationGracePeriod'
      : `terminationGracePeriod ends the drain at ${endsAt}`,
  ];
}

const row = ({ code, text, pods = [], since = '', until = '' }: Blocker): readonly string[] => [
  code,
  text,
  inShort(pods),
  since,
  until,
];

/**
 * View with the decisions of the operator, latest first: the action, the reason, and the nodes before and after.
 * @import { ShownLogLine } from '../responses.ts'
 */
import { el, link } from './dom.js';
import { counted, usdText } from './format.js';
import { ask, cut, table } from './parts.js';

/** Hours and labels of the choices. @type {readonly (readonly [hours: number, label: string])[]} */
const SPANS = [
  [1, '1 h'],
  [6, '6 h'],
  [24, '24 h'],
  [168, '7 d'],
];
const HOUR_MS = 3_600_000;

/** @param {string} given number of hours @param {number} nowMs */
export async function logView(given, nowMs) {
  const wanted = Number(given);
  const hours = SPANS.some(([each]) => each === wanted) ? wanted : 6;
  const { lines, more, isDisabled } = await ask('log', { hours: String(hours) });
  if (isDisabled) return [el('p', { class: 'empty' }, 'The log is disabled, because COST_HISTORY is false.')];
  const choices = SPANS.map(([each, label]) =>
    el('a', { href: `#/log/${each}`, 'aria-current': each === hours ? 'true' : false }, label),
  );
  const isDay = hours * HOUR_MS > 24 * HOUR_MS;
  const rows = lines.map((line) => [
    el('time', { datetime: line.at }, timeText(line.at, isDay || nowMs - Date.parse(line.at) > 12 * HOUR_MS)),
    el('span', { class: `kind-${line.kind}` }, line.kind),
    change(line, ({ nodes }) => nodes.toLocaleString('en')),
    change(line, ({ usdPerHour }) => usdText(usdPerHour)),
    cut(line.text, ...sentence(line)),
  ]);
  return [
    el('p', { class: 'choices' }, 'Last ', ...choices.flatMap((choice) => [choice, ' '])),
    table('Decisions of the operator', ['Time', 'Kind', 'Nodes', 'USD per hour', 'Decision and reason'], rows, {
      cards: true,
      name: 'log',
    }) ?? el('p', { class: 'empty' }, 'No decisions in this time.'),
    ...(more > 0 ? [el('p', { class: 'soft' }, `and ${counted(more, 'earlier decision')}; see karpenter log`)] : []),
  ];
}

/** @param {string} at @param {boolean} hasDate */
const timeText = (at, hasDate) =>
  new Date(at).toLocaleString('en-GB', {
    ...(hasDate && /** @type {const} */ ({ month: 'short', day: 'numeric' })),
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });

/**
 * Shows an amount before and after a decision, or only once if it is the same. Returns undefined if it is unknown.
 * @param {ShownLogLine} line @param {(fleet: NonNullable<ShownLogLine['before']>) => string} text
 */
function change({ before, after }, text) {
  if (before === undefined || after === undefined) return undefined;
  const [from, to] = [text(before), text(after)];
  return el('span', { class: 'nowrap' }, from === to ? to : `${from} → ${to}`);
}

/** Returns the text, in which the first name of a node or NodeClaim is a link. @param {ShownLogLine} line */
function sentence({ text, nodes, nodeClaims }) {
  const name = [...nodes, ...nodeClaims].find((each) => text.includes(each));
  if (name === undefined) return [text];
  const at = text.indexOf(name);
  return [text.slice(0, at), link('node', name), text.slice(at + name.length)];
}

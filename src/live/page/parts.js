/**
 * Parts that several views use.
 * @import { LiveDecision } from '../model.ts'
 * @import { Responses, ShownCondition } from '../responses.ts'
 * @import { Child } from './dom.js'
 */
import { el } from './dom.js';
import { spanText } from './format.js';
import { line } from './panels.js';

/**
 * Loads JSON from the operator.
 * @template {keyof Responses} Path
 * @param {Path} path @param {Readonly<Record<string, string>>} parameters
 * @returns {Promise<Responses[Path]>}
 * @throws Error with the response if it has an error status
 */
export const ask = async (path, parameters) => {
  const answer = await fetch(`/api/${path}?${new URLSearchParams(parameters)}`);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
};

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** A list of names with values. Empty values are left out. @param {readonly (readonly [string, Child])[]} pairs */
export const facts = (pairs) =>
  el(
    'dl',
    {},
    ...pairs
      .filter(([, value]) => value !== '' && value !== undefined)
      .flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]),
  );

/**
 * Content of a cell that is cut if it is too long. A click and the focus of a link within show all of it.
 * @param {string} text @param {...Child} children
 */
export const cut = (text, ...children) =>
  el('div', { class: 'cut', title: text, tabindex: '-1' }, ...(children.length > 0 ? children : [text]));

/**
 * With `cards`, each row has one line, and is a card on a narrow page. The roles are explicit, because a card is no table.
 * @param {string} title @param {readonly string[]} headings @param {readonly (readonly Child[])[]} lines
 * @param {{ readonly cards?: boolean, readonly name?: string }} [options] the name is a class for the style sheet
 * @returns {HTMLElement | undefined} undefined if there are no lines
 */
export function table(title, headings, lines, { cards = false, name } = {}) {
  if (lines.length === 0) return undefined;
  /** @param {Child} content @param {number} at */
  const cell = (content, at) => el('td', { role: 'cell', 'data-label': headings[at] }, content);
  const head = el(
    'thead',
    { role: 'rowgroup' },
    el('tr', { role: 'row' }, ...headings.map((text) => el('th', { scope: 'col', role: 'columnheader' }, text))),
  );
  const body = el(
    'tbody',
    { role: 'rowgroup' },
    ...lines.map((cells) => el('tr', { role: 'row' }, ...cells.map(cell))),
  );
  const content = el('table', { role: 'table', 'aria-label': title }, head, body);
  if (cards) return el('div', { class: `cards ${name ?? ''}`.trim() }, content);
  const scroll = { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': title };
  return el('div', scroll, el('h3', {}, title), content);
}

/** @param {string} title @param {readonly string[]} lines */
export const more = (title, lines) =>
  lines.length === 0
    ? undefined
    : el('details', {}, el('summary', {}, `${title} (${lines.length})`), el('pre', {}, lines.join('\n')));

/** @type {Readonly<Record<string, string>>} */
const CONDITION_STATES = { True: 'Yes', False: 'No', Unknown: 'Unknown' };

/** Splits names such as `SecurityGroupsReady` into words. @param {string} name */
const words = (name) => name.replaceAll(/([a-z])([A-Z])/g, '$1 $2');

/** @param {readonly ShownCondition[]} list @param {number} nowMs */
export const conditions = (list, nowMs) =>
  table(
    'Conditions',
    ['Condition', 'Status', 'Since', 'Message'],
    list.map(({ kind, type, status, reason, message, sinceMs }) => [
      el('span', { title: `${kind} ${type}` }, words(type)),
      el('span', { class: `status-${status}` }, CONDITION_STATES[status] ?? status),
      sinceMs === 0 ? '' : spanText(nowMs - sinceMs),
      message || words(reason),
    ]),
  );

/**
 * Events and decisions about an object, latest first.
 * @param {readonly LiveDecision[]} decisions @param {number} nowMs
 */
export const events = (decisions, nowMs) => [
  el('h3', {}, 'Events and decisions'),
  el(
    'ol',
    { class: 'rows' },
    ...(decisions.length === 0
      ? [el('li', { class: 'empty' }, 'None since this operator started.')]
      : decisions.toReversed().map((one) => line(one, nowMs))),
  ),
];

/**
 * Tables of the nodes, one for each NodePool. Rows are reused, and only changed cells are written again.
 * @import { LiveNode, RequestedShare } from '../model.ts'
 * @import { Child } from './dom.js'
 * @import { Column, ColumnKey, Order } from './node-columns.js'
 */
import { byId, el, link } from './dom.js';
import { amountText, byPool, counted, matches, nodeText, shareOf, spanText, surplusText, usdText } from './format.js';
import { poolTitle } from './map.js';
import { COLUMNS, devicesOf, deviceText, orderAfter, sortNodes, sortState } from './node-columns.js';
import { STATES, sentenceOf } from './sentences.js';

/** Number of rows between two pauses, in which the browser can do other work. */
const ROWS_A_STEP = 30;
/** Number of rows of all tables, divided among the NodePools, and the least number of each. */
const ROWS_AT_FIRST = 200;
const LEAST_ROWS = 10;
/** Number of rows that the button adds, and the number of rows that a table can have. */
const MORE_ROWS = 200;
const MOST_ROWS = 1_000;

/** Order of the rows of all tables. @type {Order} */
let order = { key: 'name', isReversed: false };

/** @typedef {{ node: LiveNode, row: HTMLTableRowElement, age: HTMLElement | undefined }} Row */
/**
 * @typedef {object} Pool
 * @property {HTMLElement} element @property {HTMLElement} title @property {HTMLTableSectionElement} body
 * @property {readonly HTMLElement[]} heads @property {HTMLElement} rest
 * @property {number} more number of rows that the button has added
 * @property {() => void} again shows the table again
 * @property {string} shown text of the title
 */

/** Rows and their shown data, by the name of the node. @type {Map<string, Row>} */
const rows = new Map();
/** Sections by the name of the NodePool. @type {Map<string, Pool>} */
const pools = new Map();
let turn = 0;

/** @param {ReadonlyMap<string, LiveNode>} nodes @param {string} query @param {number} nowMs */
export async function showNodes(nodes, query, nowMs) {
  turn += 1;
  const mine = turn;
  const isOver = async () => {
    await new Promise((resolve) => setTimeout(resolve));
    // a later call has started in the meantime
    return turn !== mine;
  };
  if (await isOver()) return;
  const groups = byPool([...nodes.values()].filter((node) => matches(node, query)));
  prune(groups, nodes);
  const atFirst = Math.max(LEAST_ROWS, Math.floor(ROWS_AT_FIRST / Math.max(1, groups.length)));
  for (const [name, all] of groups) {
    const pool = poolOf(name);
    headline(pool, name, all);
    pool.element.classList.toggle(
      'has-devices',
      all.some((node) => devicesOf(node).length > 0),
    );
    const members = sortNodes(all, order).slice(0, Math.min(MOST_ROWS, atFirst + pool.more));
    pool.again = () => void showNodes(nodes, query, nowMs);
    showRest(pool, { shown: members.length, all: all.length });
    removeOthers(pool.body, members);
    for (let from = 0; from < members.length; from += ROWS_A_STEP) {
      showRows(pool.body, members, { from, nowMs });
      if (await isOver()) return;
    }
  }
  message(emptyText(nodes.size, groups.length));
}

/** @param {number} nodes @param {number} groups */
const emptyText = (nodes, groups) => {
  if (nodes === 0) return 'No nodes.';
  return groups === 0 ? 'No matching nodes.' : '';
};

/** @param {HTMLTableSectionElement} body @param {readonly LiveNode[]} members */
function removeOthers(body, members) {
  const present = new Set(members.map(({ name }) => name));
  for (const row of [...body.rows]) if (!present.has(row.dataset.name ?? '')) row.remove();
}

/**
 * Shows one batch of rows, each at its position.
 * @param {HTMLTableSectionElement} body @param {readonly LiveNode[]} members
 * @param {{ readonly from: number, readonly nowMs: number }} batch
 */
function showRows(body, members, { from, nowMs }) {
  for (const [index, node] of members.slice(from, from + ROWS_A_STEP).entries()) {
    const row = rowOf(node, nowMs);
    const place = body.children[from + index] ?? null;
    if (place !== row) body.insertBefore(row, place);
  }
}

/**
 * Shows the number of nodes without a row, and a button for more rows.
 * @param {Pool} pool @param {{ readonly shown: number, readonly all: number }} counts
 */
function showRest(pool, { shown, all }) {
  const text = shown === all ? '' : `${counted(shown, 'node')} of ${all.toLocaleString('en')} are shown. `;
  if (pool.rest.dataset.shown === text) return;
  pool.rest.dataset.shown = text;
  const isAtLimit = shown >= MOST_ROWS;
  const button = el('button', { type: 'button' }, `Show ${Math.min(MORE_ROWS, all - shown)} more`);
  button.addEventListener('click', () => {
    pool.more += MORE_ROWS;
    pool.again();
  });
  pool.rest.replaceChildren(...(text === '' ? [] : [text, isAtLimit ? 'Search to find the others.' : button]));
}

/** @param {readonly (readonly [string, unknown])[]} groups @param {ReadonlyMap<string, LiveNode>} nodes */
function prune(groups, nodes) {
  const present = new Set(groups.map(([name]) => name));
  for (const [name, pool] of pools)
    if (!present.has(name)) {
      pool.element.remove();
      pools.delete(name);
    }
  for (const name of rows.keys()) if (!nodes.has(name)) rows.delete(name);
}

/** @param {string} text */
function message(text) {
  const place = byId('pools');
  place.querySelector('.empty')?.remove();
  if (text !== '') place.append(el('p', { class: 'empty' }, text));
}

/** @param {string} name */
const poolOf = (name) => pools.get(name) ?? newPool(name);

/** @param {string} name @returns {Pool} */
function newPool(name) {
  const title = el('summary');
  const body = el('tbody', { role: 'rowgroup' });
  const heads = COLUMNS.map((column) => headingOf(column, () => pool.again()));
  const head = el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...heads));
  const rest = el('p', { class: 'soft rest' });
  const table = el('table', { role: 'table', class: 'nodes', 'aria-label': poolTitle(name) }, head, body);
  const element = el('details', { class: 'pool', open: true }, title, table, rest);
  const pool = { element, title, body, heads, rest, more: 0, again: () => undefined, shown: '' };
  pools.set(name, pool);
  byId('pools').insertBefore(element, elementAfter(name));
  return pool;
}

/**
 * Returns the section before which a NodePool is inserted. NodePools are sorted by name, and nodes without a NodePool
 * come last.
 * @param {string} name
 */
function elementAfter(name) {
  const later = [...pools.keys()].filter((other) => other !== name && name !== '' && (other === '' || other > name));
  const [first] = later.sort((a, b) => Number(a === '') - Number(b === '') || (a < b ? -1 : 1));
  return first === undefined ? null : (pools.get(first)?.element ?? null);
}

/** @param {Pool} pool @param {string} name @param {readonly LiveNode[]} members */
function headline(pool, name, members) {
  const usd = members.reduce((sum, node) => sum + (node.usdPerHour ?? 0), 0);
  const count = counted(members.length, 'node');
  const text = name === '' ? count : `${count}, ${usdText(usd)} an hour`;
  if (pool.shown === text) return;
  pool.shown = text;
  pool.title.replaceChildren(`${poolTitle(name)} `, el('small', {}, text));
}

/** Heading with a button that sorts all tables by the column. @param {Column} column @param {() => void} again */
function headingOf({ key, heading }, again) {
  const button = el('button', { type: 'button' }, heading);
  button.addEventListener('click', () => {
    order = orderAfter(order, key);
    for (const { heads } of pools.values()) for (const head of heads) markSorted(head);
    again();
  });
  const head = el('th', { scope: 'col', role: 'columnheader', class: key, 'data-key': key }, button);
  markSorted(head);
  return head;
}

/** @param {HTMLElement} head */
const markSorted = (head) => head.setAttribute('aria-sort', sortState(order, head.dataset.key ?? ''));

/** Roles are explicit, because the rows are not laid out as a table. @param {LiveNode} node @param {number} nowMs */
function rowOf(node, nowMs) {
  const known = rows.get(node.name);
  if (known !== undefined && known.node === node) {
    if (known.age !== undefined) known.age.textContent = ageText(node, nowMs);
    return known.row;
  }
  const row = known?.row ?? el('tr', { role: 'row', 'data-name': node.name });
  row.title = nodeText(node, STATES);
  const cells = COLUMNS.map(({ key }) => {
    const content = CELLS[key](node);
    return key === 'name'
      ? el('th', { scope: 'row', role: 'rowheader', class: key }, content)
      : el('td', { role: 'cell', class: key }, content);
  });
  const age = cells[COLUMNS.findIndex(({ key }) => key === 'age')];
  if (age !== undefined) age.textContent = ageText(node, nowMs);
  row.replaceChildren(...cells);
  rows.set(node.name, { node, row, age });
  return row;
}

/**
 * Content of the cells, by the key of the column. The age is written again with each update.
 * @type {Readonly<Record<ColumnKey, (node: LiveNode) => Child>>}
 */
const CELLS = {
  name: ({ name }) => link('node', name),
  state: ({ state, isEmptying }) =>
    el('span', { class: `state-${state}` }, `${STATES[state]}${isEmptying ? ', emptying' : ''}`),
  age: () => '',
  instance: ({ instanceType }) => instanceType || 'unknown',
  zone: ({ zone }) => zone,
  capacity: ({ capacityType }) => capacityType,
  cpu: ({ shares }) => shareBar('cpu', shares.cpu),
  memory: ({ shares }) => shareBar('memory', shares.memory),
  devices: (node) => deviceText(devicesOf(node)),
  pods: ({ pods }) => pods.toLocaleString('en'),
  price: (node) => el('span', { title: surplusText(node).trim() || undefined }, usdText(node.usdPerHour) || 'unknown'),
  idle: ({ idleUsdPerHour }) => usdText(idleUsdPerHour),
  why: ({ verdict }) =>
    verdict === undefined
      ? ''
      : el('span', { title: verdict.text }, [sentenceOf(verdict.code), verdict.object].filter(Boolean).join(': ')),
};

/** @param {LiveNode} node @param {number} nowMs */
const ageText = ({ createdMs }, nowMs) => (createdMs === 0 ? '' : spanText(nowMs - createdMs));

/** @param {string} resource @param {RequestedShare | undefined} share */
function shareBar(resource, share) {
  if (share === undefined) return '';
  const part = shareOf(share);
  const fill = el('div', { class: 'fill' });
  fill.style.width = `${(part * 100).toFixed(1)}%`;
  const text = `${amountText(resource, share[0])} of ${amountText(resource, share[1])}`;
  const meter = {
    role: 'meter',
    'aria-label': `${resource} requested`,
    'aria-valuemin': 0,
    'aria-valuemax': 100,
    'aria-valuenow': Math.round(part * 100),
    'aria-valuetext': text,
  };
  return el(
    'div',
    { class: 'share', title: `${resource} requested: ${text}` },
    el('div', { class: 'track', ...meter }, fill),
    el('span', {}, `${Math.round(part * 100)} %`),
  );
}

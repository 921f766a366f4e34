/** Tables of the nodes, one for each NodePool. Rows are reused, and only changed cells are written again. */
import { byId, el, link } from './dom.js';
import { amountText, byPool, counted, matches, resourceName, shareOf, spanText, usdText } from './format.js';
import { poolTitle } from './map.js';
import { STATES, sentenceOf } from './sentences.js';

/** Number of rows between two pauses, in which the browser can do other work. */
const ROWS_A_STEP = 30;
/** Number of rows of all tables, divided among the NodePools, and the least number of each. */
const ROWS_AT_FIRST = 200;
const LEAST_ROWS = 10;
/** Number of rows that the button adds, and the number of rows that a table can have. */
const MORE_ROWS = 200;
const MOST_ROWS = 1_000;
const HEADINGS = ['Node', 'Instance', 'Requested', 'USD/h', 'Disruption'];

/** Rows and their shown data, by the name of the node. */
const rows = new Map();
/** Sections by the name of the NodePool. */
const pools = new Map();
let turn = 0;

/** @param {Map<string, object>} nodes @param {string} query @param {number} nowMs */
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
    const members = all.slice(0, Math.min(MOST_ROWS, atFirst + pool.more));
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

const emptyText = (nodes, groups) => {
  if (nodes === 0) return 'No nodes.';
  return groups === 0 ? 'No matching nodes.' : '';
};

function removeOthers(body, members) {
  const present = new Set(members.map(({ name }) => name));
  for (const row of [...body.children]) if (!present.has(row.dataset.name)) row.remove();
}

/** Shows one batch of rows, each at its position. */
function showRows(body, members, { from, nowMs }) {
  for (const [index, node] of members.slice(from, from + ROWS_A_STEP).entries()) {
    const row = rowOf(node, nowMs);
    const place = body.children[from + index] ?? null;
    if (place !== row) body.insertBefore(row, place);
  }
}

/** Shows the number of nodes without a row, and a button for more rows. */
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

function prune(groups, nodes) {
  const present = new Set(groups.map(([name]) => name));
  for (const [name, pool] of pools)
    if (!present.has(name)) {
      pool.element.remove();
      pools.delete(name);
    }
  for (const name of rows.keys()) if (!nodes.has(name)) rows.delete(name);
}

function message(text) {
  const place = byId('pools');
  place.querySelector('.empty')?.remove();
  if (text !== '') place.append(el('p', { class: 'empty' }, text));
}

function poolOf(name) {
  let pool = pools.get(name);
  if (pool === undefined) {
    const title = el('summary');
    const body = el('tbody', { role: 'rowgroup' });
    const cells = HEADINGS.map((text) => el('th', { scope: 'col', role: 'columnheader' }, text));
    const head = el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...cells));
    const rest = el('p', { class: 'soft rest' });
    const table = el('table', { role: 'table', class: 'nodes', 'aria-label': poolTitle(name) }, head, body);
    const element = el('details', { class: 'pool', open: true }, title, table, rest);
    pool = { element, title, body, rest, more: 0, again: () => undefined, shown: '' };
    pools.set(name, pool);
    byId('pools').insertBefore(element, elementAfter(name));
  }
  return pool;
}

/**
 * Returns the section before which a NodePool is inserted. NodePools are sorted by name, and nodes without a NodePool
 * come last.
 */
function elementAfter(name) {
  const later = [...pools.keys()].filter((other) => other !== name && name !== '' && (other === '' || other > name));
  const [first] = later.sort((a, b) => Number(a === '') - Number(b === '') || (a < b ? -1 : 1));
  return first === undefined ? null : pools.get(first).element;
}

function headline(pool, name, members) {
  const usd = members.reduce((sum, node) => sum + (node.usdPerHour ?? 0), 0);
  const count = counted(members.length, 'node');
  const text = name === '' ? count : `${count}, ${usdText(usd)} an hour`;
  if (pool.shown === text) return;
  pool.shown = text;
  pool.title.replaceChildren(`${poolTitle(name)} `, el('small', {}, text));
}

/** Roles are explicit, because the rows of a narrow page are no longer laid out as a table. */
function rowOf(node, nowMs) {
  const known = rows.get(node.name);
  if (known !== undefined && known.node === node) {
    known.age.textContent = ageText(node, nowMs);
    return known.row;
  }
  const row = known?.row ?? el('tr', { role: 'row', 'data-name': node.name });
  const age = el('span', {}, ageText(node, nowMs));
  const name = link('node', node.name);
  name.title = node.name;
  const where = [node.zone, node.capacityType].filter(Boolean).join(', ');
  const { verdict } = node;
  row.replaceChildren(
    el(
      'th',
      { scope: 'row', role: 'rowheader' },
      name,
      el(
        'div',
        { class: 'soft' },
        el('span', { class: `state-${node.state}` }, STATES[node.state]),
        age,
        emptyingText(node),
      ),
    ),
    el('td', { role: 'cell', class: 'instance' }, node.instanceType || 'unknown', el('div', { class: 'soft' }, where)),
    el(
      'td',
      { role: 'cell', class: 'shares' },
      ...Object.entries(node.shares)
        .filter(([resource]) => resource !== 'pods')
        .map(shareBar),
      el('div', { class: 'soft' }, counted(node.pods, 'pod')),
    ),
    el('td', { role: 'cell', class: 'number' }, usdText(node.usdPerHour) || 'unknown', surplusCell(node)),
    el(
      'td',
      { role: 'cell', class: 'why', title: verdict?.text },
      verdict === undefined ? '' : sentenceOf(verdict.code),
      el('div', { class: 'soft' }, verdict?.object ?? ''),
    ),
  );
  rows.set(node.name, { node, row, age });
  return row;
}

const ageText = ({ createdMs }, nowMs) => (createdMs === 0 ? '' : ` · ${spanText(nowMs - createdMs)}`);

const emptyingText = ({ isEmptying }) =>
  isEmptying ? el('span', { title: 'kube-scheduler fills the other nodes first' }, ' · emptying') : '';

const surplusCell = ({ surplusCreditsUsdPerHour: usd }) =>
  usd === undefined ? '' : el('div', { class: 'soft', title: 'for surplus CPU credits' }, `${usdText(usd)} surplus`);

function shareBar([resource, share]) {
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
    { class: 'share' },
    el('span', {}, resourceName(resource)),
    el('div', { class: 'track', ...meter }, fill),
    el('span', {}, `${Math.round(part * 100)} %`),
  );
}

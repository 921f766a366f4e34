/** Tables of the nodes, one for each NodePool. Rows are reused, and only changed cells are written again. */
import { byId, el, link } from './dom.js';
import { amountText, byPool, matches, resourceName, shareOf, spanText, usdText } from './format.js';

/** Number of rows between two pauses, in which the browser can do other work. */
const ROWS_A_STEP = 60;
const HEADINGS = ['Node', 'Instance', 'Requested', 'Pods', 'USD/h', 'Age', 'Why not disrupted'];

/** Rows and their shown data, by the name of the node. */
const rows = new Map();
/** Sections by the name of the NodePool. */
const pools = new Map();
let turn = 0;

/** @param {Map<string, object>} nodes @param {string} query @param {number} nowMs */
export async function showNodes(nodes, query, nowMs) {
  turn += 1;
  const mine = turn;
  const groups = byPool([...nodes.values()].filter((node) => matches(node, query)));
  prune(groups, nodes);
  for (const [name, members] of groups) {
    const pool = poolOf(name);
    headline(pool, name, members);
    removeOthers(pool.body, members);
    for (let from = 0; from < members.length; from += ROWS_A_STEP) {
      showRows(pool.body, members, { from, nowMs });
      await new Promise((resolve) => setTimeout(resolve));
      // a later call has started in the meantime
      if (turn !== mine) return;
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
    const body = el('tbody');
    const head = el('thead', {}, el('tr', {}, ...HEADINGS.map((text) => el('th', { scope: 'col' }, text))));
    const table = el('table', {}, el('caption', { class: 'soft' }), head, body);
    const scroll = el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': poolTitle(name) }, table);
    const element = el('details', { class: 'pool', open: true }, title, scroll);
    pool = { element, title, body, shown: '' };
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

const poolTitle = (name) => (name === '' ? 'Nodes without NodePool' : `NodePool ${name}`);

function headline(pool, name, members) {
  const usd = members.reduce((sum, node) => sum + (node.usdPerHour ?? 0), 0);
  const count = `${members.length} ${members.length === 1 ? 'node' : 'nodes'}`;
  const text = name === '' ? count : `${count}, ${usdText(usd)} an hour`;
  if (pool.shown === text) return;
  pool.shown = text;
  pool.title.replaceChildren(`${poolTitle(name)} `, el('small', {}, text));
}

function rowOf(node, nowMs) {
  const known = rows.get(node.name);
  if (known !== undefined && known.node === node) {
    known.age.textContent = node.createdMs === 0 ? '' : spanText(nowMs - node.createdMs);
    return known.row;
  }
  const row = known?.row ?? el('tr', { 'data-name': node.name });
  const age = el('td', { class: 'number' }, node.createdMs === 0 ? '' : spanText(nowMs - node.createdMs));
  row.replaceChildren(
    el('th', { scope: 'row' }, link('node', node.name), el('div', { class: `soft state-${node.state}` }, node.state)),
    el(
      'td',
      {},
      node.instanceType || 'unknown',
      el('div', { class: 'soft' }, [node.zone, node.capacityType].filter(Boolean).join(', ')),
    ),
    el(
      'td',
      { class: 'shares' },
      ...Object.entries(node.shares)
        .filter(([name]) => name !== 'pods')
        .map(shareBar),
    ),
    el('td', { class: 'number' }, String(node.pods)),
    el('td', { class: 'number' }, usdText(node.usdPerHour), surplusCell(node)),
    age,
    el(
      'td',
      { title: node.verdict?.text },
      node.verdict?.code ?? '',
      el('div', { class: 'soft' }, node.verdict?.object ?? ''),
    ),
  );
  rows.set(node.name, { node, row, age });
  return row;
}

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

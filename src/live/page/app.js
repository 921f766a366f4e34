/** Stores the state that the operator sends, and shows it. */

import { byId } from './dom.js';
import { moveInMap, showMap, showWaiting } from './map.js';
import { showNodes } from './nodes.js';
import { showBlocked, showCosts, showDecisions, showPending, showSummary } from './panels.js';
import { showFound, showView } from './views.js';

const MOST_DECISIONS = 500;
const MOST_COSTS = 12 * 120;
/** Interval at which ages are updated and the details are loaded again. */
const AGES_MS = 10_000;
/** Minimum wait after the server refused a connection, for example because too many pages are open. */
const AGAIN_MS = 10_000;

const nodes = new Map();
let pending = [];
let decisions = [];
let costs = [];
/** Difference between the operator's clock and the browser's clock. */
let aheadMs = 0;
let query = '';
let pendingPods = 0;

const now = () => Date.now() + aheadMs;

let drawing = 0;
/** Width of the map. Reading it from the element for each drawing would compute the layout of the page each time. */
let width = 0;

/** Draws the map with the next frame. A hidden page does not draw. */
const drawMap = () => {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(() => {
    if (width > 0 && !byId('home').hidden) showMap(nodes, query, { choice: byId('colour').value, width });
  });
};

const showCluster = () => {
  drawMap();
  void showNodes(nodes, query, now());
};

const showWaits = () => {
  showPending(pending, now());
  showWaiting(pending, pendingPods);
};

/** Shows the parts in separate tasks, so that the page can react in between. */
const showAll = () => {
  showCluster();
  for (const show of [showWaits, () => showBlocked([...nodes.values()]), () => showDecisions(decisions, now())])
    setTimeout(show);
};

function took(summary) {
  aheadMs = summary.atMs - Date.now();
  ({ pendingPods } = summary);
  showSummary(summary);
}

function onState({ data }) {
  const state = JSON.parse(data);
  took(state.summary);
  nodes.clear();
  for (const node of state.nodes) nodes.set(node.name, node);
  ({ pending, decisions, costs } = state);
  showCosts(costs);
  showAll();
  connection('Live', false);
  void showView(location.hash, now());
}

function onChange({ data }) {
  const change = JSON.parse(data);
  took(change.summary);
  for (const name of change.gone) nodes.delete(name);
  for (const node of change.nodes) nodes.set(node.name, node);
  if (change.nodes.length + change.gone.length > 0) {
    showCluster();
    showBlocked([...nodes.values()]);
  }
  if (change.pending !== undefined) {
    pending = change.pending;
    showWaits();
  }
  if (change.decisions.length > 0) {
    const first = ({ id, firstId = id }) => firstId;
    const repeated = new Set(change.decisions.map(first));
    const before = decisions.filter((one) => !repeated.has(first(one)));
    decisions = [...before, ...change.decisions].slice(-MOST_DECISIONS);
    showDecisions(decisions, now());
  }
  if (change.costs.length > 0) {
    costs = [...costs, ...change.costs].slice(-MOST_COSTS);
    showCosts(costs);
  }
}

/**
 * Opens the event stream. After an error the browser reconnects and receives the whole state, unless the server refused
 * the connection.
 */
function watch() {
  const events = new EventSource('/api/events');
  events.addEventListener('state', onState);
  events.addEventListener('change', onChange);
  events.addEventListener('error', () => {
    const isRefused = events.readyState === EventSource.CLOSED;
    connection(isRefused ? 'Connection refused, trying again' : 'Connection lost, data is outdated', true);
    if (isRefused) setTimeout(watch, AGAIN_MS * (1 + Math.random()));
  });
}
watch();

function connection(text, isLost) {
  const place = byId('connection');
  if (place.textContent !== text) place.textContent = text;
  place.classList.toggle('lost', isLost);
}

setInterval(() => {
  if (document.hidden) return;
  showAll();
  void showView(location.hash, now());
}, AGES_MS);

addEventListener('hashchange', () => {
  void showView(location.hash, now(), { focus: true });
  drawMap();
});
new ResizeObserver(([{ contentRect }]) => {
  if (contentRect.width > 0 && contentRect.width !== width) {
    ({ width } = contentRect);
    drawMap();
  }
}).observe(byId('boxes'));
/** Headings of tables stick below the header of the page, whose height depends on the width. */
new ResizeObserver(([{ target }]) => {
  const isSticky = getComputedStyle(target).position === 'sticky';
  document.documentElement.style.setProperty('--top', `${isSticky ? target.offsetHeight : 0}px`);
}).observe(document.querySelector('header'));
byId('colour').addEventListener('change', drawMap);
byId('boxes').addEventListener('keydown', moveInMap);
byId('query').addEventListener('input', ({ target }) => {
  query = target.value;
  showCluster();
});
byId('search').addEventListener('submit', (event) => {
  event.preventDefault();
  void showFound(byId('query').value);
});

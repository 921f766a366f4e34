/**
 * Stores the state that the operator sends, and shows it.
 * @import { CostSample, LiveChange, LiveDecision, LiveNode, LiveState, LiveSummary, PendingGroup } from '../model.ts'
 */

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

/** @type {Map<string, LiveNode>} */
const nodes = new Map();
/** @type {readonly PendingGroup[]} */
let pending = [];
/** @type {readonly LiveDecision[]} */
let decisions = [];
/** @type {readonly CostSample[]} */
let costs = [];
/** Difference between the operator's clock and the browser's clock. */
let aheadMs = 0;
let query = '';
let pendingPods = 0;

/** @type {HTMLSelectElement} */
const colour = byId('colour');
/** @type {HTMLInputElement} */
const queryField = byId('query');

const now = () => Date.now() + aheadMs;

let drawing = 0;
/** Width of the map. Reading it from the element for each drawing would compute the layout of the page each time. */
let width = 0;

/** Draws the map with the next frame. A hidden page does not draw. */
const drawMap = () => {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(() => {
    if (width > 0 && !byId('home').hidden) showMap(nodes, query, { choice: colour.value, width });
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

/** @param {LiveSummary} summary */
function took(summary) {
  aheadMs = summary.atMs - Date.now();
  ({ pendingPods } = summary);
  showSummary(summary);
}

/** @param {MessageEvent<string>} event */
function onState({ data }) {
  /** @type {LiveState} */
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

/** @param {MessageEvent<string>} event */
function onChange({ data }) {
  /** @type {LiveChange} */
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
    /** @param {LiveDecision} decision */
    const first = ({ id, firstId }) => firstId ?? id;
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

/** @param {string} text @param {boolean} isLost */
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
const boxes = byId('boxes');
new ResizeObserver(([entry]) => {
  const { width: given = 0 } = entry?.contentRect ?? {};
  if (given > 0 && given !== width) {
    width = given;
    drawMap();
  }
}).observe(boxes);
/** Headings of tables stick below the header of the page, whose height depends on the width. */
for (const header of document.querySelectorAll('header'))
  new ResizeObserver(() => {
    const isSticky = getComputedStyle(header).position === 'sticky';
    document.documentElement.style.setProperty('--top', `${isSticky ? header.offsetHeight : 0}px`);
  }).observe(header);
colour.addEventListener('change', drawMap);
boxes.addEventListener('keydown', moveInMap);
queryField.addEventListener('input', () => {
  query = queryField.value;
  showCluster();
});
byId('search').addEventListener('submit', (event) => {
  event.preventDefault();
  void showFound(queryField.value);
});

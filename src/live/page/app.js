/** Stores the state that the operator sends, and shows it. */
import { showDetails, showFound } from './details.js';
import { byId } from './dom.js';
import { showNodes } from './nodes.js';
import { showBlocked, showCosts, showDecisions, showPending, showSummary } from './panels.js';

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

const now = () => Date.now() + aheadMs;

const showAll = () => {
  void showNodes(nodes, query, now());
  showPending(pending, now());
  showBlocked([...nodes.values()]);
  showDecisions(decisions, now());
};

function took(summary) {
  aheadMs = summary.atMs - Date.now();
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
  void showDetails(location.hash, now());
}

function onChange({ data }) {
  const change = JSON.parse(data);
  took(change.summary);
  for (const name of change.gone) nodes.delete(name);
  for (const node of change.nodes) nodes.set(node.name, node);
  if (change.nodes.length + change.gone.length > 0) {
    void showNodes(nodes, query, now());
    showBlocked([...nodes.values()]);
  }
  if (change.pending !== undefined) {
    pending = change.pending;
    showPending(pending, now());
  }
  if (change.decisions.length > 0) {
    const isSame = (one, other) => one.object === other.object && one.text === other.text;
    const before = decisions.filter((one) => !change.decisions.some((other) => isSame(one, other) && other.times > 1));
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
  void showDetails(location.hash, now());
}, AGES_MS);

addEventListener('hashchange', () => void showDetails(location.hash, now(), { focus: true }));
byId('query').addEventListener('input', ({ target }) => {
  query = target.value;
  void showNodes(nodes, query, now());
});
byId('search').addEventListener('submit', (event) => {
  event.preventDefault();
  void showFound(byId('query').value);
});

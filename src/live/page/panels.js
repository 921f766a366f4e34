/** Panels of the page: totals, cost, pending pods, reasons for which nodes stay, interruptions and decisions. */
import { byId, el, link, svg } from './dom.js';
import { blockers, chartPath, counted, spanText, surplusText, usdText } from './format.js';
import { sentenceOf } from './sentences.js';

/** Maximum number of lines of each list. The operator stores more. */
const MOST = 100;

/** Shows totals in cells of a fixed size, so that the page does not move when they change. */
export function showSummary(summary) {
  const { clusterName, nodes, pods, pendingPods, usdPerHour, unpriced, isLeading } = summary;
  byId('cluster').textContent = clusterName;
  document.title = `${clusterName}: ${nodes} nodes, ${pendingPods} pending`;
  const notes = [surplusText(summary).trim(), unpriced > 0 ? `${counted(unpriced, 'node')} with unknown price` : ''];
  const facts = [
    ['Nodes', nodes.toLocaleString('en')],
    ['Pods', pods.toLocaleString('en')],
    ['Pending', pendingPods.toLocaleString('en')],
    ['USD/h', usdText(usdPerHour), notes.filter(Boolean).join(', ')],
    ['Replica', isLeading ? 'leader' : 'standby'],
  ];
  byId('summary').replaceChildren(
    ...facts.map(([name, value, note = '']) =>
      el(
        'div',
        { title: note || undefined },
        el('dt', {}, name),
        el('dd', {}, value, note === '' ? undefined : el('small', {}, ` ${note}`)),
      ),
    ),
  );
}

export function showCosts(samples) {
  const line = chartPath(samples);
  const place = byId('cost-chart');
  if (line === '') {
    byId('cost-text').textContent = 'two samples per minute';
    return place.replaceChildren();
  }
  const [first, last] = [samples[0], samples[samples.length - 1]];
  const most = Math.max(...samples.map(([, usd]) => usd));
  const text = `from ${usdText(first[1])} to ${usdText(last[1])} in ${spanText(last[0] - first[0])}, at most ${usdText(most)}`;
  byId('cost-text').textContent = text;
  place.replaceChildren(
    svg(
      'svg',
      { viewBox: '0 0 100 30', preserveAspectRatio: 'none', role: 'img', 'aria-label': text },
      svg('path', { class: 'area', d: `${line} L100 30 L0 30 Z` }),
      svg('path', { class: 'line', d: line }),
    ),
  );
}

/** Replaces the items of a list. The focus stays on the same link. */
function fill(id, items, empty) {
  const list = byId(id);
  const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
  list.replaceChildren(...(items.length > 0 ? items : [el('li', { class: 'empty' }, empty)]));
  if (focused !== null) list.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}

/** Maximum number of pods that are shown for each reason. */
const MOST_PODS = 5;

/** Shows each reason once, with the pods that wait longest for it. */
export function showPending(pods, nowMs) {
  const groups = [...Map.groupBy(pods, ({ reason = '' }) => reason)];
  const items = groups.map(([reason, members]) =>
    el(
      'li',
      {},
      ...members
        .slice(0, MOST_PODS)
        .map(({ pod, sinceMs }) =>
          el('div', {}, link('pod', pod), ' ', el('time', {}, sinceMs === 0 ? '' : spanText(nowMs - sinceMs))),
        ),
      members.length > MOST_PODS ? el('div', {}, `and ${counted(members.length - MOST_PODS, 'other pod')}`) : undefined,
      reason === '' ? undefined : el('div', { class: 'soft' }, reason),
    ),
  );
  fill('pending', items, 'No pending pods.');
}

export function showBlocked(nodes) {
  const items = blockers(nodes).map(({ code, count, text }) =>
    el('li', {}, `${counted(count, 'node')}: ${sentenceOf(code)}`, el('div', { class: 'soft' }, text)),
  );
  fill('blocked', items, 'No results yet.');
}

/** Shows decisions with the latest first. The operator sends the oldest first. */
export function showDecisions(decisions, nowMs) {
  const latest = [...decisions].sort((a, b) => b.id - a.id);
  const isInterruption = ({ topic }) => topic === 'interruption';
  fill(
    'interruptions',
    latest
      .filter(isInterruption)
      .slice(0, MOST)
      .map((one) => line(one, nowMs)),
    'None.',
  );
  fill(
    'decisions',
    latest
      .filter((one) => !isInterruption(one))
      .slice(0, MOST)
      .map((one) => line(one, nowMs)),
    'None since this operator started.',
  );
}

/** Views of the objects of decisions. */
const LINKS = { Node: 'node', NodeClaim: 'node', NodePool: 'nodepool', EC2NodeClass: 'nodeclass' };

export function line({ topic, object, text, usdPerHour, times, atMs }, nowMs) {
  const [kind, name] = object.split('/');
  const view = LINKS[kind];
  const target = view === undefined ? object : link(view, name);
  const price =
    usdPerHour === undefined
      ? undefined
      : el(
          'span',
          { class: usdPerHour > 0 ? 'spends' : 'saves' },
          ` ${usdPerHour > 0 ? 'spends' : 'saves'} ${usdText(Math.abs(usdPerHour))} an hour`,
        );
  const when = el(
    'time',
    { datetime: new Date(atMs).toISOString() },
    `${spanText(nowMs - atMs)} ago${times > 1 ? `, ${times} times` : ''}`,
  );
  return el('li', { class: topic }, el('div', {}, text, price), el('div', {}, target, ' ', when));
}

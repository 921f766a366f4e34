/** Panels of the page: totals, cost, pending pods, reasons for which nodes stay, interruptions and decisions. */
import { byId, el, link } from './dom.js';
import { blockers, chartPath, spanText, surplusText, usdText } from './format.js';

/** Maximum number of lines of each list. The operator stores more. */
const MOST = 100;

export function showSummary(summary) {
  const { clusterName, nodes, pods, pendingPods, usdPerHour, unpriced, isLeading } = summary;
  byId('cluster').textContent = clusterName;
  document.title = `${clusterName}: ${nodes} nodes, ${pendingPods} pending`;
  const facts = [
    ['Nodes', String(nodes)],
    ['Pods', String(pods)],
    ['Pending', String(pendingPods)],
    ['USD/h', usdText(usdPerHour) + surplusText(summary) + (unpriced > 0 ? ` and ${unpriced} unknown` : '')],
    ...(isLeading ? [] : [['Replica', 'standby']]),
  ];
  byId('summary').replaceChildren(
    ...facts.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))),
  );
}

const SVG = 'http://www.w3.org/2000/svg';

export function showCosts(samples) {
  const line = chartPath(samples);
  const place = byId('cost-chart');
  if (line === '') return place.replaceChildren(el('span', { class: 'soft' }, 'two samples per minute'));
  const svg = document.createElementNS(SVG, 'svg');
  const [first, last] = [samples[0], samples[samples.length - 1]];
  const most = Math.max(...samples.map(([, usd]) => usd));
  const text = `from ${usdText(first[1])} to ${usdText(last[1])} in ${spanText(last[0] - first[0])}, at most ${usdText(most)}`;
  for (const [name, value] of Object.entries({
    viewBox: '0 0 100 30',
    preserveAspectRatio: 'none',
    role: 'img',
    'aria-label': text,
  }))
    svg.setAttribute(name, value);
  for (const [name, d] of [
    ['area', `${line} L100 30 L0 30 Z`],
    ['line', line],
  ]) {
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('class', name);
    path.setAttribute('d', d);
    svg.append(path);
  }
  place.replaceChildren(svg, el('span', { class: 'soft' }, text));
}

/** Replaces the items of a list. The focus stays on the same link. */
function fill(id, items, empty) {
  const list = byId(id);
  const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
  list.replaceChildren(...(items.length > 0 ? items : [el('li', { class: 'empty' }, empty)]));
  if (focused !== null) list.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
}

export function showPending(pods, nowMs) {
  const items = pods.map(({ pod, sinceMs, reason }) =>
    el(
      'li',
      {},
      link('pod', pod),
      ' ',
      el('time', {}, sinceMs === 0 ? '' : spanText(nowMs - sinceMs)),
      reason && el('div', { class: 'soft' }, reason),
    ),
  );
  fill('pending', items, 'No pending pods.');
}

export function showBlocked(nodes) {
  const items = blockers(nodes).map(({ code, count, text }) =>
    el('li', {}, `${count} × ${code}`, el('div', { class: 'soft' }, text)),
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

export function line({ topic, object, text, usdPerHour, times, atMs }, nowMs) {
  const [kind, name] = object.split('/');
  const target = kind === 'Node' || kind === 'NodeClaim' ? link('node', name) : object;
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

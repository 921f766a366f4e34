/**
 * Panels of the page: totals, cost, pending pods, reasons for which nodes stay, interruptions and decisions.
 * @import { CostSample, LiveDecision, LiveNode, LiveSummary, PendingGroup } from '../model.ts'
 */
import { byId, el, link, svg } from './dom.js';
import { blockers, chartPath, counted, spanText, surplusText, usdText } from './format.js';
import { sentenceOf } from './sentences.js';

/** @typedef {readonly [name: string, value: string, note?: string, title?: string | undefined]} Fact */

/** Maximum number of lines of each list. The operator stores more. */
const MOST = 100;

/** @param {number} part */
const percent = (part) => `${Math.round(part * 100)} %`;

/**
 * Shows totals in cells of a fixed size, so that the page does not move when they change.
 * @param {LiveSummary} summary
 */
export function showSummary(summary) {
  const { clusterName, nodes, pods, pendingPods, usdPerHour, usdPerMonth, idleUsdPerMonth, isLeading } = summary;
  const { requested, used, spotShare, unpriced, paused, observed, rollout } = summary;
  /** @param {string} name @param {'cpu' | 'memory'} resource @returns {Fact} */
  const share = (name, resource) => {
    const part = percent(requested[resource]);
    if (used === undefined) return [name, part, 'requested', 'part that pods request'];
    const usedText = `${percent(used[resource])} used`;
    return [name, part, usedText, `${part} requested, ${usedText}`];
  };
  byId('cluster').textContent = clusterName;
  byId('cluster').title = clusterName;
  document.title = `${clusterName}: ${nodes} nodes, ${pendingPods} pending`;
  const notes = [surplusText(summary).trim(), unpriced > 0 ? `${counted(unpriced, 'node')} with unknown price` : ''];
  /** @type {readonly Fact[]} */
  const facts = [
    ['Nodes', nodes.toLocaleString('en')],
    ['Pods', pods.toLocaleString('en')],
    ['Pending', pendingPods.toLocaleString('en')],
    ['USD/h', usdText(usdPerHour), notes.filter(Boolean).join(', ')],
    ['USD/month', wholeUsd(usdPerMonth)],
    ['Idle/month', wholeUsd(idleUsdPerMonth), '', 'cost that no pod requests'],
    share('CPU', 'cpu'),
    share('Memory', 'memory'),
    ['Spot', percent(spotShare), '', "of the CPUs of the operator's nodes"],
    [
      'Replica',
      isLeading ? 'leader' : 'standby',
      [paused && 'paused', observed && 'observing', rollout && 'rollout'].filter(Boolean).join(', '),
      [paused, observed, rollout].filter(Boolean).join('; ') || undefined,
    ],
  ];
  byId('summary').replaceChildren(
    ...facts.map(([name, value, note = '', title = note]) =>
      el(
        'div',
        { title: title || undefined },
        el('dt', {}, name),
        el('dd', {}, value, note === '' ? undefined : el('small', {}, ` ${note}`)),
      ),
    ),
  );
}

/** @param {number} usd */
export const wholeUsd = (usd) => `$${Math.round(usd).toLocaleString('en')}`;

/** @param {readonly CostSample[]} samples */
export function showCosts(samples) {
  const line = chartPath(samples);
  const place = byId('cost-chart');
  const [first, last] = [samples.at(0), samples.at(-1)];
  if (line === '' || first === undefined || last === undefined) {
    byId('cost-text').textContent = 'two samples per minute';
    return place.replaceChildren();
  }
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

/**
 * Replaces the items of a list. The focus stays on the same link, and open details stay open.
 * @param {string} id @param {readonly HTMLElement[]} items @param {string} empty
 */
function fill(id, items, empty) {
  const list = byId(id);
  const { activeElement } = document;
  const focused = list.contains(activeElement)
    ? (activeElement?.getAttribute('href') ?? activeElement?.parentElement?.dataset.key)
    : undefined;
  const open = new Set(
    [...list.querySelectorAll('details')].filter((each) => each.open).map(({ dataset }) => dataset.key),
  );
  list.replaceChildren(...(items.length > 0 ? items : [el('li', { class: 'empty' }, empty)]));
  // a list without links can be scrolled with the keyboard only if it can have the focus
  list.tabIndex = 0;
  for (const details of list.querySelectorAll('details')) details.open = open.has(details.dataset.key);
  if (focused === undefined) return;
  const same = CSS.escape(focused);
  /** @type {HTMLElement | null} */
  const again = list.querySelector(`a[href="${same}"], details[data-key="${same}"] > summary`);
  again?.focus();
}

/**
 * Shows the groups of pods that wait for the same change, as the operator sends them.
 * @param {readonly PendingGroup[]} groups @param {number} nowMs
 */
export function showPending(groups, nowMs) {
  /** @param {Pick<PendingGroup, 'pod' | 'sinceMs'>} waiting */
  const podOf = ({ pod, sinceMs }) =>
    el('div', {}, link('pod', pod), ' ', el('time', {}, sinceMs === 0 ? '' : spanText(nowMs - sinceMs)));
  const items = groups.map((group) => {
    const { pods, others, reason = 'No reason reported yet.', cause = '' } = group;
    const rest = pods - 1 - others.length;
    return el(
      'li',
      {},
      el('div', {}, el('strong', {}, counted(pods, 'pod')), ' ', el('span', { class: 'soft' }, reason)),
      podOf(group),
      others.length === 0
        ? undefined
        : el(
            'details',
            { 'data-key': cause },
            el('summary', {}, `and ${counted(pods - 1, 'other pod')}`),
            ...others.map(podOf),
            rest > 0 ? el('div', {}, `and ${rest.toLocaleString('en')} more`) : undefined,
          ),
    );
  });
  fill('pending', items, 'No pending pods.');
}

/** @param {readonly LiveNode[]} nodes */
export function showBlocked(nodes) {
  const items = blockers(nodes).map(({ code, count, text }) =>
    el('li', {}, `${counted(count, 'node')}: ${sentenceOf(code)}`, el('div', { class: 'soft' }, text)),
  );
  fill('blocked', items, 'No results yet.');
}

/**
 * Shows decisions with the latest first. The operator sends the oldest first.
 * @param {readonly LiveDecision[]} decisions @param {number} nowMs
 */
export function showDecisions(decisions, nowMs) {
  const latest = [...decisions].sort((a, b) => b.id - a.id);
  /** @param {LiveDecision} decision */
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

/** Views of the objects of decisions. @type {Readonly<Record<string, string>>} */
const LINKS = { Node: 'node', NodeClaim: 'node', NodePool: 'nodepool', EC2NodeClass: 'nodeclass' };

/** @param {LiveDecision} decision @param {number} nowMs */
export function line({ topic, object, text, usdPerHour, times, atMs }, nowMs) {
  const [kind = '', name = ''] = object.split('/');
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

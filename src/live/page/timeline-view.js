/**
 * View with the cost of the NodePools over time, and with the lives of the nodes.
 * @import { CostsResponse, NodeLife, TimelineResponse } from '../responses.ts'
 * @import { LifePart } from './timeline-layout.js'
 */
import { el, link, svg, tint } from './dom.js';
import { counted, spanText, usdText } from './format.js';
import { assignTones, POOL_TONES } from './map-layout.js';
import { ask, table } from './parts.js';
import { reasonText } from './sentences.js';
import { costAreas, lifeParts } from './timeline-layout.js';

const SPANS = [1, 6, 24];
/** Label and tone of each part of a life. @type {Readonly<Record<LifePart, readonly [label: string, tone: string]>>} */
const PARTS = {
  launching: ['Launching', 'new'],
  joining: ['Joining the cluster', 'soon'],
  starting: ['Starting', 'protected'],
  ready: ['Ready', 'kept'],
  leaving: ['Being removed', 'now'],
};
/** Number of times at the axis. */
const TICKS = 4;

/** @param {string} given number of hours @param {number} nowMs */
export async function timelineView(given, nowMs) {
  const hours = SPANS.includes(Number(given)) ? Number(given) : 6;
  const [costs, timeline] = await Promise.all([ask('costs', {}), ask('timeline', { hours: String(hours) })]);
  return [...costContent(costs), el('h3', {}, 'Nodes'), ...lifeContent(timeline, hours, nowMs)];
}

/** @param {CostsResponse} costs */
function costContent({ hours, nodePools, isDisabled }) {
  const title = el('h3', {}, 'Cost of the NodePools');
  if (isDisabled)
    return [title, el('p', { class: 'empty' }, 'The history is disabled, because COST_HISTORY is false.')];
  const [first, last] = [hours.at(0), hours.at(-1)];
  if (first === undefined || last === undefined)
    return [title, el('p', { class: 'empty' }, 'No costs yet. The operator records them every minute.')];
  const { areas, most } = costAreas(hours, nodePools);
  const tones = assignTones(
    areas.flatMap(({ name, isPool }) => (isPool ? [name] : [])),
    POOL_TONES,
  );
  /** @param {typeof areas[number]} area */
  const toneOf = ({ name, isPool }) => (isPool ? `pool-${tones.get(name)}` : 'unknown');
  const span = last.hourMs - first.hourMs + 3_600_000;
  const label = `USD per hour of the NodePools in the last ${spanText(span)}, at most ${usdText(most)}`;
  const chart = svg(
    'svg',
    { class: 'stack', viewBox: '0 0 100 100', preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    ...areas.map((area) => tint(svg('path', { d: area.d }), toneOf(area))),
  );
  const observed = hours.reduce((sum, hour) => sum + hour.observed, 0);
  const rows = areas.map((area) => [
    el('span', {}, tint(el('i', { class: 'swatch' }), toneOf(area)), ' ', area.name),
    usdText(area.usd),
    usdText(area.usd / observed),
  ]);
  return [
    title,
    el('p', { class: 'soft' }, `${label}.`),
    chart,
    table('Cost of the NodePools', ['NodePool', `USD in ${spanText(span)}`, 'USD per hour'], rows, { cards: true }),
  ];
}

/** @param {TimelineResponse} timeline @param {number} hours @param {number} nowMs */
function lifeContent({ fromMs, toMs, sinceMs, lives, more }, hours, nowMs) {
  const choices = SPANS.map((each) =>
    el('a', { href: `#/timeline/${each}`, 'aria-current': each === hours ? 'true' : false }, `${each} h`),
  );
  const axis = Array.from({ length: TICKS + 1 }, (_, at) => {
    const ms = fromMs + ((toMs - fromMs) * at) / TICKS;
    return el('span', {}, new Date(ms).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' }));
  });
  const legend = Object.values(PARTS).map(([label, tone]) =>
    el('li', {}, tint(el('i', { class: 'swatch' }), tone), label),
  );
  const note =
    sinceMs > fromMs
      ? `Nodes that ended more than ${spanText(nowMs - sinceMs)} ago are not known to this operator.`
      : '';
  return [
    el('p', { class: 'choices' }, 'Last ', ...choices.flatMap((choice) => [choice, ' '])),
    el('ul', { class: 'legend', 'aria-label': 'Legend' }, ...legend),
    lives.length === 0
      ? el('p', { class: 'empty' }, 'No nodes in this time.')
      : el('div', { class: 'axis', 'aria-hidden': 'true' }, ...axis),
    el('ol', { class: 'lives' }, ...lives.map((life) => lifeRow(life, { fromMs, toMs }))),
    ...(more > 0 ? [el('p', { class: 'soft' }, `and ${counted(more, 'earlier node')}`)] : []),
    ...(note === '' ? [] : [el('p', { class: 'soft' }, note)]),
  ];
}

/** @param {NodeLife} life @param {{ readonly fromMs: number, readonly toMs: number }} span */
function lifeRow(life, span) {
  const { nodeClaim, node, nodePool, instanceType, capacityType } = life;
  const parts = lifeParts(life, span).map(({ part, left, width }) => {
    const bar = tint(el('i'), PARTS[part][1]);
    bar.style.left = `${left.toFixed(2)}%`;
    bar.style.width = `${width.toFixed(2)}%`;
    return bar;
  });
  const isGone = life.endedMs !== undefined;
  return el(
    'li',
    {},
    el(
      'div',
      { class: 'life' },
      isGone ? el('span', {}, node || nodeClaim) : link('node', node || nodeClaim),
      el('span', { class: 'soft' }, [instanceType, capacityType, nodePool].filter(Boolean).join(', ')),
    ),
    el('div', { class: 'track lifetime', 'aria-hidden': 'true' }, ...parts),
    el('div', { class: 'soft' }, storyOf(life, span.toMs)),
  );
}

/** Describes the life of a node in one line. @param {NodeLife} life @param {number} nowMs */
function storyOf(life, nowMs) {
  const { createdMs, launchedMs, registeredMs, initializedMs, leavingMs, endedMs, startReason, pods = 0 } = life;
  const { endReason } = life;
  /** @param {number} ms */
  const after = (ms) => spanText(ms - createdMs);
  const forPods = pods > 0 ? `for ${counted(pods, 'pod')}` : '';
  const start =
    startReason === undefined || startReason === 'provisioned' ? forPods : `to replace nodes ${forPods}`.trim();
  return [
    `Created ${spanText(nowMs - createdMs)} ago ${start}`.trim(),
    launchedMs && `launched after ${after(launchedMs)}`,
    registeredMs && `registered after ${after(registeredMs)}`,
    initializedMs && `ready after ${after(initializedMs)}`,
    endedMs === undefined && leavingMs !== undefined && `being removed for ${spanText(nowMs - leavingMs)}`,
    endedMs !== undefined && `ended after ${after(endedMs)}`,
    (leavingMs !== undefined || endedMs !== undefined) && endReason && reasonText(endReason),
  ]
    .filter(Boolean)
    .join(' · ');
}

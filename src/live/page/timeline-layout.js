/**
 * Positions of the timeline and of the cost chart. The functions are pure and can be tested without a browser.
 * @import { HourOfCosts, LifeTimes } from '../responses.ts'
 */

/** @typedef {'launching' | 'joining' | 'starting' | 'ready' | 'leaving'} LifePart */

/**
 * Parts of a life: name, and the names of the times at which it starts and may end.
 * @type {readonly (readonly [LifePart, keyof LifeTimes, readonly (keyof LifeTimes)[]])[]}
 */
const PARTS = [
  ['launching', 'createdMs', ['launchedMs', 'registeredMs', 'initializedMs', 'leavingMs', 'endedMs']],
  ['joining', 'launchedMs', ['registeredMs', 'initializedMs', 'leavingMs', 'endedMs']],
  ['starting', 'registeredMs', ['initializedMs', 'leavingMs', 'endedMs']],
  ['ready', 'initializedMs', ['leavingMs', 'endedMs']],
  ['leaving', 'leavingMs', ['endedMs']],
];

/**
 * Returns the parts of a life within a time span, in percent of the span.
 * @param {LifeTimes} life @param {{ readonly fromMs: number, readonly toMs: number }} span
 */
export const lifeParts = (life, { fromMs, toMs }) => {
  /** @param {number} ms */
  const percent = (ms) => Math.min(1, Math.max(0, (ms - fromMs) / (toMs - fromMs))) * 100;
  return PARTS.flatMap(([part, start, ends]) => {
    const startMs = life[start];
    if (startMs === undefined) return [];
    const end = ends.map((name) => life[name]).find((ms) => ms !== undefined) ?? toMs;
    const left = percent(startMs);
    const width = percent(end) - left;
    return width > 0 ? [{ part, left, width }] : [];
  });
};

/** Maximum number of areas of the cost chart. Further NodePools share an area. */
const MOST_AREAS = 8;
const OTHERS = '__others__';

/**
 * Returns an area for each NodePool in a box of 100 by 100, stacked on each other, with the largest at the bottom.
 * @param {readonly HourOfCosts[]} hours @param {readonly string[]} nodePools
 */
export const costAreas = (hours, nodePools) => {
  const totals = nodePools.map((name, at) => ({ name, at, usd: usdIn(hours, at) }));
  const sorted = totals.sort((a, b) => Number(a.name === OTHERS) - Number(b.name === OTHERS) || b.usd - a.usd);
  const kept = sorted.filter(
    ({ name }, rank) => name !== OTHERS && rank < (sorted.length > MOST_AREAS ? MOST_AREAS - 1 : MOST_AREAS),
  );
  const rest = sorted.filter((pool) => !kept.includes(pool));
  const groups = kept.map((pool) => ({ name: pool.name, isPool: true, usd: pool.usd, members: [pool] }));
  if (rest.length > 0) {
    const usd = rest.reduce((sum, pool) => sum + pool.usd, 0);
    groups.push({ name: 'other NodePools', isPool: false, usd, members: rest });
  }
  const most = Math.max(1e-9, ...hours.map(({ usd }) => usd.reduce((sum, each) => sum + each, 0)));
  const points = hours.length === 1 ? [...hours, ...hours] : hours;
  /** @param {readonly number[]} heights */
  const edge = (heights) => heights.map((usd, index) => point((index / (points.length - 1)) * 100, usd / most));
  let below = points.map(() => 0);
  const areas = groups.map(({ name, isPool, usd, members }) => {
    const lower = edge(below);
    below = points.map((hour, index) => members.reduce((sum, { at }) => sum + (hour.usd[at] ?? 0), below[index] ?? 0));
    const upper = edge(below);
    return { name, isPool, usd, d: points.length === 0 ? '' : `M${upper.join('L')}L${lower.toReversed().join('L')}Z` };
  });
  return { areas, most };
};

/**
 * Returns the USD of a NodePool. Only the observed part of an hour counts.
 * @param {readonly HourOfCosts[]} hours @param {number} at
 */
const usdIn = (hours, at) => hours.reduce((sum, { usd, observed }) => sum + (usd[at] ?? 0) * observed, 0);

/** @param {number} x @param {number} part */
const point = (x, part) => `${x.toFixed(2)} ${(100 - part * 100).toFixed(2)}`;

/** Positions of the timeline and of the cost chart. The functions are pure and can be tested without a browser. */

/** Parts of a life: name, and the names of the times at which it starts and may end. */
const PARTS = [
  ['launching', 'createdMs', ['launchedMs', 'registeredMs', 'initializedMs', 'leavingMs', 'endedMs']],
  ['joining', 'launchedMs', ['registeredMs', 'initializedMs', 'leavingMs', 'endedMs']],
  ['starting', 'registeredMs', ['initializedMs', 'leavingMs', 'endedMs']],
  ['ready', 'initializedMs', ['leavingMs', 'endedMs']],
  ['leaving', 'leavingMs', ['endedMs']],
];

/**
 * Returns the parts of a life within a time span, in percent of the span.
 * @param {Record<string, number>} life @param {{ fromMs: number, toMs: number }} span
 */
export const lifeParts = (life, { fromMs, toMs }) => {
  const percent = (ms) => Math.min(1, Math.max(0, (ms - fromMs) / (toMs - fromMs))) * 100;
  return PARTS.flatMap(([part, start, ends]) => {
    if (life[start] === undefined) return [];
    const end = ends.map((name) => life[name]).find((ms) => ms !== undefined) ?? toMs;
    const left = percent(life[start]);
    const width = percent(end) - left;
    return width > 0 ? [{ part, left, width }] : [];
  });
};

/** Maximum number of areas of the cost chart. Further NodePools share an area. */
const MOST_AREAS = 8;
const OTHERS = '__others__';

/**
 * Returns an area for each NodePool in a box of 100 by 100, stacked on each other, with the largest at the bottom.
 * @param {readonly { hourMs: number, observed: number, usd: readonly number[] }[]} hours @param {readonly string[]} nodePools
 */
export const costAreas = (hours, nodePools) => {
  const totals = nodePools.map((name, at) => ({ name, at, usd: usdIn(hours, at) }));
  const sorted = totals.sort((a, b) => Number(a.name === OTHERS) - Number(b.name === OTHERS) || b.usd - a.usd);
  const kept = sorted.filter(
    ({ name }, rank) => name !== OTHERS && rank < (sorted.length > MOST_AREAS ? MOST_AREAS - 1 : MOST_AREAS),
  );
  const rest = sorted.filter((pool) => !kept.includes(pool));
  const groups = [...kept.map((pool) => ({ ...pool, members: [pool] }))];
  if (rest.length > 0) {
    const usd = rest.reduce((sum, pool) => sum + pool.usd, 0);
    groups.push({ name: 'other NodePools', usd, members: rest });
  }
  const most = Math.max(1e-9, ...hours.map(({ usd }) => usd.reduce((sum, each) => sum + each, 0)));
  const x = (index) => (hours.length === 1 ? [0, 100][index] : (index / (hours.length - 1)) * 100);
  const points = hours.length === 1 ? [hours[0], hours[0]] : hours;
  const below = points.map(() => 0);
  const areas = groups.map(({ name, usd, members }) => {
    const lower = points.map((_, index) => point(x(index), below[index] / most));
    for (const [index, hour] of points.entries())
      below[index] += members.reduce((sum, { at }) => sum + hour.usd[at], 0);
    const upper = points.map((_, index) => point(x(index), below[index] / most));
    return { name, usd, d: points.length === 0 ? '' : `M${upper.join('L')}L${lower.toReversed().join('L')}Z` };
  });
  return { areas, most };
};

/** Returns the USD of a NodePool. Only the observed part of an hour counts. */
const usdIn = (hours, at) => hours.reduce((sum, { usd, observed }) => sum + usd[at] * observed, 0);

const point = (x, part) => `${x.toFixed(2)} ${(100 - part * 100).toFixed(2)}`;

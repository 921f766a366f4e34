/**
 * Sizes, positions and colours of the map. The functions are pure and can be tested without a browser.
 * @import { LiveNode, PodBlock, PodState } from '../model.ts'
 */
import { usdText } from './format.js';
import { OUTLOOKS, outlookOf } from './sentences.js';

/** Maximum number of boxes with pods. With more nodes, the map draws each node as a rectangle without pods. */
export const MOST_BOXES = 300;
/** Pixels for the square root of a unit of capacity. Few steps, so that boxes keep their size while nodes come and go. */
const SCALES = /** @type {const} */ ([2, 3, 4, 6, 8, 11, 15, 20, 26, 34, 44]);
const LEAST_BOX = 24;
const MOST_BOX = 220;
/** Part of the area that boxes use. Gaps and the room at the end of lines use the rest. */
const USED_PART = 0.6;
const GIB = 2 ** 30;
/** Memory that counts as much as one CPU, as in general-purpose instance types. */
const GIB_A_CPU = 4;

/** Capacity of a node: the mean of its CPUs and of its memory in units of 4 GiB. @param {LiveNode} node */
export const capacityOf = ({ shares }) => {
  const [, cpu = 0] = shares.cpu ?? [];
  const [, memory = 0] = shares.memory ?? [];
  return (cpu / 1000 + memory / GIB / GIB_A_CPU) / 2;
};

/**
 * Returns the largest scale at which the boxes of all nodes fit. On narrow pages, few nodes do not get large boxes.
 * @param {readonly LiveNode[]} nodes @param {{ readonly width: number, readonly height: number }} area
 */
export const scaleFor = (nodes, { width, height }) => {
  const capacity = nodes.reduce((sum, node) => sum + capacityOf(node), 0);
  const wanted = Math.min(width / 12, Math.sqrt((USED_PART * width * height) / Math.max(1, capacity)));
  return SCALES.findLast((scale) => scale <= wanted) ?? SCALES[0];
};

/** Returns the side of a box with pods, in pixels. @param {LiveNode} node @param {number} scale */
export const boxSide = (node, scale) =>
  Math.round(Math.min(MOST_BOX, Math.max(LEAST_BOX, scale * Math.sqrt(capacityOf(node)))));

/** Returns the side of a rectangle of a large map, in pixels. @param {LiveNode} node @param {number} scale */
export const cellSide = (node, scale) => Math.max(3, Math.round(scale * Math.sqrt(capacityOf(node))));

/**
 * Returns a rectangle for each pod in a box of 100 by 100, from the bottom. The area of a rectangle is the share of the
 * node, and the room above the rectangles is free.
 * @param {readonly PodBlock[]} blocks
 */
export const podRectangles = (blocks) => {
  const pods = blocks.flatMap(([share, state, count]) => Array.from({ length: count }, () => ({ share, state })));
  const columns = Math.max(1, Math.ceil(Math.sqrt(pods.length)));
  const rectangles = [];
  let bottom = 100;
  for (let from = 0; from < pods.length; from += columns) {
    const row = pods.slice(from, from + columns);
    const sum = row.reduce((total, { share }) => total + share, 0);
    const height = Math.min(bottom, sum / 10);
    let left = 0;
    for (const { share, state } of row) {
      const width = sum === 0 ? 0 : (100 * share) / sum;
      if (width > 0 && height > 0) rectangles.push({ state, x: left, y: bottom - height, width, height });
      left += width;
    }
    bottom -= height;
  }
  return rectangles;
};

/** Returns an SVG path for the rectangles of each state, with gaps. @param {readonly PodBlock[]} blocks */
export const podPaths = (blocks) => {
  const gap = 1.5;
  /** @type {Partial<Record<PodState, string>>} */
  const paths = {};
  for (const { state, x, y, width, height } of podRectangles(blocks)) {
    const [w, h] = [Math.max(0.5, width - gap), Math.max(0.5, height - gap)];
    paths[state] =
      `${paths[state] ?? ''}M${fixed(x + gap / 2)} ${fixed(y + gap / 2)}h${fixed(w)}v${fixed(h)}h${fixed(-w)}z`;
  }
  return paths;
};

/** @param {number} value */
const fixed = (value) => String(Number(value.toFixed(1)));

/**
 * Returns the positions of squares that fill lines from left to right, and the height of all lines.
 * @param {readonly number[]} sides @param {number} width
 */
export const flow = (sides, width, gap = 1) => {
  let [x, y, line] = [0, 0, 0];
  const places = sides.map((side) => {
    if (x > 0 && x + side > width) [x, y, line] = [0, y + line + gap, 0];
    const place = { x, y, side };
    x += side + gap;
    line = Math.max(line, side);
    return place;
  });
  return { places, height: y + line };
};

/** Number of tones for NodePools and for prices. Further NodePools share the last tone. */
const TONES = 8;
const PRICES = 5;

/**
 * @typedef {object} Tones
 * @property {(node: LiveNode) => string} toneOf
 * @property {readonly (readonly [tone: string, text: string])[]} labels
 */

/** Numbers of the tones of NodePools in all views, because a NodePool keeps its tone. @type {Map<string, number>} */
export const POOL_TONES = new Map();

/**
 * Assigns the next tones to NodePools without one. NodePools beyond the limit share the last tone.
 * @param {readonly string[]} names @param {Map<string, number>} known
 */
export const assignTones = (names, known) => {
  for (const name of names.toSorted()) if (!known.has(name)) known.set(name, Math.min(known.size, TONES - 1));
  return known;
};

/**
 * Returns the tone of each node and the legend.
 * @param {string} choice `pool`, `price` or `disruption` @param {readonly LiveNode[]} nodes
 * @param {Map<string, number>} [known] tones of the NodePools so far
 * @returns {Tones}
 */
export const tonesFor = (choice, nodes, known = new Map()) => {
  if (choice === 'disruption') return { toneOf: outlookOf, labels: Object.entries(OUTLOOKS) };
  if (choice === 'price') return priceTones(nodes);
  const pools = [...new Set(nodes.map(({ nodePool }) => nodePool))].sort(
    (a, b) => Number(a === '') - Number(b === '') || (a < b ? -1 : 1),
  );
  const named = pools.filter((pool) => pool !== '');
  const assigned = assignTones(named, known);
  const at = new Map(named.map((pool) => [pool, assigned.get(pool) ?? 0]));
  /** @param {number} tone */
  const label = (tone) => {
    const [first, ...others] = named.filter((pool) => at.get(pool) === tone);
    return first !== undefined && others.length === 0 ? first : `${others.length + 1} more NodePools`;
  };
  const tones = [...new Set(at.values())];
  return {
    toneOf: ({ nodePool }) => (nodePool === '' ? 'unknown' : `pool-${at.get(nodePool)}`),
    labels: [
      ...tones.map((tone) => /** @type {const} */ ([`pool-${tone}`, label(tone)])),
      ...(pools.includes('') ? [/** @type {const} */ (['unknown', 'no NodePool'])] : []),
    ],
  };
};

/** Price of one CPU, because the price of a node mostly shows its size. @param {LiveNode} node */
const cpuPrice = ({ usdPerHour, shares }) => {
  const [, cpu = 0] = shares.cpu ?? [];
  return usdPerHour === undefined || cpu === 0 ? undefined : (usdPerHour * 1000) / cpu;
};

/** @param {readonly LiveNode[]} nodes @returns {Tones} */
function priceTones(nodes) {
  const prices = nodes.map(cpuPrice).filter((price) => price !== undefined);
  const [least, most] = [Math.min(...prices), Math.max(...prices)];
  const step = (most - least) / PRICES;
  /** @param {LiveNode} node */
  const toneOf = (node) => {
    const price = cpuPrice(node);
    if (price === undefined) return 'unknown';
    return `price-${step === 0 ? 0 : Math.min(PRICES - 1, Math.floor((price - least) / step))}`;
  };
  const steps = prices.length === 0 ? 0 : step === 0 ? 1 : PRICES;
  const labels = Array.from(
    { length: steps },
    (_, at) => /** @type {const} */ ([`price-${at}`, `from ${usdText(least + at * step)}`]),
  );
  return { toneOf, labels: prices.length < nodes.length ? [...labels, ['unknown', 'unknown price']] : labels };
}

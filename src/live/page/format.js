/**
 * Formats numbers and times as text. The functions are pure and can be tested without a browser.
 * @import { CostSample, LiveNode, RequestedShare } from '../model.ts'
 */

/** @param {number | undefined} usd per hour */
export const usdText = (usd) => {
  if (usd === undefined) return '';
  const size = Math.abs(usd);
  const digits = size >= 100 ? 0 : size >= 1 || size === 0 ? 2 : 4;
  return `${usd < 0 ? '−' : ''}$${size.toFixed(digits)}`;
};

/** @param {number} count @param {string} noun */
export const counted = (count, noun) => `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

/**
 * Surplus CPU credits, which a price before them excludes, as the end of a sentence. Empty if they are 0.
 * @param {{ readonly surplusCreditsUsdPerHour?: number }} price
 */
export const surplusText = ({ surplusCreditsUsdPerHour: usd = 0 }) =>
  usd > 0 ? ` (planning: +${usdText(usd)} surplus CPU credits)` : '';

/** Returns a duration in its largest unit. @param {number} ms */
export const spanText = (ms) => {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
};

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/**
 * Formats an amount in the operator's unit: `cpu` in thousandths, memory in bytes, and other resources as numbers.
 * @param {string} resource @param {number} amount
 */
export const amountText = (resource, amount) => {
  if (resource === 'cpu') return trimmed(amount / 1000);
  if (resource !== 'memory' && !resource.startsWith('hugepages-')) return trimmed(amount);
  let unit = 0;
  let value = amount;
  for (; value >= 1024 && unit < BINARY.length - 1; unit += 1) value /= 1024;
  return `${trimmed(value)} ${BINARY[unit]}`;
};

/** @param {number} value */
const trimmed = (value) => String(Number(value.toFixed(value >= 10 ? 1 : 2)));

/** Shortens the name of a resource for a narrow column: `nvidia.com/gpu` becomes `gpu`. @param {string} resource */
export const resourceName = (resource) => resource.slice(resource.lastIndexOf('/') + 1);

/** Returns the share as a number from 0 to 1. @param {RequestedShare} share */
export const shareOf = ([requested, allocatable]) => (allocatable > 0 ? Math.min(1, requested / allocatable) : 0);

/**
 * Describes a node in lines, for tooltips and for screen readers.
 * @param {LiveNode} node @param {Readonly<Record<LiveNode['state'], string>>} states
 */
export const nodeText = (node, states) => {
  const { name, instanceType, zone, capacityType, usdPerHour, pods, shares, state, verdict } = node;
  /** @param {[string, RequestedShare]} entry */
  const percent = ([resource, share]) => `${resourceName(resource)} ${Math.round(shareOf(share) * 100)} %`;
  const used = Object.entries(shares).filter(([resource]) => resource !== 'pods');
  return [
    name,
    [instanceType, zone, capacityType].filter(Boolean).join(', '),
    [states[state], usdPerHour === undefined ? 'unknown price' : `${usdText(usdPerHour)} an hour`].join(', '),
    [counted(pods, 'pod'), ...used.map(percent)].join(', '),
    verdict?.text ?? '',
  ]
    .filter(Boolean)
    .join('\n');
};

/** Returns true if the node matches the search text. @param {LiveNode} node @param {string} query */
export const matches = (node, query) => {
  const wanted = query.trim().toLowerCase();
  if (wanted === '') return true;
  const words = [node.name, node.nodeClaim, node.nodePool, node.instanceType, node.zone, node.capacityType, node.state];
  return words.some((word) => word?.toLowerCase().includes(wanted));
};

/**
 * Groups nodes by NodePool. NodePools and nodes are sorted by name; nodes without a NodePool come last.
 * @param {readonly LiveNode[]} nodes
 */
export const byPool = (nodes) => {
  const pools = Map.groupBy([...nodes].sort(inOrder), ({ nodePool }) => nodePool);
  return [...pools].sort(([a], [b]) => Number(a === '') - Number(b === '') || (a < b ? -1 : 1));
};

/** @param {LiveNode} a @param {LiveNode} b */
const inOrder = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

/**
 * Counts the reasons for which nodes are not disrupted, in descending order, each with an example.
 * @param {readonly LiveNode[]} nodes
 */
export const blockers = (nodes) => {
  const verdicts = nodes.map(({ verdict }) => verdict).filter((verdict) => verdict !== undefined);
  const groups = Map.groupBy(
    verdicts.filter(({ code }) => !['chosen', 'next'].includes(code)),
    ({ code }) => code,
  );
  return [...groups]
    .map(([code, members]) => ({ code, count: members.length, text: members[0]?.text ?? '' }))
    .sort((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1));
};

/**
 * Returns an SVG path through the samples in a box of 100 by 30, with zero at the bottom. Returns an empty path for
 * fewer than two samples.
 * @param {readonly CostSample[]} samples
 */
export const chartPath = (samples) => {
  const [first, last] = [samples.at(0), samples.at(-1)];
  if (first === undefined || last === undefined || first === last) return '';
  const [firstMs] = first;
  const spanMs = Math.max(1, last[0] - firstMs);
  const most = Math.max(...samples.map(([, usd]) => usd)) || 1;
  return samples
    .map(([atMs, usd], index) => {
      const x = ((atMs - firstMs) / spanMs) * 100;
      return `${index === 0 ? 'M' : 'L'}${x.toFixed(2)} ${(29 - (usd / most) * 28).toFixed(2)}`;
    })
    .join(' ');
};

/**
 * Columns of the tables of the nodes, and their order. The functions are pure and can be tested without a browser.
 * @import { LiveNode, RequestedShare } from '../model.ts'
 */
import { resourceName, shareOf } from './format.js';
import { STATES, sentenceOf } from './sentences.js';

/** @param {string} resource @returns {Column['sortBy']} */
const useOf =
  (resource) =>
  ({ shares }) =>
    shares[resource] && shareOf(shares[resource]);

const FIXED = new Set(['cpu', 'memory', 'pods']);

/** Returns the devices of a node with their shares. @param {LiveNode} node */
export const devicesOf = ({ shares }) => Object.entries(shares).filter(([resource]) => !FIXED.has(resource));

/** @param {readonly (readonly [string, RequestedShare])[]} devices */
export const deviceText = (devices) =>
  devices.map(([resource, share]) => `${resourceName(resource)} ${Math.round(shareOf(share) * 100)} %`).join(', ');

/** @typedef {string | number | undefined} Value */
/**
 * @typedef {'name' | 'state' | 'age' | 'instance' | 'zone' | 'capacity'
 *   | 'cpu' | 'memory' | 'devices' | 'pods' | 'price' | 'idle' | 'why'} ColumnKey
 */
/** @typedef {{ readonly key: ColumnKey, readonly heading: string, readonly sortBy: (node: LiveNode) => Value }} Column */

/**
 * Columns from left to right: key, heading, and the value by which nodes are sorted. Numbers are sorted from the largest first,
 * texts from A to Z.
 * @satisfies {readonly [Column, ...Column[]]}
 */
export const COLUMNS = [
  { key: 'name', heading: 'Node', sortBy: ({ name }) => name },
  { key: 'state', heading: 'State', sortBy: ({ state }) => STATES[state] },
  { key: 'age', heading: 'Age', sortBy: ({ createdMs }) => (createdMs === 0 ? undefined : -createdMs) },
  { key: 'instance', heading: 'Instance type', sortBy: ({ instanceType }) => instanceType || undefined },
  { key: 'zone', heading: 'Zone', sortBy: ({ zone }) => zone || undefined },
  { key: 'capacity', heading: 'Capacity', sortBy: ({ capacityType }) => capacityType || undefined },
  { key: 'cpu', heading: 'CPU', sortBy: useOf('cpu') },
  { key: 'memory', heading: 'Memory', sortBy: useOf('memory') },
  {
    key: 'devices',
    heading: 'Devices',
    sortBy: (node) => {
      const shares = devicesOf(node).map(([, share]) => shareOf(share));
      return shares.length === 0 ? undefined : Math.max(...shares);
    },
  },
  { key: 'pods', heading: 'Pods', sortBy: ({ pods }) => pods },
  { key: 'price', heading: 'USD/h', sortBy: ({ usdPerHour }) => usdPerHour },
  { key: 'idle', heading: 'Idle', sortBy: ({ idleUsdPerHour }) => idleUsdPerHour },
  { key: 'why', heading: 'Disruption', sortBy: ({ verdict }) => verdict && sentenceOf(verdict.code) },
];

const NUMBERS = new Set(['age', 'cpu', 'memory', 'devices', 'pods', 'price', 'idle']);

/** @typedef {{ readonly key: string, readonly isReversed: boolean }} Order */

/**
 * Returns the order after a click on the heading of a column: its usual order, or the opposite of the present order.
 * @param {Order} order @param {string} clicked @returns {Order}
 */
export const orderAfter = ({ key, isReversed }, clicked) =>
  clicked === key ? { key, isReversed: !isReversed } : { key: clicked, isReversed: false };

/**
 * Sorts nodes by a column. Nodes without a value come last, and equal nodes are sorted by name.
 * @param {readonly LiveNode[]} nodes @param {Order} order
 */
export const sortNodes = (nodes, { key, isReversed }) => {
  const { sortBy } = COLUMNS.find((column) => column.key === key) ?? COLUMNS[0];
  const direction = isReversed ? -1 : 1;
  const rows = nodes.map((node) => ({ node, value: sortBy(node) }));
  return rows.sort((a, b) => compare(a.value, b.value, direction) || byName(a.node, b.node)).map(({ node }) => node);
};

/** Returns the value of `aria-sort` for a column. @param {Order} order @param {string} column */
export const sortState = ({ key, isReversed }, column) => {
  if (key !== column) return 'none';
  return NUMBERS.has(key) === isReversed ? 'ascending' : 'descending';
};

/** @param {LiveNode} a @param {LiveNode} b */
const byName = (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

/** @param {Value} a @param {Value} b @param {number} direction */
function compare(a, b, direction) {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  if (typeof a === 'number' && typeof b === 'number') return direction * (b - a);
  return a < b ? -direction : a > b ? direction : 0;
}

/** Choices of the user in `karpenter top`: sort order, groups, filter, and the selected row. */
import type { LiveNode, LiveState, PendingPod } from '../../live/model.ts';

const SORTS = ['price', 'cpu', 'memory', 'pods', 'age', 'name'] as const;
const GROUPS = ['NodePool', 'zone', 'capacity type', 'instance type', 'none'] as const;
type Sort = (typeof SORTS)[number];
type Group = (typeof GROUPS)[number];

export interface Choices {
  readonly sort: Sort;
  readonly group: Group;
  readonly filter: string;
  /** True while the user types the filter. */
  readonly isTyping: boolean;
  /** Name of the selected node or `namespace/name` of the selected pod. */
  readonly selected?: string | undefined;
  /** True if the details of the selected row are shown. */
  readonly isOpen: boolean;
}

export const INITIAL: Choices = { sort: 'price', group: 'NodePool', filter: '', isTyping: false, isOpen: false };

/** Fraction of the allocatable amount that is requested, or 0 if the node has none. */
export function shareOf({ shares }: LiveNode, resource: string): number {
  const [requested, allocatable] = shares[resource] ?? [0, 0];
  return allocatable > 0 ? requested / allocatable : 0;
}

const KEYS: Readonly<Record<Sort, (node: LiveNode) => number>> = {
  price: ({ usdPerHour = 0 }) => -usdPerHour,
  cpu: (node) => -shareOf(node, 'cpu'),
  memory: (node) => -shareOf(node, 'memory'),
  pods: ({ pods }) => -pods,
  age: ({ createdMs }) => createdMs,
  name: () => 0,
};

const GROUP_OF: Readonly<Record<Group, (node: LiveNode) => string>> = {
  NodePool: ({ nodePool }) => nodePool || 'no NodePool',
  zone: ({ zone }) => zone || 'no zone',
  'capacity type': ({ capacityType }) => capacityType || 'no capacity type',
  'instance type': ({ instanceType }) => instanceType || 'no instance type',
  none: () => '',
};

export interface NodeGroup {
  /** Empty if nodes are not grouped. */
  readonly name: string;
  readonly nodes: readonly LiveNode[];
}

export interface Rows {
  readonly groups: readonly NodeGroup[];
  readonly pending: readonly PendingPod[];
}

/** Applies filter, groups and order. The filter is a part of any column, regardless of case. */
export function rowsOf({ nodes, pending }: LiveState, { sort, group, filter }: Choices): Rows {
  const wanted = filter.toLowerCase();
  const has = (...texts: readonly string[]): boolean => texts.some((text) => text.toLowerCase().includes(wanted));
  const shown = nodes.filter(({ name, nodePool, instanceType, zone, capacityType, state, verdict }) =>
    has(name, nodePool, instanceType, zone, capacityType, state, verdict?.text ?? ''),
  );
  const key = KEYS[sort];
  const inOrder = shown.toSorted((a, b) => key(a) - key(b) || (a.name < b.name ? -1 : 1));
  const groups = [...Map.groupBy(inOrder, GROUP_OF[group])].map(([name, own]) => ({ name, nodes: own }));
  return {
    groups: groups.sort((a, b) => priceOf(b.nodes) - priceOf(a.nodes) || (a.name < b.name ? -1 : 1)),
    pending: pending.filter(({ pod, reason = '' }) => has(pod, reason)),
  };
}

/** Returns the price of nodes in USD per hour. Nodes without a known price count as 0. */
export const priceOf = (nodes: readonly LiveNode[]): number =>
  nodes.reduce((sum, { usdPerHour = 0 }) => sum + usdPerHour, 0);

/** Names of all rows that can be selected, from the top down. */
const selectable = ({ groups, pending }: Rows): readonly string[] => [
  ...groups.flatMap(({ nodes }) => nodes.map(({ name }) => name)),
  ...pending.map(({ pod }) => pod),
];

/** Name of a key, or typed text. */
export type Key =
  | 'up'
  | 'down'
  | 'page up'
  | 'page down'
  | 'enter'
  | 'escape'
  | 'backspace'
  | { readonly text: string };

const PAGE = 10;
const STEPS: Readonly<Record<string, number>> = { up: -1, down: 1, 'page up': -PAGE, 'page down': PAGE };

/** Returns the choices after a key, or undefined if the view must close. */
export function press(choices: Choices, key: Key, state: LiveState): Choices | undefined {
  if (choices.isTyping) return type(choices, key);
  const letter = typeof key === 'string' ? key : key.text;
  if (letter === 'q') return undefined;
  if (letter === 'escape') return choices.isOpen ? { ...choices, isOpen: false } : { ...choices, filter: '' };
  if (letter === 'enter') return { ...choices, isOpen: !choices.isOpen && choices.selected !== undefined };
  if (letter === '/') return { ...choices, isTyping: true, isOpen: false };
  if (letter === 's') return { ...choices, sort: after(SORTS, choices.sort) };
  if (letter === 'g') return { ...choices, group: after(GROUPS, choices.group) };
  const step = STEPS[letter === 'k' ? 'up' : letter === 'j' ? 'down' : letter];
  return step === undefined ? choices : move(choices, step, state);
}

function type(choices: Choices, key: Key): Choices {
  if (key === 'enter') return { ...choices, isTyping: false };
  if (key === 'escape') return { ...choices, isTyping: false, filter: '' };
  if (key === 'backspace') return { ...choices, filter: choices.filter.slice(0, -1) };
  return typeof key === 'string' ? choices : { ...choices, filter: choices.filter + key.text };
}

const after = <T>(values: readonly T[], value: T): T => values[(values.indexOf(value) + 1) % values.length] ?? value;

function move(choices: Choices, step: number, state: LiveState): Choices {
  const names = selectable(rowsOf(state, choices));
  const at = choices.selected === undefined ? -1 : names.indexOf(choices.selected);
  const next = at === -1 ? 0 : Math.min(names.length - 1, Math.max(0, at + step));
  return { ...choices, selected: names[next] };
}

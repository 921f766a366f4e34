/** Choices of the user in `karpenter top`: sort order, groups, filter, and the selected row. */
import { compareText } from '#engine/model';
import { own } from '#lib';
import { type LiveNode, type LiveState, type PendingGroup, type PendingPod, pendingGroups } from '#live/view';
import type { LogLine } from '#observe/history';

/** Node with the labels that the view shows. */
export interface TopNode extends LiveNode {
  readonly labels: Readonly<Record<string, string>>;
  /** Parts of the allocatable amounts that pods use, from 0 to 1. Absent without the metrics API. */
  readonly used?: Readonly<Record<'cpu' | 'memory', number>>;
}

export interface TopState extends Omit<LiveState, 'pending'> {
  readonly pending: readonly PendingPod[];
  readonly nodes: readonly TopNode[];
  /** Decisions of the last hour, oldest first. Undefined if the operator cannot be reached. */
  readonly log?: readonly LogLine[] | undefined;
}

export interface ScreenChoices {
  /** Name of a column of `columnsToSort`. */
  readonly sort: string;
  /** True if the order is from the end. */
  readonly isReversed: boolean;
  /** Name of a property of `groupsOf`. */
  readonly group: string;
  /** Keys of labels that are columns. */
  readonly labels: readonly string[];
  readonly filter: string;
  /** True while the user types the filter. */
  readonly isTyping: boolean;
  /** Name of the selected node or `namespace/name` of the selected pod. */
  readonly selected?: string | undefined;
  /** True if the details of the selected row are shown. */
  readonly isOpen: boolean;
}

export const INITIAL: ScreenChoices = {
  sort: 'price',
  isReversed: false,
  group: 'NodePool',
  labels: [],
  filter: '',
  isTyping: false,
  isOpen: false,
};

/** Fraction of the allocatable amount that is requested, or 0 if the node has none. */
export function resourceShare({ shares }: LiveNode, resource: string): number {
  const [requested, allocatable] = shares[resource] ?? [0, 0];
  return allocatable > 0 ? requested / allocatable : 0;
}

const byText = (text: (node: TopNode) => string) => (a: TopNode, b: TopNode) => compareText(text(a), text(b));
const byNumber = (value: (node: TopNode) => number) => (a: TopNode, b: TopNode) => value(a) - value(b);

/** Orders by column: numbers from the largest, ages from the oldest, texts from A to Z. */
const ORDERS: Readonly<Record<string, (a: TopNode, b: TopNode) => number>> = {
  price: byNumber(({ usdPerHour = 0 }) => -usdPerHour),
  cpu: byNumber((node) => -resourceShare(node, 'cpu')),
  memory: byNumber((node) => -resourceShare(node, 'memory')),
  pods: byNumber(({ pods }) => -pods),
  age: byNumber(({ createdMs }) => createdMs),
  name: byText(({ name }) => name),
  'instance type': byText(({ instanceType }) => instanceType),
  'capacity type': byText(({ capacityType }) => capacityType),
  zone: byText(({ zone }) => zone),
  state: byText(({ state }) => state),
  verdict: byText(({ verdict }) => verdict?.code ?? ''),
};

const GROUPS: Readonly<Record<string, (node: TopNode) => string>> = {
  NodePool: ({ nodePool }) => nodePool || 'no NodePool',
  zone: ({ zone }) => zone || 'no zone',
  'capacity type': ({ capacityType }) => capacityType || 'no capacity type',
  'instance type': ({ instanceType }) => instanceType || 'no instance type',
  state: ({ state }) => state,
  verdict: ({ verdict }) => verdict?.code ?? 'no verdict',
  none: () => '',
};

/** Returns the names of all columns that can order the nodes. Keys of labels are such names. */
export const columnsToSort = (labels: readonly string[]): readonly string[] => [...Object.keys(ORDERS), ...labels];

/** Returns the names of all properties that can group the nodes. */
export const shownGroups = (labels: readonly string[]): readonly string[] => [...Object.keys(GROUPS), ...labels];

const orderBy = (name: string) => own(ORDERS, name) ?? byText(({ labels }) => own(labels, name) ?? '');
const groupBy = (name: string) => own(GROUPS, name) ?? (({ labels }: TopNode) => own(labels, name) ?? `no ${name}`);

export interface NodeGroup {
  /** Empty if nodes are not grouped. */
  readonly name: string;
  readonly nodes: readonly TopNode[];
}

export interface Rows {
  readonly groups: readonly NodeGroup[];
  readonly pending: readonly PendingGroup[];
}

/** Applies filter, groups and order. The filter is a part of any column, regardless of case. */
export function rowsOf(
  { nodes, pending }: TopState,
  { sort, isReversed, group, labels: keys, filter }: ScreenChoices,
): Rows {
  const wanted = filter.toLowerCase();
  const has = (...texts: readonly string[]): boolean => texts.some((text) => text.toLowerCase().includes(wanted));
  const shown = nodes.filter(({ name, nodePool, instanceType, zone, capacityType, state, verdict, labels }) =>
    has(
      name,
      nodePool,
      instanceType,
      zone,
      capacityType,
      state,
      verdict?.code ?? '',
      verdict?.text ?? '',
      ...keys.map((key) => own(labels, key) ?? ''),
    ),
  );
  const order = orderBy(sort);
  const direction = isReversed ? -1 : 1;
  const inOrder = shown.toSorted((a, b) => direction * order(a, b) || compareText(a.name, b.name));
  const groups = [...Map.groupBy(inOrder, groupBy(group))].map(([name, own]) => ({ name, nodes: own }));
  return {
    groups: groups.sort((a, b) => screenPrice(b.nodes) - screenPrice(a.nodes) || (a.name < b.name ? -1 : 1)),
    pending: pendingGroups(pending.filter(({ pod, reason = '' }) => has(pod, reason))),
  };
}

/** Returns the price of nodes in USD per hour. Nodes without a known price count as 0. */
export const screenPrice = (nodes: readonly LiveNode[]): number =>
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
export function press(choices: ScreenChoices, key: Key, state: TopState): ScreenChoices | undefined {
  if (choices.isTyping) return type(choices, key);
  const letter = typeof key === 'string' ? key : key.text;
  if (letter === 'q') return undefined;
  if (letter === 'escape') return choices.isOpen ? { ...choices, isOpen: false } : { ...choices, filter: '' };
  if (letter === 'enter') return { ...choices, isOpen: !choices.isOpen && choices.selected !== undefined };
  if (letter === '/') return { ...choices, isTyping: true, isOpen: false };
  if (letter === 's') return { ...choices, sort: after(columnsToSort(choices.labels), choices.sort) };
  if (letter === 'r') return { ...choices, isReversed: !choices.isReversed };
  if (letter === 'g') return { ...choices, group: after(shownGroups(choices.labels), choices.group) };
  const step = STEPS[letter === 'k' ? 'up' : letter === 'j' ? 'down' : letter];
  return step === undefined ? choices : move(choices, step, state);
}

function type(choices: ScreenChoices, key: Key): ScreenChoices {
  if (key === 'enter') return { ...choices, isTyping: false };
  if (key === 'escape') return { ...choices, isTyping: false, filter: '' };
  if (key === 'backspace') return { ...choices, filter: choices.filter.slice(0, -1) };
  return typeof key === 'string' ? choices : { ...choices, filter: choices.filter + key.text };
}

const after = <T>(values: readonly T[], value: T): T => values[(values.indexOf(value) + 1) % values.length] ?? value;

function move(choices: ScreenChoices, step: number, state: TopState): ScreenChoices {
  const names = selectable(rowsOf(state, choices));
  const at = choices.selected === undefined ? -1 : names.indexOf(choices.selected);
  const next = at === -1 ? 0 : Math.min(names.length - 1, Math.max(0, at + step));
  return { ...choices, selected: names[next] };
}

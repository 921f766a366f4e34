/** Converts values of Karpenter's chart, of any release, to values of this chart. */
import { isMap, isScalar, type Pair, Scalar, YAMLMap } from 'yaml';
import { nearestName, own, quoted } from '#lib';
import { KNOWN_VALUES } from './chart-values.ts';
import {
  DROPPED_VALUES,
  KARPENTER_IMAGE,
  LOG_LEVELS,
  MOVED_VALUES,
  type MovedValue,
  type ValuePath,
} from './helm-value-rules.ts';
import { below, type TakeNote } from './notes.ts';

/** Tree of value names. A list contains the allowed texts, and `true` allows any value. */
type Known = { readonly [name: string]: Known | readonly string[] | true };

const KNOWN = JSON.parse(KNOWN_VALUES) as Known;

/** Values of Helm itself, and values that parent charts share. */
const OF_HELM = new Set(['global', 'enabled', 'tags', '<<']);

/**
 * Updates values in place. Keeps comments and order, and a second run changes nothing. Values that cannot be
 * evaluated, such as template expressions, remain unchanged.
 *
 * @param note called for each value that moved, was removed, or is unknown to the chart; paths start at the values
 * @returns whether anything was changed
 */
export function convertValues(values: YAMLMap, note: TakeNote): boolean {
  // a parent chart of Karpenter's chart nests its values under the chart's name
  const nested = pairOf(values, 'karpenter')?.value;
  const isNested = isMap(nested);
  const before = isNested && convertValues(nested as YAMLMap, below(note, ['karpenter']));
  if (isNested && !values.has('settings')) return before;

  const asGiven = JSON.stringify(values);
  for (const rule of MOVED_VALUES) move(values, rule, note);
  const gone = DROPPED_VALUES.filter(({ path }) => remove(values, path) !== undefined);
  // notes are added after all removals, because removing a map would also remove comments in it
  for (const { path, text } of gone) note('lost', path, `${path.join('.')} is removed: ${text}`);
  correctLogLevel(values, note);
  dropImage(values, note);
  const isChanged = JSON.stringify(values) !== asGiven;
  if (isChanged) noteNewDefaults(values, note);
  noteUnknown(values, KNOWN, { path: [], note });
  return isChanged || before;
}

const pairOf = (map: YAMLMap, name: string): Pair | undefined =>
  map.items.find(({ key }) => (isScalar(key) ? key.value : key) === name);

/** Returns the map that contains a value, or undefined if a map on the path is missing or has another type. */
function holderOf(values: YAMLMap, path: ValuePath): YAMLMap | undefined {
  let map = values;
  for (const name of path.slice(0, -1)) {
    const next = pairOf(map, name)?.value;
    if (!isMap(next)) return undefined;
    map = next as YAMLMap;
  }
  return map;
}

const nameIn = (path: ValuePath): string => path.at(-1) ?? '';

const has = (values: YAMLMap, path: ValuePath): boolean => {
  const holder = holderOf(values, path);
  return holder !== undefined && pairOf(holder, nameIn(path)) !== undefined;
};

/** Removes a value and maps that become empty. Returns the value with its comments. */
function remove(values: YAMLMap, path: ValuePath): Pair | undefined {
  const holder = holderOf(values, path);
  const pair = holder && pairOf(holder, nameIn(path));
  if (holder === undefined || pair === undefined) return undefined;
  const index = holder.items.indexOf(pair);
  holder.items.splice(index, 1);
  // the parser attaches the comment above the first key to the map
  if (index === 0 && holder !== values) addComment(pair, take(holder));
  if (holder.items.length === 0 && holder !== values) {
    const emptied = remove(values, path.slice(0, -1));
    if (isScalar(emptied?.key)) addComment(pair, take(emptied.key));
  }
  return pair;
}

function take(node: { commentBefore?: string | null }): string | null {
  const comment = node.commentBefore ?? null;
  node.commentBefore = null;
  return comment;
}

function addComment(pair: Pair, comment: string | null): void {
  if (comment === null || !isScalar(pair.key)) return;
  const { commentBefore } = pair.key;
  pair.key.commentBefore = commentBefore ? `${comment}\n${commentBefore}` : comment;
}

function move(values: YAMLMap, { from, to, text }: MovedValue, note: TakeNote): void {
  const place = placeOf(values, from, to);
  const pair = remove(values, from);
  if (pair === undefined) return;
  if (has(values, to)) {
    note('lost', from, `${from.join('.')} is removed, because ${to.join('.')} is also set and takes precedence`, to);
    return;
  }
  const key = new Scalar(nameIn(to));
  if (isScalar(pair.key)) key.commentBefore = pair.key.commentBefore ?? null;
  pair.key = key;
  const { items } = mapAt(values, to.slice(0, -1));
  items.splice(place ?? items.length, 0, pair);
  note('changed', from, `${from.join('.')} is now ${to.join('.')}${text === undefined ? '' : `; ${text}`}`, to);
}

/**
 * Returns the position of the old value if the new value belongs to the same map, so that users find it again.
 * Otherwise returns undefined, and the new value is appended.
 */
function placeOf(values: YAMLMap, from: ValuePath, to: ValuePath): number | undefined {
  const step = to.length - 1;
  if (from.length < to.length || to.slice(0, step).some((name, index) => name !== from[index])) return undefined;
  const holder = holderOf(values, to);
  const pair = holder && pairOf(holder, from[step] ?? '');
  return holder && pair && holder.items.indexOf(pair);
}

/** Returns the map at a path and creates missing maps. */
function mapAt(values: YAMLMap, path: ValuePath): YAMLMap {
  let map = values;
  for (const name of path) {
    const pair = pairOf(map, name);
    if (isMap(pair?.value)) map = pair.value as YAMLMap;
    else {
      const made = new YAMLMap();
      if (pair === undefined) map.set(new Scalar(name), made);
      else pair.value = made;
      map = made;
    }
  }
  return map;
}

const textAt = (values: YAMLMap, path: ValuePath): string | undefined => {
  const value = holderOf(values, path)?.get(nameIn(path));
  return typeof value === 'string' ? value : undefined;
};

function correctLogLevel(values: YAMLMap, note: TakeNote): void {
  const level = textAt(values, ['logLevel']);
  const today = level === undefined ? undefined : own(LOG_LEVELS, level.toLowerCase());
  if (today === undefined) return;
  values.set('logLevel', today);
  note('changed', ['logLevel'], `${quoted(level ?? '')} is not a level any more; the levels are debug, info and error`);
}

/** Removes an image of Karpenter's own controller, because the chart needs an image of this operator. */
function dropImage(values: YAMLMap, note: TakeNote): void {
  const path = ['controller', 'image'];
  const pair = holderOf(values, path) && pairOf(mapAt(values, ['controller']), 'image');
  const image = pair?.value;
  if (!isMap(image)) return;
  const repository = textAt(values, [...path, 'repository']);
  if (image.items.length === 0 || (repository !== undefined && !KARPENTER_IMAGE.test(repository))) return;
  remove(values, path);
  note(
    'lost',
    path,
    'removed, because it is an image of Karpenter; set controller.image.repository to the image that you built',
  );
}

/** Adds notes about changed defaults that the values do not set. */
function noteNewDefaults(values: YAMLMap, note: TakeNote): void {
  if (!has(values, ['controller', 'metrics', 'port']))
    note(
      'changed',
      ['controller', 'metrics', 'port'],
      'metrics are served on port 8080, and on 8000 before 1.0; check network policies and scrapers, or set it to 8000',
    );
  if (!has(values, ['topologySpreadConstraints']))
    note(
      'changed',
      ['topologySpreadConstraints'],
      'since 1.0, replicas must be spread over zones, so two replicas need nodes in two zones',
    );
  if (!has(values, ['settings', 'clusterName']))
    note('assumed', ['settings', 'clusterName'], 'the chart requires this value; set it here or with --set');
}

interface Place {
  readonly path: ValuePath;
  readonly note: TakeNote;
}

function noteUnknown(map: YAMLMap, known: Known, { path, note }: Place): void {
  for (const { key, value } of map.items) {
    const name = String(isScalar(key) ? key.value : key);
    const here = [...path, name];
    const allowed = own(known, name);
    if (path.length === 0 && OF_HELM.has(name)) continue;
    if (allowed === undefined) note('lost', here, unknownText(name, known));
    else if (Array.isArray(allowed)) noteRefused(value, allowed as readonly string[], { path: here, note });
    else if (allowed !== true) {
      if (isMap(value)) noteUnknown(value as YAMLMap, allowed as Known, { path: here, note });
      else if (isScalar(value) && value.value !== null && !isTemplated(value.value))
        note('lost', here, `the chart needs a map here, not ${quoted(String(value.value))}; the value is unchanged`);
    }
  }
}

function unknownText(name: string, known: Known): string {
  const near = nearestName(name, Object.keys(known));
  return `the chart does not use this value${near === undefined ? '' : `; did you mean ${near}?`}`;
}

const isTemplated = (value: unknown): boolean => typeof value === 'string' && /\$\{|\{\{|\$\w/.test(value);

function noteRefused(value: unknown, allowed: readonly string[], { path, note }: Place): void {
  const given = isScalar(value) ? value.value : undefined;
  if (given === undefined || given === null || isTemplated(given) || allowed.includes(String(given))) return;
  const texts = allowed.filter((text) => text !== '').join(', ');
  note('lost', path, `the chart rejects ${quoted(String(given))}; it must be one of ${texts}`);
}

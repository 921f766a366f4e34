/** Reads and creates nodes of YAML documents, and expands aliases and merge keys. */
import {
  Document,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  Scalar,
  visit,
  YAMLMap,
} from 'yaml';

const MAKER = new Document(null);

/** Texts that need quotes, because kubectl's YAML 1.1 parser reads them as other types. */
const NO_TEXT_IN_YAML_1_1 = /^(?:[yn~]|yes|no|on|off|true|false|null|[-+.]?\d[\d_.:a-fx+-]*|)$/i;

/** Creates a node from plain data. */
export function nodeOf(value: unknown): Node {
  if (isNode(value)) return value;
  const node = MAKER.createNode(value, { aliasDuplicateObjects: false });
  visit(node, {
    Scalar: (key, scalar) => {
      if (key === 'key' || typeof scalar.value !== 'string') return;
      if (NO_TEXT_IN_YAML_1_1.test(scalar.value)) scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return node;
}

/** Converts a node to plain data. Aliases must be expanded first. */
export const plain = (node: unknown): unknown => (isNode(node) ? node.toJS(MAKER) : node);

export const keyOf = ({ key }: Pair): unknown => (isScalar(key) ? key.value : key);

export const pairOf = (map: YAMLMap, key: string | number): Pair | undefined =>
  map.items.find((pair) => keyOf(pair) === key);

/** Returns true if a node is absent or null. */
export const isMissing = (node: unknown): boolean =>
  node === undefined || node === null || (isScalar(node) && node.value === null);

/** Returns the target of an alias. Returns other nodes unchanged. */
export const resolveAlias = (node: unknown, document: Document): unknown =>
  isAlias(node) ? node.resolve(document) : node;

const MERGE = '<<';
const isMerge = (pair: Pair): boolean =>
  isScalar(pair.key) && (pair.key.value === MERGE || typeof pair.key.value === 'symbol');

/** Returns the entries of a map, including entries from merge keys. */
export function entriesOf(map: YAMLMap, document: Document): readonly Pair[] {
  const own = map.items.filter((pair) => !isMerge(pair));
  const known = new Set(own.map(keyOf));
  const merged = map.items.filter(isMerge).flatMap(({ value }) => {
    const source = resolveAlias(value, document);
    const sources = isSeq(source) ? source.items.map((item) => resolveAlias(item, document)) : [source];
    return sources.flatMap((one) => (isMap(one) ? entriesOf(one, document) : []));
  });
  const brought = merged.filter((pair) => {
    const isNew = !known.has(keyOf(pair));
    known.add(keyOf(pair));
    return isNew;
  });
  return [...own, ...brought];
}

/** Returns a copy with all aliases and merge keys expanded. */
export function expandAliases<T extends Node>(node: T, document: Document): T {
  const copy = node.clone() as T;
  expand(copy, document);
  return copy;
}

function expand(node: unknown, document: Document): void {
  if (isMap(node)) {
    if (node.items.some(isMerge)) node.items = entriesOf(node, document).map((pair) => pair.clone());
    for (const pair of node.items) {
      pair.key = expandNode(pair.key, document);
      pair.value = expandNode(pair.value, document);
    }
  } else if (isSeq(node)) node.items = node.items.map((item) => expandNode(item, document));
}

function expandNode(node: unknown, document: Document): unknown {
  if (!isAlias(node)) {
    expand(node, document);
    return node;
  }
  const target = node.resolve(document);
  if (target === undefined) return node;
  const copy = target.clone() as Node;
  if (isScalar(copy) || isCollection(copy)) delete copy.anchor;
  expand(copy, document);
  return copy;
}

/** Removes anchors without aliases. */
export function dropUnusedAnchors(document: Document): void {
  const used = new Set<string>();
  visit(document, { Alias: (_, { source }) => void used.add(source) });
  visit(document, {
    Value: (_, node) => {
      if (node.anchor !== undefined && !used.has(node.anchor)) delete node.anchor;
    },
  });
}

/** Returns true if a map has a key that is not a scalar. `{{ .Values.x }}` has this form if it is parsed as YAML. */
export function isTemplate(document: Document): boolean {
  let found = false;
  visit(document, {
    Pair: (_, { key }) => {
      found ||= isCollection(key);
      return found ? visit.BREAK : undefined;
    },
  });
  return found;
}

export const emptyMap = (): YAMLMap => new YAMLMap();

/** Nodes of a YAML document: reading, making, and writing out what aliases and merge keys stand for. */
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

/** What YAML 1.1, which kubectl reads, takes for something else than text. */
const NO_TEXT_IN_YAML_1_1 = /^(?:[yn~]|yes|no|on|off|true|false|null|[-+.]?\d[\d_.:a-fx+-]*|)$/i;

/** A node for plain data. */
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

/** A node as plain data. Aliases have to be written out before. */
export const plain = (node: unknown): unknown => (isNode(node) ? node.toJS(MAKER) : node);

/** The key of a pair as text. */
export const keyOf = ({ key }: Pair): unknown => (isScalar(key) ? key.value : key);

export const pairOf = (map: YAMLMap, key: string | number): Pair | undefined =>
  map.items.find((pair) => keyOf(pair) === key);

/** Absent, or null. */
export const isMissing = (node: unknown): boolean =>
  node === undefined || node === null || (isScalar(node) && node.value === null);

/** The node that an alias stands for; any other as it is. */
export const resolved = (node: unknown, document: Document): unknown => (isAlias(node) ? node.resolve(document) : node);

const MERGE = '<<';
const isMerge = (pair: Pair): boolean =>
  isScalar(pair.key) && (pair.key.value === MERGE || typeof pair.key.value === 'symbol');

/** The entries of a map, with those that merge keys bring in. */
export function entriesOf(map: YAMLMap, document: Document): readonly Pair[] {
  const own = map.items.filter((pair) => !isMerge(pair));
  const known = new Set(own.map(keyOf));
  const merged = map.items.filter(isMerge).flatMap(({ value }) => {
    const source = resolved(value, document);
    const sources = isSeq(source) ? source.items.map((item) => resolved(item, document)) : [source];
    return sources.flatMap((one) => (isMap(one) ? entriesOf(one, document) : []));
  });
  const brought = merged.filter((pair) => {
    const isNew = !known.has(keyOf(pair));
    known.add(keyOf(pair));
    return isNew;
  });
  return [...own, ...brought];
}

/** A copy in which everything is written out that aliases and merge keys stand for. */
export function writtenOut<T extends Node>(node: T, document: Document): T {
  const copy = node.clone() as T;
  expand(copy, document);
  return copy;
}

function expand(node: unknown, document: Document): void {
  if (isMap(node)) {
    if (node.items.some(isMerge)) node.items = entriesOf(node, document).map((pair) => pair.clone());
    for (const pair of node.items) {
      pair.key = expanded(pair.key, document);
      pair.value = expanded(pair.value, document);
    }
  } else if (isSeq(node)) node.items = node.items.map((item) => expanded(item, document));
}

function expanded(node: unknown, document: Document): unknown {
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

/** Takes away anchors that no alias refers to any longer. */
export function dropUnusedAnchors(document: Document): void {
  const used = new Set<string>();
  visit(document, { Alias: (_, { source }) => void used.add(source) });
  visit(document, {
    Value: (_, node) => {
      if (node.anchor !== undefined && !used.has(node.anchor)) delete node.anchor;
    },
  });
}

/** Whether a map has a key that is no text, as `{{ .Values.x }}` has when it is read as YAML. */
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

/** An empty map. */
export const emptyMap = (): YAMLMap => new YAMLMap();

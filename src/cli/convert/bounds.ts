/** What a document may be at most, so that nothing in it stops a conversion or takes its memory. */
import { type Document, isAlias, isMap, isNode, isSeq } from 'yaml';
import { InputError } from '../objects/errors.ts';

/** Far deeper than any object of Kubernetes. */
const MOST_LEVELS = 200;
/** More fields than any object has that etcd takes. */
const MOST_NODES_BY_ALIASES = 1_000_000;

/** @throws InputError for plain data that is too deep */
export function checkDepth(value: unknown, where: string): void {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS) throw new InputError(where, `is nested more than ${MOST_LEVELS} levels deep`);
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
}

/** @throws InputError for what is too deep, holds itself, or grows beyond measure by its aliases */
export function checkDocument(document: Document, where: string): void {
  new Measurement(where).sizeOf(document.contents, 0);
}

class Measurement {
  readonly #where: string;
  readonly #sizes = new Map<unknown, number>();
  readonly #open = new Set<unknown>();
  /** In the order of the text, in which an anchor may be set anew. */
  readonly #anchors = new Map<string, unknown>();

  constructor(where: string) {
    this.#where = where;
  }

  sizeOf(node: unknown, depth: number): number {
    if (depth > MOST_LEVELS || this.#open.has(node))
      throw new InputError(this.#where, `is nested more than ${MOST_LEVELS} levels deep, or holds itself by an alias`);
    const known = this.#sizes.get(node);
    if (known !== undefined) return known;
    if (isNode(node) && !isAlias(node) && node.anchor) this.#anchors.set(node.anchor, node);
    this.#open.add(node);
    let size = 1;
    for (const part of this.#partsOf(node)) size += this.sizeOf(part, depth + 1);
    this.#open.delete(node);
    if (isNode(node)) this.#sizes.set(node, size);
    if (size > MOST_NODES_BY_ALIASES && this.#anchors.size > 0)
      throw new InputError(this.#where, 'grows beyond measure by its aliases; write out what they stand for');
    return size;
  }

  #partsOf(node: unknown): readonly unknown[] {
    if (isMap(node)) return node.items.flatMap(({ key, value }) => [key, value]);
    if (isSeq(node)) return node.items;
    if (!isAlias(node)) return [];
    const target = this.#anchors.get(node.source);
    if (target === undefined) throw new InputError(this.#where, `has an alias *${node.source} without an anchor`);
    return [target];
  }
}

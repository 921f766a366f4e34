/** Limits for documents, so that no document can stop a conversion or exhaust its memory. */
import { type Document, isAlias, isMap, isNode, isSeq } from 'yaml';
import { InputError } from '../objects/errors.ts';

/** Maximum depth. Objects of Kubernetes are much less deep. */
const MOST_LEVELS = 200;
/** Maximum number of fields. An object that fits in etcd has fewer. */
const MOST_NODES_BY_ALIASES = 1_000_000;

/** @throws InputError if plain data is nested too deeply */
export function checkDepth(value: unknown, where: string): void {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS) throw new InputError(where, `is nested more than ${MOST_LEVELS} levels deep`);
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
}

/** @throws InputError if the document is too deep, contains itself, or its aliases expand beyond the limit */
export function checkDocument(document: Document, where: string): void {
  new Measurement(where).sizeOf(document.contents, 0);
}

class Measurement {
  readonly #where: string;
  readonly #sizes = new Map<unknown, number>();
  readonly #open = new Set<unknown>();
  /** Anchors in the order of the text, because a later anchor may redefine an earlier one. */
  readonly #anchors = new Map<string, unknown>();

  constructor(where: string) {
    this.#where = where;
  }

  sizeOf(node: unknown, depth: number): number {
    if (depth > MOST_LEVELS || this.#open.has(node))
      throw new InputError(
        this.#where,
        `is nested more than ${MOST_LEVELS} levels deep, or contains itself through an alias`,
      );
    const known = this.#sizes.get(node);
    if (known !== undefined) return known;
    if (isNode(node) && !isAlias(node) && node.anchor) this.#anchors.set(node.anchor, node);
    this.#open.add(node);
    let size = 1;
    for (const part of this.#partsOf(node)) size += this.sizeOf(part, depth + 1);
    this.#open.delete(node);
    if (isNode(node)) this.#sizes.set(node, size);
    if (size > MOST_NODES_BY_ALIASES && this.#anchors.size > 0)
      throw new InputError(this.#where, 'grows too large through its aliases; replace the aliases with their values');
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

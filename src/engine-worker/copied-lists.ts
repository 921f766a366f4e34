/**
 * Lists of objects that a worker keeps copies of. The operator sends only changes, in small parts, because copying blocks the
 * thread.
 */
import { yielding } from '#lib/clock';

export type ListMessage =
  | {
      readonly kind: 'put';
      readonly list: string;
      /** True for the first message of a list: its parts have new numbers. */
      readonly isFirst: boolean;
      readonly parts: readonly unknown[];
      readonly items: readonly (readonly [id: number, item: object])[];
    }
  | { readonly kind: 'drop'; readonly list: string; readonly ids: readonly number[] };

/**
 * Returns the number of a value that many items of a list share. The message with the first of these items contains the value.
 * Objects are equal only if they are the same object.
 */
export type NumberOf = (part: unknown) => number;

/** Returns the value with a number. */
export type PartAt = (number: number) => unknown;

export interface CopiedList<T extends object> {
  readonly name: string;
  /** Objects must never be changed in place. A changed object is a new object. */
  readonly items: readonly T[];
  /** Returns the cost of copying an item, in objects. Default 1. */
  readonly weightOf?: (item: T) => number;
  /** Returns the form of an item that is sent. */
  readonly formOf?: (item: T, numberOf: NumberOf) => object;
}

/** Weight of the objects that are copied without a pause. Copying them takes a few milliseconds. */
const WEIGHT_PER_STEP = 250;

interface Held {
  /** Weak references: an object that was replaced before the next request is no longer needed. */
  readonly idOf: WeakMap<object, number>;
  readonly ids: ReadonlySet<number>;
}

/** Sender in the operator. Tracks the objects that the worker has. */
export class SentLists {
  readonly #post: (message: ListMessage) => void;
  readonly #held = new Map<string, Held>();
  #lastId = 0;

  constructor(post: (message: ListMessage) => void) {
    this.#post = post;
  }

  /** Synchronizes a list. The worker drops objects that are no longer in the list and receives the objects that it lacks. */
  async send<T extends object>({
    name: list,
    items,
    weightOf = () => 1,
    formOf = (item) => item,
  }: CopiedList<T>): Promise<void> {
    const { idOf, ids: before } = this.#held.get(list) ?? { idOf: new WeakMap(), ids: new Set() };
    const heldId = (item: T): number | undefined => {
      const id = idOf.get(item);
      return id !== undefined && before.has(id) ? id : undefined;
    };
    const now = new Set(items.flatMap((item) => heldId(item) ?? []));
    this.#held.set(list, { idOf, ids: now });
    // drops objects first, so that the worker never holds two copies of a cluster
    const dropped = [...before].filter((id) => !now.has(id));
    if (dropped.length > 0) this.#post({ kind: 'drop', list, ids: dropped });
    const pause = yielding();
    const numbers = new Map<unknown, number>();
    let parts: unknown[] = [];
    const numberOf: NumberOf = (part) => {
      const known = numbers.get(part);
      if (known !== undefined) return known;
      parts.push(part);
      numbers.set(part, numbers.size);
      return numbers.size - 1;
    };
    let isFirst = true;
    let group: [number, object][] = [];
    let weight = 0;
    const flush = (): void => {
      if (group.length === 0) return;
      this.#post({ kind: 'put', list, isFirst, parts, items: group });
      [isFirst, parts, group, weight] = [false, [], [], 0];
    };
    for (const item of items) {
      if (heldId(item) !== undefined) continue;
      const id = ++this.#lastId;
      group.push([id, formOf(item, numberOf)]);
      idOf.set(item, id);
      now.add(id);
      weight += weightOf(item);
      if (weight < WEIGHT_PER_STEP) continue;
      flush();
      await pause();
    }
    flush();
  }
}

/** Returns the object to keep for a received item. */
export type Keeping = (list: string, item: object, partAt: PartAt) => object;

/** Receiver in the worker. An item that is sent again with a new number moves to the end of its list. */
export class ReceivedLists {
  readonly #lists = new Map<string, Map<number, object>>();
  readonly #kept: Keeping;
  readonly #keptPart: (part: unknown) => unknown;
  /** Shared values of the list that is being received, by number. */
  #parts: unknown[] = [];
  readonly #partAt: PartAt = (number) => this.#parts[number];

  constructor(kept: Keeping = (_, item) => item, keptPart: (part: unknown) => unknown = (part) => part) {
    this.#kept = kept;
    this.#keptPart = keptPart;
  }

  receive(message: ListMessage): void {
    const list = this.#lists.get(message.list) ?? new Map<number, object>();
    this.#lists.set(message.list, list);
    if (message.kind === 'drop') {
      for (const id of message.ids) list.delete(id);
      return;
    }
    if (message.isFirst) this.#parts = [];
    for (const part of message.parts) this.#parts.push(this.#keptPart(part));
    for (const [id, item] of message.items) list.set(id, this.#kept(message.list, item, this.#partAt));
  }

  /** Returns the items of a list. They have the type that was sent. */
  items(list: string): readonly object[] {
    return [...(this.#lists.get(list)?.values() ?? [])];
  }
}

/**
 * Lists of objects that a worker keeps copies of. The operator sends only changes, in small parts, because copying blocks the
 * thread.
 */
import { yielding } from '../lib/yielding.ts';

export type ListMessage =
  | { readonly kind: 'put'; readonly list: string; readonly items: readonly (readonly [id: number, item: object])[] }
  | { readonly kind: 'drop'; readonly list: string; readonly ids: readonly number[] };

export interface CopiedList<T extends object> {
  readonly name: string;
  /** Objects must never be changed in place. A changed object is a new object. */
  readonly items: readonly T[];
  /** Returns the cost of copying an item, in objects. Default 1. */
  readonly weightOf?: (item: T) => number;
  /** Returns the form of an item that is sent. */
  readonly formOf?: (item: T) => object;
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
    let part: [number, object][] = [];
    let weight = 0;
    const flush = (): void => {
      if (part.length > 0) this.#post({ kind: 'put', list, items: part });
      part = [];
      weight = 0;
    };
    for (const item of items) {
      if (heldId(item) !== undefined) continue;
      const id = ++this.#lastId;
      part.push([id, formOf(item)]);
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

/** Receiver in the worker. An item that is sent again with a new number moves to the end of its list. */
export class ReceivedLists {
  readonly #lists = new Map<string, Map<number, object>>();
  readonly #kept: (list: string, item: object) => object;

  /** @param kept returns the object to keep for a received item */
  constructor(kept: (list: string, item: object) => object = (_, item) => item) {
    this.#kept = kept;
  }

  receive(message: ListMessage): void {
    const list = this.#lists.get(message.list) ?? new Map<number, object>();
    this.#lists.set(message.list, list);
    if (message.kind === 'put') for (const [id, item] of message.items) list.set(id, this.#kept(message.list, item));
    else for (const id of message.ids) list.delete(id);
  }

  /** Returns the items of a list. They have the type that was sent. */
  items(list: string): readonly object[] {
    return [...(this.#lists.get(list)?.values() ?? [])];
  }
}

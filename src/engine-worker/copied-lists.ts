/** Lists of objects that a worker holds copies of. Only what changes is sent, in small parts, because copying blocks. */
import { yielding } from '../lib/yielding.ts';

export type ListMessage =
  | { readonly kind: 'put'; readonly list: string; readonly items: readonly (readonly [id: number, item: object])[] }
  | { readonly kind: 'drop'; readonly list: string; readonly ids: readonly number[] };

export interface CopiedList<T extends object> {
  readonly name: string;
  /** Never changed: an object that differs is another one. */
  readonly items: readonly T[];
  /** How much work copying an item is, in objects; 1 when left out. */
  readonly weightOf?: (item: T) => number;
  /** What is sent instead of an item. */
  readonly formOf?: (item: T) => object;
}

/** Objects copied at a stretch: a few milliseconds' worth. */
const WEIGHT_PER_STEP = 250;

interface Held {
  /** Weak: until the next request, what has been replaced meanwhile is not needed any more. */
  readonly idOf: WeakMap<object, number>;
  readonly ids: ReadonlySet<number>;
}

/** The operator's side: knows what the worker has. */
export class SentLists {
  readonly #post: (message: ListMessage) => void;
  readonly #held = new Map<string, Held>();
  #lastId = 0;

  constructor(post: (message: ListMessage) => void) {
    this.#post = post;
  }

  /** Has the worker drop what is there no more, and sends what it does not have of a list. */
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
    // first, so that the worker never holds a cluster twice
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

/** The worker's side. What is put again under a new number comes last in its list. */
export class ReceivedLists {
  readonly #lists = new Map<string, Map<number, object>>();
  readonly #kept: (list: string, item: object) => object;

  /** @param kept answers what is to be held of an item that has come */
  constructor(kept: (list: string, item: object) => object = (_, item) => item) {
    this.#kept = kept;
  }

  receive(message: ListMessage): void {
    const list = this.#lists.get(message.list) ?? new Map<number, object>();
    this.#lists.set(message.list, list);
    if (message.kind === 'put') for (const [id, item] of message.items) list.set(id, this.#kept(message.list, item));
    else for (const id of message.ids) list.delete(id);
  }

  /** The items of a list, which are of the type that was sent. */
  items(list: string): readonly object[] {
    return [...(this.#lists.get(list)?.values() ?? [])];
  }
}

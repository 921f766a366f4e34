/** Lists of objects that a worker holds copies of. Only what changes is sent, in small parts, because copying blocks. */
import { yielding } from '../kube/yielding.ts';

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

/** The operator's side: knows what the worker has. */
export class SentLists {
  readonly #post: (message: ListMessage) => void;
  readonly #held = new Map<string, Map<object, number>>();
  #lastId = 0;

  constructor(post: (message: ListMessage) => void) {
    this.#post = post;
  }

  /** Sends what the worker does not have of a list, and has it drop what is there no more. */
  async send<T extends object>({
    name: list,
    items,
    weightOf = () => 1,
    formOf = (item) => item,
  }: CopiedList<T>): Promise<void> {
    const before = this.#held.get(list) ?? new Map<object, number>();
    const now = new Map<object, number>();
    this.#held.set(list, now);
    const pause = yielding();
    let part: [number, object][] = [];
    let weight = 0;
    const flush = (): void => {
      if (part.length > 0) this.#post({ kind: 'put', list, items: part });
      part = [];
      weight = 0;
    };
    for (const item of items) {
      const known = before.get(item);
      const id = known ?? ++this.#lastId;
      now.set(item, id);
      if (known !== undefined) continue;
      part.push([id, formOf(item)]);
      weight += weightOf(item);
      if (weight < WEIGHT_PER_STEP) continue;
      flush();
      await pause();
    }
    flush();
    const ids = [...before].flatMap(([item, id]) => (now.has(item) ? [] : [id]));
    if (ids.length > 0) this.#post({ kind: 'drop', list, ids });
  }
}

/** The worker's side. What is put again under a new number comes last in its list. */
export class ReceivedLists {
  readonly #lists = new Map<string, Map<number, object>>();

  receive(message: ListMessage): void {
    const list = this.#lists.get(message.list) ?? new Map<number, object>();
    this.#lists.set(message.list, list);
    if (message.kind === 'put') for (const [id, item] of message.items) list.set(id, item);
    else for (const id of message.ids) list.delete(id);
  }

  /** The items of a list, which are of the type that was sent. */
  items(list: string): readonly object[] {
    return [...(this.#lists.get(list)?.values() ?? [])];
  }
}

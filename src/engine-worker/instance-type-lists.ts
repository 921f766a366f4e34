/**
 * Lists of instance types in a worker. A list is sent as the numbers of its types, and a type as the numbers of its parts. A part
 * that the worker already has from another type, list or NodePool is not sent again. The worker has only one object for it. Lists
 * that no request needs are removed, with all parts that only they use.
 */
import type { InstanceType, InstanceTypeOverhead, Offering, Requirement, Resources } from '#engine/model';
import { yielding } from '#lib/clock';

/** Form in which an offering is sent. */
type OfferingForm = Omit<Offering, 'requirements'> & { readonly requirements: number };

/** Part that a worker must store under a number. It refers to other parts by their numbers, and these parts were sent before. */
export type TypePart =
  | { readonly kind: 'requirement'; readonly value: Requirement }
  | { readonly kind: 'requirements'; readonly of: readonly number[] }
  | { readonly kind: 'amounts'; readonly value: Resources | InstanceTypeOverhead }
  | { readonly kind: 'offerings'; readonly of: readonly OfferingForm[] }
  | {
      readonly kind: 'type';
      readonly name: string;
      readonly requirements: number;
      readonly capacity: number;
      readonly overhead: number;
      readonly offerings: number;
      readonly cpuBurst?: InstanceType['cpuBurst'];
      readonly capacityOverlaid?: boolean;
    }
  | { readonly kind: 'list'; readonly of: readonly number[] };

export type TypesMessage =
  | { readonly kind: 'types'; readonly parts: readonly (readonly [id: number, part: TypePart])[] }
  | { readonly kind: 'forget'; readonly ids: readonly number[] };

/** Number of parts that are sent without a pause. Sending them takes a few milliseconds. */
const PARTS_PER_STEP = 1_000;

interface Entry {
  readonly id: number;
  /** Number of parts in the worker that need this part. Lists have no such uses: `keep` removes them. */
  uses: number;
  readonly needs: readonly object[];
}

/**
 * Sender in the operator. Tracks the parts that the worker has. Parts are compared by identity, so equal parts must be one
 * object.
 */
export class SentTypes {
  readonly #post: (message: TypesMessage) => void;
  readonly #entries = new Map<object, Entry>();
  readonly #lists = new Set<readonly InstanceType[]>();
  #unsent: [number, TypePart][] = [];
  #lastId = 0;

  constructor(post: (message: TypesMessage) => void) {
    this.#post = post;
  }

  /** Number of lists and parts that the worker has. */
  get size(): { readonly lists: number; readonly parts: number } {
    return { lists: this.#lists.size, parts: this.#entries.size };
  }

  /** Sends a list to the worker and returns its number there. */
  async send(list: readonly InstanceType[], pause = yielding()): Promise<number> {
    const known = this.#entries.get(list);
    if (known !== undefined) return known.id;
    const ids: number[] = [];
    for (const type of list) {
      ids.push(this.#type(type));
      if (this.#unsent.length < PARTS_PER_STEP) continue;
      this.#flush();
      await pause();
    }
    const id = this.#add(list, { kind: 'list', of: ids }, list);
    this.#lists.add(list);
    this.#flush();
    return id;
  }

  /** Removes all other lists from the worker, with the parts that only they use. */
  keep(lists: ReadonlySet<readonly InstanceType[]>): void {
    const ids: number[] = [];
    for (const list of this.#lists) {
      if (lists.has(list)) continue;
      this.#lists.delete(list);
      this.#release(list, ids);
    }
    if (ids.length > 0) this.#post({ kind: 'forget', ids });
  }

  #flush(): void {
    if (this.#unsent.length > 0) this.#post({ kind: 'types', parts: this.#unsent });
    this.#unsent = [];
  }

  /** Adds a part. `needs` may contain a part more than once. */
  #add(object: object, part: TypePart, needs: readonly object[] = []): number {
    const id = ++this.#lastId;
    this.#unsent.push([id, part]);
    this.#entries.set(object, { id, uses: 0, needs });
    for (const need of needs) {
      const entry = this.#entries.get(need);
      if (entry !== undefined) entry.uses++;
    }
    return id;
  }

  #release(object: object, ids: number[]): void {
    const entry = this.#entries.get(object);
    if (entry === undefined) return;
    this.#entries.delete(object);
    ids.push(entry.id);
    for (const need of entry.needs) {
      const needed = this.#entries.get(need);
      if (needed !== undefined && --needed.uses === 0) this.#release(need, ids);
    }
  }

  #type(type: InstanceType): number {
    const known = this.#entries.get(type);
    if (known !== undefined) return known.id;
    const { name, requirements, capacity, overhead, offerings, ...flags } = type;
    const part: TypePart = {
      kind: 'type',
      ...flags,
      name,
      requirements: this.#requirements(requirements),
      capacity: this.#amounts(capacity),
      overhead: this.#amounts(overhead),
      offerings: this.#offerings(offerings),
    };
    return this.#add(type, part, [requirements, capacity, overhead, offerings]);
  }

  #amounts(value: Resources | InstanceTypeOverhead): number {
    return this.#entries.get(value)?.id ?? this.#add(value, { kind: 'amounts', value });
  }

  #requirements(list: readonly Requirement[]): number {
    const known = this.#entries.get(list);
    if (known !== undefined) return known.id;
    const of = list.map((value) => this.#entries.get(value)?.id ?? this.#add(value, { kind: 'requirement', value }));
    return this.#add(list, { kind: 'requirements', of }, list);
  }

  #offerings(list: readonly Offering[]): number {
    const known = this.#entries.get(list);
    if (known !== undefined) return known.id;
    const of = list.map((offering) => ({ ...offering, requirements: this.#requirements(offering.requirements) }));
    return this.#add(
      list,
      { kind: 'offerings', of },
      list.map(({ requirements }) => requirements),
    );
  }
}

/** Receiver in the worker. */
export class ReceivedTypes {
  readonly #parts = new Map<number, unknown>();

  get size(): number {
    return this.#parts.size;
  }

  receive(message: TypesMessage): void {
    if (message.kind === 'forget') for (const id of message.ids) this.#parts.delete(id);
    else for (const [id, part] of message.parts) this.#parts.set(id, this.#made(part));
  }

  /** Returns a list, or undefined if the list was not received or was removed. */
  list(id: number): readonly InstanceType[] | undefined {
    return this.#parts.get(id) as readonly InstanceType[] | undefined;
  }

  #made(part: TypePart): unknown {
    switch (part.kind) {
      case 'requirement':
      case 'amounts':
        return part.value;
      case 'requirements':
      case 'list':
        return part.of.map((id) => this.#part(id));
      case 'offerings':
        return part.of.map((offering) => ({ ...offering, requirements: this.#part(offering.requirements) }));
      case 'type': {
        const { kind: _, requirements, capacity, overhead, offerings, ...rest } = part;
        return {
          ...rest,
          requirements: this.#part(requirements),
          capacity: this.#part(capacity),
          overhead: this.#part(overhead),
          offerings: this.#part(offerings),
        };
      }
    }
  }

  /** @throws Error if the part is missing, because an instance type without it would be silently incomplete */
  #part(id: number): unknown {
    const part = this.#parts.get(id);
    if (part === undefined) throw new Error(`Cannot restore an instance type: its part ${id} is missing`);
    return part;
  }
}

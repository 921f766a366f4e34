/**
 * Lists of instance types that a worker holds. A list is sent as the numbers of its types, a type as the numbers of its
 * parts: what the worker has already of a type, another list, or another NodePool is not sent again, and is one object
 * there. A list that no request needs any more is forgotten, with all that was there for it alone.
 */
import type { InstanceType, InstanceTypeOverhead, Offering, Requirement, Resources } from '../engine/model.ts';
import { yielding } from '../lib/yielding.ts';

/** How an offering is sent. */
export type OfferingForm = Omit<Offering, 'requirements'> & { readonly requirements: number };

/** What a worker is to have under a number. Other parts stand in it by their numbers, and have come before it. */
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
      readonly capacityOverlaid?: boolean;
    }
  | { readonly kind: 'list'; readonly of: readonly number[] };

export type TypesMessage =
  | { readonly kind: 'types'; readonly parts: readonly (readonly [id: number, part: TypePart])[] }
  | { readonly kind: 'forget'; readonly ids: readonly number[] };

/** Parts sent at a stretch: a few milliseconds' worth. */
const PARTS_PER_STEP = 1_000;

interface Entry {
  readonly id: number;
  /** How many parts that the worker has need this one; for a list, whether requests may. */
  uses: number;
  readonly needs: readonly object[];
}

/** The operator's side: knows what the worker has. Parts are compared by identity, so that equal ones have to be one object. */
export class SentTypes {
  readonly #post: (message: TypesMessage) => void;
  readonly #entries = new Map<object, Entry>();
  readonly #lists = new Set<readonly InstanceType[]>();
  #unsent: [number, TypePart][] = [];
  #lastId = 0;

  constructor(post: (message: TypesMessage) => void) {
    this.#post = post;
  }

  /** Lists and parts that the worker has. */
  get size(): { readonly lists: number; readonly parts: number } {
    return { lists: this.#lists.size, parts: this.#entries.size };
  }

  /** Has the worker hold a list; answers its number there. */
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

  /** Has the worker forget all lists but these, with what nothing else needs. */
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

  /** `needs` may name a part more than once. */
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

/** The worker's side. */
export class ReceivedTypes {
  readonly #parts = new Map<number, unknown>();

  get size(): number {
    return this.#parts.size;
  }

  receive(message: TypesMessage): void {
    if (message.kind === 'forget') for (const id of message.ids) this.#parts.delete(id);
    else for (const [id, part] of message.parts) this.#parts.set(id, this.#made(part));
  }

  /** Undefined when the list has not come, or has been forgotten. */
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

  /** @throws Error when a part is missing: what needs it would be without, and nobody would know */
  #part(id: number): unknown {
    const part = this.#parts.get(id);
    if (part === undefined) throw new Error(`Cannot make an instance type: its part ${id} is not here`);
    return part;
  }
}

/**
 * Finds the offerings that NodeOverlays match. A requirement is compared once with each distinct value set of its key,
 * for all NodePools that share a list of instance types; the rest is bit arithmetic.
 */
import { NODEPOOL_LABEL, type NodeOverlay, type NodePool, normalizeLabel, WELL_KNOWN_LABELS } from '#api/objects';
import { requirementsOf } from './instance-types.ts';
import type { InstanceType, Offering } from './model.ts';
import { templateLabels } from './node-template.ts';
import { Requirements } from './requirements.ts';
import type { ValueSet } from './value-set.ts';

/** Set of offerings of an `OverlayIndex`, by their positions. */
export class OfferingSet {
  readonly words: Uint32Array;

  constructor(words: Uint32Array) {
    this.words = words;
  }

  add(position: number): void {
    this.words[position >>> 5] = (this.words[position >>> 5] ?? 0) | (1 << (position & 31));
  }

  addAll(other: OfferingSet): void {
    for (let at = 0; at < this.words.length; at++) this.words[at] = (this.words[at] ?? 0) | (other.words[at] ?? 0);
  }

  retainAll(other: OfferingSet): void {
    for (let at = 0; at < this.words.length; at++) this.words[at] = (this.words[at] ?? 0) & (other.words[at] ?? 0);
  }

  clear(): void {
    this.words.fill(0);
  }

  intersects(other: OfferingSet): boolean {
    return this.words.some((word, at) => (word & (other.words[at] ?? 0)) !== 0);
  }

  *[Symbol.iterator](): Generator<number> {
    for (let at = 0; at < this.words.length; at++)
      for (let word = this.words[at] ?? 0; word !== 0; word &= word - 1) yield at * 32 + 31 - Math.clz32(word & -word);
  }
}

/** Offerings that share the value sets of one key, in the requirements of their type and in their own. */
interface Group {
  readonly ofType: ValueSet | undefined;
  readonly ofOffering: ValueSet | undefined;
  readonly offerings: OfferingSet;
}

interface Row {
  readonly typeAt: number;
  readonly offering: Offering;
}

/** Offerings of a list of instance types, grouped by their requirements. */
export class OverlayIndex {
  readonly types: readonly InstanceType[];
  readonly rows: readonly Row[];
  /** Position of the first offering of each type. */
  readonly #first: readonly number[];
  /** Offerings that match only overlays which require these keys. */
  readonly #bound: readonly (readonly [position: number, keys: readonly string[]])[];
  readonly #groups = new Map<string, readonly Group[]>();
  readonly #matches = new WeakMap<ValueSet, Map<string, OfferingSet>>();

  constructor(types: readonly InstanceType[]) {
    this.types = types;
    this.rows = types.flatMap(({ offerings }, typeAt) => offerings.map((offering) => ({ typeAt, offering })));
    let position = 0;
    this.#first = types.map(({ offerings }) => {
      position += offerings.length;
      return position - offerings.length;
    });
    this.#bound = this.rows.flatMap(({ offering }, position) => {
      const keys = [...requirementsOf(offering).entries()]
        .filter(([key, set]) => !WELL_KNOWN_LABELS.has(key) && !set.allowsAbsence)
        .map(([key]) => key);
      return keys.length === 0 ? [] : [[position, keys] as const];
    });
  }

  first(typeAt: number): number {
    return this.#first[typeAt] ?? 0;
  }

  empty(): OfferingSet {
    return new OfferingSet(new Uint32Array(Math.ceil(this.rows.length / 32)));
  }

  /** Offerings that match the requirements on nodes with these labels. */
  matching(required: Requirements, labels: Requirements): OfferingSet {
    const found = this.empty();
    found.words.fill(0xffffffff);
    if (this.rows.length % 32 !== 0) found.words[found.words.length - 1] = 2 ** (this.rows.length % 32) - 1;
    for (const [key, set] of required.entries())
      found.retainAll(this.#matching(key, set, labels.has(key) ? labels.get(key) : undefined));
    for (const [position, keys] of this.#bound)
      if (!keys.every((key) => required.has(key)))
        found.words[position >>> 5] = (found.words[position >>> 5] ?? 0) & ~(1 << (position & 31));
    return found;
  }

  #matching(key: string, set: ValueSet, label: ValueSet | undefined): OfferingSet {
    const known = this.#matches.get(set) ?? new Map<string, OfferingSet>();
    this.#matches.set(set, known);
    const name = `${key} ${label?.identity ?? ''}`;
    const found = known.get(name) ?? this.#find(key, set, label);
    known.set(name, found);
    return found;
  }

  #find(key: string, set: ValueSet, label: ValueSet | undefined): OfferingSet {
    const found = this.empty();
    for (const { ofType, ofOffering, offerings } of this.#groupsOf(key)) {
      const node = label && ofType ? label.intersect(ofType) : (label ?? ofType);
      // a node without requirement lacks the label; an offering without requirement takes any value
      const isNodeMatch = node === undefined ? set.allowsAbsence : isMatch(set, node);
      if (isNodeMatch && (ofOffering === undefined || isMatch(set, ofOffering))) found.addAll(offerings);
    }
    return found;
  }

  #groupsOf(key: string): readonly Group[] {
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const groups = new Map<string, Group>();
    const idOf = (set: ValueSet | undefined): string => set?.identity ?? 'none';
    for (const [position, { typeAt, offering }] of this.rows.entries()) {
      const type = this.types[typeAt];
      const ofType = type && setOf(requirementsOf(type), key);
      const ofOffering = setOf(requirementsOf(offering), key);
      const name = `${idOf(ofType)} ${idOf(ofOffering)}`;
      const group = groups.get(name) ?? { ofType, ofOffering, offerings: this.empty() };
      groups.set(name, group);
      group.offerings.add(position);
    }
    const found = [...groups.values()];
    this.#groups.set(key, found);
    return found;
  }
}

const setOf = (requirements: Requirements, key: string): ValueSet | undefined =>
  requirements.has(key) ? requirements.get(key) : undefined;

const isMatch = (set: ValueSet, other: ValueSet): boolean =>
  set.intersects(other) || (set.allowsAbsence && other.allowsAbsence);

const indexes = new WeakMap<readonly InstanceType[], OverlayIndex>();

/** Returns the index of a list; lists never change. */
export function overlayIndexOf(types: readonly InstanceType[]): OverlayIndex {
  const index = indexes.get(types) ?? new OverlayIndex(types);
  indexes.set(types, index);
  return index;
}

const compiled = new WeakMap<NodeOverlay['spec']['requirements'], Requirements>();

export function overlayRequirements({ spec: { requirements } }: NodeOverlay): Requirements {
  const known = compiled.get(requirements) ?? Requirements.fromRequirements(requirements);
  compiled.set(requirements, known);
  return known;
}

/** Returns the keys that overlays require. */
export const requiredKeys = (overlays: readonly NodeOverlay[]): ReadonlySet<string> =>
  new Set(overlays.flatMap(({ spec }) => spec.requirements.map(({ key }) => normalizeLabel(key))));

/** Returns labels with these keys of the pool's nodes; overlays do not see the requirements of the pool. */
export function labelsOfPool(nodePool: NodePool, keys: ReadonlySet<string>): Requirements {
  const labels = Requirements.fromLabels({ ...templateLabels(nodePool), [NODEPOOL_LABEL]: nodePool.metadata.name });
  return Requirements.fromSets([...labels.entries()].filter(([key]) => keys.has(key)));
}

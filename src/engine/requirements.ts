/** Requirements on node labels: one value set per label key. Immutable; every operation returns a new object. */
import {
  HOSTNAME_LABEL,
  type NodeSelectorRequirement,
  normalizeLabel,
  type StringMap,
  WELL_KNOWN_LABELS,
} from '#api/objects';
import type { EnginePod } from './input.ts';
import type { Requirement } from './model.ts';
import { ValueSet } from './value-set.ts';

interface Compatibility {
  /** Keys that the other side may require although this side does not define them. */
  readonly allowUndefined: ReadonlySet<string>;
}

/** For new nodes, templates and offerings. A well-known label without a constraint can still have any value. */
export const LOOSE: Compatibility = { allowUndefined: WELL_KNOWN_LABELS };
/** For existing nodes. A label that is absent stays absent. */
export const STRICT: Compatibility = { allowUndefined: new Set() };

export class Requirements {
  readonly #sets: ReadonlyMap<string, ValueSet>;
  #identity: string | undefined;

  private constructor(sets: ReadonlyMap<string, ValueSet>) {
    this.#sets = sets;
  }

  static readonly EMPTY = new Requirements(new Map());

  /** Intersects several requirements on the same key. Normalizes keys. */
  static fromRequirements(requirements: readonly (Requirement | NodeSelectorRequirement)[] | undefined): Requirements {
    const sets = new Map<string, ValueSet>();
    for (const requirement of requirements ?? []) {
      const minValues = 'minValues' in requirement ? requirement.minValues : undefined;
      add(sets, normalizeLabel(requirement.key), ValueSet.of(requirement.operator, requirement.values, minValues));
    }
    return new Requirements(sets);
  }

  static fromLabels(labels: StringMap | undefined): Requirements {
    const sets = new Map<string, ValueSet>();
    for (const [key, value] of Object.entries(labels ?? {})) add(sets, normalizeLabel(key), ValueSet.single(value));
    return new Requirements(sets);
  }

  static fromSets(sets: Iterable<readonly [string, ValueSet]>): Requirements {
    return new Requirements(new Map(sets));
  }

  get keys(): readonly string[] {
    return [...this.#sets.keys()];
  }

  entries(): Iterable<readonly [string, ValueSet]> {
    return this.#sets.entries();
  }

  has(key: string): boolean {
    return this.#sets.has(key);
  }

  /** Returns the allowed values of this key. Without a requirement on the key, any value is allowed. */
  get(key: string): ValueSet {
    return this.#sets.get(key) ?? ValueSet.EXISTS;
  }

  /** Returns the intersection of both requirements. */
  intersect(other: Requirements): Requirements {
    const sets = new Map(this.#sets);
    for (const [key, set] of other.#sets) add(sets, key, set);
    return new Requirements(sets);
  }

  /** Returns the requirements with one key narrowed further. */
  and(key: string, set: ValueSet): Requirements {
    const sets = new Map(this.#sets);
    add(sets, key, set);
    return new Requirements(sets);
  }

  /** Returns the requirements with one key replaced. */
  with(key: string, set: ValueSet): Requirements {
    return new Requirements(new Map(this.#sets).set(key, set));
  }

  without(...keys: readonly string[]): Requirements {
    return new Requirements(new Map([...this.#sets].filter(([key]) => !keys.includes(key))));
  }

  /** Returns the keys for which no value, and no absence, satisfies both sides. */
  #conflicts(other: Requirements): readonly string[] {
    const [few, many] = this.#sets.size < other.#sets.size ? [this, other] : [other, this];
    const keys: string[] = [];
    for (const [key, set] of few.#sets) {
      const opposite = many.#sets.get(key);
      if (opposite !== undefined && isConflict(set, opposite)) keys.push(key);
    }
    return keys;
  }

  /** Stops at the first conflict, because this method is called a million times per minute. */
  intersects(other: Requirements): boolean {
    const [few, many] = this.#sets.size < other.#sets.size ? [this.#sets, other.#sets] : [other.#sets, this.#sets];
    for (const [key, set] of few) {
      const opposite = many.get(key);
      if (opposite !== undefined && isConflict(set, opposite)) return false;
    }
    return true;
  }

  /** Returns true if a node with these requirements can satisfy the requirements of `other`, a pod or an offering. */
  compatible(other: Requirements, compatibility: Compatibility = STRICT): boolean {
    return this.#undefinedKey(other, compatibility) === undefined && this.intersects(other);
  }

  #undefinedKey(other: Requirements, { allowUndefined }: Compatibility): string | undefined {
    for (const [key, set] of other.#sets)
      if (!this.#sets.has(key) && !allowUndefined.has(key) && !set.allowsAbsence) return key;
    return undefined;
  }

  /** Returns the reason why `compatible` is false, with the first conflicting key. */
  incompatibility(
    other: Requirements,
    compatibility: Compatibility = STRICT,
  ): { readonly key: string; readonly text: string } | undefined {
    const unknown = this.#undefinedKey(other, compatibility);
    if (unknown !== undefined) {
      const text = `label "${unknown}" does not have known values${this.#hint(unknown, compatibility)}`;
      return { key: unknown, text };
    }
    const [key, ...more] = [...this.#conflicts(other)].sort();
    if (key === undefined) return undefined;
    const text = [key, ...more].map((k) => `key ${k}, ${k} ${other.get(k)} not in ${k} ${this.get(k)}`).join('; ');
    return { key, text };
  }

  /** Suggests the known label that a misspelled label stands for. */
  #hint(key: string, { allowUndefined }: Compatibility): string {
    const name = key.slice(key.indexOf('/') + 1);
    const candidates = [[...allowUndefined].sort(), [...this.#sets.keys()].sort()].flat();
    const found =
      candidates.find((candidate) => candidate.endsWith(name)) ??
      candidates.find((candidate) => candidate.includes(key));
    return found === undefined ? '' : ` (typo of "${found}"?)`;
  }

  /** Returns the requirements in the format of the API, sorted by key. A bounded set loses its excluded values. */
  toApi(): readonly Requirement[] {
    return [...this.#sets.keys()].sort().flatMap((key) => apiForm(key, this.get(key)));
  }

  /** Text that is the same only for equal requirements. */
  get identity(): string {
    this.#identity ??= [...this.#sets.keys()]
      .sort()
      .map((key) => `${key.length}:${key} ${this.get(key).identity}`)
      .join(';');
    return this.#identity;
  }

  /** Returns a text for messages with all requirements except for the hostname, sorted. */
  toString(): string {
    return [...this.#sets]
      .filter(([key]) => key !== HOSTNAME_LABEL)
      .map(([key, set]) => `${key} ${set}`)
      .sort()
      .join(', ');
  }
}

const isConflict = (set: ValueSet, opposite: ValueSet): boolean =>
  !set.intersects(opposite) && !(set.allowsAbsence && opposite.allowsAbsence);

function add(sets: Map<string, ValueSet>, key: string, set: ValueSet): void {
  const existing = sets.get(key);
  sets.set(key, existing === undefined ? set : existing.intersect(set));
}

function apiForm(key: string, set: ValueSet): readonly Requirement[] {
  const minValues = set.minValues === undefined ? {} : { minValues: set.minValues };
  const bounds: Requirement[] = [];
  if (set.gte !== undefined) bounds.push({ key, operator: 'Gte', values: [String(set.gte)], ...minValues });
  if (set.lte !== undefined) bounds.push({ key, operator: 'Lte', values: [String(set.lte)], ...minValues });
  if (bounds.length > 0) return bounds;
  const values = set.values.size > 0 ? { values: set.sorted } : {};
  return [{ key, operator: set.operator, ...values, ...minValues }];
}

/**
 * Returns the requirements of a pod for its node: its selector and the first required node-affinity term (the terms are
 * alternatives). With `preferences`, also includes the preferred term with the highest weight, as if it were required.
 */
export function requirementsOfPod(pod: EnginePod, options: { readonly preferences?: boolean } = {}): Requirements {
  const affinity = pod.spec.affinity?.nodeAffinity;
  const [term] = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const [preferred] = [...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [])].sort(
    (a, b) => b.weight - a.weight,
  );
  const expressions = options.preferences ? (preferred?.preference.matchExpressions ?? []) : [];
  return Requirements.fromLabels(pod.spec.nodeSelector).intersect(
    Requirements.fromRequirements([...(term?.matchExpressions ?? []), ...expressions]),
  );
}

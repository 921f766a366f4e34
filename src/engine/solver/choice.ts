/** Possible instance types of a claim under some requirements. */
import { satisfiesMinValues } from '../instance-types.ts';
import type { InstanceType } from '../model.ts';
import { BitSet } from './bitset.ts';
import type { CompiledTypes } from './compiled-types.ts';
import type { DaemonGroup } from './daemons.ts';
import type { Amounts } from './dimensions.ts';
import type { Shape } from './shape.ts';

/**
 * Immutable set of rows that remain for a claim. Claims with the same remaining rows share one object, so that derived values
 * are computed once. The rows change only in steps of the amounts: a claim keeps its choice until its pods need more than
 * `upTo`.
 */
export class Choice {
  readonly shape: Shape;
  readonly rows: BitSet;
  readonly isEmpty: boolean;
  readonly #upTo: Amounts;
  #types: readonly InstanceType[] | undefined;
  #positions: readonly number[] | undefined;
  #unsatisfied: ReturnType<typeof satisfiesMinValues>['unsatisfied'] | undefined;
  readonly #largest = new Map<string, number>();
  /** Values that other modules derived from the choice, by topic. */
  readonly #computed = new Map<string, unknown>();

  constructor(shape: Shape, rows: BitSet, upTo: Amounts) {
    this.shape = shape;
    this.rows = rows;
    this.isEmpty = rows.isEmpty;
    this.#upTo = upTo;
  }

  /** Returns true if the choice is the same for pods with these requests, which must not be lower than before. */
  staysWith(amounts: Amounts): boolean {
    const upTo = this.#upTo;
    for (let at = 0; at < amounts.length; at++) if ((amounts[at] as number) > (upTo[at] as number)) return false;
    return true;
  }

  get #catalogue(): CompiledTypes {
    return this.shape.catalogue;
  }

  get types(): readonly InstanceType[] {
    const { types } = this.#catalogue;
    this.#types ??= this.positions.flatMap((type) => types[type] ?? []);
    return this.#types;
  }

  /** Keys of `minValues` that the remaining types do not satisfy, with the number of values that they have. */
  get unsatisfied(): ReturnType<typeof satisfiesMinValues>['unsatisfied'] {
    this.#unsatisfied ??= satisfiesMinValues(this.types, this.shape.requirements).unsatisfied;
    return this.#unsatisfied;
  }

  /** Positions of the remaining types. */
  get positions(): readonly number[] {
    this.#positions ??= this.#catalogue.typesOf(this.rows);
    return this.#positions;
  }

  /** Returns the largest capacity of a resource among the remaining types. */
  largest(resource: string): number {
    let largest = this.#largest.get(resource);
    if (largest === undefined) {
      largest = this.#catalogue.largestCapacity(resource, this.rows);
      this.#largest.set(resource, largest);
    }
    return largest;
  }

  /** Returns the result of `compute`, cached by topic. Results for one topic must have the same type. */
  computeOnce<T>(topic: string, compute: () => T): T {
    if (!this.#computed.has(topic)) this.#computed.set(topic, compute());
    return this.#computed.get(topic) as T;
  }
}

/** Finds the choices of claims. Creates each choice once. */
export class Choices {
  readonly #known = new Map<Shape, Map<BitSet, Map<string, Choice>>>();
  readonly #starts = new Map<string, BitSet>();
  readonly #groups: readonly DaemonGroup[];
  readonly #catalogue: CompiledTypes;

  constructor(catalogue: CompiledTypes, groups: readonly DaemonGroup[]) {
    this.#catalogue = catalogue;
    this.#groups = groups;
  }

  /** Returns the choice that remains of `start` for pods with these requests. Its set of rows may be empty. */
  of(shape: Shape, start: BitSet, amounts: Amounts): Choice {
    const choices = this.#choicesOf(shape, start);
    let id = '';
    for (const group of this.#groups) id += `${this.#catalogue.fitId(amounts, group.amounts)};`;
    let choice = choices.get(id);
    if (choice === undefined) {
      choice = new Choice(shape, this.#fitting(shape, start, amounts), this.#upTo(amounts));
      choices.set(id, choice);
    }
    return choice;
  }

  /** Returns the rows of `start` that belong to some of the groups. */
  startWithin(start: BitSet, groups: readonly DaemonGroup[]): BitSet {
    const within = new BitSet(this.#catalogue.rowCount);
    for (const group of groups) within.or(group.rows);
    return this.shared(within.and(start));
  }

  /** Returns one shared object for equal sets, so that derived values can be found by object. */
  shared(rows: BitSet): BitSet {
    const id = rows.words.join();
    const known = this.#starts.get(id);
    if (known === undefined) this.#starts.set(id, rows);
    return known ?? rows;
  }

  #choicesOf(shape: Shape, start: BitSet): Map<string, Choice> {
    let byStart = this.#known.get(shape);
    if (byStart === undefined) {
      byStart = new Map();
      this.#known.set(shape, byStart);
    }
    let choices = byStart.get(start);
    if (choices === undefined) {
      choices = new Map();
      byStart.set(start, choices);
    }
    return choices;
  }

  /**
   * Returns the rows that satisfy the requirements, have an offering, and have room for the amounts and the daemons of their
   * group.
   */
  #fitting(shape: Shape, start: BitSet, amounts: Amounts): BitSet {
    const kept = new BitSet(this.#catalogue.rowCount);
    for (const group of this.#groups) {
      const possible = start.clone().and(shape.possible).and(group.rows);
      if (!possible.isEmpty) kept.or(this.#catalogue.keepFitting(possible, amounts, group.amounts));
    }
    return kept;
  }

  #upTo(amounts: Amounts): Amounts {
    const upTo = new Float64Array(amounts.length).fill(Number.POSITIVE_INFINITY);
    for (const group of this.#groups) {
      const most = this.#catalogue.nextStep(amounts, group.amounts);
      for (let at = 0; at < upTo.length; at++) upTo[at] = Math.min(upTo[at] ?? 0, most[at] ?? 0);
    }
    return upTo;
  }
}

/**
 * Finds the rules that count a pod. Each rule is in the lists of one label that it requires, or of its namespaces, so that a pod
 * is compared only with the rules in the lists of its own labels and of its namespace.
 */
import type { StringMap } from '#api/objects';
import type { EnginePod } from '../input.ts';
import { namespaceOf } from '../pods.ts';
import { requiredLabels } from '../selectors.ts';
import { type Rule, ruleCounts } from './group.ts';

interface Entry<T> {
  /** Position in the order of addition. */
  readonly at: number;
  readonly rule: Rule;
  readonly item: T;
}

/** Entries by the value of a label, or by namespace. */
type Lists<T> = Map<string, Entry<T>[]>;

interface Place<T> {
  readonly lists: Lists<T>;
  readonly values: readonly string[];
}

const NO_LABELS: StringMap = {};

export class RuleIndex<T> {
  readonly #byLabel = new Map<string, Lists<T>>();
  readonly #byNamespace: Lists<T> = new Map();
  #size = 0;

  add(rule: Rule, item: T): void {
    const entry = { at: this.#size++, rule, item };
    const { lists, values } = this.#shortest(rule);
    for (const value of values) {
      const list = lists.get(value);
      if (list === undefined) lists.set(value, [entry]);
      else list.push(entry);
    }
  }

  /** Returns the items of the rules that count a pod, in the order of their addition. */
  counting(pod: EnginePod): readonly T[] {
    if (this.#size === 0) return [];
    const found = [...(this.#byNamespace.get(namespaceOf(pod)) ?? [])];
    for (const [key, value] of Object.entries(pod.metadata.labels ?? NO_LABELS))
      found.push(...(this.#byLabel.get(key)?.get(value) ?? []));
    return found
      .filter(({ rule }) => ruleCounts(rule, pod))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item);
  }

  /** Returns the place with the fewest entries, so that a label with one value for all pods does not collect all rules. */
  #shortest(rule: Rule): Place<T> {
    const places = [
      { lists: this.#byNamespace, values: [...rule.namespaces] },
      ...requiredLabels(rule.selector).map(([key, values]) => ({ lists: this.#listsOf(key), values })),
    ];
    const lengthOf = ({ lists, values }: Place<T>): number =>
      values.reduce((sum, value) => sum + 1 + (lists.get(value)?.length ?? 0), 0);
    return places.reduce((shortest, place) => (lengthOf(place) < lengthOf(shortest) ? place : shortest));
  }

  #listsOf(key: string): Lists<T> {
    let lists = this.#byLabel.get(key);
    if (lists === undefined) {
      lists = new Map();
      this.#byLabel.set(key, lists);
    }
    return lists;
  }
}

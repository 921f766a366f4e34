/**
 * Running pods, grouped by the properties that rules use. A rule is evaluated once for all pods of a workload, because they
 * share their labels.
 */
import type { LabelSelector, StringMap } from '#api/objects';
import { own } from '#lib';
import type { EnginePod } from '../input.ts';
import { requiredLabels, selects } from '../selectors.ts';
import type { Rule } from './group.ts';

export interface RunningPod {
  readonly pod: EnginePod;
  /** Position of its node in the snapshot. */
  readonly node: number;
}

const NO_LABELS: StringMap = {};

/** Map with one value for all pods of a namespace that have the same labels. */
export class ByLabels<T> {
  readonly #byNamespace = new Map<string, NamespaceLabels<T>>();

  get({ metadata: { namespace = 'default', labels = NO_LABELS } }: EnginePod): T | undefined {
    return this.#byNamespace.get(namespace)?.get(labels);
  }

  set({ metadata: { namespace = 'default', labels = NO_LABELS } }: EnginePod, value: T): void {
    let there = this.#byNamespace.get(namespace);
    if (there === undefined) {
      there = new NamespaceLabels();
      this.#byNamespace.set(namespace, there);
    }
    there.set(labels, value);
  }

  delete({ metadata: { namespace = 'default', labels = NO_LABELS } }: EnginePod): void {
    this.#byNamespace.get(namespace)?.delete(labels);
  }

  /** Returns the values of the pods that a rule counts. */
  countedBy({ selector, namespaces }: Rule): readonly T[] {
    const counted: T[] = [];
    for (const namespace of namespaces) this.#byNamespace.get(namespace)?.addSelected(selector, counted);
    return counted;
  }
}

/** Maximum number of labels that are compared with a selector without an index. */
const FEW = 50;
const NONE: ReadonlySet<StringMap> = new Set();

/** Values of one namespace by the labels of pods. */
class NamespaceLabels<T> {
  readonly #all = new Map<StringMap, T>();
  /** Labels by the value of a key, for the keys that selectors have required. */
  readonly #byKey = new Map<string, Map<string, Set<StringMap>>>();

  get(labels: StringMap): T | undefined {
    return this.#all.get(labels);
  }

  set(labels: StringMap, value: T): void {
    if (!this.#all.has(labels)) for (const [key, byValue] of this.#byKey) addByValue(byValue, labels, key);
    this.#all.set(labels, value);
  }

  delete(labels: StringMap): void {
    this.#all.delete(labels);
    for (const [key, byValue] of this.#byKey) {
      const value = own(labels, key);
      if (value === undefined) continue;
      byValue.get(value)?.delete(labels);
      if (byValue.get(value)?.size === 0) byValue.delete(value);
    }
  }

  /** Adds the values of the labels that a selector matches. */
  addSelected(selector: LabelSelector | undefined, selected: T[]): void {
    if (this.#all.size > FEW) {
      for (const labels of this.#candidates(selector))
        if (selects(selector, labels)) selected.push(this.#all.get(labels) as T);
      return;
    }
    for (const [labels, value] of this.#all) if (selects(selector, labels)) selected.push(value);
  }

  /** Returns the labels that have one of the labels that the selector requires, in the least number. */
  #candidates(selector: LabelSelector | undefined): Iterable<StringMap> {
    let least: readonly ReadonlySet<StringMap>[] | undefined;
    let leastSize = Number.POSITIVE_INFINITY;
    for (const [key, values] of requiredLabels(selector)) {
      const byValue = this.#indexOf(key);
      const sets = values.map((value) => byValue.get(value) ?? NONE);
      const size = sets.reduce((sum, set) => sum + set.size, 0);
      if (size < leastSize) [least, leastSize] = [sets, size];
    }
    return least === undefined ? this.#all.keys() : least.flatMap((set) => [...set]);
  }

  #indexOf(key: string): ReadonlyMap<string, ReadonlySet<StringMap>> {
    let byValue = this.#byKey.get(key);
    if (byValue === undefined) {
      byValue = new Map();
      for (const labels of this.#all.keys()) addByValue(byValue, labels, key);
      this.#byKey.set(key, byValue);
    }
    return byValue;
  }
}

function addByValue(byValue: Map<string, Set<StringMap>>, labels: StringMap, key: string): void {
  const value = own(labels, key);
  if (value === undefined) return;
  const there = byValue.get(value);
  if (there === undefined) byValue.set(value, new Set([labels]));
  else there.add(labels);
}

/** Positions of nodes, one for each pod. */
type Positions = number[];

export class RunningPods {
  readonly #positions = new ByLabels<Positions>();

  add(pod: EnginePod, node: number): void {
    const positions = this.#positions.get(pod);
    if (positions === undefined) this.#positions.set(pod, [node]);
    else positions.push(node);
  }

  /** Returns the positions of the pods that a rule counts. */
  countedBy(rule: Rule): readonly Positions[] {
    return this.#positions.countedBy(rule);
  }
}

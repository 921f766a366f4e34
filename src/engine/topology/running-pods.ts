/**
 * Running pods, grouped by the properties that rules use. A rule is evaluated once for all pods of a workload, because they
 * share their labels.
 */
import type { StringMap } from '../../api/kubernetes.ts';
import type { EnginePod } from '../input.ts';
import { selects } from '../selectors.ts';
import type { Rule } from './group.ts';

export interface RunningPod {
  readonly pod: EnginePod;
  /** Position of its node in the snapshot. */
  readonly node: number;
}

const NO_LABELS: StringMap = {};

/** Map with one value for all pods of a namespace that have the same labels. */
export class ByLabels<T> {
  readonly #byNamespace = new Map<string, Map<StringMap, T>>();

  get({ metadata: { namespace = 'default', labels = NO_LABELS } }: EnginePod): T | undefined {
    return this.#byNamespace.get(namespace)?.get(labels);
  }

  set({ metadata: { namespace = 'default', labels = NO_LABELS } }: EnginePod, value: T): void {
    const byLabels = this.#byNamespace.get(namespace);
    if (byLabels === undefined) this.#byNamespace.set(namespace, new Map([[labels, value]]));
    else byLabels.set(labels, value);
  }

  delete({ metadata: { namespace = 'default', labels = NO_LABELS } }: EnginePod): void {
    this.#byNamespace.get(namespace)?.delete(labels);
  }

  /** Returns the values of the pods that a rule counts. */
  countedBy({ selector, namespaces }: Rule): readonly T[] {
    const counted: T[] = [];
    for (const namespace of namespaces)
      for (const [labels, value] of this.#byNamespace.get(namespace) ?? [])
        if (selects(selector, labels)) counted.push(value);
    return counted;
  }
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

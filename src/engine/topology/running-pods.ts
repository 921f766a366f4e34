/** Pods that run, by what rules see of them: a rule asks once for all pods of a workload, which share their labels. */
import type { Pod, StringMap } from '../../api/kubernetes.ts';
import { selects } from '../selectors.ts';
import type { Rule } from './group.ts';

export interface RunningPod {
  readonly pod: Pod;
  /** Position of its node in the snapshot. */
  readonly node: number;
}

/** Positions of nodes, one for each pod. */
type Positions = number[];

const NO_LABELS: StringMap = {};

export class RunningPods {
  readonly #byNamespace = new Map<string, Map<StringMap, Positions>>();

  add({ metadata: { namespace = 'default', labels = NO_LABELS } }: Pod, node: number): void {
    let byLabels = this.#byNamespace.get(namespace);
    if (byLabels === undefined) {
      byLabels = new Map();
      this.#byNamespace.set(namespace, byLabels);
    }
    const positions = byLabels.get(labels);
    if (positions === undefined) byLabels.set(labels, [node]);
    else positions.push(node);
  }

  /** Where those pods are that a rule counts. A rule without a selector selects nothing, and yet counts all that run. */
  countedBy({ selector, namespaces }: Rule): readonly Positions[] {
    const counted: Positions[] = [];
    for (const namespace of namespaces)
      for (const [labels, positions] of this.#byNamespace.get(namespace) ?? [])
        if (selector === undefined || selects(selector, labels)) counted.push(positions);
    return counted;
  }
}

/** Which PodDisruptionBudgets select a pod, found without looking at all of them for every pod. */
import type { LabelSelector, ObjectMeta, Pod, PodDisruptionBudget } from '../../../api/kubernetes.ts';
import { selects } from '../../selectors.ts';

interface Entry {
  readonly budget: PodDisruptionBudget;
  /** Position in the list that was indexed. */
  readonly position: number;
}

const OPERATORS: readonly string[] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];
const AMOUNT = /^\d+%?$/;

const isKnown = ({ operator }: { readonly operator: string }): boolean => OPERATORS.includes(operator);

/** Whether it is known which pods a budget selects, and how many of them it lets go. */
export const isReadable = ({ spec }: PodDisruptionBudget): boolean =>
  (spec.selector?.matchExpressions ?? []).every(isKnown) &&
  [spec.minAvailable, spec.maxUnavailable].every((amount) => amount === undefined || AMOUNT.test(String(amount)));

/** Of a selector that cannot be read as a whole, what can be read: it selects more pods, never fewer. */
function readablePart(selector: LabelSelector | undefined): LabelSelector | undefined {
  const { matchExpressions } = selector ?? {};
  return matchExpressions === undefined || matchExpressions.every(isKnown)
    ? selector
    : { ...selector, matchExpressions: matchExpressions.filter(isKnown) };
}

/** Manifests may leave it to the user's context, which is taken to be the default. */
export const namespaceOf = ({ namespace }: ObjectMeta): string => namespace ?? 'default';

class BudgetIndex {
  /** By namespace and a label that the selector asks for. */
  readonly #byLabel = new Map<string, Entry[]>();
  /** By namespace: selectors that ask for no label in particular. */
  readonly #others = new Map<string, Entry[]>();

  constructor(budgets: readonly PodDisruptionBudget[]) {
    for (const [position, budget] of budgets.entries()) {
      const namespace = namespaceOf(budget.metadata);
      const [label] = Object.entries(budget.spec.selector?.matchLabels ?? {});
      const [index, key] =
        label === undefined ? [this.#others, namespace] : [this.#byLabel, labelKey(namespace, ...label)];
      const entries = index.get(key);
      if (entries === undefined) index.set(key, [{ budget, position }]);
      else entries.push({ budget, position });
    }
  }

  /** In the order of the list. */
  matching({ metadata }: Pod): readonly PodDisruptionBudget[] {
    const namespace = namespaceOf(metadata);
    const found: Entry[] = [];
    const look = (entries: readonly Entry[] | undefined): void => {
      for (const entry of entries ?? [])
        if (selects(readablePart(entry.budget.spec.selector), metadata.labels)) found.push(entry);
    };
    look(this.#others.get(namespace));
    if (this.#byLabel.size > 0)
      for (const [key, value] of Object.entries(metadata.labels ?? {}))
        look(this.#byLabel.get(labelKey(namespace, key, value)));
    if (found.length > 1) found.sort((a, b) => a.position - b.position);
    return found.map(({ budget }) => budget);
  }
}

const labelKey = (namespace: string, key: string, value: string): string => `${namespace} ${key} ${value}`;

/** Lists of budgets never change; a new one comes with every snapshot. */
const indexes = new WeakMap<readonly PodDisruptionBudget[], BudgetIndex>();

/** The budgets of a list that select a pod, in the order of the list. */
export function budgetsOf(pod: Pod, budgets: readonly PodDisruptionBudget[]): readonly PodDisruptionBudget[] {
  if (budgets.length === 0) return budgets;
  let index = indexes.get(budgets);
  if (index === undefined) {
    index = new BudgetIndex(budgets);
    indexes.set(budgets, index);
  }
  return index.matching(pod);
}

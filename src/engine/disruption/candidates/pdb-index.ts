/** Which PodDisruptionBudgets select a pod, found without looking at all of them for every pod. */
import type { LabelSelector, ObjectMeta, Pod, PodDisruptionBudget } from '../../../api/kubernetes.ts';
import { remembering } from '../../../lib/remembering.ts';
import { selects } from '../../selectors.ts';

interface Entry {
  readonly selector: LabelSelector | undefined;
  /** Position of the budget in the list that was indexed. */
  readonly position: number;
}

const OPERATORS: readonly string[] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];
const AMOUNT = /^\d+%?$/;
/** Rules of one selector, and values in them; every selector of a namespace may be compared with every kind of its pods. */
const MOST_RULES = 100;
const MOST_VALUES = 1_000;

const isKnown = ({ operator }: { readonly operator: string }): boolean => OPERATORS.includes(operator);

/** Whether it is known which pods a budget selects, and how many of them it lets go. */
export const isReadable = (budget: PodDisruptionBudget): boolean =>
  readablePart(budget) === budget.spec.selector &&
  [budget.spec.minAvailable, budget.spec.maxUnavailable].every(
    (amount) => amount === undefined || AMOUNT.test(String(amount)),
  );

/** Of a selector that cannot be read as a whole, or is too large, a part: it selects more pods, never fewer. */
const readablePart = remembering(({ spec: { selector } }: PodDisruptionBudget): LabelSelector | undefined => {
  const labels = Object.entries(selector?.matchLabels ?? {});
  const matchExpressions = selector?.matchExpressions ?? [];
  let values = 0;
  const expressions = matchExpressions.slice(0, MOST_RULES).filter((expression) => {
    values += expression.values?.length ?? 0;
    return isKnown(expression) && values <= MOST_VALUES;
  });
  if (labels.length <= MOST_RULES && expressions.length === matchExpressions.length) return selector;
  return {
    ...selector,
    matchLabels: Object.fromEntries(labels.slice(0, MOST_RULES)),
    matchExpressions: expressions,
  };
});

/** Manifests may leave it to the user's context, which is taken to be the default. */
export const namespaceOf = ({ namespace }: ObjectMeta): string => namespace ?? 'default';

/** Whom the budgets of a list select. */
export class BudgetIndex {
  /** By namespace and a label that the selector asks for. */
  readonly #byLabel = new Map<string, Entry[]>();
  /** By namespace: selectors that ask for no label in particular. */
  readonly #others = new Map<string, Entry[]>();

  constructor(budgets: readonly PodDisruptionBudget[]) {
    for (const [position, budget] of budgets.entries()) {
      const namespace = namespaceOf(budget.metadata);
      const selector = readablePart(budget);
      const [label] = Object.entries(selector?.matchLabels ?? {});
      const [index, key] =
        label === undefined ? [this.#others, namespace] : [this.#byLabel, labelKey(namespace, ...label)];
      const entry = { selector, position };
      const entries = index.get(key);
      if (entries === undefined) index.set(key, [entry]);
      else entries.push(entry);
    }
  }

  /** Positions in the list, ascending. */
  matching({ metadata }: Pod): readonly number[] {
    const namespace = namespaceOf(metadata);
    const found: number[] = [];
    const look = (entries: readonly Entry[] | undefined): void => {
      for (const { selector, position } of entries ?? []) if (selects(selector, metadata.labels)) found.push(position);
    };
    look(this.#others.get(namespace));
    if (this.#byLabel.size > 0)
      for (const [key, value] of Object.entries(metadata.labels ?? {}))
        look(this.#byLabel.get(labelKey(namespace, key, value)));
    return found.length > 1 ? found.sort((a, b) => a - b) : found;
  }
}

const labelKey = (namespace: string, key: string, value: string): string => `${namespace} ${key} ${value}`;

const selectionOf = remembering((budget: PodDisruptionBudget): string =>
  JSON.stringify([namespaceOf(budget.metadata), readablePart(budget)]),
);

/** Of the last list that was indexed. */
let last: { readonly selections: string; readonly index: BudgetIndex } | undefined;

/**
 * The index of a list. Lists never change, and a new one comes with every change of a budget's status: those in a row that
 * select the same have the same index.
 */
export const budgetIndex = remembering((budgets: readonly PodDisruptionBudget[]): BudgetIndex => {
  const selections = budgets.map(selectionOf).join('\n');
  if (last?.selections !== selections) last = { selections, index: new BudgetIndex(budgets) };
  return last.index;
});

/** The budgets of a list that select a pod, in the order of the list. */
export const budgetsOf = (pod: Pod, budgets: readonly PodDisruptionBudget[]): readonly PodDisruptionBudget[] =>
  budgets.length === 0 ? budgets : atPositions(budgets, budgetIndex(budgets).matching(pod));

export const atPositions = (
  budgets: readonly PodDisruptionBudget[],
  positions: readonly number[],
): readonly PodDisruptionBudget[] => positions.flatMap((position) => budgets[position] ?? []);

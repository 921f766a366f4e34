/** Finds the PodDisruptionBudgets that select a pod, without a comparison of every budget with every pod. */
import type { LabelSelector, ObjectMeta, PodDisruptionBudget } from '#api/objects';
import { remembering } from '#lib';
import type { EnginePod } from '../../input.ts';
import { selects } from '../../selectors.ts';

interface Entry {
  readonly selector: LabelSelector | undefined;
  /** Position of the budget in the indexed list. */
  readonly position: number;
}

const OPERATORS: readonly string[] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];
const AMOUNT = /^\d+%?$/;
/**
 * Limits for the rules of one selector and for the values in them, because every selector of a namespace may be compared with
 * every kind of pod in the namespace.
 */
const MOST_RULES = 100;
const MOST_VALUES = 1_000;

const isKnown = ({ operator }: { readonly operator: string }): boolean => OPERATORS.includes(operator);

/** Returns true if both the selector and the number of allowed disruptions of a budget are valid. */
export const isReadable = (budget: PodDisruptionBudget): boolean =>
  readablePart(budget) === budget.spec.selector &&
  [budget.spec.minAvailable, budget.spec.maxUnavailable].every(
    (amount) => amount === undefined || AMOUNT.test(String(amount)),
  );

/**
 * Returns the selector. If the selector is too large or partly invalid, returns a part of it. This part selects more pods than
 * the whole selector, never fewer.
 */
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

/** Returns the namespace. Manifests may omit the namespace; this function assumes `default`. */
export const namespaceOf = ({ namespace }: ObjectMeta): string => namespace ?? 'default';

/** Index of the selectors of a list of budgets. */
export class BudgetIndex {
  /** Entries by namespace and a label that the selector requires. */
  readonly #byLabel = new Map<string, Entry[]>();
  /** Entries by namespace, for selectors that require no specific label. */
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

  /** Returns positions in the list, ascending. */
  matching({ metadata }: EnginePod): readonly number[] {
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

/** Index of the last list. */
let last: { readonly selections: string; readonly index: BudgetIndex } | undefined;

/**
 * Returns the index of a list. Lists are immutable, and each change of a budget's status creates a new list. Consecutive lists
 * with the same selectors share one index.
 */
export const budgetIndex = remembering((budgets: readonly PodDisruptionBudget[]): BudgetIndex => {
  const selections = budgets.map(selectionOf).join('\n');
  if (last?.selections !== selections) last = { selections, index: new BudgetIndex(budgets) };
  return last.index;
});

/** Returns the budgets of a list that select a pod, in the order of the list. */
export const budgetsOf = (pod: EnginePod, budgets: readonly PodDisruptionBudget[]): readonly PodDisruptionBudget[] =>
  budgets.length === 0 ? budgets : atPositions(budgets, budgetIndex(budgets).matching(pod));

export const atPositions = (
  budgets: readonly PodDisruptionBudget[],
  positions: readonly number[],
): readonly PodDisruptionBudget[] => positions.flatMap((position) => budgets[position] ?? []);

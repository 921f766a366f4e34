/** Which PodDisruptionBudgets select a pod, found without looking at all of them for every pod. */
import type { LabelSelector, ObjectMeta, Pod, PodDisruptionBudget } from '../../../api/kubernetes.ts';
import { remembering } from '../../../api/remembering.ts';
import { selects } from '../../selectors.ts';

interface Entry {
  readonly selector: LabelSelector | undefined;
  /** Position of the budget in the list that was indexed. */
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

/** Whom the budgets of a list select. */
export class BudgetIndex {
  /** By namespace and a label that the selector asks for. */
  readonly #byLabel = new Map<string, Entry[]>();
  /** By namespace: selectors that ask for no label in particular. */
  readonly #others = new Map<string, Entry[]>();

  constructor(budgets: readonly PodDisruptionBudget[]) {
    for (const [position, { metadata, spec }] of budgets.entries()) {
      const namespace = namespaceOf(metadata);
      const [label] = Object.entries(spec.selector?.matchLabels ?? {});
      const [index, key] =
        label === undefined ? [this.#others, namespace] : [this.#byLabel, labelKey(namespace, ...label)];
      const entry = { selector: spec.selector, position };
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
      for (const { selector, position } of entries ?? [])
        if (selects(readablePart(selector), metadata.labels)) found.push(position);
    };
    look(this.#others.get(namespace));
    if (this.#byLabel.size > 0)
      for (const [key, value] of Object.entries(metadata.labels ?? {}))
        look(this.#byLabel.get(labelKey(namespace, key, value)));
    return found.length > 1 ? found.sort((a, b) => a - b) : found;
  }
}

const labelKey = (namespace: string, key: string, value: string): string => `${namespace} ${key} ${value}`;

const selectionOf = remembering(({ metadata, spec }: PodDisruptionBudget): string =>
  JSON.stringify([namespaceOf(metadata), spec.selector]),
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

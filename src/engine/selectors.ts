/** Label selectors, by the rules of Kubernetes. */

import type { LabelSelector, NodeSelectorRequirement, StringMap } from '#api/objects';
import { own } from '#lib';

/** Returns true if a label with this value, or a missing label, satisfies the requirement. */
export function holds(
  { operator, values = [] }: Pick<NodeSelectorRequirement, 'operator' | 'values'>,
  value: string | undefined,
): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return false; // an invalid selector matches no labels
  }
}

/** Returns true if a selector matches labels. A missing selector matches no labels, an empty selector matches all labels. */
export function selects(selector: LabelSelector | undefined, labels: StringMap = {}): boolean {
  if (selector === undefined) return false;
  const { matchLabels, matchExpressions } = selector;
  for (const key in matchLabels) if (own(labels, key) !== own(matchLabels, key)) return false;
  return (
    matchExpressions === undefined ||
    matchExpressions.every((expression) => holds(expression, own(labels, expression.key)))
  );
}

/** Returns the keys of the labels that the selector reads. */
export const selectorKeys = (selector: LabelSelector | undefined): readonly string[] => [
  ...Object.keys(selector?.matchLabels ?? {}),
  ...(selector?.matchExpressions ?? []).map(({ key }) => key),
];

/** Returns the labels without which the selector matches nothing, with their possible values. */
export const requiredLabels = (
  selector: LabelSelector | undefined,
): readonly (readonly [key: string, values: readonly string[]])[] => [
  ...Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => [key, [value]] as const),
  ...(selector?.matchExpressions ?? []).flatMap(({ key, operator, values = [] }) =>
    operator === 'In' ? [[key, [...new Set(values)]] as const] : [],
  ),
];

/** Returns a text that is the same for equivalent selectors, independent of their order. */
export function selectorIdentity(selector: LabelSelector | undefined): string {
  if (selector === undefined) return 'none';
  const labels = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => JSON.stringify([key, 'In', [value]]));
  const expressions = (selector.matchExpressions ?? []).map(({ key, operator, values = [] }) =>
    JSON.stringify([key, operator, [...values].sort()]),
  );
  return [...new Set([...labels, ...expressions])].sort().join(';');
}

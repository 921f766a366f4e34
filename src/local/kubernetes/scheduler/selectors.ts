/** Node selectors with the semantics of Kubernetes. */
import type { LabelSelector, Node, NodeSelectorRequirement, NodeSelectorTerm, Pod } from '#api/objects';
import { holds } from '#engine/model';
import { own, parseInteger } from '#lib';

function meets(requirement: Omit<NodeSelectorRequirement, 'key'>, value: string | undefined): boolean {
  const { operator, values = [] } = requirement;
  if (operator !== 'Gt' && operator !== 'Lt') return holds(requirement, value);
  const [present, bound] = [value, values[0]].map((text) => parseInteger(text ?? ''));
  if (present === undefined || bound === undefined) return false;
  return operator === 'Gt' ? present > bound : present < bound;
}

/** A term without requirements matches no node. */
export function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Node): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const labels = node.metadata.labels ?? {};
  return (
    matchExpressions.every((expression) => meets(expression, own(labels, expression.key))) &&
    matchFields.every((field) => field.key === 'metadata.name' && meets(field, node.metadata.name))
  );
}

export const matchesAnyTerm = (terms: readonly NodeSelectorTerm[], node: Node): boolean =>
  terms.some((term) => matchesTerm(term, node));

/** Reports whether the node matches the pod's nodeSelector and required node affinity. */
export function matchesNodeSelection(pod: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {})) if (own(labels, key) !== value) return false;
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesAnyTerm(required.nodeSelectorTerms, node);
}

/** Adds `matchLabelKeys` and `mismatchLabelKeys` to a selector, with the pod's own values. */
export function withLabelKeys(
  selector: LabelSelector | undefined,
  pod: Pod,
  matchLabelKeys: readonly string[] = [],
  mismatchLabelKeys: readonly string[] = [],
): LabelSelector | undefined {
  if (selector === undefined || matchLabelKeys.length + mismatchLabelKeys.length === 0) return selector;
  const labels = pod.metadata.labels ?? {};
  const expressions = (keys: readonly string[], operator: 'In' | 'NotIn') =>
    keys.flatMap((key) => {
      const value = own(labels, key);
      return value === undefined ? [] : [{ key, operator, values: [value] }];
    });
  return {
    ...selector,
    matchExpressions: [
      ...(selector.matchExpressions ?? []),
      ...expressions(matchLabelKeys, 'In'),
      ...expressions(mismatchLabelKeys, 'NotIn'),
    ],
  };
}

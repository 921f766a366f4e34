/**
 * Rules of the NodeReadinessController. Its taints count as startup taints, but a Node can register before it has them. The rules
 * show which conditions the Node must have first.
 */
import { getCondition, isTrue, NODE_READINESS_RULE, type Node, type NodeReadinessRule } from '#api/objects';
import { selects } from '#engine/model';
import type { Trigger } from '#kube/reconcilers';
import { own } from '#lib';
import type { ClusterState } from '#state';
import type { MissingDevice } from './devices.ts';

const COMPLETED = 'readiness.k8s.io/bootstrap-completed-';

const appliesTo = ({ metadata, spec }: NodeReadinessRule, { metadata: { labels, annotations } }: Node): boolean =>
  spec.dryRun !== true &&
  (spec.nodeSelector === undefined || selects(spec.nodeSelector, labels)) &&
  !(spec.enforcementMode === 'bootstrap-only' && own(annotations, `${COMPLETED}${metadata.uid}`) === 'true');

/** Returns the conditions that keep a rule from being met. Empty if it is met. */
function unmetConditions({ spec }: NodeReadinessRule, node: Node): NodeReadinessRule['spec']['conditions'] {
  const unmet = spec.conditions.filter(
    ({ type, requiredStatus, defaultStatus = 'Unknown' }) =>
      (getCondition(node, type)?.status ?? defaultStatus) !== requiredStatus,
  );
  return spec.conditionPolicy === 'anyOf' && unmet.length < spec.conditions.length ? [] : unmet;
}

/** Returns the first rule that a Node does not meet yet, in the order of their names. */
export function unmetRule(rules: readonly NodeReadinessRule[], node: Node): MissingDevice | undefined {
  for (const rule of rules.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
    if (!appliesTo(rule, node)) continue;
    const [first] = unmetConditions(rule, node);
    if (first === undefined) continue;
    const message = `NodeReadinessRule "${rule.metadata.name}" requires the condition ${first.type}=${first.requiredStatus}`;
    return { reason: 'ReadinessRuleNotMet', message };
  }
  return undefined;
}

/** Triggers the NodeClaims that are not initialized. */
export const claimsOfRules = ({ stores }: Pick<ClusterState, 'stores'>): Trigger => ({
  kind: NODE_READINESS_RULE,
  optional: true,
  keysFor: () =>
    stores.nodeClaims
      .list()
      .filter((claim) => !isTrue(claim, 'Initialized'))
      .map(({ metadata }) => metadata),
});

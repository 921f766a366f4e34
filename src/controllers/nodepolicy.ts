/** Conditions of NodePolicies: the validity of their sections, and the policies that set the same section for a NodePool. */
import {
  type ConditionUpdate,
  clearCondition,
  NODE_POLICY,
  NODE_POOL,
  NODEPOLICY_CONDITIONS,
  type NodePolicy,
  overruledSections,
  setCondition,
} from '#api/objects';
import { nodePolicyErrors } from '#api/validation';
import { writeChanges } from '#kube/client';
import { type Key, type Reconciler, settled } from '#kube/reconcilers';
import { sameJson } from '#lib';
import type { Deps } from './deps.ts';

const OVERRULED = 'Overruled';
/** Maximum number of sections in a message. */
const MOST_NAMED = 10;

export function nodePolicyConditions({ client, clock, cluster }: Deps): Reconciler<NodePolicy> {
  const { nodePolicies, nodePools } = cluster.stores;
  const all = (): readonly Key[] => nodePolicies.list().map(({ metadata: { name } }) => ({ name }));
  return {
    name: 'nodepolicy.conditions',
    watches: NODE_POLICY,
    optional: true,
    concurrency: 10,
    triggers: [
      {
        kind: NODE_POLICY,
        optional: true,
        keysFor: ({ metadata }, event, before) =>
          event === 'updated' && metadata.generation === before?.metadata.generation ? [] : all(),
      },
      {
        kind: NODE_POOL,
        keysFor: ({ metadata }, event, before) =>
          event === 'updated' && sameJson(metadata.labels, before?.metadata.labels) ? [] : all(),
      },
    ],

    async reconcile(policy) {
      const overruled = overruledSections(nodePolicies.list(), nodePools.list()).get(policy.metadata.name) ?? [];
      const judged = setCondition(policy, NODEPOLICY_CONDITIONS, validity(policy), clock.now());
      const after =
        overruled.length === 0
          ? clearCondition(judged, NODEPOLICY_CONDITIONS, OVERRULED, clock.now())
          : setCondition(judged, NODEPOLICY_CONDITIONS, overruledBy(overruled), clock.now());
      await writeChanges(client, NODE_POLICY, { before: policy, after }, { part: 'status', lock: true });
      return settled;
    },
  };
}

function validity(policy: NodePolicy): ConditionUpdate {
  const errors = nodePolicyErrors(policy);
  const type = 'ValidationSucceeded';
  return errors.length === 0
    ? { type, status: 'True' }
    : { type, status: 'False', reason: 'InvalidSection', message: errors.join('; ') };
}

type OverruledList = NonNullable<ReturnType<ReturnType<typeof overruledSections>['get']>>;

function overruledBy(overruled: OverruledList): ConditionUpdate {
  const named = overruled
    .slice(0, MOST_NAMED)
    .map(
      ({ section, nodePool, by, reason }) =>
        `${section} of NodePool ${nodePool} is set by NodePolicy ${by}, which is ${reason === 'Older' ? 'older' : 'more specific'}`,
    );
  const rest = overruled.length - named.length;
  return {
    type: OVERRULED,
    status: 'True',
    reason: overruled.some(({ reason }) => reason === 'Older') ? 'Older' : 'MoreSpecific',
    message: [...named, ...(rest > 0 ? [`and ${rest} more`] : [])].join('; '),
  };
}

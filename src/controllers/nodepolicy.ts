/** Conditions of NodePolicies: the validity of their sections, and the policies that set the same section for a NodePool. */
import {
  type ConditionUpdate,
  clearCondition,
  NODE_POLICY,
  NODE_POOL,
  NODEPOLICY_CONDITIONS,
  type NodePolicy,
  type NodePool,
  overruledSections,
  sectionFor,
  setCondition,
} from '#api/objects';
import { nodePolicyErrors } from '#api/validation';
import { writeChanges } from '#kube/client';
import { type Key, type Reconciler, settled } from '#kube/reconcilers';
import { sameJson } from '#lib';
import type { Deps } from './deps.ts';

const OVERRULED = 'Overruled';
const OBSERVING = 'Observing';
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
      const settledOverlap =
        overruled.length === 0
          ? clearCondition(judged, NODEPOLICY_CONDITIONS, OVERRULED, clock.now())
          : setCondition(judged, NODEPOLICY_CONDITIONS, overruledBy(overruled), clock.now());
      const observed = nodePools.list().filter((pool) => {
        const mode = sectionFor(nodePolicies.list(), pool, 'mode');
        return mode?.value === 'Observe' && mode.policy.metadata.name === policy.metadata.name;
      });
      const after =
        observed.length === 0
          ? clearCondition(settledOverlap, NODEPOLICY_CONDITIONS, OBSERVING, clock.now())
          : setCondition(settledOverlap, NODEPOLICY_CONDITIONS, observing(observed), clock.now());
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

/** The condition shows since when decisions are only reported, also for another leader. */
const observing = (pools: readonly NodePool[]): ConditionUpdate => {
  const names = pools.map(({ metadata }) => metadata.name).sort();
  const more = names.length > MOST_NAMED ? `, and ${names.length - MOST_NAMED} more` : '';
  const message = `decisions on nodes of NodePool ${names.slice(0, MOST_NAMED).join(', ')}${more} are not carried out`;
  return { type: OBSERVING, status: 'True', reason: 'ModeObserve', message };
};

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

/** Plans the migration of one cluster. Only reads, and changes nothing in the cluster. */
import type { Facts } from '../facts.ts';
import { type Found, findFacts } from './found.ts';
import { groupSteps, sortGroups } from './groups.ts';
import { expectSource, guessSource } from './guess.ts';
import { karpenterSteps } from './karpenter.ts';
import type { MigrationPlan, Source } from './step.ts';

interface PlanOptions {
  readonly from?: Source | undefined;
  readonly clusterName?: string | undefined;
  /** Names of Auto Scaling groups by instance, as far as AWS has returned them. */
  readonly groups: ReadonlyMap<string, string>;
}

/** @throws Error if the migration path cannot be guessed or does not match the cluster */
export function planOf(facts: Facts, options: PlanOptions): MigrationPlan {
  try {
    return planFor(facts, options);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new Error(
      `an object does not match the schema of its kind (${error.message}); create a new file with karpenter snapshot`,
      { cause: error },
    );
  }
}

function planFor(facts: Facts, { from: said, clusterName, groups }: PlanOptions): MigrationPlan {
  if (said !== undefined) expectSource(facts, said);
  const { from, why } = said === undefined ? guessSource(facts) : { from: said, why: null };
  const found = { ...findFacts(facts, groups), ...(clusterName === undefined ? {} : { clusterName }) };
  const isOfGroups = from === 'cluster-autoscaler' || from === 'managed-node-groups';
  const steps = isOfGroups ? groupSteps(found, from) : karpenterSteps(found);
  return { from, guessed: why, cluster: found.clusterName, open: openIn(found, isOfGroups), steps };
}

/** Returns the points that the user must decide or verify. */
function openIn(found: Found, isOfGroups: boolean): readonly string[] {
  const { facts, clusterName, groups } = found;
  const { host, leaving } = sortGroups(groups);
  const unasked = ['Deployment', 'Node', 'Provisioner', 'Machine', 'NodePool', 'CustomResourceDefinition'].flatMap(
    (kind) => {
      const why = facts.notAsked(kind);
      return why === undefined ? [] : [`${kind}: ${why}; the plan does not include them`];
    },
  );
  return [
    ...unasked,
    ...(clusterName.startsWith('$') ? ['the name of the cluster is unknown; set it with export CLUSTER_NAME'] : []),
    'set IMAGE to the operator image that you have built and pushed, with export IMAGE',
    ...(isOfGroups && leaving.some(({ name }) => name === undefined)
      ? [
          'the name of a node group is unknown, and GROUP is its placeholder; with the permission ec2:DescribeInstances, migrate plan can read the name',
        ]
      : []),
    ...(isOfGroups && host === undefined ? ['no group was found for the controller'] : []),
  ];
}

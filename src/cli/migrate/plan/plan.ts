/** Plans the migration of one cluster. Only reads, and changes nothing in the cluster. */

import type { Node } from '#api/objects';
import { stageIn } from '../checks/installation.ts';
import type { Facts } from '../facts.ts';
import { groupsOf } from '../origins.ts';
import { type Found, findFacts } from './found.ts';
import { groupSteps, sortGroups } from './groups.ts';
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

/** Guesses the migration path of a cluster if the user does not specify it. */
interface Guess {
  readonly from: Source;
  readonly why: string;
}

/** @throws Error with the missing components if the cluster matches no migration path */
function guessSource(facts: Facts): Guess {
  const reasons = reasonsFor(facts);
  const found = ORDER.map((from) => ({ from, why: reasons[from] })).find(({ why }) => why !== undefined);
  if (found?.why === undefined)
    throw new Error(
      'the cluster has no Karpenter, no cluster-autoscaler and no node of a group; set the source, for example --from managed-node-groups',
    );
  return { from: found.from, why: found.why };
}

/** @throws Error if the cluster does not match the migration path */
function expectSource(facts: Facts, from: Source): void {
  if (reasonsFor(facts)[from] !== undefined) return;
  const others = ORDER.filter((other) => reasonsFor(facts)[other] !== undefined);
  const instead = others.length === 0 ? '' : `; detected source: --from ${others.join(' or ')}`;
  throw new Error(`--from ${from}: the cluster has ${LACKS[from]}${instead}`);
}

const ORDER: readonly Source[] = ['karpenter-alpha', 'karpenter', 'cluster-autoscaler', 'managed-node-groups'];

const LACKS: Readonly<Record<Source, string>> = {
  'karpenter-alpha': 'no Karpenter before 0.33, and no Provisioners',
  karpenter: 'no Karpenter',
  'cluster-autoscaler': 'no cluster-autoscaler, and no nodes of Auto Scaling groups',
  'managed-node-groups': 'no nodes of managed node groups',
};

function reasonsFor(facts: Facts): Readonly<Record<Source, string | undefined>> {
  const nodes = facts.of<Node>('Node');
  const karpenter = facts.controllers.find(({ isKarpenter }) => isKarpenter);
  const stage = stageIn(facts);
  const runs = karpenter && `Karpenter ${karpenter.version || 'of an unknown version'} is running`;
  const isAlpha =
    (karpenter !== undefined && (stage === 'alpha' || stage === 'both')) || facts.of('Provisioner').length > 0;
  const scaling = groupsOf(nodes, 'auto-scaling-group').size;
  const managed = [...groupsOf(nodes, 'managed-node-group').keys()].join(', ');
  return {
    'karpenter-alpha': isAlpha ? (runs ?? 'Provisioners exist') : undefined,
    karpenter: isAlpha ? undefined : runs,
    'cluster-autoscaler':
      facts.autoscalers.length > 0
        ? 'cluster-autoscaler is running'
        : scaling > 0
          ? 'nodes of Auto Scaling groups exist'
          : undefined,
    'managed-node-groups': managed === '' ? undefined : `nodes of managed node groups exist: ${managed}`,
  };
}

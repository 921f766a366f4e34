/** Guesses the migration path of a cluster if the user does not specify it. */
import type { Node } from '../../../api/kubernetes.ts';
import { stageIn } from '../checks/installation.ts';
import type { Facts } from '../facts.ts';
import { groupsOf } from '../origins.ts';
import type { Source } from './step.ts';

interface Guess {
  readonly from: Source;
  readonly why: string;
}

/** @throws Error with the missing components if the cluster matches no migration path */
export function guessSource(facts: Facts): Guess {
  const reasons = reasonsFor(facts);
  const found = ORDER.map((from) => ({ from, why: reasons[from] })).find(({ why }) => why !== undefined);
  if (found?.why === undefined)
    throw new Error(
      'the cluster has no Karpenter, no cluster-autoscaler and no node of a group; set the source, for example --from managed-node-groups',
    );
  return { from: found.from, why: found.why };
}

/** @throws Error if the cluster does not match the migration path */
export function expectSource(facts: Facts, from: Source): void {
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

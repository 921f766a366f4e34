/** Checks nodes: the controllers that created them, and their labels and taints of earlier versions. */
import type { KubeObject, Node } from '#api/objects';
import { LEGACY_TAINT } from '../../convert/renames.ts';
import { counted, inShort } from '../../render/table.ts';
import type { Facts } from '../facts.ts';
import { type Item, itemsIn } from '../items.ts';
import { groupsOf, originOf } from '../origins.ts';
import { namesOf } from './objects.ts';

const { itemsOf, ok, todo } = itemsIn('nodes');
/** Taint of beta versions. */
const DISRUPTION_TAINT = 'karpenter.sh/disruption';

export const nodeItems = (facts: Facts): readonly Item[] => [
  ...itemsOf(facts, { subject: 'nodes', kinds: ['Node'] }, () => {
    const nodes = facts.of<Node>('Node');
    return [...alphaNodes(facts, nodes), ...taints(nodes), ...groups(facts, nodes), ...oldAnnotation(nodes)];
  }),
  ...machines(facts),
];

const findTainted = (nodes: readonly Node[], key: string): readonly Node[] =>
  nodes.filter(({ spec }) => spec?.taints?.some((taint) => taint.key === key));

/** Reports Machines and nodes of Provisioners. */
function alphaNodes(facts: Facts, nodes: readonly Node[]): readonly Item[] {
  const old = nodes.filter((node) => originOf(node).kind === 'provisioner');
  if (old.length === 0)
    return nodes.length === 0
      ? []
      : [ok('alpha nodes', `none of ${counted(nodes.length, 'node')} belongs to a Provisioner`)];
  const byName = groupsOf(nodes, 'provisioner');
  const provisioners = new Map(facts.of<Provisioner>('Provisioner').map((each) => [each.metadata.name, each]));
  return [...byName].map(([name, own]) => {
    const subject = name === undefined ? 'nodes of Machines' : `nodes of Provisioner ${name}`;
    const text = `${counted(own.length, 'node')}: ${inShort(namesOf(own))}`;
    const isMarked = provisioners.get(name ?? '')?.spec?.taints?.some(({ key }) => key === LEGACY_TAINT) ?? false;
    if (facts.of('NodePool').length === 0)
      return todo(
        subject,
        `${text}; no NodePool can replace them yet`,
        'run karpenter convert -f FILE, then apply the NodePools',
      );
    if (name !== undefined && provisioners.has(name) && !isMarked)
      return todo(
        subject,
        `${text}; new pods can still cause new nodes, because the Provisioner does not have the taint ${LEGACY_TAINT}`,
        `kubectl edit provisioner ${name}, and add to spec.taints: {key: ${LEGACY_TAINT}, value: "true", effect: NoSchedule}`,
      );
    return todo(
      subject,
      text,
      `kubectl cordon ${own[0]?.metadata.name} && kubectl drain ${own[0]?.metadata.name} --ignore-daemonsets --delete-emptydir-data && kubectl delete node ${own[0]?.metadata.name}, one node at a time`,
    );
  });
}

interface Provisioner extends KubeObject {
  readonly spec?: { readonly taints?: readonly { readonly key: string }[] };
}

const machines = (facts: Facts): readonly Item[] =>
  itemsOf(facts, { subject: 'Machines', kinds: ['Machine'] }, () => {
    const found = facts.of('Machine');
    return found.length === 0
      ? []
      : [
          todo(
            'Machines',
            `${counted(found.length, 'Machine')}: ${inShort(namesOf(found))}; Machines are not converted to NodeClaims and are deleted with their nodes`,
            'drain and delete their nodes; list them with kubectl get machines',
          ),
        ];
  });

/** Reports taints that current controllers do not remove. */
function taints(nodes: readonly Node[]): readonly Item[] {
  const items: Item[] = [];
  const disrupting = findTainted(nodes, DISRUPTION_TAINT);
  if (disrupting.length > 0)
    items.push(
      todo(
        `taint ${DISRUPTION_TAINT}`,
        `is a taint of beta versions on ${inShort(namesOf(disrupting))}, which v1 does not remove`,
        `kubectl taint nodes ${namesOf(disrupting).join(' ')} ${DISRUPTION_TAINT}-, once no version before 1.0 is running`,
      ),
    );
  const legacy = findTainted(nodes, LEGACY_TAINT).filter((node) => originOf(node).kind !== 'provisioner');
  if (legacy.length > 0)
    items.push(
      todo(
        `taint ${LEGACY_TAINT}`,
        `on ${inShort(namesOf(legacy))}, which do not belong to a Provisioner: no pods are scheduled there`,
        `kubectl taint nodes ${namesOf(legacy).join(' ')} ${LEGACY_TAINT}-, or drain them`,
      ),
    );
  return items;
}

const GROUP_NAMES = { 'managed-node-group': 'managed node group', 'auto-scaling-group': 'Auto Scaling group' } as const;

/**
 * Reports groups of nodes. Groups that run the controllers stay. The remaining groups should be removed if
 * cluster-autoscaler still runs or no controller is installed.
 */
function groups({ autoscalers, controllers }: Facts, nodes: readonly Node[]): readonly Item[] {
  const isMoving =
    controllers.length === 0 || autoscalers.some(({ deployment }) => (deployment.spec.replicas ?? 1) > 0);
  return (['managed-node-group', 'auto-scaling-group'] as const).flatMap((kind) =>
    [...groupsOf(nodes, kind)].map(([name, own]) => {
      const subject =
        name === undefined ? 'nodes without NodePool and node group name' : `${GROUP_NAMES[kind]} ${name}`;
      const text = `${counted(own.length, 'node')}: ${inShort(namesOf(own))}`;
      const from = kind === 'managed-node-group' ? 'managed-node-groups' : 'cluster-autoscaler';
      return isMoving
        ? todo(subject, text, `karpenter migrate plan --from ${from}`)
        : ok(subject, `${text}; they stay in their group`);
    }),
  );
}

function oldAnnotation(nodes: readonly Node[]): readonly Item[] {
  const key = 'karpenter.sh/do-not-consolidate';
  const found = nodes.filter(({ metadata }) => Object.hasOwn(metadata.annotations ?? {}, key));
  return found.length === 0
    ? []
    : [
        todo(
          `annotation ${key}`,
          `on ${inShort(namesOf(found))}: no version since 1.0 uses it`,
          `kubectl annotate nodes ${namesOf(found).join(' ')} karpenter.sh/do-not-disrupt=true ${key}-`,
        ),
      ];
}

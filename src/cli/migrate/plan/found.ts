/** Names and objects of the cluster that a plan needs. */
import { type EC2NodeClass, type KubeObject, type Node, type Taint, ZONE_LABEL } from '#api/objects';
import type { FoundController } from '#aws/leftovers';
import { own } from '#lib';
import { clusterNameOf } from '../account.ts';
import { namesOf } from '../checks/objects.ts';
import type { Autoscaler, Facts } from '../facts.ts';
import { groupsOf, instanceIdOfNode, type OriginKind } from '../origins.ts';

/** Group of nodes that is removed or kept. */
export interface LeavingGroup {
  readonly kind: 'managed-node-group' | 'auto-scaling-group';
  /** Undefined if the name is unknown. */
  readonly name: string | undefined;
  readonly nodes: readonly string[];
  readonly zones: readonly string[];
}

export interface Found {
  readonly facts: Facts;
  /** `$CLUSTER_NAME` if the name is unknown. */
  readonly clusterName: string;
  /** Namespace of the controller, or the planned namespace if no controller is installed. */
  readonly namespace: string;
  /** Helm release of the controller. */
  readonly release: string;
  readonly controller: FoundController | undefined;
  readonly autoscaler: Autoscaler | undefined;
  readonly provisioners: readonly string[];
  /** Taints of each Provisioner. */
  readonly provisionerTaints: ReadonlyMap<string, readonly Taint[]>;
  readonly nodeTemplates: readonly string[];
  readonly pools: readonly string[];
  readonly nodeClasses: readonly string[];
  /** Nodes of Provisioners. */
  readonly oldNodes: readonly string[];
  readonly groups: readonly LeavingGroup[];
  /** Role of nodes, if a NodeClass contains one. */
  readonly nodeRole: string | undefined;
}

interface Provisioner extends KubeObject {
  readonly spec?: { readonly taints?: readonly Taint[] };
}

/** @param groups names of Auto Scaling groups by instance, as far as AWS has returned them */
export function findFacts(facts: Facts, groups: ReadonlyMap<string, string>): Found {
  const controller = facts.controllers.find(({ isKarpenter }) => isKarpenter) ?? facts.controllers[0];
  const nodes = facts.of<Node>('Node');
  const metadata = controller?.deployment.metadata;
  return {
    facts,
    clusterName: clusterNameOf(facts) ?? '$CLUSTER_NAME',
    namespace: metadata?.namespace ?? 'kube-system',
    release: own(metadata?.annotations, 'meta.helm.sh/release-name') ?? metadata?.name ?? 'karpenter',
    controller,
    autoscaler: facts.autoscalers[0],
    provisioners: namesOf(facts.of('Provisioner')),
    provisionerTaints: new Map(
      facts.of<Provisioner>('Provisioner').map(({ metadata: { name }, spec }) => [name, spec?.taints ?? []]),
    ),
    nodeTemplates: namesOf(facts.of('AWSNodeTemplate')),
    pools: namesOf(facts.of('NodePool')),
    nodeClasses: namesOf(facts.of('EC2NodeClass')),
    oldNodes: [...groupsOf(nodes, 'provisioner').values()].flat().map(({ metadata: { name } }) => name),
    groups: [...managedGroups(nodes), ...scalingGroups(facts, nodes, groups)],
    nodeRole: facts
      .of<EC2NodeClass>('EC2NodeClass')
      .map(({ spec }) => spec?.role)
      .find((role) => role !== undefined),
  };
}

function groupOf(kind: LeavingGroup['kind'], name: string | undefined, nodes: readonly Node[]): LeavingGroup {
  const zones = new Set(nodes.flatMap(({ metadata }) => own(metadata.labels, ZONE_LABEL) ?? []));
  return { kind, name, nodes: namesOf(nodes), zones: [...zones].sort() };
}

const byName = (nodes: readonly Node[], kind: OriginKind): readonly [string | undefined, readonly Node[]][] => [
  ...groupsOf(nodes, kind),
];

const managedGroups = (nodes: readonly Node[]): readonly LeavingGroup[] =>
  byName(nodes, 'managed-node-group').map(([name, own]) => groupOf('managed-node-group', name, own));

/** Flag of cluster-autoscaler: `--nodes=1:10:shop-workers`. */
const NODES_FLAG = /^--nodes=\d+:\d+:(?<name>.+)$/;

/**
 * Finds Auto Scaling groups by the tags of AWS, or by the flags of cluster-autoscaler. eksctl's labels contain
 * eksctl's group name instead of the Auto Scaling group's name.
 */
function scalingGroups(
  facts: Facts,
  nodes: readonly Node[],
  groups: ReadonlyMap<string, string>,
): readonly LeavingGroup[] {
  const found = Map.groupBy(
    byName(nodes, 'auto-scaling-group').flatMap(([, own]) => own),
    (node) => groups.get(instanceIdOfNode(node) ?? ''),
  );
  const told = facts.autoscalers.flatMap(({ flags = [] }) =>
    flags.flatMap((flag) => NODES_FLAG.exec(flag)?.groups?.name ?? []),
  );
  const [only] = told;
  return [...found].map(([name, own]) =>
    // a single configured name belongs to the single group with an unknown name
    groupOf('auto-scaling-group', name ?? (told.length === 1 && found.size === 1 ? only : undefined), own),
  );
}

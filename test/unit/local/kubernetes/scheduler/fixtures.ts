/** Builders of nodes, pods and clusters for filter tests. */
import type {
  CSINode,
  LabelSelector,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodSpec,
  QuantityList,
  StorageClass,
  StringMap,
} from '#api/objects';
import { resourcesOf } from '#engine/model';
import { add, podRequests, scoredRequests } from '../../../../../src/local/kubernetes/scheduler/amounts.ts';
import { DomainCounts } from '../../../../../src/local/kubernetes/scheduler/domain-counts.ts';
import { feasibleNodes } from '../../../../../src/local/kubernetes/scheduler/filters.ts';
import type { ClusterView, Filter, NodeView } from '../../../../../src/local/kubernetes/scheduler/view.ts';

export interface NodeShape {
  readonly labels?: StringMap;
  readonly spec?: Node['spec'];
  readonly allocatable?: QuantityList;
  readonly pods?: readonly Pod[];
}

export function nodeView(
  name: string,
  { labels = {}, spec = {}, allocatable = {}, pods = [] }: NodeShape = {},
): NodeView & { readonly known: true } {
  const all = { 'kubernetes.io/hostname': name, ...labels };
  const requested: Record<string, number> = {};
  const scored: Record<string, number> = {};
  for (const pod of pods) {
    add(requested, podRequests(pod));
    add(scored, scoredRequests(pod));
  }
  return {
    node: { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: all }, spec },
    name,
    labels: all,
    allocatable: resourcesOf({ cpu: '4', memory: '8Gi', pods: '110', ...allocatable }),
    requested,
    scored,
    pods,
    known: true,
  };
}

export interface PodShape extends Partial<PodSpec> {
  readonly labels?: StringMap;
  readonly namespace?: string;
  readonly name?: string;
  readonly requests?: QuantityList;
  readonly deleting?: boolean;
}

export function podWith({
  labels = {},
  namespace = 'default',
  name = 'pod',
  requests = {},
  deleting,
  ...spec
}: PodShape = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels, ...(deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) },
    spec: { containers: [{ name: 'main', resources: { requests } }], ...spec },
  };
}

export interface ClusterShape {
  readonly namespaces?: readonly Namespace[];
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly volumes?: readonly PersistentVolume[];
  readonly classes?: readonly StorageClass[];
  readonly csiNodes?: readonly CSINode[];
  /** Default selector of every pod. */
  readonly defaultSelector?: LabelSelector;
}

export function clusterOf(nodes: readonly ReturnType<typeof nodeView>[], shape: ClusterShape = {}): ClusterView {
  const named = <T extends { metadata: { name: string } }>(
    list: readonly T[] | undefined,
    name: string,
  ): T | undefined => list?.find(({ metadata }) => metadata.name === name);
  return {
    nodes,
    repelling: nodes,
    withAffinity: nodes,
    domainCounts: new DomainCounts(new Map(nodes.map((node) => [node.name, node]))),
    defaultSelector: () => shape.defaultSelector,
    namespace: (name) => named(shape.namespaces, name),
    claim: (namespace, name) =>
      shape.claims?.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
    volume: (name) => named(shape.volumes, name),
    volumes: () => shape.volumes ?? [],
    storageClass: (name) => named(shape.classes, name),
    csiNode: (name) => named(shape.csiNodes, name),
  };
}

/** Returns the names of nodes that fit, or the message if none fits. */
export function outcome(filter: Filter, pod: Pod, cluster: ClusterView): readonly string[] | string {
  const verdict = feasibleNodes(pod, cluster, [filter]);
  return 'fits' in verdict ? verdict.fits.map(({ name }) => name) : verdict.message;
}

/** Message for one rejected node. */
export const refusal = (reason: string): string => `0/1 nodes are available: 1 ${reason}.`;

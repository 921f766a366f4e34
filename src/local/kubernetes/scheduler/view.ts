/** What the filters look at: nodes with the pods on them, and the objects around. */
import type {
  CSINode,
  LabelSelector,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  StringMap,
} from '../../../api/kubernetes.ts';
import type { Amounts } from './amounts.ts';
import type { DomainCounts } from './domain-counts.ts';

export interface NodeView {
  readonly node: Node;
  readonly name: string;
  readonly labels: StringMap;
  readonly allocatable: Amounts;
  /** Sum of the requests of `pods`, `pods` counted as a resource. */
  readonly requested: Amounts;
  /** Sum of the requests of `pods` for scores. */
  readonly scored: Amounts;
  readonly pods: readonly Pod[];
}

export interface ClusterView {
  readonly nodes: readonly NodeView[];
  /** Those with pods that have required anti-affinity. */
  readonly repelling: readonly NodeView[];
  /** Nodes with pods that have any pod affinity or anti-affinity. */
  readonly withAffinity: readonly NodeView[];
  readonly domainCounts: Pick<DomainCounts, 'of'>;
  /** Selects the pods that system default constraints spread the pod with; undefined if they do not apply. */
  defaultSelector(pod: Pod): LabelSelector | undefined;
  namespace(name: string): Namespace | undefined;
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  volumes(): readonly PersistentVolume[];
  storageClass(name: string): StorageClass | undefined;
  csiNode(name: string): CSINode | undefined;
}

/** Answers why the pod cannot run on the node; undefined when it can as far as this filter is concerned. */
export type Check = (node: NodeView) => readonly string[] | undefined;

/** The pod fits nowhere, whatever the nodes are. */
export interface PodRefusal {
  readonly refusal: string;
}

/**
 * One of kube-scheduler's filters: looks at the pod and the cluster once and answers a check for single nodes,
 * undefined when the filter has nothing to say about this pod.
 */
export type Filter = (pod: Pod, cluster: ClusterView) => Check | PodRefusal | undefined;

export const isRefusal = (answer: Check | PodRefusal): answer is PodRefusal => typeof answer !== 'function';

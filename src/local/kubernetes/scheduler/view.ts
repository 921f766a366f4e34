/** Input of the filters: nodes with their pods, and related objects. */

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
} from '#api/objects';
import type { Resources } from '#engine/model';
import type { DeviceCluster } from './devices/device-cluster.ts';
import type { DomainCounts } from './domain-counts.ts';

export interface NodeView {
  readonly node: Node;
  readonly name: string;
  readonly labels: StringMap;
  readonly allocatable: Resources;
  /** Sum of the requests of `pods`, including the number of pods as a resource. */
  readonly requested: Resources;
  /** Sum of the requests of `pods` for scores. */
  readonly scored: Resources;
  readonly pods: readonly Pod[];
}

export interface ClusterView {
  readonly nodes: readonly NodeView[];
  /** Nodes with pods that have required anti-affinity. */
  readonly repelling: readonly NodeView[];
  /** Nodes with pods that have any pod affinity or anti-affinity. */
  readonly withAffinity: readonly NodeView[];
  readonly domainCounts: Pick<DomainCounts, 'of'>;
  /**
   * Returns a selector of the pods among which system default constraints spread the pod, or undefined if they do not
   * apply.
   */
  defaultSelector(pod: Pod): LabelSelector | undefined;
  namespace(name: string): Namespace | undefined;
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  volumes(): readonly PersistentVolume[];
  storageClass(name: string): StorageClass | undefined;
  csiNode(name: string): CSINode | undefined;
  /** Devices and claims. Undefined if the cluster does not allocate devices. */
  readonly devices?: DeviceCluster | undefined;
}

/** Returns the reasons why the pod cannot run on the node, or undefined if this filter accepts the node. */
export type Check = (node: NodeView) => readonly string[] | undefined;

/** Reason why the pod fits on no node at all. */
export interface PodRefusal {
  readonly refusal: string;
}

/**
 * One of kube-scheduler's filters. Evaluates the pod and the cluster once, and returns a check for single nodes.
 * Returns undefined if the filter does not apply to this pod.
 */
export type Filter = (pod: Pod, cluster: ClusterView) => Check | PodRefusal | undefined;

export const isRefusal = (answer: Check | PodRefusal): answer is PodRefusal => typeof answer !== 'function';

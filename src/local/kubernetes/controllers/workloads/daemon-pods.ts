/** Pods of DaemonSets: their nodes and their specs. */
import type { DaemonSet, Node, Pod, PodSpec, Taint, Toleration } from '#api/objects';
import { matchesNodeSelection } from '../../scheduler/selectors.ts';
import { findUntolerated } from '../../scheduler/taints.ts';
import { podOf } from './pods.ts';

export const REVISION_LABEL = 'controller-revision-hash';

const exists = (key: string, effect: Taint['effect']): Toleration => ({ key, operator: 'Exists', effect });

/** Tolerations of every DaemonSet pod. */
const TOLERATIONS: readonly Toleration[] = [
  exists('node.kubernetes.io/not-ready', 'NoExecute'),
  exists('node.kubernetes.io/unreachable', 'NoExecute'),
  exists('node.kubernetes.io/disk-pressure', 'NoSchedule'),
  exists('node.kubernetes.io/memory-pressure', 'NoSchedule'),
  exists('node.kubernetes.io/pid-pressure', 'NoSchedule'),
  exists('node.kubernetes.io/unschedulable', 'NoSchedule'),
];
const HOST_NETWORK = exists('node.kubernetes.io/network-unavailable', 'NoSchedule');

function tolerationsOf({ tolerations = [], hostNetwork }: PodSpec): readonly Toleration[] {
  return [...tolerations, ...TOLERATIONS, ...(hostNetwork ? [HOST_NETWORK] : [])];
}

/** Reports whether the DaemonSet should create a pod on the node, and whether an existing pod may stay there. */
export function belongs(set: DaemonSet, node: Node): { readonly run: boolean; readonly stay: boolean } {
  const spec = set.spec.template.spec;
  const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: '' }, spec };
  if (!matchesNodeSelection(pod, node)) return { run: false, stay: false };
  const tolerations = tolerationsOf(spec);
  return {
    run: !findUntolerated(node.spec?.taints, tolerations, ['NoSchedule', 'NoExecute']),
    stay: !findUntolerated(node.spec?.taints, tolerations, ['NoExecute']),
  };
}

/**
 * Returns the pod for one node. Required node affinity with the node's name replaces the terms that selected the node.
 */
export function podFor(set: DaemonSet, node: Node, revision: string): Pod {
  const pod = podOf(set.spec.template, set);
  const field = { key: 'metadata.name', operator: 'In', values: [node.metadata.name] } as const;
  const { affinity } = pod.spec;
  return {
    ...pod,
    metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, [REVISION_LABEL]: revision } },
    spec: {
      ...pod.spec,
      tolerations: tolerationsOf(pod.spec),
      affinity: {
        ...affinity,
        nodeAffinity: {
          ...affinity?.nodeAffinity,
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [field] }] },
        },
      },
    },
  };
}

/** Returns the node to which a daemon pod is bound or pinned. */
export function nodeOfDaemon(pod: Pod): string {
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return pod.spec.nodeName ?? required?.nodeSelectorTerms[0]?.matchFields?.[0]?.values?.[0] ?? '';
}

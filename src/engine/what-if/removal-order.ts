/** Selects the pods that are removed when a workload is scaled down, as kube-controller-manager does. */
import { DELETION_COST_ANNOTATION, isTrue, type Pod } from '#api/objects';
import { timeOf } from '#lib';

/**
 * Returns the pods in the order of their removal. A StatefulSet removes the highest ordinal first. A ReplicaSet
 * compares pods by these criteria:
 *
 * 1. pods without a node first
 * 2. pods that are not running
 * 3. pods that are not ready
 * 4. pods with a low deletion cost
 * 5. pods that share their node with the most pods of the workload
 * 6. the youngest pods
 */
export function inOrderOfRemoval(pods: readonly Pod[], kind: string): readonly Pod[] {
  if (kind === 'StatefulSet') return pods.toSorted((a, b) => ordinalOf(b) - ordinalOf(a));
  const onNode = new Map<string, number>();
  for (const { spec } of pods) onNode.set(spec.nodeName ?? '', (onNode.get(spec.nodeName ?? '') ?? 0) + 1);
  const ranksOf = (pod: Pod): readonly number[] => [
    pod.spec.nodeName ? 1 : 0,
    pod.status?.phase === 'Running' ? 1 : 0,
    isTrue(pod, 'Ready') ? 1 : 0,
    Number(pod.metadata.annotations?.[DELETION_COST_ANNOTATION] ?? 0) || 0,
    -(onNode.get(pod.spec.nodeName ?? '') ?? 0),
    -(timeOf(pod.metadata.creationTimestamp) || 0),
  ];
  const ranks = new Map(pods.map((pod) => [pod, ranksOf(pod)]));
  return pods.toSorted(
    (a, b) => compare(ranks.get(a) ?? [], ranks.get(b) ?? []) || (a.metadata.name < b.metadata.name ? -1 : 1),
  );
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((rank, index) => rank !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}

/** Returns the ordinal of a StatefulSet's pod, or -1 if its name contains none. */
export function ordinalOf({ metadata }: Pod): number {
  const ordinal = /-(\d+)$/.exec(metadata.name)?.[1];
  return ordinal === undefined ? -1 : Number(ordinal);
}

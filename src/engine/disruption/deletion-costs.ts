/**
 * Chooses pods on marked nodes that their ReplicaSets should delete first. A scale-down then empties the marked nodes instead of
 * nodes that stay.
 */
import {
  DELETION_COST_ANNOTATION,
  DELETION_COST_SINCE_ANNOTATION,
  isTrue,
  nodeNameOf,
  type Pod,
  READY,
} from '#api/objects';
import { isActive, isScheduled, podKey } from '../pods.ts';

/** Deletion cost of chosen pods. Pods without a cost count as 0, so this value is only slightly lower. */
export const OWN_COST = '-1';
/** Maximum number of chosen pods, so that an operator that stops can remove all costs within seconds. */
const MOST_PODS = 500;
/** Minimum number of nodes with ready pods of a workload that are not chosen. */
const LEAST_NODES = 2;

type Annotated = Pick<Pod, 'metadata'>;

/** Returns true if the operator has set a deletion cost. Another client may have changed the cost since then. */
export const hasCostMark = ({ metadata }: Annotated): boolean =>
  metadata.annotations?.[DELETION_COST_SINCE_ANNOTATION] !== undefined;

/** Returns true if the pod has the deletion cost that the operator has set. */
export const hasOwnCost = (pod: Annotated): boolean =>
  hasCostMark(pod) && pod.metadata.annotations?.[DELETION_COST_ANNOTATION] === OWN_COST;

/** Returns true if another client has set the deletion cost of the pod. */
export const hasForeignCost = (pod: Annotated): boolean =>
  pod.metadata.annotations?.[DELETION_COST_ANNOTATION] !== undefined && !hasOwnCost(pod);

/**
 * Returns the pods that should have the deletion cost of the operator: active pods of ReplicaSets on marked nodes. The pods of
 * the nodes that were marked first come first.
 *
 * A ReplicaSet is left out if one of its pods has a deletion cost of another client, because that client decides the order. It
 * is also left out if its pods have spread constraints or anti-affinity, or if fewer than two other nodes have ready pods.
 *
 * @param emptyingSinceMs times of the marks by the name of the node
 */
export function podsToDeleteFirst(pods: readonly Pod[], emptyingSinceMs: ReadonlyMap<string, number>): readonly Pod[] {
  if (emptyingSinceMs.size === 0) return [];
  const isOnMarkedNode = (pod: Pod): boolean => emptyingSinceMs.has(nodeNameOf(pod));
  const active = pods.filter(isActive);
  const candidates = new Set(active.filter(isOnMarkedNode).map(replicaSetUidOf));
  candidates.delete(undefined);
  const members = Map.groupBy(active, (pod) => {
    const uid = replicaSetUidOf(pod);
    return candidates.has(uid) ? uid : undefined;
  });
  members.delete(undefined);
  const suitable = [...members.values()].filter((each) => isSuitable(each, isOnMarkedNode));
  const byNode = Map.groupBy(suitable.flat().filter(isOnMarkedNode), nodeNameOf);
  return [...emptyingSinceMs]
    .toSorted(([nameA, a], [nameB, b]) => a - b || compareTexts(nameA, nameB))
    .flatMap(([name]) => (byNode.get(name) ?? []).toSorted((a, b) => compareTexts(podKey(a), podKey(b))))
    .slice(0, MOST_PODS);
}

function isSuitable(pods: readonly Pod[], isChosen: (pod: Pod) => boolean): boolean {
  if (pods.some((pod) => hasForeignCost(pod) || isSpread(pod))) return false;
  const remaining = pods.filter((pod) => isScheduled(pod) && isTrue(pod, READY) && !isChosen(pod));
  return new Set(remaining.map(nodeNameOf)).size >= LEAST_NODES;
}

const isSpread = ({ spec }: Pod): boolean =>
  (spec.topologySpreadConstraints ?? []).length > 0 || spec.affinity?.podAntiAffinity !== undefined;

const replicaSetUidOf = ({ metadata }: Pod): string | undefined =>
  (metadata.ownerReferences ?? []).find(
    ({ apiVersion, kind, controller }) => controller && kind === 'ReplicaSet' && apiVersion === 'apps/v1',
  )?.uid;

const compareTexts = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

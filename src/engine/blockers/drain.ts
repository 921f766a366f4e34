/** Predicts the obstacles to the drain of a node, before it starts. */
import { controllerOf, desiredHealthy, type Pod, type PodDisruptionBudget, type VolumeAttachment } from '#api/objects';
import { budgetsOf } from '../disruption/candidates/pdb-index.ts';
import { pendingAttachments, volumesOf } from '../drain/attachments.ts';
import type { Snapshot, StateNode } from '../model.ts';
import { doNotDisrupt, isActive, isEvictable, isReschedulable, isWaitingForEviction, podKey } from '../pods.ts';
import type { Blocker } from './blocker.ts';
import { budgetedPods, podKeys, protectedPods } from './pods.ts';

interface DrainedCluster extends Pick<Snapshot, 'nowMs' | 'podDisruptionBudgets' | 'persistentVolumeClaims'> {
  /** Pods that stay pending, among them pods of the node. */
  readonly refused: readonly Pod[];
  readonly volumeAttachments: readonly VolumeAttachment[];
}

/** Returns true for a pod that no controller creates again after its eviction. */
export const isLost = (pod: Pod): boolean => isReschedulable(pod) && controllerOf(pod) === undefined;

export function predictBlockers(node: StateNode, cluster: DrainedCluster): readonly Blocker[] {
  const { nowMs, podDisruptionBudgets } = cluster;
  const evicted = node.pods.filter((pod) => isWaitingForEviction(pod, nowMs) && isActive(pod));
  const lost = podKeys(evicted.filter(isLost));
  return [
    ...protectedPods(
      evicted.filter((pod) => doNotDisrupt(pod, nowMs)),
      nowMs,
    ),
    ...withStarved(budgetedPods(evicted, podDisruptionBudgets, nowMs), evicted, cluster),
    ...unusedVolumes(node, cluster),
    ...(lost.length === 0 ? [] : [lostPods(lost)]),
  ];
}

const lostPods = (pods: readonly string[]): Blocker => ({
  code: 'no-controller',
  text: `${pods.length} pod${pods.length === 1 ? ' has' : 's have'} no controller, so nothing creates ${pods.length === 1 ? 'it' : 'them'} again after the eviction`,
  pods,
  ends: 'does-not-block',
});

/** Adds budgets that stop the drain because pods stay pending, which are not healthy until they have a node. */
function withStarved(
  blockers: readonly Blocker[],
  evicted: readonly Pod[],
  cluster: DrainedCluster,
): readonly Blocker[] {
  const { podDisruptionBudgets, nowMs } = cluster;
  const endless = new Set(blockers.filter(({ ends }) => ends === 'never').map(({ object }) => keyOfObject(object)));
  const guarded = evicted.filter((pod) => isEvictable(pod, nowMs));
  const starved = podDisruptionBudgets.flatMap((budget) => {
    if (endless.has(keyOf(budget))) return [];
    const found = blockerByPending(budget, guarded, cluster);
    return found === undefined ? [] : [found];
  });
  const replaced = new Set(starved.map(({ object }) => keyOfObject(object)));
  return [...blockers.filter(({ object }) => !replaced.has(keyOfObject(object))), ...starved];
}

const keyOf = ({ metadata }: PodDisruptionBudget): string => `${metadata.namespace ?? 'default'}/${metadata.name}`;
const keyOfObject = (object: Blocker['object']): string =>
  object?.kind === 'PodDisruptionBudget' ? `${object.namespace}/${object.name}` : '';

/**
 * Returns a blocker if the budget cannot allow the eviction of all its pods on the node. An eviction needs one healthy pod more
 * than required, and an evicted pod is healthy again only if it finds a node.
 */
function blockerByPending(
  budget: PodDisruptionBudget,
  evicted: readonly Pod[],
  { podDisruptionBudgets, refused }: DrainedCluster,
): Blocker | undefined {
  const { expectedPods = 0 } = budget.status ?? {};
  const isSelected = (pod: Pod): boolean => {
    const [only, ...others] = budgetsOf(pod, podDisruptionBudgets);
    return only === budget && others.length === 0;
  };
  const own = evicted.filter(isSelected);
  if (own.length === 0 || expectedPods === 0) return undefined;
  const keys = new Set(podKeys(own));
  const pending = refused.filter(isSelected);
  const leaving = pending.filter((pod) => keys.has(podKey(pod))).length;
  const required = desiredHealthy(budget.spec, expectedPods);
  if (pending.length === 0 || expectedPods - (pending.length - leaving) - Math.max(1, leaving) >= required)
    return undefined;
  const { currentHealthy: current = 0, disruptionsAllowed: allowed = 0 } = budget.status ?? {};
  const { namespace = 'default', name } = budget.metadata;
  return {
    code: 'pdb',
    text: `PodDisruptionBudget ${keyOf(budget)} requires ${required} of ${expectedPods} healthy pods, but ${pending.length} would stay pending`,
    object: { kind: 'PodDisruptionBudget', namespace, name },
    pods: podKeys(own),
    healthy: { current, desired: required, allowed },
    ends: 'never',
  };
}

/** Returns volumes that stay attached although the drain removes no pod that uses them. */
function unusedVolumes(
  node: StateNode,
  { nowMs, persistentVolumeClaims, volumeAttachments }: DrainedCluster,
): readonly Blocker[] {
  const name = node.node?.metadata.name;
  const attachments = volumeAttachments.filter(({ spec }) => spec.nodeName === name);
  if (name === undefined || attachments.length === 0) return [];
  const claims = new Map(
    persistentVolumeClaims.map((claim) => [`${claim.metadata.namespace ?? 'default'}/${claim.metadata.name}`, claim]),
  );
  const claim = (ref: { readonly namespace: string; readonly name: string }) =>
    claims.get(`${ref.namespace || 'default'}/${ref.name}`);
  const awaited = pendingAttachments({ attachments, pods: node.pods, claim, nowMs });
  const used = new Set(node.pods.flatMap((pod) => volumesOf(pod, claim)));
  return awaited
    .filter(({ spec }) => !used.has(spec.source?.persistentVolumeName ?? ''))
    .map(
      ({ metadata, spec }): Blocker => ({
        code: 'volume-attached',
        text: `volume ${spec.source?.persistentVolumeName} is attached, although no pod on the node uses it`,
        object: { kind: 'VolumeAttachment', name: metadata.name },
        ends: 'detached',
        ...(metadata.deletionTimestamp !== undefined && { since: metadata.deletionTimestamp }),
      }),
    );
}

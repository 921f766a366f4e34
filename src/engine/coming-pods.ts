/**
 * Pods that StatefulSets are about to create. StatefulSets start their pods one after the other, and without
 * this knowledge each pod would get a small node of its own.
 */
import { CAPACITY_TYPE_LABEL, controllerOf } from '#api/objects';
import type { EnginePod } from './input.ts';
import type { EngineSnapshot, Plan } from './model.ts';
import { isHeavy } from './pod-bounds.ts';
import { podKey } from './pods.ts';
import { type Requirements, requirementsOfPod } from './requirements.ts';

/** Maximum number of coming pods in one solve, because each takes as much time as a pending pod. */
export const MOST_COMING = 100;

/**
 * Returns copies of pods of StatefulSets, one for each pod that is still to come. They follow the first pod of their StatefulSet.
 * Pods that can get spot nodes have none: spot nodes are not replaced by smaller ones, so large nodes would stay when the
 * StatefulSet is scaled down.
 * @param pods pods that are placed: pending pods, and pods of nodes that are removed
 * @param pools requirements of the NodePools
 */
export function comingPods(
  { comingReplicas }: Pick<EngineSnapshot, 'comingReplicas'>,
  pods: readonly EnginePod[],
  pools: readonly Requirements[],
): readonly EnginePod[] {
  if (comingReplicas === undefined) return [];
  const coming: EnginePod[] = [];
  const left = new Map(comingReplicas);
  for (const pod of pods) {
    const owner = controllerOf(pod)?.uid ?? '';
    const count = Math.min(left.get(owner) ?? 0, MOST_COMING - coming.length);
    if (count === 0 || !mayHaveCopies(pod) || mayBeOnSpot(pod, pools)) continue;
    left.delete(owner);
    coming.push(...copiesOf(pod, count));
  }
  return coming;
}

const mayHaveCopies = (pod: EnginePod): boolean => !isHeavy(pod) && (pod.spec.resourceClaims ?? []).length === 0;

function mayBeOnSpot(pod: EnginePod, pools: readonly Requirements[]): boolean {
  const own = requirementsOfPod(pod).get(CAPACITY_TYPE_LABEL);
  return own.has('spot') && pools.some((pool) => pool.get(CAPACITY_TYPE_LABEL).has('spot'));
}

/** Leaves out volumes with claims, because those of the next pods do not exist yet. */
function copiesOf({ metadata, spec, ...pod }: EnginePod, count: number): readonly EnginePod[] {
  const kept = (spec.volumes ?? []).filter(
    ({ persistentVolumeClaim, ephemeral }) => !persistentVolumeClaim && !ephemeral,
  );
  // one object, so that the solver sees without a comparison that the pods are equal
  const shared = { ...spec, volumes: kept };
  return Array.from({ length: count }, (_each, index) => {
    const own = { name: `${metadata.name}+${index + 1}`, uid: `${metadata.uid}+${index + 1}` };
    return { ...pod, metadata: { ...metadata, ...own }, spec: shared };
  });
}

/** Removes coming pods from a plan, and the nodes and placements that no other pod needs. */
export function withoutComing(plan: Plan, coming: readonly EnginePod[]): Plan {
  if (coming.length === 0) return plan;
  const keys = new Set(coming.map(podKey));
  const without = <T extends { readonly pods: readonly string[] }>(all: readonly T[]): readonly T[] =>
    all.flatMap((each) => {
      const pods = each.pods.filter((key) => !keys.has(key));
      return pods.length === 0 ? [] : [{ ...each, pods }];
    });
  return { ...plan, claims: without(plan.claims), placements: without(plan.placements) };
}

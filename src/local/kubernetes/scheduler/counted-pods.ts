/** Rules of a pod that count other pods: required affinity and anti-affinity, and hard topology spread constraints. */
import type { LabelSelector, Node, Pod } from '#api/objects';
import { selects } from '#engine/model';
import { own, sameJson } from '#lib';

interface Rule {
  readonly topologyKey: string;
  readonly labelSelector?: LabelSelector;
}

/** Returns the rules of a pod that other pods can violate or satisfy. */
function rulesOf({ spec }: Pod): readonly Rule[] {
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  return [
    ...(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(spec.topologySpreadConstraints ?? []).filter((each) => each.whenUnsatisfiable === 'DoNotSchedule'),
  ];
}

export const hasRules = (pod: Pod): boolean => rulesOf(pod).length > 0;

/** Reports whether the rules of a pod may count another pod. The namespaces of rules are not compared. */
export const mayCount = (pod: Pod, other: Pod): boolean =>
  rulesOf(pod).some(({ labelSelector }) => selects(labelSelector, other.metadata.labels));

/** Reports whether the domains of a pod's rules may depend on the difference between two states of a node. */
export function dependsOnChange(pod: Pod, now: Node, before: Node): boolean {
  const { nodeSelector = {}, affinity, topologySpreadConstraints = [] } = pod.spec;
  const isChanged = (key: string): boolean => own(now.metadata.labels, key) !== own(before.metadata.labels, key);
  if ([...rulesOf(pod).map(({ topologyKey }) => topologyKey), ...Object.keys(nodeSelector)].some(isChanged))
    return true;
  if (affinity?.nodeAffinity !== undefined && !sameJson(now.metadata.labels, before.metadata.labels)) return true;
  const honorsTaints = topologySpreadConstraints.some(({ nodeTaintsPolicy }) => nodeTaintsPolicy === 'Honor');
  return honorsTaints && !sameJson(now.spec?.taints, before.spec?.taints);
}

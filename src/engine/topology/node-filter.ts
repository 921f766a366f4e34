/** Selects the nodes that a spread constraint counts. */
import type { Taint, Toleration, TopologySpreadConstraint } from '#api/objects';
import { remembering } from '#lib';
import type { EnginePod } from '../input.ts';
import { Requirements, STRICT } from '../requirements.ts';
import { isAdmitted } from '../taints.ts';

export interface NodeFilter {
  /** Alternatives. A node must satisfy one of them. Undefined if labels do not matter. */
  readonly alternatives: readonly Requirements[] | undefined;
  /** Tolerations of the pod. Undefined if taints do not matter. */
  readonly tolerations: readonly Toleration[] | undefined;
}

/** Filter that every node passes. */
export const ANY_NODE: NodeFilter = { alternatives: undefined, tolerations: undefined };

/**
 * Returns the filter of a constraint. Node affinity counts unless the policy is `Ignore`; taints count only if the policy is
 * `Honor`.
 */
export const nodeFilterOf = (pod: EnginePod, constraint: TopologySpreadConstraint): NodeFilter =>
  partOf(ownNodesOf(pod), constraint.nodeAffinityPolicy === 'Ignore', constraint.nodeTaintsPolicy === 'Honor');

const partOf = remembering(
  ({ alternatives, tolerations }: NodeFilter, ignoresAffinity: boolean, honorsTaints: boolean): NodeFilter => ({
    alternatives: ignoresAffinity ? undefined : alternatives,
    tolerations: honorsTaints ? tolerations : undefined,
  }),
);

/** Filter of pods that restrict nothing. Shared, so that its identity is computed only once. */
const UNTAINTED: NodeFilter = { alternatives: [Requirements.EMPTY], tolerations: [] };

/** Returns the filter for the nodes that a pod can use. Cached, because the pod has the same filter in each of its rules. */
export const ownNodesOf = remembering((pod: EnginePod): NodeFilter => {
  const { nodeSelector, affinity, tolerations = [] } = pod.spec;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  if (nodeSelector === undefined && terms.length === 0 && tolerations.length === 0) return UNTAINTED;
  const own = Requirements.fromLabels(nodeSelector);
  const alternatives =
    terms.length === 0
      ? [own]
      : terms.map((term) => own.intersect(Requirements.fromRequirements(term.matchExpressions)));
  return { alternatives, tolerations };
});

export function passes(
  filter: NodeFilter | undefined,
  node: { readonly requirements: Requirements; readonly taints: readonly Taint[] },
): boolean {
  if (filter === undefined) return true;
  const { alternatives, tolerations } = filter;
  if (tolerations !== undefined && !isAdmitted(tolerations, node.taints)) return false;
  return (
    alternatives === undefined ||
    alternatives.some((requirements) => node.requirements.compatible(requirements, STRICT))
  );
}

/** Returns true if every node passes. */
export const isOpen = ({ alternatives, tolerations }: NodeFilter): boolean =>
  tolerations === undefined && areAnyLabels(alternatives);

const areAnyLabels = (alternatives: NodeFilter['alternatives']): boolean =>
  alternatives === undefined || alternatives.some((requirements) => requirements.identity === '');

/** Returns a text that is the same for filters with equivalent requirements for labels. It is empty if labels do not matter. */
export const alternativesIdentity = ({ alternatives }: NodeFilter): string =>
  areAnyLabels(alternatives) ? '' : JSON.stringify(alternatives?.map((each) => each.identity));

/** Returns a text that is the same for equivalent filters. */
export const filterIdentity = (filter: NodeFilter | undefined): string =>
  filter === undefined ? 'none' : identityOf(filter);

const identityOf = remembering(({ alternatives, tolerations }: NodeFilter): string =>
  JSON.stringify([alternatives?.map((each) => each.identity) ?? null, tolerations ?? null]),
);

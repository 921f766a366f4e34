/** The topology rules of a pod: spread constraints and pod (anti-)affinity terms, as rules that groups count for. */
import type { LabelSelector, Namespace, Pod, PodAffinityTerm, TopologySpreadConstraint } from '../../api/kubernetes.ts';
import { normalizeLabel } from '../../api/labels.ts';
import { selectorIdentity, selects } from '../selectors.ts';
import type { GroupType, Rule } from './group.ts';
import { filterIdentity, nodeFilterOf } from './nodefilter.ts';

const NO_RULES: readonly Rule[] = [];
const NO_CONSTRAINTS: readonly TopologySpreadConstraint[] = [];
const UNLIMITED_SKEW = 2 ** 31 - 1;

const namespaceOf = (pod: Pod): string => pod.metadata.namespace ?? 'default';

/** The constraint's selector, narrowed to pods that share the values of `matchLabelKeys`. */
function spreadSelector(pod: Pod, constraint: TopologySpreadConstraint): LabelSelector | undefined {
  const { labelSelector, matchLabelKeys = [] } = constraint;
  const shared = matchLabelKeys.flatMap((key) => {
    const value = pod.metadata.labels?.[key];
    return value === undefined ? [] : [{ key, operator: 'In' as const, values: [value] }];
  });
  if (shared.length === 0) return labelSelector;
  return { ...labelSelector, matchExpressions: [...(labelSelector?.matchExpressions ?? []), ...shared] };
}

function spreadRule(pod: Pod, constraint: TopologySpreadConstraint): Rule {
  return {
    type: 'topology spread',
    key: normalizeLabel(constraint.topologyKey),
    namespaces: new Set([namespaceOf(pod)]),
    selector: spreadSelector(pod, constraint),
    maxSkew: constraint.maxSkew,
    minDomains: constraint.minDomains,
    filter: nodeFilterOf(pod, constraint),
  };
}

function namespacesOf(pod: Pod, term: PodAffinityTerm, namespaces: readonly Namespace[]): ReadonlySet<string> {
  const { namespaces: listed = [], namespaceSelector } = term;
  if (namespaceSelector === undefined) return new Set(listed.length > 0 ? listed : [namespaceOf(pod)]);
  const selected = namespaces.filter(({ metadata }) => selects(namespaceSelector, metadata.labels));
  return new Set([...listed, ...selected.map(({ metadata }) => metadata.name)]);
}

function affinityRule(type: GroupType, pod: Pod, term: PodAffinityTerm, namespaces: readonly Namespace[]): Rule {
  return {
    type,
    key: normalizeLabel(term.topologyKey),
    namespaces: namespacesOf(pod, term, namespaces),
    selector: term.labelSelector,
    maxSkew: UNLIMITED_SKEW,
    minDomains: undefined,
    filter: undefined,
  };
}

/** Rules that bind the pod. Preferences count as rules unless they are ignored. */
export function rulesOf(
  pod: Pod,
  { namespaces, preferences }: { readonly namespaces: readonly Namespace[]; readonly preferences: boolean },
): readonly Rule[] {
  const { affinity, topologySpreadConstraints = NO_CONSTRAINTS } = pod.spec;
  if (affinity === undefined && topologySpreadConstraints.length === 0) return NO_RULES;
  const spread = topologySpreadConstraints
    .filter(({ whenUnsatisfiable }) => preferences || whenUnsatisfiable !== 'ScheduleAnyway')
    .map((constraint) => spreadRule(pod, constraint));
  const terms = (kind: 'podAffinity' | 'podAntiAffinity'): readonly PodAffinityTerm[] => [
    ...(affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(preferences
      ? (affinity?.[kind]?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((term) => term.podAffinityTerm)
      : []),
  ];
  return [
    ...spread,
    ...terms('podAffinity').map((term) => affinityRule('pod affinity', pod, term, namespaces)),
    ...terms('podAntiAffinity').map((term) => affinityRule('pod anti-affinity', pod, term, namespaces)),
  ];
}

/** Rules by which a pod keeps others away: its required anti-affinity terms, seen from the other side. */
export function inverseRulesOf(pod: Pod, namespaces: readonly Namespace[]): readonly Rule[] {
  const terms = pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  return terms.map((term) => affinityRule('pod anti-affinity', pod, term, namespaces));
}

/** The same text for rules that count alike. The first one's `minDomains` holds for all. */
export function ruleIdentity({ type, key, namespaces, selector, maxSkew, filter }: Rule): string {
  return JSON.stringify([
    type,
    key,
    [...namespaces].sort(),
    selectorIdentity(selector),
    maxSkew,
    type === 'topology spread' ? filterIdentity(filter) : '',
  ]);
}

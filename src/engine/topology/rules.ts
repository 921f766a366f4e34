/** Converts the spread constraints and pod (anti-)affinity terms of a pod to rules for groups. */

import {
  type Affinity,
  type LabelSelector,
  type LabelSelectorRequirement,
  type Namespace,
  normalizeLabel,
  type PodAffinityTerm,
  type TopologySpreadConstraint,
} from '#api/objects';
import { own } from '#lib';
import type { EnginePod } from '../input.ts';
import { MOST_RULES } from '../pod-bounds.ts';
import { selectorIdentity, selects } from '../selectors.ts';
import type { GroupType, Rule } from './group.ts';
import { filterIdentity, nodeFilterOf } from './node-filter.ts';

const NO_RULES: readonly Rule[] = [];
const NO_CONSTRAINTS: readonly TopologySpreadConstraint[] = [];
const UNLIMITED_SKEW = 2 ** 31 - 1;

const namespaceOf = (pod: EnginePod): string => pod.metadata.namespace ?? 'default';

/** Returns the constraint's selector, narrowed to pods that share the values of `matchLabelKeys`. */
function spreadSelector(pod: EnginePod, constraint: TopologySpreadConstraint): LabelSelector | undefined {
  const { labelSelector, matchLabelKeys = [] } = constraint;
  const shared = matchLabelKeys.flatMap((key) => {
    const value = own(pod.metadata.labels, key);
    return value === undefined ? [] : [{ key, operator: 'In' as const, values: [value] }];
  });
  if (shared.length === 0) return labelSelector;
  return { ...labelSelector, matchExpressions: [...(labelSelector?.matchExpressions ?? []), ...shared] };
}

function spreadRule(pod: EnginePod, constraint: TopologySpreadConstraint): Rule {
  return {
    type: 'topology spread',
    key: normalizeLabel(constraint.topologyKey),
    namespaces: new Set([namespaceOf(pod)]),
    selector: spreadSelector(pod, constraint),
    maxSkew: constraint.maxSkew,
    minDomains: constraint.minDomains,
    filter: nodeFilterOf(pod, constraint),
    isPreference: constraint.whenUnsatisfiable === 'ScheduleAnyway',
  };
}

function namespacesOf(pod: EnginePod, term: PodAffinityTerm, namespaces: readonly Namespace[]): ReadonlySet<string> {
  const { namespaces: listed = [], namespaceSelector } = term;
  if (namespaceSelector === undefined) return new Set(listed.length > 0 ? listed : [namespaceOf(pod)]);
  const selected = namespaces.filter(({ metadata }) => selects(namespaceSelector, metadata.labels));
  return new Set([...listed, ...selected.map(({ metadata }) => metadata.name)]);
}

/** Cached rules. Terms are immutable and are the same object in all forms of a pod, so each term is resolved once. */
const rulesOfTerms = new WeakMap<PodAffinityTerm, TermRule>();

interface TermRule {
  readonly rule: Rule;
  readonly namespace: string;
  /** Namespaces that were the input of the term's namespace selector. */
  readonly namespaces: readonly Namespace[] | undefined;
}

function affinityRule(type: GroupType, pod: EnginePod, term: PodAffinityTerm, namespaces: readonly Namespace[]): Rule {
  const namespace = namespaceOf(pod);
  const among = term.namespaceSelector === undefined ? undefined : namespaces;
  const known = rulesOfTerms.get(term);
  if (known?.rule.type === type && known.namespace === namespace && known.namespaces === among) return known.rule;
  const rule: Rule = {
    type,
    key: normalizeLabel(term.topologyKey),
    namespaces: namespacesOf(pod, term, namespaces),
    selector: term.labelSelector,
    maxSkew: UNLIMITED_SKEW,
    minDomains: undefined,
    filter: undefined,
    isPreference: false,
  };
  rulesOfTerms.set(term, { rule, namespace, namespaces: among });
  return rule;
}

const preferredTerms = (affinity: Affinity['podAffinity']): readonly PodAffinityTerm[] =>
  (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm);

/** Returns the affinity rules of a pod. As in kube-scheduler, only pods that match all of its required terms count. */
function affinityRules(pod: EnginePod, namespaces: readonly Namespace[], preferences: boolean): readonly Rule[] {
  const affinity = pod.spec.affinity?.podAffinity;
  const ruleOf = (term: PodAffinityTerm): Rule => affinityRule('pod affinity', pod, term, namespaces);
  const preferredRuleOf = (term: PodAffinityTerm): Rule => ({ ...ruleOf(term), isPreference: true });
  const required = (affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(ruleOf);
  const preferred = preferences ? preferredTerms(affinity).map(preferredRuleOf) : NO_RULES;
  if (required.length < 2) return [...required, ...preferred];
  const common = required.map((rule) => rule.namespaces).reduce((all, each) => all.intersection(each));
  const selectors = required.map(({ selector }) => selector);
  const selector = selectors.some((each) => each === undefined)
    ? undefined
    : { matchExpressions: selectors.flatMap(expressionsOf) };
  return [...required.map((rule) => ({ ...rule, namespaces: common, selector })), ...preferred];
}

const expressionsOf = (selector: LabelSelector | undefined): readonly LabelSelectorRequirement[] => [
  ...Object.entries(selector?.matchLabels ?? {}).map(
    ([key, value]): LabelSelectorRequirement => ({ key, operator: 'In', values: [value] }),
  ),
  ...(selector?.matchExpressions ?? []),
];

/** Returns the rules that bind the pod. Preferences count as rules unless they are ignored. */
export function rulesOf(
  pod: EnginePod,
  { namespaces, preferences }: { readonly namespaces: readonly Namespace[]; readonly preferences: boolean },
): readonly Rule[] {
  const { affinity, topologySpreadConstraints = NO_CONSTRAINTS } = pod.spec;
  if (affinity === undefined && topologySpreadConstraints.length === 0) return NO_RULES;
  const spread = topologySpreadConstraints
    .filter(({ whenUnsatisfiable }) => preferences || whenUnsatisfiable !== 'ScheduleAnyway')
    .map((constraint) => spreadRule(pod, constraint));
  const antiAffinity = [...repellingTerms(pod), ...(preferences ? preferredTerms(affinity?.podAntiAffinity) : [])];
  return [
    ...spread,
    ...affinityRules(pod, namespaces, preferences),
    ...antiAffinity.map((term) => affinityRule('pod anti-affinity', pod, term, namespaces)),
  ];
}

/** Returns the required anti-affinity terms of a pod. */
export const repellingTerms = ({ spec }: EnginePod): readonly PodAffinityTerm[] =>
  spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];

/**
 * Returns the rules with which a pod repels other pods: its required anti-affinity terms, from the perspective of the other
 * pods.
 */
export const inverseRulesOf = (pod: EnginePod, namespaces: readonly Namespace[]): readonly Rule[] =>
  // pending pods with more terms are refused, but pods that another scheduler placed can have any number of terms
  repellingTerms(pod)
    .slice(0, MOST_RULES)
    .map((term) => affinityRule('pod anti-affinity', pod, term, namespaces));

const identities = new WeakMap<Rule, string>();

/** Returns a text that is the same for rules that count alike. The `minDomains` of the first such rule applies to all. */
export function ruleIdentity(rule: Rule): string {
  let identity = identities.get(rule);
  if (identity === undefined) {
    const { type, key, namespaces, selector, maxSkew, filter } = rule;
    const counted = type === 'topology spread' ? filterIdentity(filter) : '';
    identity = JSON.stringify([type, key, [...namespaces].sort(), selectorIdentity(selector), maxSkew, counted]);
    identities.set(rule, identity);
  }
  return identity;
}

/**
 * Topology spread, affinity and anti-affinity: counts of pods per domain, and the domains that are allowed for the next
 * pod.
 */
import type { LabelSelector, Pod, PodAffinityTerm, Taint, TopologySpreadConstraint } from '#api/objects';
import { type PoolInput, podRequests, type Snapshot, type StateNode } from '#engine/model';
import { isAdmitted, isTerminal, keyOf, namespaceOf, requiredTerms, selects, uidOf } from './pods.ts';
import {
  allows,
  alternativesOf,
  and,
  canonicalKey,
  compatible,
  labelRequirements,
  type OpenKeys,
  oneOf,
  type Requirements,
  textOf,
  type Values,
  valuesAt,
} from './requirements.ts';
import { CLOSED, domainsOf, type NodeFilter, type Reach } from './templates.ts';

export const HOSTNAME = 'kubernetes.io/hostname';
const UNBOUNDED = 2 ** 31 - 1;

interface Rule {
  readonly type: 'spread' | 'affinity' | 'anti-affinity';
  readonly key: string;
  readonly namespaces: ReadonlySet<string>;
  readonly selector: LabelSelector | undefined;
  readonly maxSkew: number;
  readonly minDomains?: number;
  readonly filter?: NodeFilter;
  /** True if kube-scheduler only prefers nodes that satisfy the rule. */
  readonly isPreference: boolean;
}

/** A rule with the pods that own it, and the number of selected pods in each domain. */
interface Group extends Rule {
  readonly counts: Map<string, number>;
  readonly owners: Set<string>;
  /** True if kube-scheduler binds no pod against the rule. */
  isRequired: boolean;
  /** True if the rule selects one of its owners. */
  isOwnKind: boolean;
  /** Domains that are possible for pods that must be where the first pod of an affinity rule is. */
  readonly followers: ReadonlySet<string>[];
  /**
   * True if the rule applies to the pods that it selects instead of its owners. Required anti-affinity of other pods is
   * such a rule.
   */
  readonly isInverse: boolean;
}

export interface Place {
  readonly requirements: Requirements;
  readonly taints: readonly Taint[];
}

const selectorText = (selector: LabelSelector | undefined): string => {
  if (!selector) return 'nothing';
  const exact = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key} In ${value}`);
  const others = (selector.matchExpressions ?? []).map(
    ({ key, operator, values = [] }) => `${key} ${operator} ${values.toSorted()}`,
  );
  return [...new Set([...exact, ...others])].sort().join(';');
};

/** Decision 17, "Spread of pods that differ in their nodeSelector": each filter has a separate count. */
const filterText = ({ alternatives, tolerations }: NodeFilter): string =>
  JSON.stringify([
    alternatives?.map((each) => [...each].map(([key, values]) => `${key} ${textOf(values)}`).sort()) ?? null,
    tolerations ?? null,
  ]);

/** Rules with equal text are shared. `minDomains` is the value of the first owner. */
const ruleText = ({ type, key, namespaces, maxSkew, selector, filter }: Rule): string =>
  [type, key, [...namespaces].sort(), maxSkew, selectorText(selector), filter ? filterText(filter) : ''].join('#');

const passes = (filter: NodeFilter | undefined, { requirements, taints }: Place): boolean => {
  const { alternatives, tolerations } = filter ?? {};
  if (tolerations && !isAdmitted({ tolerations }, taints)) return false;
  return !alternatives || alternatives.some((each) => compatible(requirements, each, CLOSED));
};

const hostOf = ({ labels, name }: StateNode): string => labels[HOSTNAME] ?? name;
const domainOf = (node: StateNode, key: string): string | undefined =>
  key === HOSTNAME ? hostOf(node) : node.labels[key];

export const placeOf = (node: StateNode): Place => ({
  requirements: labelRequirements({ ...node.labels, [HOSTNAME]: hostOf(node) }),
  taints: node.taints,
});

const requiredAntiAffinity = ({ spec }: Pod): readonly PodAffinityTerm[] =>
  spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];

const increment = (counts: Map<string, number>, domain: string): unknown =>
  counts.set(domain, (counts.get(domain) ?? 0) + 1);

const selectsPod = ({ namespaces, selector }: Rule, pod: Pod): boolean =>
  namespaces.has(namespaceOf(pod)) && selects(selector, pod.metadata.labels);

export interface TopologyParts {
  readonly snapshot: Snapshot;
  /** NodePools that can launch nodes. */
  readonly pools: readonly PoolInput[];
  /** NodePools that would launch nodes if their limits allowed it. */
  readonly unlimited: readonly PoolInput[];
  /** Places of the volumes of a pod. */
  readonly volumesOf: (pod: Pod) => readonly Requirements[];
  readonly nodes: readonly StateNode[];
  readonly preferencesCount: boolean;
}

/** A pod with its requirements, and the place for which they are evaluated. */
export interface Request {
  readonly pod: Pod;
  /** Without preferences. */
  readonly required: Requirements;
  /** Combined requirements of the place, the pod and its volumes. */
  readonly joined: Requirements;
  /** Requirements of the place before the pod. For a NodeClaim these are the combined requirements. */
  readonly place: Requirements;
  readonly taints: readonly Taint[];
  readonly open: OpenKeys;
}

export class ReferenceTopology {
  readonly #parts: TopologyParts;
  readonly #groups = new Map<string, Group>();
  readonly #inverse = new Map<string, Group>();
  readonly #running: readonly { readonly pod: Pod; readonly node: StateNode }[];
  readonly #hosts: string[] = [];

  constructor(parts: TopologyParts) {
    this.#parts = parts;
    const { nodes, pendingPods } = parts.snapshot;
    const pending = new Set(pendingPods.map(keyOf));
    this.#running = nodes
      .filter(({ node }) => node)
      .flatMap((node) => node.pods.map((pod) => ({ pod, node })))
      .filter(({ pod }) => !isTerminal(pod) && !pod.metadata.deletionTimestamp && !pending.has(keyOf(pod)));
    for (const { pod, node } of this.#running) this.#countInverse(pod, node);
  }

  #countInverse(pod: Pod, node: StateNode): void {
    for (const term of requiredAntiAffinity(pod)) {
      const domain = domainOf(node, canonicalKey(term.topologyKey));
      if (domain !== undefined) increment(this.#inverseGroup(pod, term).counts, domain);
    }
  }

  /** Adds the rules of a pod in its present form. */
  update(pod: Pod): void {
    for (const group of this.#groups.values()) group.owners.delete(uidOf(pod));
    for (const term of requiredAntiAffinity(pod)) this.#inverseGroup(pod, term).owners.add(uidOf(pod));
    for (const rule of this.#rulesOf(pod)) {
      const text = ruleText(rule);
      const group = this.#groups.get(text) ?? this.#group(rule, pod, false);
      this.#groups.set(text, group);
      group.owners.add(uidOf(pod));
      group.isRequired ||= !rule.isPreference;
      group.isOwnKind ||= selectsPod(group, pod);
      this.#know(group, this.#reachable(group, pod));
    }
  }

  /** Adds the domains that are possible for a pod to the affinity rules of which it can be a later pod. */
  follow(pod: Pod): void {
    const { pools, volumesOf } = this.#parts;
    for (const rule of this.#rulesOf(pod)) {
      const group = this.#groups.get(ruleText(rule));
      if (group?.type !== 'affinity' || group.key === HOSTNAME) continue;
      const places = volumesOf(pod);
      const possible = new Set(
        domainsOf(pools, group.key, nodeReach(pod)).filter((domain) =>
          places.some((place) => allows(valuesAt(place, group.key), domain)),
        ),
      );
      const isAll = possible.size === new Set(this.#reachable(group, pod)).size;
      if (possible.size > 0 && !isAll) group.followers.push(possible);
    }
  }

  /** Lets a pod start in any domain. Reports whether it could not before. */
  release(pod: Pod): boolean {
    const own = this.#binding(pod).filter(({ followers }) => followers.length > 0);
    for (const { followers } of own) followers.length = 0;
    return own.length > 0;
  }

  #know({ counts }: Group, domains: Iterable<string>): void {
    for (const domain of domains) if (!counts.has(domain)) counts.set(domain, 0);
  }

  /** Adds a NodeClaim as a domain of the rules by host. */
  addHost(hostname: string): void {
    this.#hosts.push(hostname);
    for (const { key, counts } of [...this.#groups.values(), ...this.#inverse.values()]) {
      if (key === HOSTNAME && !counts.has(hostname)) counts.set(hostname, 0);
    }
  }

  #rulesOf(pod: Pod): readonly Rule[] {
    const { topologySpreadConstraints = [], affinity } = pod.spec;
    const { preferencesCount } = this.#parts;
    const kinds = [
      { type: 'affinity', own: affinity?.podAffinity },
      { type: 'anti-affinity', own: affinity?.podAntiAffinity },
    ] as const;
    const terms = kinds.flatMap(({ type, own }) => {
      const preferred = own?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
      const all = (own?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map((term) =>
        this.#termRule(pod, term, type),
      );
      return [
        // Decision 17, "Several affinity terms"
        ...(type === 'affinity' ? matchingAll(all) : all),
        ...(preferencesCount
          ? preferred.map((each) => ({ ...this.#termRule(pod, each.podAffinityTerm, type), isPreference: true }))
          : []),
      ];
    });
    const spreads = topologySpreadConstraints.filter(
      ({ whenUnsatisfiable }) => preferencesCount || whenUnsatisfiable === 'DoNotSchedule',
    );
    return [...spreads.map((each) => spreadRule(pod, each)), ...terms];
  }

  #termRule(pod: Pod, term: PodAffinityTerm, type: 'affinity' | 'anti-affinity', maxSkew = UNBOUNDED): Rule {
    const { topologyKey, labelSelector, namespaceSelector, namespaces = [] } = term;
    const selected = this.#parts.snapshot.namespaces.filter(({ metadata }) =>
      selects(namespaceSelector, metadata.labels),
    );
    const isOwn = namespaces.length === 0 && namespaceSelector === undefined;
    const all = isOwn ? [namespaceOf(pod)] : [...namespaces, ...selected.map(({ metadata }) => metadata.name)];
    return {
      type,
      key: canonicalKey(topologyKey),
      namespaces: new Set(all),
      selector: labelSelector,
      maxSkew,
      isPreference: false,
    };
  }

  #inverseGroup(pod: Pod, term: PodAffinityTerm): Group {
    const rule = this.#termRule(pod, term, 'anti-affinity', 1);
    const text = ruleText(rule);
    const group = this.#inverse.get(text) ?? this.#group(rule, pod, true);
    this.#inverse.set(text, group);
    return group;
  }

  #group(rule: Rule, pod: Pod, isInverse: boolean): Group {
    const group: Group = {
      ...rule,
      counts: new Map(),
      owners: new Set(),
      isRequired: false,
      isOwnKind: false,
      followers: [],
      isInverse,
    };
    const known = [
      ...this.#reachable(group, pod),
      ...this.#nodeDomains(group),
      ...(rule.key === HOSTNAME ? this.#hosts : []),
    ];
    for (const domain of known) group.counts.set(domain, 0);
    if (!isInverse) this.#countRunning(group);
    return group;
  }

  #reachable({ type, key, isInverse }: Group, pod: Pod): readonly string[] {
    const { pools, unlimited } = this.#parts;
    // Decision 17, "Zones behind taints": pods that an inverse rule repels may tolerate more taints than its owner.
    if (isInverse)
      return domainsOf(unlimited, key, { alternatives: undefined, tolerations: undefined, requests: undefined });
    // Decision 17, "Zones that a pod cannot use"
    if (type === 'spread') return domainsOf(pools, key, nodeReach(pod));
    return domainsOf(pools, key, {
      alternatives: undefined,
      tolerations: pod.spec.tolerations ?? [],
      requests: undefined,
    });
  }

  #nodeDomains({ key, filter }: Group): readonly string[] {
    return this.#parts.nodes
      .filter((node) => node.node && passes(filter, placeOf(node)))
      .flatMap((node) => domainOf(node, key) ?? []);
  }

  #countRunning({ key, namespaces, selector, filter, counts }: Group): void {
    for (const { pod, node } of this.#running) {
      const isSelected = selects(selector, pod.metadata.labels);
      const domain = domainOf(node, key);
      if (!isSelected || !namespaces.has(namespaceOf(pod)) || domain === undefined) continue;
      if (passes(filter, placeOf(node))) increment(counts, domain);
    }
  }

  /** Returns the joined requirements with a domain for each rule, or undefined if a rule has no valid domain. */
  narrowed({ pod, required, joined, place, taints, open }: Request): Requirements | undefined {
    const chosen: Requirements[] = [];
    const together = this.#startedTogether(pod);
    const areUsed = together.some(({ counts }) => [...counts.values()].some((count) => count > 0));
    for (const group of this.#binding(pod)) {
      // Decision 17, "Pods that keep others away by a label that nodes do not have": the rule applies in domains of its
      // owners.
      if (group.isInverse && !place.has(group.key) && !open.has(group.key)) continue;
      const mayStart = !areUsed || !together.includes(group);
      const domains = nextDomains(
        { ...group, mayStart },
        pod,
        valuesAt(required, group.key),
        valuesAt(joined, group.key),
      );
      if (domains.length === 0) return undefined;
      chosen.push(new Map([[group.key, oneOf(domains)]]));
    }
    // Decision 70, "pods that a rule only counts": a new node gets one domain.
    if (open.size > 0)
      for (const group of this.#counted(pod, { requirements: joined, taints })) {
        if (!place.has(group.key) && !open.has(group.key)) continue;
        const domains = countedDomain(group, valuesAt(and(joined, ...chosen), group.key));
        if (domains.length > 0) chosen.push(new Map([[group.key, oneOf(domains)]]));
      }
    const all = and(...chosen);
    return compatible(place, all, open) && compatible(joined, all, open) ? and(joined, all) : undefined;
  }

  /** Returns the required affinity rules of a pod. Decision 70, "several required affinity rules": they start together. */
  #startedTogether(pod: Pod): readonly Group[] {
    return this.#rulesOf(pod)
      .filter(({ type, isPreference }) => type === 'affinity' && !isPreference)
      .flatMap((rule) => this.#groups.get(ruleText(rule)) ?? []);
  }

  /** Returns the required rules of other pods that count the pod at a place by a label. */
  #counted(pod: Pod, place: Place): readonly Group[] {
    return [...this.#groups.values()].filter(
      (group) =>
        group.isRequired &&
        group.key !== HOSTNAME &&
        (group.type === 'spread' || (group.type === 'affinity' && group.isOwnKind)) &&
        !group.owners.has(uidOf(pod)) &&
        selectsPod(group, pod) &&
        passes(group.filter, place),
    );
  }

  #binding(pod: Pod): readonly Group[] {
    return [
      ...[...this.#groups.values()].filter(({ owners }) => owners.has(uidOf(pod))),
      ...[...this.#inverse.values()].filter((group) => selectsPod(group, pod)),
    ];
  }

  #knowPlace(group: Group, { requirements }: Place): void {
    const { isComplement, listed } = valuesAt(requirements, group.key);
    if (group.type === 'spread' && !isComplement && listed.size === 1) this.#know(group, listed);
  }

  /** Counts a placed pod. If its domain is not yet determined, anti-affinity excludes all its possible domains. */
  record(pod: Pod, place: Place): void {
    for (const group of this.#groups.values()) {
      if (!passes(group.filter, place)) continue;
      this.#knowPlace(group, place);
      if (!selectsPod(group, pod)) continue;
      const { isComplement, listed } = valuesAt(place.requirements, group.key);
      if (isComplement || (group.type !== 'anti-affinity' && listed.size !== 1)) continue;
      for (const domain of listed) increment(group.counts, domain);
    }
    for (const { key, owners, counts } of this.#inverse.values()) {
      const { isComplement, listed } = valuesAt(place.requirements, key);
      if (owners.has(uidOf(pod)) && !isComplement) for (const domain of listed) increment(counts, domain);
    }
  }
}

/** Makes each rule count only the pods that all rules count. */
function matchingAll(rules: readonly Rule[]): readonly Rule[] {
  if (rules.length < 2) return rules;
  const [{ namespaces: first }] = rules as [Rule];
  const namespaces = new Set([...first].filter((name) => rules.every((rule) => rule.namespaces.has(name))));
  const selector = rules.some((rule) => !rule.selector)
    ? undefined
    : {
        matchExpressions: rules.flatMap(({ selector }) => [
          ...Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => ({
            key,
            operator: 'In' as const,
            values: [value],
          })),
          ...(selector?.matchExpressions ?? []),
        ]),
      };
  return rules.map((rule) => ({ ...rule, namespaces, selector }));
}

const nodeReach = (pod: Pod): Reach => ({
  alternatives: alternativesOf(pod.spec.nodeSelector, requiredTerms(pod)),
  tolerations: pod.spec.tolerations ?? [],
  requests: podRequests(pod),
});

function spreadRule(pod: Pod, constraint: TopologySpreadConstraint): Rule {
  const { topologyKey, labelSelector, matchLabelKeys = [], maxSkew, minDomains } = constraint;
  const labels = pod.metadata.labels ?? {};
  const shared = matchLabelKeys.flatMap((key) =>
    labels[key] === undefined ? [] : [{ key, operator: 'In' as const, values: [labels[key]] }],
  );
  const matchExpressions = [...(labelSelector?.matchExpressions ?? []), ...shared];
  return {
    type: 'spread',
    key: canonicalKey(topologyKey),
    namespaces: new Set([namespaceOf(pod)]),
    selector: shared.length > 0 ? { ...labelSelector, matchExpressions } : labelSelector,
    maxSkew,
    isPreference: constraint.whenUnsatisfiable === 'ScheduleAnyway',
    ...(minDomains === undefined ? {} : { minDomains }),
    filter: {
      alternatives:
        constraint.nodeAffinityPolicy === 'Ignore'
          ? undefined
          : alternativesOf(pod.spec.nodeSelector, requiredTerms(pod)),
      tolerations: constraint.nodeTaintsPolicy === 'Honor' ? (pod.spec.tolerations ?? []) : undefined,
    },
  };
}

/** Returns the only possible host of the place, if the place is an existing or planned node. */
const hostIn = ({ key }: Rule, { isComplement, listed }: Values): string | undefined =>
  key === HOSTNAME && !isComplement && listed.size === 1 ? [...listed][0] : undefined;

/** Group with the decision whether a pod may be its first pod. */
type OpenGroup = Group & { readonly mayStart: boolean };

function nextDomains(group: OpenGroup, pod: Pod, asked: Values, offered: Values): readonly string[] {
  const host = hostIn(group, offered);
  switch (group.type) {
    case 'spread':
      return spreadDomains(group, pod, offered, host);
    case 'affinity':
      return affinityDomains(group, pod, asked, offered, host);
    case 'anti-affinity':
      return (host === undefined ? domainsIn(group, asked, offered) : [host]).filter((each) => !group.counts.get(each));
  }
}

const domainsIn = ({ counts }: Group, ...all: readonly Values[]): readonly string[] =>
  [...counts.keys()].sort().filter((domain) => all.every((values) => allows(values, domain)));

/**
 * Returns one of the domains with the fewest pods. Any of them is valid. The engine chooses the cheapest, which is the
 * first by name if zones have equal prices, as in random clusters. Hosts are compared with an empty host, because a new
 * node can be launched.
 */
function spreadDomains(group: Group, pod: Pod, offered: Values, host: string | undefined) {
  const { key, counts, maxSkew, minDomains = 0 } = group;
  const after = (domain: string): number => (counts.get(domain) ?? 0) + (selectsPod(group, pod) ? 1 : 0);
  if (host !== undefined) return after(host) <= maxSkew ? [host] : [];
  // Decision 17, "Minimum of a spread"
  const isGlobal = key !== HOSTNAME && counts.size >= minDomains;
  const least = isGlobal ? Math.min(UNBOUNDED, ...counts.values()) : 0;
  const eligible = domainsIn(group, offered).filter((domain) => after(domain) - least <= maxSkew);
  return eligible.toSorted((a, b) => after(a) - after(b)).slice(0, 1);
}

/** Returns the domain with the fewest pods for a spread, and with the most pods for an affinity. */
function countedDomain(group: Group, offered: Values): readonly string[] {
  if (!offered.isComplement && offered.listed.size < 2) return [];
  const direction = group.type === 'affinity' ? -1 : 1;
  const count = (domain: string): number => direction * (group.counts.get(domain) ?? 0);
  return domainsIn(group, offered)
    .toSorted((a, b) => count(a) - count(b))
    .slice(0, 1);
}

/** The first pod of a group that selects itself may use any domain. */
function affinityDomains(group: OpenGroup, pod: Pod, asked: Values, offered: Values, host: string | undefined) {
  const isFull = (domain: string): boolean => Boolean(group.counts.get(domain));
  const isFirst = group.mayStart && selectsPod(group, pod) && ![...group.counts.keys()].some(isFull);
  if (host !== undefined) return allows(asked, host) && (isFull(host) || isFirst) ? [host] : [];
  const both = domainsIn(group, asked, offered);
  const full = both.filter(isFull);
  if (full.length > 0 || !isFirst) return full;
  // Decision 17, "Start of a zone affinity"
  let starts = domainsIn(group, asked);
  for (const possible of group.followers) {
    const common = starts.filter((each) => possible.has(each));
    if (common.length > 0) starts = common;
  }
  return [...starts.filter((each) => allows(offered, each)), ...starts].slice(0, 1);
}

/**
 * Spread, affinity and anti-affinity over one solve: groups are built from the rules of the pods to place and of the pods
 * that run, count what runs, and go on counting as pods are placed.
 */
import type { Namespace, Pod, PodSpec, Taint, Toleration } from '../../api/kubernetes.ts';
import { HOSTNAME_LABEL } from '../../api/labels.ts';
import type { Misfit, Snapshot, StateNode } from '../model.ts';
import { isTerminal, isTerminating, podKey } from '../pods.ts';
import { Requirements } from '../requirements.ts';
import { selectorKeys } from '../selectors.ts';
import type { PodClass } from '../solver/podclass.ts';
import { ValueSet } from '../valueset.ts';
import { Domains } from './domains.ts';
import { Group, type Rule } from './group.ts';
import { passes } from './nodefilter.ts';
import { inverseRulesOf, ruleIdentity, rulesOf } from './rules.ts';

/** Where a pod may go: a node that exists, or a claim with the requirements that it has come to. */
export interface Place {
  readonly hostname: string;
  readonly requirements: Requirements;
  readonly taints: readonly Taint[];
}

interface RunningPod {
  readonly pod: Pod;
  readonly node: StateNode;
  readonly requirements: Requirements;
}

/** The groups that matter to the pods of a class. */
interface Bindings {
  /** Groups of their own rules. */
  readonly own: readonly Group[];
  /** Groups that restrict them: their own, and those of others that keep them away; and whether they count them. */
  readonly binding: readonly { readonly group: Group; readonly self: boolean }[];
  /** Groups that count them. */
  readonly counting: readonly Group[];
  /** Their own rules against others. */
  readonly repelling: readonly Group[];
}

/** Pods per domain, of the groups that are not by host. */
export type DomainTally = Map<Group, Map<string, number>>;

export interface Ties {
  /** Labels, other than the hostname, by whose values some rule counts or restricts the pods. */
  readonly keys: readonly string[];
  /** Rules by host, with what a pod takes of the host's capacity for it. */
  readonly hosts: ReadonlyMap<Group, number>;
  /** Whether pods must share a host with others: those are best left where they are. */
  readonly company: boolean;
}

/** What the owner of an anti-affinity by host takes of it; pods that it keeps away take 1. */
const WHOLE_HOST = 2 ** 20;

/** How much of a rule by host a host can bear. Never more than the rule allows, in some cases less. */
export const hostCapacity = ({ rule }: Group): number => (rule.type === 'topology spread' ? rule.maxSkew : WHOLE_HOST);

export interface TopologyMisfit {
  readonly misfit: () => Misfit;
  /** Whether the place stays closed whatever happens elsewhere. */
  readonly permanent: boolean;
}

const hostOf = (node: StateNode): string => node.labels[HOSTNAME_LABEL] ?? node.name;

export class Topology {
  readonly #snapshot: Snapshot;
  readonly #preferences: boolean;
  readonly #domains: Domains;
  readonly #running: readonly RunningPod[];
  readonly #groups = new Map<string, Group>();
  readonly #inverse = new Map<string, Group>();
  readonly #bindings = new Map<PodClass, Bindings>();

  constructor(snapshot: Snapshot, options: { readonly preferences: boolean }) {
    this.#snapshot = snapshot;
    this.#preferences = options.preferences;
    this.#domains = new Domains(snapshot.pools);
    const moving = new Set(snapshot.pendingPods.map(podKey));
    this.#running = snapshot.nodes.flatMap((node) =>
      node.node === undefined ? [] : runningPods(node, (pod) => !moving.has(podKey(pod))),
    );
    for (const { pod, node } of this.#running) this.#repelFrom(pod, node);
  }

  /** Keys of labels that any rule of some pods looks at: pods that agree on them are alike to topology. */
  static labelKeys(pods: readonly Pod[]): readonly string[] {
    const keys = new Set<string>();
    const seen = new Set<unknown>();
    for (const { spec } of pods) {
      if ((spec.affinity === undefined && spec.topologySpreadConstraints === undefined) || seen.has(spec)) continue;
      seen.add(spec);
      for (const key of labelKeysIn(spec)) keys.add(key);
    }
    return [...keys].sort();
  }

  /** Makes the groups for the rules of a class. To be called for every class before the first pod is placed. */
  register(podClass: PodClass): void {
    for (const rule of this.#rulesOf(podClass.pod)) this.#groupOf(rule, podClass);
    for (const rule of inverseRulesOf(podClass.pod, this.#namespaces)) this.#inverseOf(rule);
  }

  get #namespaces(): readonly Namespace[] {
    return this.#snapshot.namespaces;
  }

  #rulesOf(pod: Pod): readonly Rule[] {
    return rulesOf(pod, { namespaces: this.#namespaces, preferences: this.#preferences });
  }

  #repelFrom(pod: Pod, node: StateNode): void {
    for (const rule of inverseRulesOf(pod, this.#namespaces)) {
      const domain = domainOf(rule.key, node);
      if (domain !== undefined) this.#inverseOf(rule).count(domain);
    }
  }

  #inverseOf(rule: Rule): Group {
    const id = ruleIdentity(rule);
    let group = this.#inverse.get(id);
    if (group === undefined) {
      group = new Group(rule);
      this.#registerDomains(group, undefined);
      this.#inverse.set(id, group);
    }
    return group;
  }

  #groupOf(rule: Rule, { pod }: PodClass): Group {
    const id = ruleIdentity(rule);
    let group = this.#groups.get(id);
    if (group === undefined) {
      group = new Group(rule);
      const seesTaints = rule.filter === undefined || rule.filter.tolerations !== undefined;
      this.#registerDomains(group, seesTaints ? (pod.spec.tolerations ?? []) : undefined);
      this.#countRunning(group);
      this.#groups.set(id, group);
    }
    return group;
  }

  #registerDomains(group: Group, tolerations: readonly Toleration[] | undefined): void {
    const { key, filter } = group.rule;
    for (const domain of this.#domains.visible(key, tolerations)) group.register(domain);
    for (const node of this.#snapshot.nodes) {
      if (node.node === undefined || node.markedForDeletion) continue;
      const domain = key === HOSTNAME_LABEL ? hostOf(node) : node.labels[key];
      if (domain !== undefined && passes(filter, placeOf(node))) group.register(domain);
    }
  }

  #countRunning(group: Group): void {
    const { key, filter, selector } = group.rule;
    for (const { pod, node, requirements } of this.#running) {
      if (selector === undefined ? !group.rule.namespaces.has(pod.metadata.namespace ?? 'default') : !group.counts(pod))
        continue;
      const domain = domainOf(key, node);
      if (domain !== undefined && passes(filter, { requirements, taints: node.taints })) group.count(domain);
    }
  }

  #bindingsOf(podClass: PodClass): Bindings {
    let bindings = this.#bindings.get(podClass);
    if (bindings === undefined) {
      const own = this.#rulesOf(podClass.pod).map((rule) => this.#groupOf(rule, podClass));
      const repelled = [...this.#inverse.values()].filter((group) => group.counts(podClass.pod));
      bindings = {
        own,
        binding: [...new Set([...own, ...repelled])].map((group) => ({ group, self: group.counts(podClass.pod) })),
        counting: [...this.#groups.values()].filter((group) => group.counts(podClass.pod)),
        repelling: inverseRulesOf(podClass.pod, this.#namespaces).map((rule) => this.#inverseOf(rule)),
      };
      this.#bindings.set(podClass, bindings);
    }
    return bindings;
  }

  /** Whether no rule restricts the pods of a class, so that a refusal of theirs never turns into acceptance. */
  isFree(podClass: PodClass): boolean {
    return this.#bindingsOf(podClass).binding.length === 0;
  }

  /**
   * What the rules leave of a place for a pod of the class: requirements to narrow it to, or why there is nothing left.
   * `prefer` picks among domains that the rules hold for equal.
   */
  narrow(
    podClass: PodClass,
    place: Place,
    prefer: (key: string, domains: readonly string[]) => string | undefined,
  ): Requirements | TopologyMisfit {
    let narrowed = Requirements.EMPTY;
    for (const { group, self } of this.#bindingsOf(podClass).binding) {
      const { key } = group.rule;
      const node = group.isByHost ? ValueSet.in([place.hostname]) : place.requirements.get(key);
      const question = {
        self,
        pod: podClass.strict.get(key),
        node,
        prefer: (domains: readonly string[]) => prefer(key, domains),
      };
      const allowed = group.allowed(question);
      if (allowed.length === 0) {
        // counts only grow: what is taken stays taken, while levels that rise elsewhere can reopen a zone to spread
        const permanent =
          group.rule.type === 'pod anti-affinity' || (group.isByHost && group.rule.type === 'topology spread');
        return { misfit: () => misfitOf(group, question.pod, node), permanent };
      }
      if (!group.isByHost) narrowed = narrowed.and(key, ValueSet.in(allowed));
    }
    return narrowed;
  }

  /** Counts a pod of the class where it has been put. */
  record(podClass: PodClass, place: Place): void {
    for (const { group, domains } of this.#countedIn(podClass, place))
      for (const domain of domains) group.count(domain);
  }

  /** In which domains of which groups a pod of the class counts at a place. */
  #countedIn(
    podClass: PodClass,
    place: Place,
  ): readonly { readonly group: Group; readonly domains: readonly string[] }[] {
    const { counting, repelling } = this.#bindingsOf(podClass);
    const counted = counting.flatMap((group) => {
      if (!passes(group.rule.filter, place)) return [];
      const domains = domainsIn(group, place);
      return group.rule.type === 'pod anti-affinity' || domains.length === 1 ? [{ group, domains }] : [];
    });
    return [...counted, ...repelling.map((group) => ({ group, domains: domainsIn(group, place) }))];
  }

  /** Adds where a pod of the class counts to a tally, hosts aside. Equal tallies are equally good to all rules. */
  tally(podClass: PodClass, place: Place, tally: DomainTally): void {
    for (const { group, domains } of this.#countedIn(podClass, place)) {
      if (group.isByHost) continue;
      const counts = tally.get(group) ?? new Map<string, number>();
      tally.set(group, counts);
      for (const domain of domains) counts.set(domain, (counts.get(domain) ?? 0) + 1);
    }
  }

  /** What ties the pods of a class to the domains in which they are, and what they take of a host. */
  tiesOf(podClass: PodClass): Ties {
    const { own, binding, counting, repelling } = this.#bindingsOf(podClass);
    const all = new Set([...binding.map(({ group }) => group), ...counting, ...repelling]);
    const hosts = new Map<Group, number>();
    for (const group of counting) if (group.isByHost) hosts.set(group, 1);
    for (const group of own)
      if (group.isByHost && group.rule.type === 'pod anti-affinity') hosts.set(group, WHOLE_HOST);
    return {
      keys: [...new Set([...all].filter((group) => !group.isByHost).map(({ rule }) => rule.key))],
      hosts,
      company: [...all].some((group) => group.isByHost && group.rule.type === 'pod affinity'),
    };
  }

  /** A new host is an empty domain of every rule by host. */
  registerHost(hostname: string): void {
    for (const group of this.#groups.values()) if (group.isByHost) group.register(hostname);
  }
}

function labelKeysIn({ affinity, topologySpreadConstraints = [] }: PodSpec): readonly string[] {
  const terms = [affinity?.podAffinity, affinity?.podAntiAffinity].flatMap((each) => [
    ...(each?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(each?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((preferred) => preferred.podAffinityTerm),
  ]);
  return [
    ...terms.flatMap(({ labelSelector }) => selectorKeys(labelSelector)),
    ...topologySpreadConstraints.flatMap((each) => [
      ...selectorKeys(each.labelSelector),
      ...(each.matchLabelKeys ?? []),
    ]),
  ];
}

/** State nodes never change, and disruption solves one cluster hundreds of times. */
const places = new WeakMap<StateNode, Place>();

function placeOf(node: StateNode): Place {
  let place = places.get(node);
  if (place === undefined) {
    const hostname = hostOf(node);
    const requirements = Requirements.fromLabels({ ...node.labels, [HOSTNAME_LABEL]: hostname });
    place = { hostname, requirements, taints: node.taints };
    places.set(node, place);
  }
  return place;
}

function runningPods(node: StateNode, counts: (pod: Pod) => boolean): readonly RunningPod[] {
  const { requirements } = placeOf(node);
  return node.pods
    .filter((pod) => !isTerminal(pod) && !isTerminating(pod) && counts(pod))
    .map((pod) => ({ pod, node, requirements }));
}

const domainOf = (key: string, node: StateNode): string | undefined =>
  key === HOSTNAME_LABEL ? hostOf(node) : node.labels[key];

function domainsIn(group: Group, place: Place): readonly string[] {
  if (group.isByHost) return [place.hostname];
  const set = place.requirements.get(group.rule.key);
  return set.complement ? [] : [...set.values];
}

function misfitOf(group: Group, pod: ValueSet, node: ValueSet): Misfit {
  const { type, key } = group.rule;
  const domains = `podDomains = ${key} ${pod}, nodeDomains = ${key} ${node}`;
  return {
    code: 'topology',
    text: `unsatisfiable topology constraint for ${type}, key=${key} (counts = ${group.countsText}, ${domains}`,
  };
}

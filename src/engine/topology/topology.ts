/**
 * Spread, affinity and anti-affinity during one solve. Groups are built from the rules of pods to place and of running pods.
 * They count running pods first, and then each pod that is placed.
 */
import { HOSTNAME_LABEL, WELL_KNOWN_LABELS } from '#api/objects';
import type { EnginePod } from '../input.ts';
import type { Misfit } from '../model.ts';
import { Requirements } from '../requirements.ts';
import { ValueSet } from '../value-set.ts';
import { ANYWHERE, type BaseGroup, nodeReach, type OwnRule, type Place, type TopologyBase } from './base.ts';
import {
  type Binding,
  Bindings,
  type CountingRules,
  countsItself,
  type HostileDaemon,
  type Relations,
  rulesByKey,
  rulesWithout,
  sparesWithout,
} from './bindings.ts';
import { type DaemonRule, DaemonRules } from './daemon-rules.ts';
import { FilterVerdicts } from './filter-verdicts.ts';
import { type Rule, ruleCounts, TopologyGroup, UNKNOWN } from './group.ts';
import { RuleIndex } from './rule-index.ts';
import { RunningPods } from './running-pods.ts';
import { type Ties, TiesMemory } from './ties.ts';
import { daemonMisfit, misfitOf } from './topology-misfits.ts';

/** Class of pods, with the properties that topology rules use. */
export interface TopologyPods {
  /** Text that is the same for classes that other pods' rules cannot distinguish. */
  readonly visible: string;
  /** One pod of the class, in its current form. */
  readonly pod: EnginePod;
  /** Requirements for the node, without preferences. */
  readonly strict: Requirements;
  /** Alternative places of the volumes. */
  readonly volumes: { readonly alternatives: readonly Requirements[] };
}

/** Groups that see some pods. */
interface Sight {
  readonly counting: ReadonlySet<TopologyGroup>;
  /** The same groups as a list, which the classes share. */
  readonly counters: readonly TopologyGroup[];
  /** Groups among these, except for rules by host, whose count matters to kube-scheduler. */
  readonly miscounting: readonly CountingRules[];
  /** Groups of other pods' rules that repel the pods. */
  readonly repelled: readonly TopologyGroup[];
}

/** Pods per domain, for groups that are not by host. */
export type DomainCounts = Map<TopologyGroup, Map<string, number>>;

const NO_PODS: readonly EnginePod[] = [];
const NO_HOSTILE: readonly HostileDaemon[] = [];

interface TopologyMisfit {
  readonly misfit: () => Misfit;
}

/** Chooses among domains of a key that are equal under the rules. */
export type Prefer = (key: string, domains: readonly string[]) => string | undefined;

interface TopologyParts {
  readonly base: TopologyBase;
  /** Positions of the nodes that will be removed. */
  readonly leaving: ReadonlySet<number>;
  readonly pendingPods: readonly EnginePod[];
  /** Names of NodePools that are at their limits before the first pod is placed. */
  readonly closedPools?: ReadonlySet<string>;
}

/** Running pods that are to be placed. They no longer count at their current node. */
interface Moving {
  readonly pods: RunningPods;
  /** Positions of the pods that repel other pods, by the identity of the rule. */
  readonly repellers: ReadonlyMap<string, readonly number[]>;
}

export class Topology {
  readonly #parts: TopologyParts;
  readonly #groups = new Map<string, TopologyGroup>();
  readonly #inverse = new Map<string, TopologyGroup>();
  readonly #groupIndex = new RuleIndex<TopologyGroup>();
  readonly #inverseIndex = new RuleIndex<TopologyGroup>();
  /** Groups of the rules of a class, and of its rules against other pods. */
  readonly #owned = new Map<TopologyPods, Pick<Relations, 'own' | 'repelling'>>();
  readonly #bindings = new Map<TopologyPods, Bindings>();
  #last: { readonly podClass: TopologyPods; readonly bindings: Bindings } | undefined;
  /** Cached by the properties of pods that rules can see. */
  readonly #sights = new Map<string, Sight>();
  readonly #filters = new FilterVerdicts();
  readonly #ties = new TiesMemory();
  /** Domain ids of the hosts of claims. */
  readonly #newHosts: number[] = [];
  /** Results of narrowings by the requirements before. */
  readonly #narrowings = new Map<Requirements, Map<string, Requirements>>();
  readonly #daemonRules: DaemonRules;
  /** Reverts the changes since the last restore point, last change first. Undefined before the first restore point. */
  #reverts: (() => void)[] | undefined;
  #moving: Moving | undefined;
  /** Spread rules that do not know all domains, for a number of groups. */
  #incomplete: { readonly groups: number; readonly spreads: readonly TopologyGroup[] } = { groups: 0, spreads: [] };

  constructor(parts: TopologyParts) {
    this.#parts = parts;
    const daemons = parts.base.daemons.pods;
    this.#daemonRules = new DaemonRules(daemons, this.#groups);
    for (const daemon of daemons)
      for (const [id, rule] of parts.base.inverseRulesOf(daemon))
        if (rule.key !== HOSTNAME_LABEL) this.#daemonRules.add(daemon, this.#inverseOf(id, rule));
  }

  /** True if a rule by a domain of several nodes counts a pod of a DaemonSet. */
  get countsDaemons(): boolean {
    return this.#daemonRules.all.length > 0;
  }

  /**
   * Returns true if pods of DaemonSets on new nodes can make a zone, or another domain with several nodes, impossible for the
   * pods. This is the case if a spread counts pods of DaemonSets, or if the pods and a DaemonSet exclude each other.
   */
  yieldsToDaemons(podClass: TopologyPods): boolean {
    const { base } = this.#parts;
    if (base.daemons.pods.length === 0 || (this.#groups.size === 0 && !base.daemonsRepel)) return false;
    const { own, hostile } = this.bindingsOf(podClass);
    const isSpread = ({ group }: DaemonRule) => group.rule.type === 'topology spread' && own.includes(group);
    return hostile.some(({ key }) => key !== HOSTNAME_LABEL) || this.#daemonRules.all.some(isSpread);
  }

  /** Creates the groups for the rules of a class. Callers must register every class before the first pod is placed. */
  register(podClass: TopologyPods): void {
    if (this.#owned.has(podClass)) return;
    const { base } = this.#parts;
    const own = base.ownRulesOf(podClass.pod).map((rule) => this.#groupOf(rule, podClass.pod));
    const inverse = base.inverseRulesOf(podClass.pod);
    this.#owned.set(podClass, { own, repelling: inverse.map(([id, rule]) => this.#inverseOf(id, rule)) });
  }

  /** Lets the first pod of an affinity rule start where the pods of a class can follow, for example where their volumes are. */
  addFollowers(podClass: TopologyPods): void {
    const { base, closedPools } = this.#parts;
    const { pod, volumes } = podClass;
    for (const { id, rule, reach } of base.ownRulesOf(pod)) {
      const group = this.#groups.get(id);
      if (group === undefined || group.isByHost || rule.type !== 'pod affinity') continue;
      const { key } = rule;
      const ids = base.idsOf(key);
      const isNearVolumes = (id: number): boolean =>
        volumes.alternatives.some((each) => each.get(key).has(ids.name(id)));
      const possible = base.reachable(key, nodeReach(pod), closedPools).filter(isNearVolumes);
      if (possible.length === 0 || possible.length === base.reachable(key, reach, closedPools).length) continue;
      const names = new Set(possible.map((id) => ids.name(id)));
      group.addFollower((domain) => names.has(domain));
    }
  }

  /**
   * Lets the pods of a class be the first pods of their affinity rules in any domain. Returns false if they could be before. For
   * pods without a node where other pods can follow.
   */
  releaseFollowers(podClass: TopologyPods): boolean {
    const { own } = this.bindingsOf(podClass);
    return own.reduce((released, group) => group.releaseFollowers() || released, false);
  }

  #inverseOf(id: string, rule: Rule): TopologyGroup {
    let group = this.#inverse.get(id);
    if (group === undefined) {
      const { base } = this.#parts;
      const from = base.inverse.get(id) ?? base.emptyInverse(rule);
      const counts = this.#countsOf(rule, from, [this.#movingPods().repellers.get(id) ?? []]);
      group = this.#newGroup(rule, counts);
      for (const domain of base.reachable(rule.key, ANYWHERE)) group.register(domain);
      this.#inverse.set(id, group);
      this.#inverseIndex.add(rule, group);
    }
    return group;
  }

  #groupOf({ id, rule, group: from, reach }: OwnRule, pod: EnginePod): TopologyGroup {
    const { base, closedPools } = this.#parts;
    let group = this.#groups.get(id);
    if (group === undefined) {
      const counts = this.#countsOf(rule, from, this.#movingPods().pods.countedBy(rule));
      group = this.#newGroup(rule, counts, this.#newHosts);
      this.#groups.set(id, group);
      this.#groupIndex.add(rule, group);
    }
    group.isRequired ||= !rule.isPreference;
    group.canMiscount ||= rule.type === 'topology spread' || (rule.type === 'pod affinity' && group.counts(pod));
    if (!group.isByHost && (base.domains.isOpen(rule.key) || !this.#isComplete(group)))
      for (const domain of base.reachable(rule.key, reach, closedPools)) group.register(domain);
    return group;
  }

  #newGroup(rule: Rule, counts: Int32Array, newHosts?: readonly number[]): TopologyGroup {
    const group = new TopologyGroup(rule, this.#parts.base.idsOf(rule.key), counts, newHosts);
    group.filterNumber = this.#filters.numberOf(rule.filter);
    return group;
  }

  /** Returns the cluster's counts for a rule, minus removed nodes and moving pods. `moving` has the node of each moving pod. */
  #countsOf(rule: Rule, from: BaseGroup, moving: readonly (readonly number[])[]): Int32Array {
    const { base, leaving } = this.#parts;
    const counts = from.counts.slice();
    const domains = base.domainsOfNodes(rule.key);
    const left = new Map<number, { pods: number; nodes: number }>();
    const leftAt = (node: number): { pods: number; nodes: number } | undefined => {
      const id = domains[node] ?? UNKNOWN;
      if (id < 0) return undefined;
      const known = left.get(id) ?? { pods: Math.max(from.counts[id] ?? 0, 0), nodes: from.registrars[id] ?? 0 };
      left.set(id, known);
      return known;
    };
    for (const nodes of moving) {
      for (const node of nodes) {
        const at = base.passesFilter(rule, node) ? leftAt(node) : undefined;
        if (at !== undefined) at.pods--;
      }
    }
    for (const node of leaving) {
      const at = base.registers(rule, node) ? leftAt(node) : undefined;
      if (at !== undefined) at.nodes--;
    }
    for (const [id, { pods, nodes }] of left) counts[id] = pods > 0 ? pods : nodes > 0 ? 0 : UNKNOWN;
    return counts;
  }

  #movingPods(): Moving {
    if (this.#moving === undefined) {
      const { base, pendingPods } = this.#parts;
      const pods = new RunningPods();
      const repellers = new Map<string, number[]>();
      for (const pending of pendingPods) {
        const found = base.running(pending);
        if (found === undefined) continue;
        pods.add(found.pod, found.node);
        for (const [id] of base.inverseRulesOf(found.pod)) {
          const nodes = repellers.get(id) ?? [];
          repellers.set(id, nodes);
          nodes.push(found.node);
        }
      }
      this.#moving = { pods, repellers };
    }
    return this.#moving;
  }

  /** Returns the groups that are relevant for the pods of a class. */
  bindingsOf(podClass: TopologyPods): Bindings {
    // the trial of a pod reads the bindings of its class many times
    if (this.#last?.podClass === podClass) return this.#last.bindings;
    let bindings = this.#bindings.get(podClass);
    if (bindings === undefined) {
      bindings = this.#bind(podClass);
      this.#bindings.set(podClass, bindings);
    }
    this.#last = { podClass, bindings };
    return bindings;
  }

  #bind(podClass: TopologyPods): Bindings {
    this.register(podClass);
    const { own = [], repelling = [] } = this.#owned.get(podClass) ?? {};
    const { counting, counters, miscounting, repelled } = this.#seenBy(podClass);
    const hostile = this.#hostileTo(podClass, own);
    if (own.length + repelling.length + repelled.length + hostile.length + counting.size === 0) return Bindings.NONE;
    const all = repelled.length === 0 ? own : [...own, ...repelled];
    const { base } = this.#parts;
    const started = this.#startedTogether(podClass.pod);
    const bindingOf = (group: TopologyGroup): Binding => ({
      group,
      self: counting.has(group) || repelled.includes(group),
      pod: podClass.strict.get(group.rule.key),
      nodes: base.domainsOfNodes(group.rule.key),
      isOthers: !own.includes(group),
      daemons: group.rule.type === 'pod affinity' ? base.daemons.pods.filter((pod) => group.counts(pod)) : NO_PODS,
      startedTogether: started?.includes(group) ? started : undefined,
    });
    return new Bindings({
      own,
      all: [...new Set(all)].map(bindingOf),
      counting: counters,
      onlyCounting: rulesWithout(miscounting, all),
      repelling,
      hostile,
    });
  }

  /** Returns the groups of the required affinity rules of a pod, if there are several. */
  #startedTogether(pod: EnginePod): readonly TopologyGroup[] | undefined {
    const terms = pod.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    if (terms.length < 2) return undefined;
    return this.#parts.base
      .ownRulesOf(pod)
      .filter(({ rule }) => rule.type === 'pod affinity' && !rule.isPreference)
      .flatMap(({ id }) => this.#groups.get(id) ?? []);
  }

  /** Returns the DaemonSets that the anti-affinity of the pods excludes, or that exclude the pods by their own anti-affinity. */
  #hostileTo({ pod }: TopologyPods, own: readonly TopologyGroup[]): readonly HostileDaemon[] {
    const { base } = this.#parts;
    if (base.daemons.pods.length === 0 || (own.length === 0 && !base.daemonsRepel)) return NO_HOSTILE;
    const antiAffinity = own.filter(({ rule }) => rule.type === 'pod anti-affinity');
    return base.daemons.pods.flatMap((daemon) => {
      const key =
        antiAffinity.find((group) => group.counts(daemon))?.rule.key ??
        base.inverseRulesOf(daemon).find(([, rule]) => ruleCounts(rule, pod))?.[1].key;
      return key === undefined ? [] : [{ pod: daemon, key }];
    });
  }

  /** Returns the groups that count the pods of a class, and the groups of other pods' rules that repel them. */
  #seenBy({ visible, pod }: TopologyPods): Sight {
    let sight = this.#sights.get(visible);
    if (sight === undefined) {
      const { base } = this.#parts;
      const repelled = new Set<TopologyGroup>();
      for (const [id, rule] of base.repelling(pod)) repelled.add(this.#inverseOf(id, rule));
      for (const group of this.#inverseIndex.counting(pod)) repelled.add(group);
      const counters = [...new Set(this.#groupIndex.counting(pod))];
      sight = {
        counting: new Set(counters),
        counters,
        miscounting: rulesByKey(counters.filter((group) => group.isRequired && group.canMiscount && !group.isByHost)),
        repelled: [...repelled],
      };
      this.#sights.set(visible, sight);
    }
    return sight;
  }

  /** Returns true if no rule restricts the new node of the pods of a class. A refusal of such pods is then permanent. */
  isFree(podClass: TopologyPods): boolean {
    const { all, onlyCounting, hostile } = this.bindingsOf(podClass);
    return all.length + onlyCounting.length + hostile.length === 0 && !this.countsDaemons;
  }

  /** Returns true if only rules by host restrict the pods of a class. */
  isFreeOfDomains(podClass: TopologyPods): boolean {
    const { domains, onlyCounting } = this.bindingsOf(podClass);
    return domains.length + onlyCounting.length === 0;
  }

  #hostId(hostname: string): number {
    return this.#parts.base.idsOf(HOSTNAME_LABEL).idOf(hostname);
  }

  /**
   * Returns the requirements that the rules add to a place for a pod of the class. If no domain is left, returns a misfit.
   * `prefer` chooses among domains that are equal under the rules.
   */
  narrow(podClass: TopologyPods, place: Place, prefer: Prefer): Requirements | TopologyMisfit {
    const { all, onlyCounting, hostile } = this.bindingsOf(podClass);
    const clash = hostile.find(({ pod }) => place.daemons?.possible.has(pod));
    return clash === undefined
      ? this.#narrowBy({ all, onlyCounting }, place, prefer)
      : { misfit: () => daemonMisfit(clash) };
  }

  /** Returns the same, but ignores rules by host. */
  narrowDomains(podClass: TopologyPods, place: Place, prefer: Prefer): Requirements | TopologyMisfit {
    const { domains, onlyCounting } = this.bindingsOf(podClass);
    return this.#narrowBy({ all: domains, onlyCounting }, place, prefer);
  }

  #narrowBy(
    { all, onlyCounting }: Pick<Relations, 'all' | 'onlyCounting'>,
    place: Place,
    prefer: Prefer,
  ): Requirements | TopologyMisfit {
    const { hostname, requirements, daemons: there } = place;
    let narrowed = Requirements.EMPTY;
    for (const binding of all) {
      const { group, pod, daemons } = binding;
      const { key } = group.rule;
      if (daemons.some((daemon) => there?.certain.has(daemon)) && isOrMayBeIn(requirements, key)) continue;
      if (group.isByHost) {
        if (group.admitsHost(this.#hostId(hostname), countsItself(binding), pod)) continue;
        return { misfit: () => misfitOf(binding, ValueSet.in([hostname])) };
      }
      if (sparesWithout(binding) && !requirements.has(key)) continue;
      const node = requirements.get(key);
      const pods = this.countsDaemons ? this.#daemonRules.startedOn(place, group, this.#hostId(hostname)) : 0;
      const allowed = allowedIn(binding, pods, node, prefer);
      if (allowed.length === 0) return { misfit: () => misfitOf(binding, node, pods) };
      narrowed = this.#narrowing(narrowed, key, allowed);
    }
    for (const rules of onlyCounting) narrowed = this.#countable(rules, place, narrowed, prefer);
    if (!this.countsDaemons) return narrowed;
    for (const group of this.#daemonRules.miscounting(place, this.#hostId(hostname)))
      narrowed = this.#countable({ key: group.rule.key, groups: [group] }, place, narrowed, prefer);
    return narrowed;
  }

  /** Narrows a place to one domain in which the rules can count a pod. */
  #countable({ key, groups }: CountingRules, place: Place, narrowed: Requirements, prefer: Prefer): Requirements {
    const own = place.requirements.get(key);
    if (isDetermined(own) || !isOrMayBeIn(place.requirements, key)) return narrowed;
    let result = narrowed;
    const passes = this.#filters.testOf(place);
    for (const group of groups) {
      const node = result.has(key) ? own.intersect(result.get(key)) : own;
      if (isDetermined(node)) break;
      if (!passes(group)) continue;
      const counted = group.countedDomain({ node, prefer: (domains) => prefer(key, domains) });
      if (counted.length > 0) result = this.#narrowing(result, key, counted);
    }
    return result;
  }

  /** Returns a cached object, so that derived values can be found again. */
  #narrowing(so: Requirements, key: string, allowed: readonly string[]): Requirements {
    let known = this.#narrowings.get(so);
    if (known === undefined) {
      known = new Map();
      this.#narrowings.set(so, known);
    }
    const id = `${key}|${allowed.length === 1 ? allowed[0] : allowed.join()}`;
    let narrowing = known.get(id);
    if (narrowing === undefined) {
      narrowing = so.and(key, ValueSet.in(allowed));
      known.set(id, narrowing);
    }
    return narrowing;
  }

  /** Counts a pod of this class on the node at a position. */
  recordOnNode(podClass: TopologyPods, node: number): void {
    const { base } = this.#parts;
    const { counting, repelling } = this.bindingsOf(podClass);
    for (const group of [...counting.filter(({ rule }) => base.passesFilter(rule, node)), ...repelling]) {
      const id = base.domainsOfNodes(group.rule.key)[node] ?? UNKNOWN;
      if (id >= 0) this.#count(group, id);
    }
  }

  #count(group: TopologyGroup, id: number, onClaim = false): void {
    const isKnown = group.knows(id);
    group.count(id, onClaim);
    this.#reverts?.push(() => {
      group.uncount(id, onClaim);
      if (!isKnown) group.unregister(id);
    });
  }

  /** Returns a function that reverts the counts and hosts of all pods that are placed until it is called. */
  restorePoint(): () => void {
    const reverts: (() => void)[] = [];
    this.#reverts = reverts;
    return () => {
      for (const revert of reverts.reverse()) revert();
      this.#reverts = undefined;
    };
  }

  /** Counts a pod of the class on a claim. */
  recordOnClaim(podClass: TopologyPods, host: number, place: Place): void {
    const { counting, repelling } = this.bindingsOf(podClass);
    const passes = this.#filters.testOf(place);
    for (const group of this.#incompleteSpreads()) {
      const [domain, ...others] = domainsIn(group, place);
      if (domain === undefined || others.length > 0 || !passes(group)) continue;
      const id = this.#parts.base.idsOf(group.rule.key).idOf(domain);
      if (group.register(id)) this.#reverts?.push(() => group.unregister(id));
    }
    for (const group of counting) if (passes(group)) this.#recordIn(group, host, place, false);
    for (const group of repelling) this.#recordIn(group, host, place, true);
    if (this.countsDaemons)
      for (const { rule, domains } of this.#daemonRules.record(place, host))
        this.#reverts?.push(() => {
          rule.hosts.delete(host);
          for (const domain of domains) rule.group.uncount(domain);
        });
  }

  #isComplete(group: TopologyGroup): boolean {
    return group.isComplete(this.#parts.base.reachable(group.rule.key, ANYWHERE));
  }

  /** Returns the spread rules that do not know all domains of new nodes, because their own pods cannot use these nodes. */
  #incompleteSpreads(): readonly TopologyGroup[] {
    if (this.#incomplete.groups !== this.#groups.size) {
      const spreads = [...this.#groups.values()].filter(
        ({ isByHost, rule }) => !isByHost && rule.type === 'topology spread',
      );
      this.#incomplete = {
        groups: this.#groups.size,
        spreads: spreads.filter((group) => !this.#isComplete(group)),
      };
    }
    return this.#incomplete.spreads;
  }

  #recordIn(group: TopologyGroup, host: number, place: Place, repels: boolean): void {
    const { key, type } = group.rule;
    if (group.isByHost) {
      this.#count(group, host, true);
      return;
    }
    const { complement, values } = place.requirements.get(key);
    if (complement || !(repels || type === 'pod anti-affinity' || values.size === 1)) return;
    const ids = this.#parts.base.idsOf(key);
    for (const value of values) this.#count(group, ids.idOf(value));
  }

  /** Returns the groups and domains, except for hosts, that count a pod of the class at a place. */
  #countedIn(
    podClass: TopologyPods,
    place: Place,
  ): readonly { readonly group: TopologyGroup; readonly domains: readonly string[] }[] {
    const { counting, repelling } = this.bindingsOf(podClass);
    const passes = this.#filters.testOf(place);
    const counted = counting
      .filter((group) => !group.isByHost && passes(group))
      .map((group) => ({ group, domains: domainsIn(group, place) }))
      .filter(({ group, domains }) => group.rule.type === 'pod anti-affinity' || domains.length === 1);
    const repelled = repelling.filter((group) => !group.isByHost);
    return [...counted, ...repelled.map((group) => ({ group, domains: domainsIn(group, place) }))];
  }

  /** Adds a pod of the class to the counts of domains, except for hosts. Equal counts are equally good under all rules. */
  addCounts(podClass: TopologyPods, place: Place, all: DomainCounts): void {
    for (const { group, domains } of this.#countedIn(podClass, place)) {
      const counts = all.get(group) ?? new Map<string, number>();
      all.set(group, counts);
      for (const domain of domains) counts.set(domain, (counts.get(domain) ?? 0) + 1);
    }
  }

  /** Returns the labels that tie the pods of a class to their current domains, and the host capacity that they use. */
  tiesOf(podClass: TopologyPods): Ties {
    const started = this.#daemonRules.all.map(({ group }) => group);
    return this.#ties.of(this.bindingsOf(podClass), started);
  }

  /** Registers the host of a new claim as an empty domain of every rule by host. Returns the number of the host. */
  openHost(hostname: string): number {
    const host = this.#hostId(hostname);
    this.#newHosts.push(host);
    this.#reverts?.push(() => void this.#newHosts.pop());
    return host;
  }
}

const isDetermined = ({ complement, values }: ValueSet): boolean => !complement && values.size < 2;

/** Returns true if a node with these requirements has the label, so that pods on it share a domain. */
const isOrMayBeIn = (requirements: Requirements, key: string): boolean =>
  key === HOSTNAME_LABEL || WELL_KNOWN_LABELS.has(key) || requirements.has(key);

function allowedIn(binding: Binding, daemons: number, node: ValueSet, prefer: Prefer): readonly string[] {
  const { group, pod } = binding;
  const self = countsItself(binding);
  return group.allowed({ self, daemons, pod, node, prefer: (domains) => prefer(group.rule.key, domains) });
}

function domainsIn(group: TopologyGroup, place: Place): readonly string[] {
  const set = place.requirements.get(group.rule.key);
  return set.complement ? [] : [...set.values];
}

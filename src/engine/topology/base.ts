/**
 * Topology of a cluster before any pod is placed: counts of the running pods per rule and domain. All solves of a snapshot share
 * these counts. Each solve subtracts the nodes and pods that it removes or moves.
 */

import { HOSTNAME_LABEL, type Namespace, type Taint, type Toleration } from '#api/objects';
import { own, remembering } from '#lib';
import type { EnginePod } from '../input.ts';
import { LeftOuts, leftOutName } from '../left-out.ts';
import type { EngineNode, EngineSnapshot } from '../model.ts';
import { placementRequests } from '../placement-requests.ts';
import { MOST_RULES } from '../pod-bounds.ts';
import { podKey } from '../pods.ts';
import { Requirements } from '../requirements.ts';
import { DomainIds } from './domain-ids.ts';
import { Domains, type Reach } from './domains.ts';
import { type Rule, ruleCounts, UNKNOWN } from './group.ts';
import { ANY_NODE, filterIdentity, isOpen, type NodeFilter, ownNodesOf, passes } from './node-filter.ts';
import { PodCounts, runningOn } from './pod-counts.ts';
import { RuleIndex } from './rule-index.ts';
import { inverseRulesOf, repellingTerms, ruleIdentity, rulesOf } from './rules.ts';
import type { RunningPod } from './running-pods.ts';

/** Pods that DaemonSets start on a new node. */
export interface DaemonsAt {
  /** Pods that run there in any case. */
  readonly certain: ReadonlySet<EnginePod>;
  /** Pods that run there in some cases or in any case. */
  readonly possible: ReadonlySet<EnginePod>;
}

/** Possible location of a pod: an existing node, or a claim with its current requirements. */
export interface Place {
  readonly hostname: string;
  readonly requirements: Requirements;
  readonly taints: readonly Taint[];
  /** Undefined for an existing node, because the counts include its DaemonSets. */
  readonly daemons?: DaemonsAt;
}

/** DaemonSets of the cluster. */
export interface Daemons {
  /** One pod of each DaemonSet. */
  readonly pods: readonly EnginePod[];
  /** Returns the pods that DaemonSets will start on a node, without pods that run there already. */
  missingOn(node: EngineNode): readonly EnginePod[];
}

const NO_DAEMONS: Daemons = { pods: [], missingOn: () => [] };

/** Rule with its counts before any pod moves. */
export interface BaseGroup {
  readonly rule: Rule;
  /** Pods per domain id. `UNKNOWN` if a domain has neither a node that accepts pods nor a running pod. */
  readonly counts: Int32Array;
  /** Number of nodes that make a domain known, per domain id. */
  readonly registrars: Int32Array;
}

/** Rule from the spec of a pod. */
export interface OwnRule {
  readonly id: string;
  readonly rule: Rule;
  readonly group: BaseGroup;
  /** New nodes that provide domains for the rule. */
  readonly reach: Reach;
}

interface TopologyBaseOptions {
  /** True if preferences count as rules. */
  readonly preferences: boolean;
  readonly leftOuts?: LeftOuts;
  readonly daemons?: Daemons;
}

/**
 * Maximum number of counts for the anti-affinity rules of running pods: the number of rules multiplied by the number of domains.
 */
const MOST_REPELLING_COUNTS = 10_000_000;
const NOWHERE = -1;
const NO_RULES: readonly (readonly [string, Rule])[] = [];
const NO_TOLERATIONS: readonly Toleration[] = [];
const NO_PODS: readonly EnginePod[] = [];

/** Returns the reach of an affinity rule: domains count on nodes with taints that the pod tolerates. */
const affinityReach = remembering(
  (tolerations: readonly Toleration[]): Reach => ({
    filter: { alternatives: undefined, tolerations },
    requests: undefined,
  }),
);

/** Returns the reach of a spread constraint: only domains on nodes that the pod can use count. */
export const nodeReach = remembering(
  (pod: EnginePod): Reach => ({ filter: ownNodesOf(pod), requests: placementRequests(pod) }),
);

/** Reach of all new nodes. */
export const ANYWHERE: Reach = { filter: ANY_NODE, requests: undefined };
const NONE_CLOSED: ReadonlySet<string> = new Set();

const reachIdentity = remembering(
  (reach: Reach): string =>
    `${filterIdentity(reach.filter)} ${reach.requests === undefined ? '' : JSON.stringify(reach.requests)}`,
);

const hostOf = (node: EngineNode): string => node.labels[HOSTNAME_LABEL] ?? node.name;

/** Cached, because state nodes are immutable and a cluster is solved again and again. */
export const placeOf = remembering((node: EngineNode): Place => {
  const hostname = hostOf(node);
  const requirements = Requirements.fromLabels({ ...node.labels, [HOSTNAME_LABEL]: hostname });
  return { hostname, requirements, taints: node.taints };
});

/** Returns the running pods of a node that may have anti-affinity rules against other pods. */
const repellersOn = remembering((node: EngineNode): readonly EnginePod[] =>
  runningOn(node).filter(({ spec }) => spec.affinity?.podAntiAffinity),
);

export class TopologyBase {
  readonly domains: Domains;
  readonly namespaces: readonly Namespace[];
  readonly nodes: readonly EngineNode[];
  readonly daemons: Daemons;
  /** True if a DaemonSet has an anti-affinity rule against other pods. */
  readonly daemonsRepel: boolean;
  readonly #ids = new Map<string, DomainIds>();
  readonly #domainsOfNodes = new Map<string, Int32Array>();
  readonly #groups = new Map<string, BaseGroup>();
  readonly #inverse = new Map<string, BaseGroup>();
  readonly #inverseIndex = new RuleIndex<readonly [id: string, rule: Rule]>();
  readonly #inverseRules = new WeakMap<EnginePod, readonly (readonly [id: string, rule: Rule])[]>();
  readonly #ownRules = new WeakMap<EnginePod, readonly OwnRule[]>();
  readonly #repelling = new WeakMap<EnginePod, readonly (readonly [id: string, rule: Rule])[]>();
  readonly #reachable = new Map<string, readonly number[]>();
  readonly #eligible = new Map<string, Uint8Array>();
  readonly #empty = new Map<string, Pick<BaseGroup, 'counts' | 'registrars'>>();
  readonly #preferences: boolean;
  readonly #podCounts = PodCounts.shared();
  #repellingCounts = 0;
  #positions: ReadonlyMap<string, number> | undefined;
  #byNode: ReadonlyMap<EngineNode, number> | undefined;
  #strays: ReadonlyMap<string, RunningPod> | undefined;

  constructor(
    { pools, namespaces, nodes }: EngineSnapshot,
    { preferences, leftOuts = new LeftOuts(), daemons = NO_DAEMONS }: TopologyBaseOptions,
  ) {
    this.daemons = daemons;
    this.#preferences = preferences;
    this.domains = new Domains(pools);
    this.namespaces = namespaces;
    this.nodes = nodes;
    const named = ({ metadata }: EnginePod) => leftOutName('Pod', metadata);
    for (const [index, node] of nodes.entries())
      leftOuts.kept(repellersOn(node), named, (pod) => this.#repelFrom({ pod, node: index }));
    this.daemonsRepel = daemons.pods.some((pod) => repellingTerms(pod).length > 0);
    if (this.daemonsRepel)
      for (const [index, node] of nodes.entries())
        leftOuts.kept(daemons.missingOn(node), named, (pod) => this.#repelFrom({ pod, node: index }));
  }

  idsOf(key: string): DomainIds {
    let ids = this.#ids.get(key);
    if (ids === undefined) {
      ids = new DomainIds();
      this.#ids.set(key, ids);
    }
    return ids;
  }

  /** Returns the counts for an anti-affinity rule that no running pod has. */
  emptyInverse(rule: Rule): BaseGroup {
    return this.#emptyGroup(rule);
  }

  /** Returns the domain ids of all nodes. The id is negative if a node has no domain. */
  domainsOfNodes(key: string): Int32Array {
    let domains = this.#domainsOfNodes.get(key);
    if (domains === undefined) {
      const ids = this.idsOf(key);
      domains = Int32Array.from(this.nodes, (node) => {
        const domain = key === HOSTNAME_LABEL ? hostOf(node) : own(node.labels, key);
        return domain === undefined ? NOWHERE : ids.idOf(domain);
      });
      this.#domainsOfNodes.set(key, domains);
    }
    return domains;
  }

  /** Returns the running pod with the same name as a pod, if there is one. */
  running(pod: EnginePod): RunningPod | undefined {
    const { nodeName } = pod.spec;
    const node = nodeName ? this.#positionOf(nodeName) : undefined;
    const key = podKey(pod);
    const there = node === undefined ? undefined : this.#runningAt(node).find((other) => podKey(other) === key);
    if (there !== undefined && node !== undefined) return { pod: there, node };
    this.#strays ??= this.#findStrays();
    return this.#strays.get(key);
  }

  #positionIn(node: EngineNode): number | undefined {
    this.#byNode ??= new Map(this.nodes.map((each, position) => [each, position]));
    return this.#byNode.get(node);
  }

  #positionOf(nodeName: string): number | undefined {
    this.#positions ??= new Map(this.nodes.map(({ name }, position) => [name, position]));
    return this.#positions.get(nodeName);
  }

  /** Returns running pods with a `nodeName` that is not the name of their node. */
  #findStrays(): ReadonlyMap<string, RunningPod> {
    const strays = new Map<string, RunningPod>();
    for (const [position, { name }] of this.nodes.entries())
      for (const pod of this.#runningAt(position))
        if (pod.spec.nodeName !== name) strays.set(podKey(pod), { pod, node: position });
    return strays;
  }

  #runningAt(position: number): readonly EnginePod[] {
    const node = this.nodes[position];
    return node === undefined ? NO_PODS : runningOn(node);
  }

  /** Groups of the anti-affinity rules of running pods, by identity. */
  get inverse(): ReadonlyMap<string, BaseGroup> {
    return this.#inverse;
  }

  /** Returns the rules that bind a pod. */
  ownRulesOf(pod: EnginePod): readonly OwnRule[] {
    let own = this.#ownRules.get(pod);
    if (own === undefined) {
      own = rulesOf(pod, { namespaces: this.namespaces, preferences: this.#preferences }).map((rule) => {
        const id = ruleIdentity(rule);
        const isSpread = rule.type === 'topology spread';
        const reach = isSpread ? nodeReach(pod) : affinityReach(pod.spec.tolerations ?? NO_TOLERATIONS);
        return { id, rule, group: this.#group(rule, id), reach };
      });
      this.#ownRules.set(pod, own);
    }
    return own;
  }

  /**
   * Returns the ids of the domains of new nodes. Equal arguments have the same list.
   *
   * @param closed names of NodePools that launch no nodes
   */
  reachable(key: string, reach: Reach, closed: ReadonlySet<string> = NONE_CLOSED): readonly number[] {
    const id = `${key} ${reachIdentity(reach)} ${closed.size === 0 ? '' : [...closed].join()}`;
    let reachable = this.#reachable.get(id);
    if (reachable === undefined) {
      const ids = this.idsOf(key);
      reachable = this.domains.reachable(key, reach, closed).map((domain) => ids.idOf(domain));
      this.#reachable.set(id, reachable);
    }
    return reachable;
  }

  /** Returns the anti-affinity rules of running pods that repel a pod, with their identities. */
  repelling(pod: EnginePod): readonly (readonly [id: string, rule: Rule])[] {
    let rules = this.#repelling.get(pod);
    if (rules === undefined) {
      rules = this.#inverseIndex.counting(pod);
      this.#repelling.set(pod, rules);
    }
    return rules;
  }

  #group(rule: Rule, id: string): BaseGroup {
    let group = this.#groups.get(id);
    if (group === undefined) {
      group = this.#emptyGroup(rule);
      const domains = this.domainsOfNodes(rule.key);
      for (const counts of this.#podCounts.countedBy(rule, this.nodes))
        for (const [node, count] of counts) {
          const position = this.#positionIn(node);
          if (position !== undefined && this.passesFilter(rule, position)) countIn(group, domains, position, count);
        }
      this.#countMissingDaemons(group, domains);
      this.#groups.set(id, group);
    }
    return group;
  }

  /**
   * Counts the pods that DaemonSets will start on nodes, because a pod with affinity to them can be bound soon. They do not count
   * for spreads by host, which most nodes satisfy before and after.
   */
  #countMissingDaemons(group: BaseGroup, domains: Int32Array): void {
    const { rule } = group;
    const isByHost = rule.type === 'topology spread' && rule.key === HOSTNAME_LABEL;
    if (isByHost || !this.daemons.pods.some((pod) => ruleCounts(rule, pod))) return;
    for (const [position, node] of this.nodes.entries()) {
      if (!this.passesFilter(rule, position)) continue;
      for (const pod of this.daemons.missingOn(node)) if (ruleCounts(rule, pod)) countIn(group, domains, position);
    }
  }

  passesFilter({ filter }: Rule, node: number): boolean {
    return filter === undefined || isOpen(filter) || this.#eligibleFor(filter)[node] === 1;
  }

  /** Returns an array with 1 at the positions of the nodes that pass the filter. */
  #eligibleFor(filter: NodeFilter): Uint8Array {
    const id = filterIdentity(filter);
    let eligible = this.#eligible.get(id);
    if (eligible === undefined) {
      eligible = Uint8Array.from(this.nodes, (node) => Number(passes(filter, placeOf(node))));
      this.#eligible.set(id, eligible);
    }
    return eligible;
  }

  /** Returns true if a node makes its domain known to a rule. */
  registers(rule: Rule, node: number): boolean {
    const stateNode = this.nodes[node];
    if (stateNode?.node === undefined || stateNode.markedForDeletion) return false;
    return this.passesFilter(rule, node);
  }

  /** Returns a group that knows the domains of nodes but has no counts. */
  #emptyGroup(rule: Rule): BaseGroup {
    const { key, filter } = rule;
    const id = filter === undefined || isOpen(filter) ? key : `${key} ${filterIdentity(filter)}`;
    let empty = this.#empty.get(id);
    if (empty === undefined) {
      const domains = this.domainsOfNodes(key);
      const registrars = new Int32Array(this.idsOf(key).size);
      for (const [node, domain] of domains.entries())
        if (domain >= 0 && this.registers(rule, node)) registrars[domain] = (registrars[domain] ?? 0) + 1;
      empty = { registrars, counts: registrars.map((nodes) => (nodes > 0 ? 0 : UNKNOWN)) };
      this.#empty.set(id, empty);
    }
    return { rule, registrars: empty.registrars, counts: empty.counts.slice() };
  }

  /** @throws RangeError if the pod has too many terms, or if this pod makes the total number of terms exceed the limit */
  #repelFrom({ pod, node }: RunningPod): void {
    for (const [id, rule] of this.inverseRulesOf(pod)) {
      const domains = this.domainsOfNodes(rule.key);
      if ((domains[node] ?? NOWHERE) < 0) continue; // a pod without a domain repels no pods
      let group = this.#inverse.get(id);
      if (group === undefined) {
        if (this.#isTooMuch(rule)) continue;
        group = this.#emptyGroup(rule);
        this.#inverse.set(id, group);
        this.#inverseIndex.add(rule, [id, rule]);
      }
      countIn(group, domains, node);
    }
    const { length } = repellingTerms(pod);
    if (length > MOST_RULES)
      throw new RangeError(`only ${MOST_RULES} of its ${length} required pod anti-affinity terms are considered`);
  }

  /** @throws RangeError for the first rule that exceeds the limit */
  #isTooMuch({ key }: Rule): boolean {
    const before = this.#repellingCounts;
    if (before > MOST_REPELLING_COUNTS) return true;
    this.#repellingCounts += this.idsOf(key).size;
    if (this.#repellingCounts <= MOST_REPELLING_COUNTS) return false;
    throw new RangeError(
      `running pods have too many different required pod anti-affinity terms; only ${this.#inverse.size} are considered, and further terms of this pod and later pods are ignored`,
    );
  }

  /** Returns the anti-affinity rules of a pod against other pods, with their identities. */
  inverseRulesOf(pod: EnginePod): readonly (readonly [id: string, rule: Rule])[] {
    if (pod.spec.affinity?.podAntiAffinity === undefined) return NO_RULES;
    let rules = this.#inverseRules.get(pod);
    if (rules === undefined) {
      rules = inverseRulesOf(pod, this.namespaces).map((rule) => [ruleIdentity(rule), rule] as const);
      this.#inverseRules.set(pod, rules);
    }
    return rules;
  }
}

function countIn({ counts }: BaseGroup, domains: Int32Array, node: number, pods = 1): void {
  const id = domains[node] ?? NOWHERE;
  if (id >= 0) counts[id] = Math.max(counts[id] ?? 0, 0) + pods;
}

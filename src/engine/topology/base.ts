/**
 * What topology makes of a cluster before anything is placed: counts of the running pods per rule and domain. Shared by
 * all solves of a snapshot, each of which takes off what leaves or moves in it.
 */

import type { Namespace, Pod, Taint } from '../../api/kubernetes.ts';
import { HOSTNAME_LABEL } from '../../api/labels.ts';
import { own } from '../../api/own.ts';
import { LeftOuts, nameOf } from '../left-out.ts';
import type { Snapshot, StateNode } from '../model.ts';
import { MOST_RULES } from '../pod-bounds.ts';
import { isTerminal, isTerminating, podKey } from '../pods.ts';
import { Requirements } from '../requirements.ts';
import { DomainIds } from './domain-ids.ts';
import { Domains } from './domains.ts';
import { type Rule, ruleCounts, UNKNOWN } from './group.ts';
import { passes } from './node-filter.ts';
import { inverseRulesOf, repellingTerms, ruleIdentity } from './rules.ts';

/** Where a pod may go: a node that exists, or a claim with the requirements that it has by now. */
export interface Place {
  readonly hostname: string;
  readonly requirements: Requirements;
  readonly taints: readonly Taint[];
}

export interface RunningPod {
  readonly pod: Pod;
  /** Position of its node in the snapshot. */
  readonly node: number;
}

/** A rule and what it counts while nothing has moved. */
export interface BaseGroup {
  readonly rule: Rule;
  /** Pods per domain id; `UNKNOWN` where neither a node that takes pods nor a running pod is. */
  readonly counts: Int32Array;
  /** Nodes that make a domain known, per domain id. */
  readonly registrars: Int32Array;
  /** How many times a running pod counts. */
  readonly weightOf: (pod: Pod) => number;
}

/** Counts that are kept of the rules by which running pods keep others away: their number times that of the domains. */
const MOST_REPELLING_COUNTS = 10_000_000;
const NOWHERE = -1;
const NO_RULES: readonly (readonly [string, Rule])[] = [];

export const hostOf = (node: StateNode): string => node.labels[HOSTNAME_LABEL] ?? node.name;

/** State nodes never change, and a cluster is solved again and again. */
const places = new WeakMap<StateNode, Place>();

export function placeOf(node: StateNode): Place {
  let place = places.get(node);
  if (place === undefined) {
    const hostname = hostOf(node);
    const requirements = Requirements.fromLabels({ ...node.labels, [HOSTNAME_LABEL]: hostname });
    place = { hostname, requirements, taints: node.taints };
    places.set(node, place);
  }
  return place;
}

const repellers = new WeakMap<StateNode, readonly Pod[]>();

/** The running pods of a node that may keep others away. */
function repellersOn(node: StateNode): readonly Pod[] {
  let found = repellers.get(node);
  if (found === undefined) {
    found = node.node === undefined ? [] : runningOn(node).filter(({ spec }) => spec.affinity?.podAntiAffinity);
    repellers.set(node, found);
  }
  return found;
}

const runningOn = ({ pods }: StateNode): readonly Pod[] =>
  pods.filter((pod) => !isTerminal(pod) && !isTerminating(pod));

export class TopologyBase {
  readonly domains: Domains;
  readonly namespaces: readonly Namespace[];
  readonly nodes: readonly StateNode[];
  readonly #ids = new Map<string, DomainIds>();
  readonly #domainsOfNodes = new Map<string, Int32Array>();
  readonly #groups = new Map<string, BaseGroup>();
  readonly #inverse = new Map<string, BaseGroup>();
  readonly #inverseRules = new WeakMap<Pod, readonly (readonly [id: string, rule: Rule])[]>();
  #repellingCounts = 0;
  #running: readonly RunningPod[] | undefined;
  #byKey: ReadonlyMap<string, RunningPod> | undefined;

  constructor({ pools, namespaces, nodes }: Snapshot, leftOuts = new LeftOuts()) {
    this.domains = new Domains(pools);
    this.namespaces = namespaces;
    this.nodes = nodes;
    const named = ({ metadata }: Pod) => nameOf('Pod', metadata);
    for (const [index, node] of nodes.entries())
      leftOuts.kept(repellersOn(node), named, (pod) => this.#repelFrom({ pod, node: index }));
  }

  idsOf(key: string): DomainIds {
    let ids = this.#ids.get(key);
    if (ids === undefined) {
      ids = new DomainIds();
      this.#ids.set(key, ids);
    }
    return ids;
  }

  /** What a rule by which pods keep others away, and no running pod has, counts. */
  emptyInverse(rule: Rule): BaseGroup {
    return this.#emptyGroup(rule, () => 0);
  }

  /** The domain ids of all nodes, negative where a node has none. */
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

  /** The running pod of a name, if there is one. */
  running(key: string): RunningPod | undefined {
    this.#byKey ??= new Map(this.#runningPods().map((running) => [podKey(running.pod), running]));
    return this.#byKey.get(key);
  }

  #runningPods(): readonly RunningPod[] {
    this.#running ??= this.nodes.flatMap((node, index) =>
      node.node === undefined ? [] : runningOn(node).map((pod) => ({ pod, node: index })),
    );
    return this.#running;
  }

  /** Groups of the rules by which running pods keep others away, by identity. */
  get inverse(): ReadonlyMap<string, BaseGroup> {
    return this.#inverse;
  }

  group(rule: Rule, id: string): BaseGroup {
    let group = this.#groups.get(id);
    if (group === undefined) {
      const { selector, namespaces } = rule;
      // a rule without a selector selects nothing, and yet counts every pod that runs
      const counts = (pod: Pod): boolean =>
        selector === undefined ? namespaces.has(pod.metadata.namespace ?? 'default') : ruleCounts(rule, pod);
      group = this.#emptyGroup(rule, (pod) => Number(counts(pod)));
      const domains = this.domainsOfNodes(rule.key);
      for (const { pod, node } of this.#runningPods())
        if (counts(pod) && this.passesFilter(rule, node)) countIn(group, domains, node);
      this.#groups.set(id, group);
    }
    return group;
  }

  passesFilter({ filter }: Rule, node: number): boolean {
    const stateNode = this.nodes[node];
    return stateNode !== undefined && passes(filter, placeOf(stateNode));
  }

  /** Whether a node makes its domain known to a rule. */
  registers(rule: Rule, node: number): boolean {
    const stateNode = this.nodes[node];
    if (stateNode?.node === undefined || stateNode.markedForDeletion) return false;
    return this.passesFilter(rule, node);
  }

  /** Knows the domains of nodes and counts nothing. */
  #emptyGroup(rule: Rule, weightOf: BaseGroup['weightOf']): BaseGroup {
    const domains = this.domainsOfNodes(rule.key);
    const { size } = this.idsOf(rule.key);
    const registrars = new Int32Array(size);
    for (const [node, id] of domains.entries())
      if (id >= 0 && this.registers(rule, node)) registrars[id] = (registrars[id] ?? 0) + 1;
    const counts = registrars.map((nodes) => (nodes > 0 ? 0 : UNKNOWN));
    return { rule, counts, registrars, weightOf };
  }

  /** @throws RangeError when the pod has too many terms, or is the first with which all have too many */
  #repelFrom({ pod, node }: RunningPod): void {
    for (const [id, rule] of this.inverseRulesOf(pod)) {
      const domains = this.domainsOfNodes(rule.key);
      if ((domains[node] ?? NOWHERE) < 0) continue; // a pod that is in no domain keeps nobody away
      let group = this.#inverse.get(id);
      if (group === undefined) {
        if (this.#isTooMuch(rule)) continue;
        group = this.#emptyGroup(rule, (each) => this.inverseRulesOf(each).filter(([other]) => other === id).length);
        this.#inverse.set(id, group);
      }
      countIn(group, domains, node);
    }
    const { length } = repellingTerms(pod);
    if (length > MOST_RULES)
      throw new RangeError(`only ${MOST_RULES} of its ${length} required pod anti-affinity terms are considered`);
  }

  /** @throws RangeError for the first rule that is too much */
  #isTooMuch({ key }: Rule): boolean {
    const before = this.#repellingCounts;
    if (before > MOST_REPELLING_COUNTS) return true;
    this.#repellingCounts += this.idsOf(key).size;
    if (this.#repellingCounts <= MOST_REPELLING_COUNTS) return false;
    throw new RangeError(
      `the pods that run have more different terms of required pod anti-affinity than can be considered: ${this.#inverse.size} are, of this pod and of others after it no further ones`,
    );
  }

  /** Rules by which a pod keeps others away, with their identities. */
  inverseRulesOf(pod: Pod): readonly (readonly [id: string, rule: Rule])[] {
    if (pod.spec.affinity?.podAntiAffinity === undefined) return NO_RULES;
    let rules = this.#inverseRules.get(pod);
    if (rules === undefined) {
      rules = inverseRulesOf(pod, this.namespaces).map((rule) => [ruleIdentity(rule), rule] as const);
      this.#inverseRules.set(pod, rules);
    }
    return rules;
  }
}

function countIn({ counts }: BaseGroup, domains: Int32Array, node: number): void {
  const id = domains[node] ?? NOWHERE;
  if (id >= 0) counts[id] = Math.max(counts[id] ?? 0, 0) + 1;
}

/** Topology groups that are relevant for the pods of one class. */
import { WELL_KNOWN_LABELS } from '#api/objects';
import type { EnginePod } from '../input.ts';
import { ValueSet } from '../value-set.ts';
import { type TopologyGroup, UNKNOWN } from './group.ts';

/** Group that restricts pods. */
export interface Binding {
  readonly group: TopologyGroup;
  /** True if this group counts the pods. */
  readonly self: boolean;
  /** Domains that are possible for the pods. */
  readonly pod: ValueSet;
  /** Domain ids of the nodes, by position in the snapshot. Negative if a node has no domain. */
  readonly nodes: Int32Array;
  /**
   * True if this is only a rule of other pods that repels these pods. As in kube-scheduler, such a rule applies only to the
   * domains of its owners. If a node without the label were closed too, one pod with an invented topology key could prevent new
   * nodes for all pods.
   */
  readonly isOthers: boolean;
  /** Pods of DaemonSets that satisfy this rule on new nodes. Empty unless this is an affinity rule. */
  readonly daemons: readonly EnginePod[];
  /** Required affinity rules of the pods, if there are several. Undefined for every other rule. */
  readonly startedTogether: readonly TopologyGroup[] | undefined;
}

/**
 * Returns true if the rule counts the pods themselves. As in kube-scheduler, several required affinity rules count them only if
 * each of these rules counts zero pods.
 */
export const countsItself = ({ self, startedTogether }: Binding): boolean =>
  startedTogether === undefined ? self : self && startedTogether.every(({ isUnused }) => isUnused);

/** DaemonSet that must not share a node with a pod, with the topology key of the anti-affinity rule. */
export interface HostileDaemon {
  readonly pod: EnginePod;
  readonly key: string;
}

/** Returns true if a binding allows a place that will not have the label of its domains. */
export const sparesWithout = ({ isOthers, group }: Binding): boolean =>
  isOthers && !WELL_KNOWN_LABELS.has(group.rule.key);

/** Rules that only count the pods, with the same key. They narrow new nodes to one domain, so that the counts are right. */
export interface CountingRules {
  readonly key: string;
  readonly groups: readonly TopologyGroup[];
}

export const rulesByKey = (groups: readonly TopologyGroup[]): readonly CountingRules[] =>
  [...Map.groupBy(groups, ({ rule }) => rule.key)].map(([key, own]) => ({ key, groups: own }));

/** Returns the rules except for some groups. Returns the list itself if it has none of these. */
export function rulesWithout(
  rules: readonly CountingRules[],
  groups: readonly TopologyGroup[],
): readonly CountingRules[] {
  if (!rules.some((each) => each.groups.some((group) => groups.includes(group)))) return rules;
  return rulesByKey(rules.flatMap((each) => each.groups).filter((group) => !groups.includes(group)));
}

export interface Relations {
  /** Groups of the pods' own rules. */
  readonly own: readonly TopologyGroup[];
  /** Groups that restrict the pods: their own groups, and groups of other pods that repel them. */
  readonly all: readonly Binding[];
  /** Groups that count the pods. */
  readonly counting: readonly TopologyGroup[];
  /** Groups that only count the pods, with a count that matters to kube-scheduler. Excludes rules by host. */
  readonly onlyCounting: readonly CountingRules[];
  /** Groups of the pods' own anti-affinity rules against other pods. */
  readonly repelling: readonly TopologyGroup[];
  readonly hostile: readonly HostileDaemon[];
}

export class Bindings {
  /** Bindings of pods that no rule restricts or counts. */
  static readonly NONE = new Bindings({
    own: [],
    all: [],
    counting: [],
    onlyCounting: [],
    repelling: [],
    hostile: [],
  });

  readonly own: readonly TopologyGroup[];
  readonly all: readonly Binding[];
  /** Bindings by host. `domains` has the remaining bindings. */
  readonly hosts: readonly Binding[];
  /** Bindings by host that do not depend on DaemonSets. */
  readonly #sureHosts: readonly Binding[];
  readonly domains: readonly Binding[];
  readonly counting: readonly TopologyGroup[];
  readonly onlyCounting: readonly CountingRules[];
  readonly repelling: readonly TopologyGroup[];
  readonly hostile: readonly HostileDaemon[];
  /** True if the rules depend on the DaemonSets that run on a new node. */
  readonly dependOnDaemons: boolean;

  constructor({ own, all, counting, onlyCounting, repelling, hostile }: Relations) {
    this.own = own;
    this.all = all;
    this.hosts = all.filter(({ group }) => group.isByHost);
    this.#sureHosts = this.hosts.filter(({ daemons }) => daemons.length === 0);
    this.domains = all.filter(({ group }) => !group.isByHost);
    this.counting = counting;
    this.onlyCounting = onlyCounting;
    this.repelling = repelling;
    this.hostile = hostile;
    this.dependOnDaemons = hostile.length > 0 || all.some(({ daemons }) => daemons.length > 0);
  }

  /** Returns true if the rules by host allow a pod on the host of a claim, unless they depend on its DaemonSets. */
  admitHost(host: number): boolean {
    for (const binding of this.#sureHosts)
      if (!binding.group.admitsHost(host, countsItself(binding), binding.pod)) return false;
    return true;
  }

  /** Returns true if the rules allow a pod on the node at this position. */
  admitNode(node: number): boolean {
    for (const binding of this.all) {
      const { group, pod, nodes, isOthers } = binding;
      const self = countsItself(binding);
      const id = nodes[node] ?? UNKNOWN;
      if (id < 0 && isOthers) continue;
      if (group.isByHost ? !group.admitsHost(id, self, pod) : id < 0 || !group.admitsDomain(id, self, pod))
        return false;
    }
    return true;
  }

  /** Returns true if none of `claimCount` claims can accept a pod. Decides this without a check of each claim. */
  closeClaims(claimCount: number): boolean {
    return (
      this.hosts.some(({ group, self }) => group.fullClaims(self) >= claimCount) ||
      this.domains.some(
        (binding) =>
          !sparesWithout(binding) &&
          binding.daemons.length === 0 &&
          binding.group.allowed({
            self: countsItself(binding),
            pod: binding.pod,
            node: ValueSet.EXISTS,
            prefer: ([first]) => first,
          }).length === 0,
      )
    );
  }
}

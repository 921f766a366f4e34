/** Counts the pods that DaemonSets will start on new nodes, for rules by zones and other domains with several nodes. */
import type { EnginePod } from '../input.ts';
import type { Place } from './base.ts';
import type { TopologyGroup } from './group.ts';
import { passes } from './node-filter.ts';

/** Rule that counts the pods of a DaemonSet. */
export interface DaemonRule {
  readonly daemon: EnginePod;
  readonly group: TopologyGroup;
  /** Hosts of the claims on which the pod is counted. */
  readonly hosts: Set<number>;
}

export class DaemonRules {
  readonly #daemons: readonly EnginePod[];
  readonly #groups: ReadonlyMap<string, TopologyGroup>;
  readonly #all: DaemonRule[] = [];
  /** Number of groups that were compared with the DaemonSets. */
  #seen = 0;

  /** @param groups groups of the pods' own rules, which can grow */
  constructor(daemons: readonly EnginePod[], groups: ReadonlyMap<string, TopologyGroup>) {
    this.#daemons = daemons;
    this.#groups = groups;
  }

  get all(): readonly DaemonRule[] {
    if (this.#daemons.length > 0 && this.#seen < this.#groups.size) {
      for (const group of [...this.#groups.values()].slice(this.#seen))
        for (const daemon of this.#daemons) if (!group.isByHost && group.counts(daemon)) this.add(daemon, group);
      this.#seen = this.#groups.size;
    }
    return this.#all;
  }

  add(daemon: EnginePod, group: TopologyGroup): void {
    this.#all.push({ daemon, group, hosts: new Set() });
  }

  /** Returns the number of uncounted pods that DaemonSets will start on a claim, and that the rule of a group counts. */
  startedOn(place: Place, group: TopologyGroup, host: number): number {
    return this.all.filter((rule) => rule.group === group && isUncounted(rule, place, host)).length;
  }

  /** Returns the groups that can count a pod of a DaemonSet on a claim only if the claim is narrowed to one domain. */
  miscounting(place: Place, host: number): readonly TopologyGroup[] {
    return this.all
      .filter((rule) => rule.group.isRequired && rule.group.canMiscount && isUncounted(rule, place, host))
      .map(({ group }) => group);
  }

  /**
   * Counts the pods on a claim whose domain is known. Rules that exclude the pods count every possible domain. Returns the rules
   * with the domains that now count one more pod.
   */
  record(place: Place, host: number): readonly { readonly rule: DaemonRule; readonly domains: readonly number[] }[] {
    const recorded: { readonly rule: DaemonRule; readonly domains: readonly number[] }[] = [];
    for (const rule of this.all) {
      if (!isUncounted(rule, place, host)) continue;
      const { complement, values } = place.requirements.get(rule.group.rule.key);
      if (complement || (values.size !== 1 && !excludes(rule.group))) continue;
      rule.hosts.add(host);
      recorded.push({ rule, domains: [...values].map((domain) => rule.group.countIn(domain)) });
    }
    return recorded;
  }
}

const excludes = ({ rule }: TopologyGroup): boolean => rule.type === 'pod anti-affinity';

function isUncounted({ daemon, group, hosts }: DaemonRule, place: Place, host: number): boolean {
  const { daemons } = place;
  const there = excludes(group) ? daemons?.possible : daemons?.certain;
  return there?.has(daemon) === true && !hosts.has(host) && passes(group.rule.filter, place);
}

/** Labels and host capacities that tie pods to their current domains. */
import type { Bindings } from './bindings.ts';
import type { TopologyGroup } from './group.ts';

export interface Ties {
  /** Labels, except for the hostname, with values by which some rule counts or restricts the pods. */
  readonly keys: readonly string[];
  /** Keys that let a rule count the pods only if the place has a single value. */
  readonly countedKeys: readonly string[];
  /** Rules by host, with the part of the host's capacity that a pod uses. */
  readonly hosts: ReadonlyMap<TopologyGroup, number>;
  /** True if the pods must share a host with other pods, or depend on DaemonSets. Such pods should stay where they are. */
  readonly company: boolean;
}

/** Ties of groups that count pods. */
interface CounterTies extends Pick<Ties, 'keys' | 'countedKeys'> {
  readonly hosts: readonly TopologyGroup[];
}

/** Capacity that the owner of an anti-affinity rule by host uses. Pods that the rule repels use 1. */
const WHOLE_HOST = 2 ** 20;

/** Returns the capacity of a host for a rule by host. It never exceeds the limit of the rule, and is lower in some cases. */
export const hostCapacity = ({ rule }: TopologyGroup): number =>
  rule.type === 'topology spread' ? rule.maxSkew : WHOLE_HOST;

/** Computes ties once for each class of pods, and for each list of counting groups that classes share. */
export class TiesMemory {
  readonly #ties = new Map<Bindings, Ties>();
  readonly #counters = new Map<readonly TopologyGroup[], CounterTies>();

  /** @param started groups that count pods of DaemonSets */
  of(bindings: Bindings, started: readonly TopologyGroup[]): Ties {
    // rules of DaemonSets become known one by one
    if (started.length > 0) return this.#compute(bindings, started);
    let ties = this.#ties.get(bindings);
    if (ties === undefined) {
      ties = this.#compute(bindings, started);
      this.#ties.set(bindings, ties);
    }
    return ties;
  }

  #compute({ own, all, counting, repelling, dependOnDaemons }: Bindings, started: readonly TopologyGroup[]): Ties {
    const binding = all.map(({ group }) => group);
    const others = [...binding, ...repelling];
    const counters = this.#tiesOfCounters(counting);
    const hosts = new Map<TopologyGroup, number>();
    for (const group of counters.hosts) hosts.set(group, 1);
    for (const group of own)
      if (group.isByHost && group.rule.type === 'pod anti-affinity') hosts.set(group, WHOLE_HOST);
    return {
      keys: [...new Set([keysOf(binding), counters.keys, keysOf(repelling), keysOf(started)].flat())],
      countedKeys: counters.countedKeys,
      hosts,
      company:
        dependOnDaemons ||
        started.some((group) => others.includes(group) || counting.includes(group)) ||
        counters.hosts.some(isAffinity) ||
        others.some((group) => group.isByHost && isAffinity(group)),
    };
  }

  #tiesOfCounters(counting: readonly TopologyGroup[]): CounterTies {
    let ties = this.#counters.get(counting);
    if (ties === undefined) {
      ties = {
        keys: keysOf(counting),
        countedKeys: keysOf(counting.filter(({ rule: { type } }) => type !== 'pod anti-affinity')),
        hosts: counting.filter(({ isByHost }) => isByHost),
      };
      this.#counters.set(counting, ties);
    }
    return ties;
  }
}

const isAffinity = ({ rule }: TopologyGroup): boolean => rule.type === 'pod affinity';

/** Returns the keys of the rules and of their node affinities, except for the hostname. */
const keysOf = (groups: Iterable<TopologyGroup>): readonly string[] => [
  ...new Set(
    [...groups].flatMap(({ isByHost, rule: { key, filter } }) => [
      ...(isByHost ? [] : [key]),
      ...(filter?.alternatives ?? []).flatMap(({ keys }) => keys),
    ]),
  ),
];

/** Topology group. It counts pods per domain (zone, host, …) for one rule. All pods with the same rule share the group. */
import { HOSTNAME_LABEL, type LabelSelector, type StringMap } from '#api/objects';
import type { EnginePod } from '../input.ts';
import { compareText } from '../instance-types.ts';
import { selects } from '../selectors.ts';
import type { ValueSet } from '../value-set.ts';
import type { DomainIds } from './domain-ids.ts';
import type { NodeFilter } from './node-filter.ts';

export type GroupType = 'topology spread' | 'pod affinity' | 'pod anti-affinity';

export interface Rule {
  readonly type: GroupType;
  /** Node label. Its values are the domains. */
  readonly key: string;
  readonly namespaces: ReadonlySet<string>;
  readonly selector: LabelSelector | undefined;
  readonly maxSkew: number;
  readonly minDomains: number | undefined;
  /** Nodes that count. Default: all nodes. */
  readonly filter: NodeFilter | undefined;
  /** True if kube-scheduler only prefers nodes that satisfy the rule. */
  readonly isPreference: boolean;
}

/** Possible place for a pod, from the perspective of a rule. */
interface PlaceRequest {
  /** True if the rule counts the pod itself. */
  readonly self: boolean;
  /** Number of uncounted pods that DaemonSets will start there. Default: none. */
  readonly daemons?: number;
  /** Domains that are possible for the pod. */
  readonly pod: ValueSet;
  /** Domains that are possible for the node. */
  readonly node: ValueSet;
  /** Chooses among domains that are equally good. */
  readonly prefer: (domains: readonly string[]) => string | undefined;
}

export const ruleCounts = (rule: Rule, { metadata }: { readonly metadata: EnginePod['metadata'] }): boolean =>
  ruleMatches(rule, metadata.namespace ?? 'default', metadata.labels);

const ruleMatches = (rule: Rule, namespace: string, labels: StringMap | undefined): boolean =>
  rule.namespaces.has(namespace) && selects(rule.selector, labels);

/** Value for a domain without a count. */
export const UNKNOWN = -1;
/** Maximum number of domains in a message. */
const SHOWN_COUNTS = 25;

export class TopologyGroup {
  readonly rule: Rule;
  readonly isByHost: boolean;
  /** True if kube-scheduler binds no pod against the rule. Rules that differ only in this share a group. */
  isRequired = false;
  /**
   * True if an uncounted pod can lead to a place that kube-scheduler refuses: in a spread, or in an affinity of pods to their own
   * kind, which starts in another domain. Other affinity rules wait until the domain is known, as in Karpenter.
   */
  canMiscount = false;
  /** Number of the filter of the rule in `FilterVerdicts`. */
  filterNumber = 0;
  readonly #ids: DomainIds;
  /** Counts by domain id. `UNKNOWN` or beyond the end for domains that this group does not know. */
  #counts: Int32Array;
  #isComplete = false;
  /** Version that changes with every count. */
  #version = 0;
  #occupied: number | undefined;
  /** Number of claims with a full host, for pods that the rule does not count and for pods that it counts. */
  readonly #fullClaims: [number, number] = [0, 0];
  /** Hosts of claims. The group knows these hosts even if it counts no pods there. */
  readonly #newHosts: readonly number[];
  #lowest: { readonly version: number; readonly count: number } | undefined;
  /** Domains that are possible for kinds of pods with this affinity rule. */
  #followers: ((domain: string) => boolean)[] = [];

  /** Creates a group that owns `counts`. */
  constructor(rule: Rule, ids: DomainIds, counts: Int32Array, newHosts: readonly number[] = []) {
    this.rule = rule;
    this.isByHost = rule.key === HOSTNAME_LABEL;
    this.#ids = ids;
    this.#counts = counts;
    this.#newHosts = this.isByHost ? newHosts : [];
  }

  counts(pod: { readonly metadata: EnginePod['metadata'] }): boolean {
    return ruleCounts(this.rule, pod);
  }

  /** Returns true if the domain was not known before. */
  register(id: number): boolean {
    if (this.knows(id)) return false;
    this.#widenFor(id);
    this.#counts[id] = 0;
    this.#version++;
    return true;
  }

  /** Reverts `register`. */
  unregister(id: number): void {
    this.#counts[id] = UNKNOWN;
    this.#version++;
    this.#isComplete = false;
  }

  /** Returns true if the group knows all domains of new nodes. */
  isComplete(all: readonly number[]): boolean {
    this.#isComplete ||= all.every((id) => this.knows(id));
    return this.#isComplete;
  }

  #widenFor(id: number): void {
    if (id < this.#counts.length) return;
    const wider = new Int32Array(Math.max(2 * this.#counts.length, id + 16)).fill(UNKNOWN, this.#counts.length);
    wider.set(this.#counts);
    this.#counts = wider;
  }

  /** Counts one more pod in a domain. With `onClaim`, the domain is the host of a claim. */
  count(id: number, onClaim = false): void {
    this.#widenFor(id);
    const now = Math.max(this.#counts[id] ?? 0, 0) + 1;
    this.#counts[id] = now;
    this.#version++;
    if (now === 1 && this.#occupied !== undefined) this.#occupied++;
    if (onClaim) this.#recordFull(now, 1);
  }

  /** Reverts one call of `count`. */
  uncount(id: number, onClaim = false): void {
    const before = this.#countOf(id);
    this.#counts[id] = before - 1;
    this.#version++;
    if (before === 1 && this.#occupied !== undefined) this.#occupied--;
    if (onClaim) this.#recordFull(before, -1);
  }

  /** Counts one more pod in a domain, and returns its id. */
  countIn(domain: string): number {
    const id = this.#ids.idOf(domain);
    this.count(id);
    return id;
  }

  /** @param step 1 if the host gets the pod with this count, -1 if it loses the pod */
  #recordFull(count: number, step: 1 | -1): void {
    const { type, maxSkew } = this.rule;
    if (type === 'pod affinity') return;
    const isSpread = type === 'topology spread';
    if (count === (isSpread ? maxSkew + 1 : 1)) this.#fullClaims[0] += step;
    if (count === (isSpread ? maxSkew : 1)) this.#fullClaims[1] += step;
  }

  /** Returns the number of claims with a full host under the rule. */
  fullClaims(self: boolean): number {
    return this.#fullClaims[self ? 1 : 0];
  }

  #countOf(id: number): number {
    return Math.max(this.#counts[id] ?? 0, 0);
  }

  knows(id: number): boolean {
    return (this.#counts[id] ?? UNKNOWN) >= 0;
  }

  /** Returns true if the rule allows a pod on a host. */
  admitsHost(host: number, self: boolean, pod: ValueSet): boolean {
    switch (this.rule.type) {
      case 'topology spread':
        return this.#countOf(host) + Number(self) <= this.rule.maxSkew;
      case 'pod affinity':
        return pod.has(this.#ids.name(host)) && (this.#countOf(host) > 0 || this.#mayStart(self));
      case 'pod anti-affinity':
        return this.#countOf(host) === 0;
    }
  }

  /** Returns true if the rule allows a pod on a node with a fixed domain that is not a host. */
  admitsDomain(id: number, self: boolean, pod: ValueSet): boolean {
    if (!this.knows(id)) return false;
    const count = this.#countOf(id);
    switch (this.rule.type) {
      case 'topology spread':
        return count + Number(self) - this.#leastPods <= this.rule.maxSkew;
      case 'pod affinity':
        return pod.has(this.#ids.name(id)) && (count > 0 || this.#mayStartIn(this.#ids.name(id), self, pod));
      case 'pod anti-affinity':
        return count === 0 && pod.has(this.#ids.name(id));
    }
  }

  /** Returns the allowed domains of the pod among the domains of the node. Does not apply to hosts. */
  allowed(request: PlaceRequest): readonly string[] {
    const { pod, node } = request;
    switch (this.rule.type) {
      case 'topology spread':
        return this.#spread(request);
      case 'pod affinity':
        return this.#affinity(request);
      case 'pod anti-affinity':
        return this.#where((name, count) => count === 0 && pod.has(name) && node.has(name));
    }
  }

  /**
   * Returns the domain that a node gets with a pod that the rule counts but does not restrict. Without a single domain, the pod
   * could not be counted. Empty if the rule knows no domain of the node.
   */
  countedDomain({ node, prefer }: Pick<PlaceRequest, 'node' | 'prefer'>): readonly string[] {
    const sign = this.rule.type === 'pod affinity' ? -1 : 1;
    const domain = prefer(this.#leastBy((name, count) => (node.has(name) ? sign * count : Number.POSITIVE_INFINITY)));
    return domain === undefined ? [] : [domain];
  }

  /** Returns the known domains with the least finite cost, in order. */
  #leastBy(costOf: (name: string, count: number) => number): readonly string[] {
    let least = Number.POSITIVE_INFINITY;
    let names: string[] = [];
    for (const id of this.#ids.sorted) {
      const count = this.#counts[id] ?? UNKNOWN;
      if (count < 0) continue;
      const name = this.#ids.name(id);
      const cost = costOf(name, count);
      if (cost === Number.POSITIVE_INFINITY || cost > least) continue;
      if (cost < least) names = [];
      least = cost;
      names.push(name);
    }
    return names;
  }

  /** Returns the known domains that pass a test, in order. */
  #where(test: (name: string, count: number) => boolean): readonly string[] {
    const names: string[] = [];
    for (const id of this.#ids.sorted) {
      if (!this.knows(id)) continue;
      const name = this.#ids.name(id);
      if (test(name, this.#countOf(id))) names.push(name);
    }
    return names;
  }

  /**
   * Ignores the pods of DaemonSets while the rule knows enough domains, because these DaemonSets usually start pods in all
   * domains.
   */
  #spread({ self, node, prefer, daemons = 0 }: PlaceRequest): readonly string[] {
    const most = this.rule.maxSkew + this.#leastPods - Number(self) - (this.#lacksDomains ? daemons : 0);
    const best = prefer(
      this.#leastBy((name, count) => (count <= most && node.has(name) ? count : Number.POSITIVE_INFINITY)),
    );
    return best === undefined ? [] : [best];
  }

  /**
   * Lowest count of all domains. As in kube-scheduler, the filter of the rule alone decides which domains count, so the domains
   * that are possible for the pod do not matter.
   */
  get #leastPods(): number {
    if (this.#lowest?.version !== this.#version) this.#lowest = { version: this.#version, count: this.#lowestCount() };
    return this.#lowest.count;
  }

  #lowestCount(): number {
    if (this.#lacksDomains) return 0;
    let lowest = 2 ** 31 - 1;
    for (const count of this.#counts) if (count >= 0) lowest = Math.min(lowest, count);
    return lowest;
  }

  /** True if the group knows fewer domains than `minDomains`. The lowest count is then 0. */
  get #lacksDomains(): boolean {
    const { minDomains } = this.rule;
    if (minDomains === undefined) return false;
    let known = 0;
    for (const count of this.#counts) if (count >= 0) known++;
    return known < minDomains;
  }

  #affinity({ self, pod, node, prefer }: PlaceRequest): readonly string[] {
    const occupied = this.#where((name, count) => count > 0 && pod.has(name) && node.has(name));
    if (occupied.length > 0 || !this.#mayStart(self)) return occupied;
    const starts = [...this.#startsOf(pod)];
    const possible = starts.filter((name) => node.has(name));
    const start = prefer(possible.length > 0 ? possible : starts);
    return start === undefined ? [] : [start];
  }

  /** Restricts the first pod of an affinity rule to domains that are possible for another pod with this rule. */
  addFollower(isPossible: (domain: string) => boolean): void {
    this.#followers.push(isPossible);
    this.#version++;
  }

  /** Removes these restrictions. Returns true if there was a restriction. */
  releaseFollowers(): boolean {
    const wereThere = this.#followers.length > 0;
    this.#followers = [];
    this.#version++;
    return wereThere;
  }

  /**
   * Returns the domains where a pod may be the first. All pods with the rule must use this domain, so it must be possible for
   * as many of them as can be together.
   */
  #startsOf(pod: ValueSet): ReadonlySet<string> {
    const own = this.#where((name) => pod.has(name));
    let starts = own;
    for (const isPossible of this.#followers) {
      const common = starts.filter(isPossible);
      if (common.length > 0) starts = common;
    }
    return new Set(starts);
  }

  #mayStartIn(domain: string, self: boolean, pod: ValueSet): boolean {
    return this.#mayStart(self) && (this.#followers.length === 0 || this.#startsOf(pod).has(domain));
  }

  /**
   * Returns true if the pod has affinity to its own kind and is the first pod of this kind. Such a pod may go anywhere. As in
   * kube-scheduler, a pod of this kind in a domain that the pod cannot use also counts.
   */
  #mayStart(self: boolean): boolean {
    return self && this.isUnused;
  }

  /** True if the count of every domain is zero. */
  get isUnused(): boolean {
    this.#occupied ??= this.#counts.reduce((sum, count) => sum + Number(count > 0), 0);
    return this.#occupied === 0;
  }

  /** Text with the counts, for example `us-west-2a: 1, us-west-2b: 0`. */
  get countsText(): string {
    const known = new Set(this.#newHosts);
    for (const [id, count] of this.#counts.entries()) if (count >= 0) known.add(id);
    return [...known]
      .map((id) => [this.#ids.name(id), this.#countOf(id)] as const)
      .sort(([a], [b]) => compareText(a, b))
      .slice(0, SHOWN_COUNTS)
      .map(([name, count]) => `${name}: ${count}`)
      .join(', ');
  }
}

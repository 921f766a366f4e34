/** A topology group counts pods per domain (zone, host, …) for one rule, shared by all pods that have the same rule. */
import type { LabelSelector, Pod, StringMap } from '../../api/kubernetes.ts';
import { HOSTNAME_LABEL } from '../../api/labels.ts';
import { compareText } from '../instancetypes.ts';
import { selects } from '../selectors.ts';
import type { ValueSet } from '../valueset.ts';
import type { NodeFilter } from './nodefilter.ts';

export type GroupType = 'topology spread' | 'pod affinity' | 'pod anti-affinity';

export interface Rule {
  readonly type: GroupType;
  /** Label of nodes whose values are the domains. */
  readonly key: string;
  readonly namespaces: ReadonlySet<string>;
  readonly selector: LabelSelector | undefined;
  readonly maxSkew: number;
  readonly minDomains: number | undefined;
  /** Which nodes count; all of them when left out. */
  readonly filter: NodeFilter | undefined;
}

/** What a rule is asked about a place for a pod. */
export interface Question {
  /** Whether the rule counts the pod itself. */
  readonly self: boolean;
  /** Domains that the pod may be in. */
  readonly pod: ValueSet;
  /** Domains that the node may be in. */
  readonly node: ValueSet;
  /** Picks among domains that are equally good. */
  readonly prefer: (domains: readonly string[]) => string | undefined;
}

/** Domains listed in a message. */
const SHOWN_COUNTS = 25;

export class Group {
  readonly rule: Rule;
  readonly #counts = new Map<string, number>();
  #occupied = 0;

  constructor(rule: Rule) {
    this.rule = rule;
  }

  get isByHost(): boolean {
    return this.rule.key === HOSTNAME_LABEL;
  }

  counts(pod: { readonly metadata: Pod['metadata'] }): boolean {
    return this.matches(pod.metadata.namespace ?? 'default', pod.metadata.labels);
  }

  matches(namespace: string, labels: StringMap | undefined): boolean {
    return this.rule.namespaces.has(namespace) && selects(this.rule.selector, labels);
  }

  register(domain: string): void {
    if (!this.#counts.has(domain)) this.#counts.set(domain, 0);
  }

  count(domain: string): void {
    const before = this.#counts.get(domain) ?? 0;
    if (before === 0) this.#occupied++;
    this.#counts.set(domain, before + 1);
  }

  #countOf(domain: string): number {
    return this.#counts.get(domain) ?? 0;
  }

  /** Domains, out of those that the node may be in, in which the rule lets the pod be. */
  allowed(question: Question): readonly string[] {
    const host = this.isByHost ? only(question.node) : undefined;
    switch (this.rule.type) {
      case 'topology spread':
        return host === undefined ? this.#spread(question) : this.#spreadOnHost(host, question);
      case 'pod affinity':
        return host === undefined ? this.#affinity(question) : this.#affinityOnHost(host, question);
      case 'pod anti-affinity':
        if (host !== undefined) return this.#countOf(host) === 0 ? [host] : [];
        return this.#where((domain, count) => count === 0 && question.pod.has(domain) && question.node.has(domain));
    }
  }

  #where(test: (domain: string, count: number) => boolean): readonly string[] {
    const domains: string[] = [];
    for (const [domain, count] of this.#counts) if (test(domain, count)) domains.push(domain);
    return domains.sort(compareText);
  }

  #spreadOnHost(host: string, { self }: Question): readonly string[] {
    return this.#countOf(host) + Number(self) <= this.rule.maxSkew ? [host] : [];
  }

  #spread({ self, pod, node, prefer }: Question): readonly string[] {
    const lowest = this.#lowest(pod);
    const eligible = this.#where(
      (domain, count) => node.has(domain) && count + Number(self) - lowest <= this.rule.maxSkew,
    );
    const least = Math.min(...eligible.map((domain) => this.#countOf(domain)));
    const best = prefer(eligible.filter((domain) => this.#countOf(domain) === least));
    return best === undefined ? [] : [best];
  }

  /** The smallest count among the pod's domains. A new host can always be had, so for hosts it is 0. */
  #lowest(pod: ValueSet): number {
    if (this.isByHost) return 0;
    const known = this.#where((domain) => pod.has(domain));
    if (this.rule.minDomains !== undefined && known.length < this.rule.minDomains) return 0;
    return Math.min(2 ** 31 - 1, ...known.map((domain) => this.#countOf(domain)));
  }

  #affinityOnHost(host: string, { self, pod }: Question): readonly string[] {
    if (!pod.has(host)) return [];
    return this.#countOf(host) > 0 || this.#mayStart(self, pod) ? [host] : [];
  }

  #affinity({ self, pod, node, prefer }: Question): readonly string[] {
    const occupied = this.#where((domain, count) => count > 0 && pod.has(domain) && node.has(domain));
    if (occupied.length > 0 || !this.#mayStart(self, pod)) return occupied;
    const possible = this.#where((domain) => pod.has(domain) && node.has(domain));
    const start = prefer(possible.length > 0 ? possible : this.#where((domain) => pod.has(domain)));
    return start === undefined ? [] : [start];
  }

  /** The first pod of a kind that wants to be with its own kind may go anywhere. */
  #mayStart(self: boolean, pod: ValueSet): boolean {
    if (!self) return false;
    return this.#occupied === 0 || this.#where((domain, count) => count > 0 && pod.has(domain)).length === 0;
  }

  /** `us-west-2a: 1, us-west-2b: 0`. */
  get countsText(): string {
    return [...this.#counts]
      .sort(([a], [b]) => compareText(a, b))
      .slice(0, SHOWN_COUNTS)
      .map(([domain, count]) => `${domain}: ${count}`)
      .join(', ');
  }
}

/** The value of a set with one value. */
function only(set: ValueSet): string | undefined {
  if (set.complement || set.values.size !== 1) return undefined;
  const [value] = set.values;
  return value;
}

/** Determines the preferences of pods that a placement satisfies. */
import { HOSTNAME_LABEL } from '#api/objects';
import type { EnginePod } from '../input.ts';
import type { Plan, PlannedClaim } from '../model.ts';
import { podKey } from '../pods.ts';
import { Requirements } from '../requirements.ts';
import { type OwnRule, placeOf, type TopologyBase } from '../topology/base.ts';
import { type Rule, ruleCounts } from '../topology/group.ts';
import { ByLabels } from '../topology/running-pods.ts';
import { preferencesOf } from './preferences.ts';

const NONE: ReadonlySet<EnginePod> = new Set();

/** Position of an existing node, or a planned node. */
export type Spot = number | PlannedClaim;

/** Domains of a rule with their pods after the placement. */
interface Counted {
  readonly rule: Rule;
  readonly counts: Map<string, number>;
  /** Pods by domain whose own preference the rule is, and that it counts. */
  readonly owners: Map<string, number>;
  /** Owners by domain that were judged before. */
  readonly judged: Map<string, number>;
  readonly least: number;
}

/** Returns the spots of pods in a plan, by namespaced name. */
export function spotsIn({ claims, placements }: Plan, positionOf: (providerId: string) => number | undefined) {
  const spots = new Map<string, Spot>();
  for (const claim of claims) for (const key of claim.pods) spots.set(key, claim);
  for (const { providerId, pods } of placements) {
    const position = positionOf(providerId);
    if (position !== undefined) for (const key of pods) spots.set(key, position);
  }
  return spots;
}

/**
 * Returns for each pod the preferences that its spot satisfies, in the order of `preferencesOf`. If a domain has more pods than
 * preferences of its pods allow, the preferences of the first pods count as satisfied. A domain must be known
 * to satisfy a preference.
 * @param pods pods with preferences. The nodes on which they run do not count them
 */
export function judgePreferences(
  base: TopologyBase,
  pods: readonly EnginePod[],
  spots: ReadonlyMap<string, Spot>,
): ReadonlyMap<EnginePod, readonly boolean[]> {
  const placement = new Placement(base, pods, spots);
  return new Map(pods.map((pod) => [pod, placement.judge(pod)]));
}

class Placement {
  readonly #base: TopologyBase;
  readonly #pods: readonly EnginePod[];
  readonly #spots: ReadonlyMap<string, Spot>;
  /** Pods with the same labels. */
  readonly #byLabels = new ByLabels<EnginePod[]>();
  readonly #counted = new Map<string, Counted>();
  /** Pods by the identity of the rules that are their preferences. */
  #owners: ReadonlyMap<string, ReadonlySet<EnginePod>> | undefined;
  readonly #claims = new Map<PlannedClaim, { readonly host: string; readonly requirements: Requirements }>();

  constructor(base: TopologyBase, pods: readonly EnginePod[], spots: ReadonlyMap<string, Spot>) {
    this.#base = base;
    this.#pods = pods;
    this.#spots = spots;
    for (const pod of pods) {
      const same = this.#byLabels.get(pod);
      if (same === undefined) this.#byLabels.set(pod, [pod]);
      else same.push(pod);
    }
  }

  judge(pod: EnginePod): readonly boolean[] {
    const spot = this.#spots.get(podKey(pod));
    const rules = this.#base.ownRulesOf(pod);
    return preferencesOf(pod).map(({ rule }) => {
      if (spot === undefined) return false;
      if (rule instanceof Requirements) return this.#isPreferredNode(spot, rule);
      const found = rules[rule];
      return found !== undefined && this.#holds(found, pod, spot);
    });
  }

  #isPreferredNode(spot: Spot, wanted: Requirements): boolean {
    if (typeof spot === 'number') {
      const node = this.#base.nodes[spot];
      return node !== undefined && placeOf(node).requirements.compatible(wanted);
    }
    const { requirements } = this.#claimOf(spot);
    return [...wanted.entries()].every(([key, set]) => {
      if (!requirements.has(key)) return set.allowsAbsence;
      const { complement, values } = requirements.get(key);
      return !complement && values.size > 0 && [...values].every((value) => set.has(value));
    });
  }

  #holds(own: OwnRule, pod: EnginePod, spot: Spot): boolean {
    const { rule } = own;
    const domain = this.#domainOf(rule.key, spot);
    if (domain === undefined) return false;
    const { counts, owners, judged, least } = this.#count(own);
    const isCounted = ruleCounts(rule, pod);
    const count = counts.get(domain) ?? 0;
    if (rule.type === 'pod affinity') return count > (isCounted ? 1 : 0);
    const most = rule.type === 'topology spread' ? rule.maxSkew + least : isCounted ? 1 : 0;
    if (!isCounted) return count <= most;
    const place = (judged.get(domain) ?? 0) + 1;
    judged.set(domain, place);
    return count - (owners.get(domain) ?? 0) + place <= most;
  }

  #count(ownRule: OwnRule): Counted {
    const { id, rule } = ownRule;
    const known = this.#counted.get(id);
    if (known !== undefined) return known;
    const counts = this.#countsAround(ownRule);
    const owners = new Map<string, number>();
    const add = (to: Map<string, number>, domain: string | undefined, by: number): void => {
      if (domain !== undefined) to.set(domain, (to.get(domain) ?? 0) + by);
    };
    for (const pod of this.#byLabels.countedBy(rule).flat()) {
      const running = this.#base.running(pod);
      if (running !== undefined && this.#base.passesFilter(rule, running.node))
        add(counts, this.#domainOf(rule.key, running.node), -1);
      const spot = this.#spots.get(podKey(pod));
      if (spot === undefined) continue;
      const domain = this.#domainOf(rule.key, spot);
      add(counts, domain, 1);
      if (this.#ownersOf(id).has(pod)) add(owners, domain, 1);
    }
    const found = { rule, counts, owners, judged: new Map(), least: this.#least(ownRule, counts) };
    this.#counted.set(id, found);
    return found;
  }

  /** Returns the pods that run now. */
  #countsAround({ rule, group }: OwnRule): Map<string, number> {
    const ids = this.#base.idsOf(rule.key);
    const counts = new Map<string, number>();
    for (const [id, count] of group.counts.entries()) if (count > 0) counts.set(ids.name(id), count);
    return counts;
  }

  /** A further host is always possible. */
  #least({ rule, group, reach }: OwnRule, counts: ReadonlyMap<string, number>): number {
    if (rule.key === HOSTNAME_LABEL || rule.type !== 'topology spread') return 0;
    const known = [...group.counts.entries()].flatMap(([id, count]) => (count >= 0 ? [id] : []));
    const domains = new Set([...known, ...this.#base.reachable(rule.key, reach)]);
    const ids = this.#base.idsOf(rule.key);
    const least = Math.min(...[...domains].map((id) => counts.get(ids.name(id)) ?? 0));
    return Number.isFinite(least) ? Math.max(0, least) : 0;
  }

  #ownersOf(id: string): ReadonlySet<EnginePod> {
    this.#owners ??= this.#findOwners();
    return this.#owners.get(id) ?? NONE;
  }

  #findOwners(): ReadonlyMap<string, ReadonlySet<EnginePod>> {
    const owners = new Map<string, Set<EnginePod>>();
    for (const pod of this.#pods) {
      const rules = this.#base.ownRulesOf(pod);
      for (const { rule } of preferencesOf(pod)) {
        const id = typeof rule === 'number' ? rules[rule]?.id : undefined;
        if (id === undefined) continue;
        const known = owners.get(id);
        if (known === undefined) owners.set(id, new Set([pod]));
        else known.add(pod);
      }
    }
    return owners;
  }

  #domainOf(key: string, spot: Spot): string | undefined {
    if (typeof spot === 'number') {
      const id = this.#base.domainsOfNodes(key)[spot] ?? -1;
      return id < 0 ? undefined : this.#base.idsOf(key).name(id);
    }
    const { host, requirements } = this.#claimOf(spot);
    if (key === HOSTNAME_LABEL) return host;
    const { complement, values } = requirements.get(key);
    const [only, ...others] = values;
    return complement || others.length > 0 ? undefined : only;
  }

  #claimOf(claim: PlannedClaim) {
    const known = this.#claims.get(claim);
    if (known !== undefined) return known;
    const labels = Requirements.fromLabels(claim.labels);
    const requirements = Requirements.fromRequirements(claim.requirements).intersect(labels);
    // no host can have this name
    const found = { host: `planned node ${this.#claims.size}`, requirements };
    this.#claims.set(claim, found);
    return found;
  }
}

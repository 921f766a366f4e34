/** Determines the preferences of pods that a placement satisfies. */
import { HOSTNAME_LABEL } from '#api/objects';
import type { EnginePod } from '../input.ts';
import type { Plan, PlannedClaim } from '../model.ts';
import { podKey } from '../pods.ts';
import { Requirements } from '../requirements.ts';
import { type OwnRule, placeOf, type TopologyBase } from '../topology/base.ts';
import { ruleCounts } from '../topology/group.ts';
import { ByLabels } from '../topology/running-pods.ts';
import { preferencesOf } from './preferences.ts';

/** Position of an existing node, or a planned node. */
export type Spot = number | PlannedClaim;

/** Satisfied preferences by position of the pod. */
export interface Satisfaction {
  /** Sums of weights. */
  readonly weights: Float64Array;
  readonly counts: Int32Array;
}

/** Preference of equal pods. */
interface Wish {
  readonly weight: number;
  readonly rule: Requirements | OwnRule | undefined;
  /** True if the rule counts the pods themselves. */
  readonly isCounted: boolean;
}

/** Equal pods. */
interface Kind {
  /** Positions of the pods. */
  readonly members: readonly number[];
  readonly wishes: readonly Wish[];
}

type Counts = Map<string, number>;

const NO_KINDS: readonly Kind[] = [];
const NO_COUNTS: ReadonlyMap<string, number> = new Map();

const countIn = (counts: Counts, domain: string, by: number): void =>
  void counts.set(domain, (counts.get(domain) ?? 0) + by);

/** Judges placements of the same pods. Equal pods have equal rules, which are read once. */
export class PreferenceJudge {
  readonly #base: TopologyBase;
  readonly #byLabels = new ByLabels<Kind[]>();
  /** Pods by the identity of the rules that are their preferences, if the rules count them. */
  readonly #owners = new Map<string, Kind[]>();
  /** Kinds that a rule counts, by the identity of the rule. */
  readonly #counted = new Map<string, readonly Kind[]>();
  readonly #positions: ReadonlyMap<string, number>;
  readonly #kindOf: readonly Kind[];
  /** Namespaced names of the pods. */
  readonly keys: readonly string[];
  /** Positions of the nodes on which the pods run now. The nodes do not count the pods. */
  readonly nodes: readonly (number | undefined)[];

  /** @param groups lists of equal pods */
  constructor(base: TopologyBase, pods: readonly EnginePod[], groups: readonly (readonly EnginePod[])[]) {
    this.#base = base;
    this.keys = pods.map(podKey);
    this.#positions = new Map(this.keys.map((key, at) => [key, at]));
    this.nodes = pods.map((pod) => base.running(pod)?.node);
    const kindOf: Kind[] = [];
    const at = new Map(pods.map((pod, position) => [pod, position]));
    for (const group of groups) {
      const kind = this.#kindFor(group, at);
      for (const position of kind.members) kindOf[position] = kind;
    }
    this.#kindOf = kindOf;
  }

  #kindFor(group: readonly EnginePod[], at: ReadonlyMap<EnginePod, number>): Kind {
    const [pod] = group;
    const members = group.flatMap((each) => at.get(each) ?? []);
    if (pod === undefined) return { members, wishes: [] };
    const rules = this.#base.ownRulesOf(pod);
    const wishes = preferencesOf(pod).map(({ weight, rule }): Wish => {
      const own = typeof rule === 'number' ? rules[rule] : rule;
      const isCounted = own !== undefined && !(own instanceof Requirements) && ruleCounts(own.rule, pod);
      return { weight, rule: own, isCounted };
    });
    const kind = { members, wishes };
    const same = this.#byLabels.get(pod);
    if (same === undefined) this.#byLabels.set(pod, [kind]);
    else same.push(kind);
    const ids = new Set(
      wishes.flatMap(({ rule, isCounted }) =>
        isCounted && rule !== undefined && !(rule instanceof Requirements) ? [rule.id] : [],
      ),
    );
    for (const id of ids) {
      const owners = this.#owners.get(id);
      if (owners === undefined) this.#owners.set(id, [kind]);
      else owners.push(kind);
    }
    return kind;
  }

  positionOf(key: string): number | undefined {
    return this.#positions.get(key);
  }

  /** Returns the spots of the pods in a plan, by position. */
  spotsIn({ claims, placements }: Plan, positionOf: (providerId: string) => number | undefined): (Spot | undefined)[] {
    const spots = new Array<Spot | undefined>(this.keys.length).fill(undefined);
    const set = (keys: readonly string[], spot: Spot): void => {
      for (const key of keys) {
        const at = this.#positions.get(key);
        if (at !== undefined) spots[at] = spot;
      }
    };
    for (const claim of claims) set(claim.pods, claim);
    for (const { providerId, pods } of placements) {
      const position = positionOf(providerId);
      if (position !== undefined) set(pods, position);
    }
    return spots;
  }

  /**
   * Returns the preferences that the spots satisfy. If a domain has more pods than preferences of its pods allow, the preferences
   * of the first pods count as satisfied. A domain must be known to satisfy a preference.
   * @param takesPart returns true for the positions of pods that have a spot or leave their node
   */
  judge(spots: readonly (Spot | undefined)[], takesPart: (at: number) => boolean = () => true): Satisfaction {
    const weights = new Float64Array(spots.length);
    const counts = new Int32Array(spots.length);
    const placement = new Placement(this.#base, { spots, nodes: this.nodes, takesPart }, this);
    for (const [at, spot] of spots.entries()) {
      if (spot === undefined || !takesPart(at)) continue;
      for (const wish of this.#kindOf[at]?.wishes ?? []) {
        if (!placement.satisfies(wish, spot)) continue;
        weights[at] = (weights[at] ?? 0) + wish.weight;
        counts[at] = (counts[at] ?? 0) + 1;
      }
    }
    return { weights, counts };
  }

  countedBy({ id, rule }: OwnRule): readonly Kind[] {
    let counted = this.#counted.get(id);
    if (counted === undefined) {
      counted = this.#byLabels.countedBy(rule).flat();
      this.#counted.set(id, counted);
    }
    return counted;
  }

  ownersOf(id: string): readonly Kind[] {
    return this.#owners.get(id) ?? NO_KINDS;
  }
}

interface Places {
  readonly spots: readonly (Spot | undefined)[];
  readonly nodes: readonly (number | undefined)[];
  readonly takesPart: (at: number) => boolean;
}

/** Domains of a rule with their pods after the placement. */
interface Counted {
  readonly counts: ReadonlyMap<string, number>;
  /** Pods by domain whose own preference the rule is, and that it counts. */
  readonly owners: ReadonlyMap<string, number>;
  /** Owners by domain that were judged before. */
  readonly judged: Counts;
  readonly least: number;
}

class Placement {
  readonly #base: TopologyBase;
  readonly #places: Places;
  readonly #judge: Pick<PreferenceJudge, 'countedBy' | 'ownersOf'>;
  readonly #counted = new Map<string, Counted>();
  /** Pods of a kind by domain, by label. */
  readonly #tallies = new Map<string, Map<Kind, ReadonlyMap<string, number>>>();
  readonly #claims = new Map<PlannedClaim, { readonly host: string; readonly requirements: Requirements }>();
  readonly #domains = new Map<string, Map<PlannedClaim, string | undefined>>();

  constructor(base: TopologyBase, places: Places, judge: Pick<PreferenceJudge, 'countedBy' | 'ownersOf'>) {
    this.#base = base;
    this.#places = places;
    this.#judge = judge;
  }

  satisfies({ rule, isCounted }: Wish, spot: Spot): boolean {
    if (rule === undefined) return false;
    return rule instanceof Requirements ? this.#isPreferredNode(spot, rule) : this.#holds(rule, isCounted, spot);
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

  #holds(own: OwnRule, isCounted: boolean, spot: Spot): boolean {
    const { rule } = own;
    const domain = this.#domainOf(rule.key, spot);
    if (domain === undefined) return false;
    const { counts, owners, judged, least } = this.#count(own);
    const count = counts.get(domain) ?? 0;
    if (rule.type === 'pod affinity') return count > (isCounted ? 1 : 0);
    const most = rule.type === 'topology spread' ? rule.maxSkew + least : isCounted ? 1 : 0;
    if (!isCounted) return count <= most;
    const place = (judged.get(domain) ?? 0) + 1;
    judged.set(domain, place);
    return count - (owners.get(domain) ?? 0) + place <= most;
  }

  #count(own: OwnRule): Counted {
    const { id, rule } = own;
    const known = this.#counted.get(id);
    if (known !== undefined) return known;
    const kinds = this.#judge.countedBy(own);
    const counts = sumCounts([this.#countsAround(own, kinds), ...kinds.map((kind) => this.#tally(kind, rule.key))]);
    const owners = sumCounts(this.#judge.ownersOf(id).map((kind) => this.#tally(kind, rule.key)));
    const found = { counts, owners, judged: new Map<string, number>(), least: this.#least(own, counts) };
    this.#counted.set(id, found);
    return found;
  }

  /** Returns the pods that run now, without the pods that leave their nodes. */
  #countsAround({ rule, group }: OwnRule, kinds: readonly Kind[]): Counts {
    const ids = this.#base.idsOf(rule.key);
    const counts: Counts = new Map();
    for (const [id, count] of group.counts.entries()) if (count > 0) counts.set(ids.name(id), count);
    if (counts.size === 0) return counts;
    const { nodes, takesPart } = this.#places;
    for (const { members } of kinds)
      for (const at of members) {
        const node = nodes[at];
        if (node === undefined || !takesPart(at) || !this.#base.passesFilter(rule, node)) continue;
        const domain = this.#domainOf(rule.key, node);
        if (domain !== undefined) countIn(counts, domain, -1);
      }
    return counts;
  }

  #tally(kind: Kind, key: string): ReadonlyMap<string, number> {
    let tallies = this.#tallies.get(key);
    if (tallies === undefined) {
      tallies = new Map();
      this.#tallies.set(key, tallies);
    }
    const known = tallies.get(kind);
    if (known !== undefined) return known;
    const { spots, takesPart } = this.#places;
    const tally: Counts = new Map();
    for (const at of kind.members) {
      const spot = spots[at];
      const domain = spot === undefined || !takesPart(at) ? undefined : this.#domainOf(key, spot);
      if (domain !== undefined) countIn(tally, domain, 1);
    }
    tallies.set(kind, tally);
    return tally;
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

  #domainOf(key: string, spot: Spot): string | undefined {
    if (typeof spot === 'number') {
      const id = this.#base.domainsOfNodes(key)[spot] ?? -1;
      return id < 0 ? undefined : this.#base.idsOf(key).name(id);
    }
    if (key === HOSTNAME_LABEL) return this.#claimOf(spot).host;
    let domains = this.#domains.get(key);
    if (domains === undefined) {
      domains = new Map();
      this.#domains.set(key, domains);
    }
    if (!domains.has(spot)) domains.set(spot, onlyValueOf(key, this.#claimOf(spot).requirements));
    return domains.get(spot);
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

function onlyValueOf(key: string, requirements: Requirements): string | undefined {
  const { complement, values } = requirements.get(key);
  const [only, ...others] = values;
  return complement || others.length > 0 ? undefined : only;
}

/** Returns the sums of counts. Does not copy the only map with counts. */
function sumCounts(all: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const [first = NO_COUNTS, ...others] = all.filter(({ size }) => size > 0);
  if (others.length === 0) return first;
  const sum = new Map(first);
  for (const counts of others) for (const [domain, count] of counts) countIn(sum, domain, count);
  return sum;
}

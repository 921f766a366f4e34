/** Prices of plans, worth of the preferences that they satisfy, and the share of each group of equal pods. */
import { NODEPOOL_LABEL, PREFERENCE_WORTH_ANNOTATION, PREFERENCES_ANNOTATION } from '#api/objects';
import { remembering } from '#lib';
import { unitPrices, worthOf } from '../disruption/pricing/worth.ts';
import type { EnginePod } from '../input.ts';
import { compareText } from '../instance-types.ts';
import type { Plan, PlannedClaim, PoolInput, PreferenceDecision, Resources } from '../model.ts';
import { placementRequests } from '../placement-requests.ts';
import { annotationProblems } from '../pod-annotations.ts';
import { podKey } from '../pods.ts';
import { nodeUsdPerHour } from '../purchase.ts';
import type { CompiledSnapshot } from '../solver/compiled-snapshot.ts';
import type { PodClass } from '../solver/pod-class.ts';
import { groupText } from './decision-text.ts';
import { type LeftOutPreferences, type Preference, preferencesOf } from './preferences.ts';
import { leastUsd } from './price-bound.ts';
import { PreferenceJudge, type Satisfaction, type Spot } from './satisfaction.ts';
import { preferenceWorth } from './worth-terms.ts';

/** Relative rounding error between equal sums of prices. */
const ROUNDING = 1e-9;

/** Returns the error in the worth that a pod sets. Returns undefined if it is valid or absent. */
const worthProblem = (pod: EnginePod): string | undefined =>
  annotationProblems(pod).find(({ annotation }) => annotation === PREFERENCE_WORTH_ANNOTATION)?.text;

/** Part of the worth of preferences below which a better choice of preferences is not searched. */
const SMALL = 0.02;

/** Plan with the preferences that it satisfies. */
export interface Offer {
  readonly plan: Plan;
  readonly usdPerHour: number;
  /** Worth of the satisfied preferences, in USD per hour. */
  readonly worthUsdPerHour: number;
  /** Sum of the weights of satisfied preferences. */
  readonly satisfied: number;
  /** Sum of the weights of all preferences. */
  readonly wanted: number;
  readonly byPod: Satisfaction;
}

export interface MarketParts {
  readonly common: CompiledSnapshot;
  /** Pods with preferences. */
  readonly soft: readonly EnginePod[];
  /** The same pods by their class. */
  readonly grouped: ReadonlyMap<PodClass, readonly EnginePod[]>;
  /** Plan whose NodePools determine the worth of pods. */
  readonly plan: Plan;
}

/** Equal pods. */
interface Group {
  /** Positions of the pods. */
  readonly members: readonly number[];
  /** Preferences of each of the pods. */
  readonly preferences: readonly Preference[];
  /** Error in the annotation of the first pod with one. */
  readonly invalidWorth: string | undefined;
}

export class Market {
  readonly #common: CompiledSnapshot;
  readonly #judge: PreferenceJudge;
  readonly #groups: readonly Group[];
  /** Position of the group by position of the pod. */
  readonly #groupOf: Int32Array;
  /** Price of the resources of each pod, in USD per hour, by position. */
  readonly #usd: Float64Array;
  /** Worth of a preference with weight 1, in USD per hour, by position of the pod. */
  readonly #worth: Float64Array;
  /** Sum of the weights of all preferences. */
  readonly #wanted: number;
  readonly #shares = new Map<Plan, Float64Array>();
  /** Preferences that the present nodes of running pods satisfy. */
  #present: Satisfaction | undefined;
  readonly #usdOfOthers = new Map<string, number>();
  #others: ReadonlyMap<string, EnginePod> | undefined;

  constructor({ common, soft, grouped, plan }: MarketParts) {
    this.#common = common;
    this.#judge = new PreferenceJudge(common.topology, soft, [...grouped.values()]);
    this.#groupOf = new Int32Array(soft.length);
    this.#usd = new Float64Array(soft.length);
    this.#worth = new Float64Array(soft.length);
    const pools = new Map(common.snapshot.pools.map((pool) => [pool.nodePool.metadata.name, pool]));
    const [first] = pools.values();
    const spots = this.#spotsIn(plan);
    const positions = new Map(soft.map((pod, at) => [pod, at]));
    this.#groups = [...grouped].map(([{ requests, pod: equal }, pods], group) => {
      const members = pods.map((pod) => {
        const at = positions.get(pod) ?? 0;
        const pool = pools.get(this.#poolOf(at, spots[at]) ?? '') ?? first;
        const usd = pool === undefined ? 0 : usdOfRequests(requests, pool);
        this.#groupOf[at] = group;
        this.#usd[at] = usd;
        this.#worth[at] = pool === undefined ? 0 : (usd * preferenceWorth(pod, pool)) / 100;
        return at;
      });
      const invalidWorth = pods.map(worthProblem).find((text) => text !== undefined);
      return { members, preferences: preferencesOf(equal), invalidWorth };
    });
    this.#wanted = this.#groups.reduce(
      (sum, { members, preferences }) => sum + members.length * weightOf(preferences),
      0,
    );
  }

  #spotsIn(plan: Plan): readonly (Spot | undefined)[] {
    return this.#judge.spotsIn(plan, (providerId) => this.#common.positionOf(providerId));
  }

  /** Returns the NodePool of the present node of a pod, or of its planned node, so that all plans have the same worth. */
  #poolOf(position: number, spot: Spot | undefined): string | undefined {
    const at = this.#judge.nodes[position] ?? spot;
    return typeof at === 'number' ? this.#common.topology.nodes[at]?.labels[NODEPOOL_LABEL] : at?.nodePool;
  }

  judge(plan: Plan): Offer {
    const byPod = this.#judge.judge(this.#spotsIn(plan));
    let [worthUsdPerHour, satisfied] = [0, 0];
    for (const [at, weight] of byPod.weights.entries()) {
      satisfied += weight;
      worthUsdPerHour += weight * this.#worthOf(at);
    }
    return { plan, usdPerHour: usdOf(plan.claims), worthUsdPerHour, satisfied, wanted: this.#wanted, byPod };
  }

  /**
   * Returns the lowest price that any plan for all pods can have, as an offer that satisfies nothing.
   * @param offer plan that places all pods
   * @param pods all pods of the solve
   */
  floor(offer: Offer, pods: readonly EnginePod[]): Offer {
    const usdPerHour = leastUsd(this.#common.snapshot, pods);
    const plan: Plan = { ...offer.plan, claims: [], placements: [] };
    const whole = pods.reduce((sum, pod) => sum + this.#usdOf(podKey(pod)), 0);
    const shares = this.#usd.map((usd) => (whole > 0 ? (usd * usdPerHour) / whole : 0));
    this.#shares.set(plan, shares);
    const byPod = { weights: new Float64Array(shares.length), counts: new Int32Array(shares.length) };
    return { plan, usdPerHour, worthUsdPerHour: 0, satisfied: 0, wanted: this.#wanted, byPod };
  }

  /**
   * Returns true if an offer is worth its price whatever another plan costs: even if half of all preferences are satisfied in a
   * plan at the lowest price, and if expensive preferences of groups could be left out, this would save almost nothing.
   */
  isWorth(offer: Offer, floor: Offer): boolean {
    const [least, shares] = [this.#sharesIn(floor), this.#sharesIn(offer)];
    let [all, loss] = [0, 0];
    for (const group of this.#groups) {
      all += weightOf(group.preferences) * group.members.reduce((sum, at) => sum + this.#worthOf(at), 0);
      const added = sumIn(group, shares) - sumIn(group, least);
      loss += Math.max(0, added - this.#worthIn(group, offer));
    }
    const { worthUsdPerHour } = offer;
    return offer.usdPerHour - floor.usdPerHour <= worthUsdPerHour - all / 2 && loss <= SMALL * worthUsdPerHour;
  }

  #worthOf(at: number): number {
    return this.#worth[at] ?? 0;
  }

  /** Returns the worth of the preferences that running pods lose by their move, in USD per hour. */
  lostBy({ byPod }: Offer): number {
    this.#present ??= this.#findPresent();
    let lost = 0;
    for (const [at, weight] of this.#present.weights.entries())
      if (this.#isPresent(at)) lost += (weight - (byPod.weights[at] ?? 0)) * this.#worthOf(at);
    return Math.max(0, lost);
  }

  /** Returns true if the node of a pod stays. */
  #isPresent(at: number): boolean {
    const node = this.#judge.nodes[at];
    return node !== undefined && !this.#common.topology.nodes[node]?.markedForDeletion;
  }

  #findPresent(): Satisfaction {
    const { nodes } = this.#judge;
    return this.#judge.judge(nodes, (at) => this.#isPresent(at));
  }

  /**
   * Adds the preferences that cost more than they are worth in an offer. Returns true if there are some that were not left out
   * before.
   */
  leaveOutDear(leftOut: Map<string, LeftOutPreferences>, offer: Offer, standard: Offer): boolean {
    const [before, after] = [this.#sharesIn(standard), this.#sharesIn(offer)];
    let isNew = false;
    for (const group of this.#groups) {
      const known = leftOut.get(this.#keyOf(group.members[0]));
      if (known === 'all') continue;
      const added = sumIn(group, after) - sumIn(group, before);
      const gained = this.#worthIn(group, offer) - this.#worthIn(group, standard);
      if (added <= gained + ROUNDING * (offer.usdPerHour + standard.usdPerHour)) continue;
      const { preferences } = group;
      const isMixed = preferences.some(({ isByHost }) => isByHost) && preferences.some(({ isByHost }) => !isByHost);
      for (const at of group.members) leftOut.set(this.#keyOf(at), isMixed && known === undefined ? 'by host' : 'all');
      isNew = true;
    }
    return isNew;
  }

  /**
   * Returns true if a plan without some preferences can be as good as an offer. The plan is expected to cost at least as much as
   * the standard. Omitted preferences are expected to be satisfied if the standard satisfies them.
   */
  canPay(leftOut: ReadonlyMap<string, LeftOutPreferences>, best: Offer, standard: Offer): boolean {
    let worth = 0;
    for (const group of this.#groups) {
      const each = weightOf(group.preferences);
      const part = leftOut.get(this.#keyOf(group.members[0]));
      const kept = part === undefined ? group.preferences : group.preferences.filter(({ isByHost }) => !isByHost);
      const sure = part === 'all' ? 0 : weightOf(kept);
      for (const at of group.members)
        worth += Math.min(each, sure + (standard.byPod.weights[at] ?? 0)) * this.#worthOf(at);
    }
    const margin = ROUNDING * (best.usdPerHour + standard.usdPerHour);
    return standard.usdPerHour - worth <= best.usdPerHour - best.worthUsdPerHour + margin;
  }

  #keyOf(at = -1): string {
    return this.#judge.keys[at] ?? '';
  }

  /** Divides the price of each planned node among its pods, in proportion to the prices of their resources. */
  #sharesIn({ plan }: Offer): Float64Array {
    const known = this.#shares.get(plan);
    if (known !== undefined) return known;
    const shares = new Float64Array(this.#usd.length);
    for (const claim of plan.claims) {
      const positions = claim.pods.map((key) => this.#judge.positionOf(key));
      const usd = claim.pods.map((key) => this.#usdOf(key));
      const total = usd.reduce((sum, each) => sum + each, 0);
      const price = usdOf([claim]);
      for (const [index, at] of positions.entries())
        if (at !== undefined) shares[at] = total > 0 ? (price * (usd[index] ?? 0)) / total : price / claim.pods.length;
    }
    this.#shares.set(plan, shares);
    return shares;
  }

  #usdOf(key: string): number {
    const at = this.#judge.positionOf(key);
    return at === undefined ? this.#usdOfOther(key) : (this.#usd[at] ?? 0);
  }

  #usdOfOther(key: string): number {
    const known = this.#usdOfOthers.get(key);
    if (known !== undefined) return known;
    this.#others ??= new Map(this.#common.intake.pods.map((pod) => [podKey(pod), pod]));
    const pod = this.#others.get(key);
    const [pool] = this.#common.snapshot.pools;
    const usd = pod && pool ? usdOfRequests(placementRequests(pod), pool) : 0;
    this.#usdOfOthers.set(key, usd);
    return usd;
  }

  #worthIn({ members }: Group, { byPod }: Offer): number {
    return members.reduce((sum, at) => sum + this.#worthOf(at) * (byPod.weights[at] ?? 0), 0);
  }

  /**
   * Divides the price that the preferences of an offer add among groups, in proportion to their worth. The shares of pods in the
   * prices of nodes change with every other pod, so their sum could exceed the worth although the plan is worth its price.
   */
  #priceIn(
    group: Group,
    chosen: Offer,
    standard: Offer,
  ): Required<Pick<PreferenceDecision, 'addedUsdPerHour' | 'worthUsdPerHour'>> {
    const gained = chosen.worthUsdPerHour - standard.worthUsdPerHour;
    const worthUsdPerHour = this.#worthIn(group, chosen) - this.#worthIn(group, standard);
    const added = Math.max(0, chosen.usdPerHour - standard.usdPerHour);
    return { addedUsdPerHour: gained > 0 ? (added * worthUsdPerHour) / gained : 0, worthUsdPerHour };
  }

  /** Returns the plan of an offer with its decisions. */
  decide(chosen: Offer, standard: Offer, all: Offer | undefined): Plan {
    const groups = this.#groups.map((group): PreferenceDecision => {
      const { members, preferences } = group;
      const satisfied = members.reduce((sum, at) => sum + (chosen.byPod.counts[at] ?? 0), 0);
      const wanted = members.length * preferences.length;
      return {
        pods: members.map((at) => this.#keyOf(at)).sort(compareText),
        preferences: preferences.map(({ text, weight }) => `${text} (weight ${weight})`),
        satisfied,
        wanted,
        ...(group.invalidWorth !== undefined && { invalidWorth: group.invalidWorth }),
        ...(all !== undefined &&
          (satisfied === wanted
            ? this.#priceIn(group, chosen, standard)
            : {
                addedUsdPerHour: sumIn(group, this.#sharesIn(all)) - sumIn(group, this.#sharesIn(standard)),
                worthUsdPerHour: this.#worthIn(group, all) - this.#worthIn(group, standard),
              })),
      };
    });
    return {
      ...chosen.plan,
      // only this plan has the causes of refusals
      refusals: standard.plan.refusals,
      claims: this.#annotate(chosen.plan.claims, groups),
      preferences: {
        addedUsdPerHour: chosen.usdPerHour - standard.usdPerHour,
        gainedUsdPerHour: chosen.worthUsdPerHour - standard.worthUsdPerHour,
        lostUsdPerHour: this.lostBy(chosen),
        groups,
      },
    };
  }

  /** Adds the decisions on the preferences of their pods to planned nodes. */
  #annotate(claims: readonly PlannedClaim[], decisions: readonly PreferenceDecision[]): readonly PlannedClaim[] {
    const texts = new Map<number, string>();
    const textOf = (group: number): string => {
      const decision = decisions[group];
      const text = texts.get(group) ?? (decision === undefined ? '' : groupText(decision));
      texts.set(group, text);
      return text;
    };
    return claims.map((claim) => {
      const own = new Set<number>();
      for (const key of claim.pods) {
        const at = this.#judge.positionOf(key);
        if (at !== undefined) own.add(this.#groupOf[at] ?? 0);
      }
      const [first] = own;
      if (first === undefined) return claim;
      const text = `${textOf(first)}${own.size === 1 ? '' : `; and ${own.size - 1} more`}`;
      return { ...claim, annotations: { ...claim.annotations, [PREFERENCES_ANNOTATION]: text } };
    });
  }
}

const weightOf = (preferences: readonly Preference[]): number =>
  preferences.reduce((sum, { weight }) => sum + weight, 0);

const sumIn = ({ members }: Group, usd: Float64Array): number => members.reduce((sum, at) => sum + (usd[at] ?? 0), 0);

/** Returns the price of the smallest part of new nodes that has the requests. */
const usdOfRequests = remembering((requests: Resources, pool: PoolInput): number =>
  worthOf(requests, unitPrices(pool, requests)),
);

/** Full cost of planned nodes, including spot risk. */
const usdOf = (claims: readonly PlannedClaim[]): number =>
  claims.reduce((sum, claim) => sum + nodeUsdPerHour(claim) + (claim.spotRiskUsdPerHour ?? 0), 0);

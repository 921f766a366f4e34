/**
 * Decides which preferences of pods are worth their price. A plan without preferences is the standard. Other plans satisfy more
 * preferences, and the plan with the lowest price minus the worth of its preferences is used. So the price of a plan exceeds the
 * price without preferences at most by the worth of the preferences that it satisfies in addition.
 */
import { NODEPOOL_LABEL, PREFERENCES_ANNOTATION } from '#api/objects';
import { remembering } from '#lib';
import { unitPrices, worthOf } from '../disruption/pricing/worth.ts';
import type { EnginePod } from '../input.ts';
import { compareText } from '../instance-types.ts';
import type { Plan, PlannedClaim, PoolInput, PreferenceDecision, Resources, SolveOptions } from '../model.ts';
import { placementRequests } from '../placement-requests.ts';
import { isHeavy } from '../pod-bounds.ts';
import { podKey } from '../pods.ts';
import { nodeUsdPerHour } from '../purchase.ts';
import type { CompiledSnapshot } from '../solver/compiled-snapshot.ts';
import type { PodClass } from '../solver/pod-class.ts';
import { groupText } from './decision-text.ts';
import { type LeftOutPreferences, preferencesOf, withoutPreferences } from './preferences.ts';
import { judgePreferences, type Spot, spotsIn } from './satisfaction.ts';
import { preferenceWorth } from './worth-terms.ts';

/** Preferences of one solve. A map has the preferences that are left out, by namespaced name of the pod. */
export type PreferenceUse = 'none' | 'all' | ReadonlyMap<string, LeftOutPreferences>;

/** Returns a function that returns pods without the preferences that a solve leaves out. */
export function soften(use: PreferenceUse): (pod: EnginePod) => EnginePod {
  if (use === 'all') return (pod) => pod;
  if (use === 'none') return (pod) => withoutPreferences(pod);
  return (pod) => {
    const leftOut = use.get(podKey(pod));
    return leftOut === undefined ? pod : withoutPreferences(pod, leftOut);
  };
}

interface PricedSolve {
  readonly common: CompiledSnapshot;
  /** Pods to place. */
  readonly pods: readonly EnginePod[];
  readonly solve: (use: PreferenceUse, explain?: boolean) => Plan;
  /** True for simulations of disruption, which must be quick. */
  readonly isSimulation: boolean;
  readonly options: Pick<SolveOptions, 'deadlineMs' | 'placementMs' | 'elapsedMs'>;
}

/** Relative rounding error between equal sums of prices. */
const ROUNDING = 1e-9;

export function pricedPlan({ common, pods, solve, isSimulation, options }: PricedSolve): Plan {
  const soft = common.withDefaults(pods.filter((pod) => !isHeavy(pod))).filter((pod) => preferencesOf(pod).length > 0);
  if (soft.length === 0) return solve('all', true);
  const ignoring = solve('none', true);
  if (soft.length > MOST_PODS || isLate(options)) return ignoring;
  const market = new Market(common, soft, ignoring);
  const standard = market.judge(ignoring);
  const isEnough = isSimulation ? market.lostBy(standard) === 0 : standard.satisfied === standard.wanted;
  if (isEnough) return market.decide(standard, standard, standard);
  const respecting = solve('all');
  if (!leavesAsMuch(respecting, ignoring)) return market.decide(standard, standard, undefined);
  const all = market.judge(respecting);
  const offers = [standard, all];
  const leftOut = new Map<string, LeftOutPreferences>();
  // first without the preferences by host of a group, then without all of them
  for (let last = all, trials = 0; trials < 2 && !isSimulation && !isLate(options); trials++) {
    if (!market.leaveOutDear(leftOut, last, standard)) break;
    const mixed = solve(new Map(leftOut));
    if (!leavesAsMuch(mixed, ignoring)) break;
    last = market.judge(mixed);
    offers.push(last);
  }
  return market.decide(offers.reduce(better), standard, all);
}

/** Returns true if the time may not suffice for another solve. */
const isLate = ({
  elapsedMs,
  deadlineMs = Number.POSITIVE_INFINITY,
  placementMs = deadlineMs,
}: PricedSolve['options']) => elapsedMs !== undefined && elapsedMs() > Math.min(deadlineMs, placementMs) / 3;

/** Maximum number of pods with preferences whose preferences are judged. */
const MOST_PODS = 20_000;

const leavesAsMuch = (plan: Plan, other: Plan): boolean =>
  plan.notEvaluated.length === other.notEvaluated.length &&
  plan.refusals.size === other.refusals.size &&
  [...plan.refusals.keys()].every((pod) => other.refusals.has(pod));

/** Plan with the preferences that it satisfies. */
interface Offer {
  readonly plan: Plan;
  readonly usdPerHour: number;
  /** Worth of the satisfied preferences, in USD per hour. */
  readonly worthUsdPerHour: number;
  /** Sum of the weights of satisfied preferences. */
  readonly satisfied: number;
  /** Sum of the weights of all preferences. */
  readonly wanted: number;
  readonly byPod: ReadonlyMap<EnginePod, readonly boolean[]>;
}

/** Returns the offer with the lowest price minus its worth. If they are equal, returns the one that satisfies more. */
function better(one: Offer, other: Offer): Offer {
  const net = (offer: Offer): number => offer.usdPerHour - offer.worthUsdPerHour;
  const margin = ROUNDING * (one.usdPerHour + other.usdPerHour);
  if (Math.abs(net(one) - net(other)) > margin) return net(one) < net(other) ? one : other;
  return other.satisfied > one.satisfied ? other : one;
}

/** Equal pods. */
type Group = readonly EnginePod[];

class Market {
  readonly #common: CompiledSnapshot;
  readonly #pods: readonly EnginePod[];
  readonly #groups: readonly Group[];
  /** Price of the resources of each pod, in USD per hour. */
  readonly #usd = new Map<string, number>();
  /** Worth of a preference with weight 1 by pod, in USD per hour. */
  readonly #worth = new Map<EnginePod, number>();
  /** Preferences that the present nodes of running pods satisfy. */
  #present: ReadonlyMap<EnginePod, readonly boolean[]> | undefined;
  #others: ReadonlyMap<string, EnginePod> | undefined;

  constructor(common: CompiledSnapshot, soft: readonly EnginePod[], plan: Plan) {
    this.#common = common;
    this.#pods = soft;
    const classes = common.classesFor(soft);
    const grouped = Map.groupBy(soft, (pod): PodClass => classes.of(pod));
    this.#groups = [...grouped.values()];
    const pools = new Map(common.snapshot.pools.map((pool) => [pool.nodePool.metadata.name, pool]));
    const [first] = pools.values();
    const spots = this.#spotsIn(plan);
    for (const [{ requests }, pods] of grouped) {
      for (const pod of pods) {
        const name = this.#poolOf(pod, spots.get(podKey(pod)));
        const pool = pools.get(name ?? '') ?? first;
        const usd = pool === undefined ? 0 : usdOfRequests(requests, pool);
        this.#usd.set(podKey(pod), usd);
        this.#worth.set(pod, pool === undefined ? 0 : (usd * preferenceWorth(pod, pool)) / 100);
      }
    }
  }

  #spotsIn(plan: Plan) {
    return spotsIn(plan, (providerId) => this.#common.positionOf(providerId));
  }

  /** Returns the NodePool of the present node of a pod, or of its planned node, so that all plans have the same worth. */
  #poolOf(pod: EnginePod, spot: Spot | undefined): string | undefined {
    const at = this.#common.topology.running(pod)?.node ?? spot;
    return typeof at === 'number' ? this.#common.topology.nodes[at]?.labels[NODEPOOL_LABEL] : at?.nodePool;
  }

  judge(plan: Plan): Offer {
    const byPod = judgePreferences(this.#common.topology, this.#pods, this.#spotsIn(plan));
    let [worthUsdPerHour, satisfied, wanted] = [0, 0, 0];
    for (const [pod, held] of byPod)
      for (const [at, { weight }] of preferencesOf(pod).entries()) {
        wanted += weight;
        if (held[at] !== true) continue;
        satisfied += weight;
        worthUsdPerHour += weight * this.#worthOf(pod);
      }
    return { plan, usdPerHour: usdOf(plan.claims), worthUsdPerHour, satisfied, wanted, byPod };
  }

  #worthOf(pod: EnginePod): number {
    return this.#worth.get(pod) ?? 0;
  }

  /** Returns the worth of the preferences that running pods lose by their move, in USD per hour. */
  lostBy({ byPod }: Offer): number {
    this.#present ??= this.#findPresent();
    const lost = [...this.#present].reduce((sum, [pod, held]) => {
      const weight = weightOf(pod, held) - weightOf(pod, byPod.get(pod) ?? []);
      return sum + weight * this.#worthOf(pod);
    }, 0);
    return Math.max(0, lost);
  }

  #findPresent(): ReadonlyMap<EnginePod, readonly boolean[]> {
    const { topology } = this.#common;
    const spots = new Map<string, Spot>();
    for (const pod of this.#pods) {
      const running = topology.running(pod);
      if (running !== undefined && !topology.nodes[running.node]?.markedForDeletion)
        spots.set(podKey(pod), running.node);
    }
    const running = this.#pods.filter((pod) => spots.has(podKey(pod)));
    return running.length === 0 ? new Map() : judgePreferences(topology, running, spots);
  }

  /**
   * Adds the preferences that cost more than they are worth in an offer. Returns true if there are some that were not left out
   * before.
   */
  leaveOutDear(leftOut: Map<string, LeftOutPreferences>, offer: Offer, standard: Offer): boolean {
    const [before, after] = [this.#shares(standard), this.#shares(offer)];
    let isNew = false;
    for (const group of this.#groups) {
      const [first] = group;
      const known = first && leftOut.get(podKey(first));
      if (first === undefined || known === 'all') continue;
      const added = this.#sum(group, after) - this.#sum(group, before);
      const gained = this.#worthIn(group, offer) - this.#worthIn(group, standard);
      if (added <= gained + ROUNDING * (offer.usdPerHour + standard.usdPerHour)) continue;
      const preferences = preferencesOf(first);
      const isMixed = preferences.some(({ isByHost }) => isByHost) && preferences.some(({ isByHost }) => !isByHost);
      for (const pod of group) leftOut.set(podKey(pod), isMixed && known === undefined ? 'by host' : 'all');
      isNew = true;
    }
    return isNew;
  }

  /** Divides the price of each planned node among its pods, in proportion to the prices of their resources. */
  #shares({ plan }: Offer): ReadonlyMap<string, number> {
    const shares = new Map<string, number>();
    for (const claim of plan.claims) {
      const usd = claim.pods.map((key) => this.#usd.get(key) ?? this.#usdOfOther(key));
      const total = usd.reduce((sum, each) => sum + each, 0);
      const price = usdOf([claim]);
      for (const [at, key] of claim.pods.entries())
        shares.set(key, total > 0 ? (price * (usd[at] ?? 0)) / total : price / claim.pods.length);
    }
    return shares;
  }

  #usdOfOther(key: string): number {
    this.#others ??= new Map(this.#common.intake.pods.map((pod) => [podKey(pod), pod]));
    const pod = this.#others.get(key);
    const [pool] = this.#common.snapshot.pools;
    const usd = pod && pool ? usdOfRequests(placementRequests(pod), pool) : 0;
    this.#usd.set(key, usd);
    return usd;
  }

  #sum(pods: Group, usd: ReadonlyMap<string, number>): number {
    return pods.reduce((sum, pod) => sum + (usd.get(podKey(pod)) ?? 0), 0);
  }

  #worthIn(pods: Group, { byPod }: Offer): number {
    return pods.reduce((sum, pod) => sum + this.#worthOf(pod) * weightOf(pod, byPod.get(pod) ?? []), 0);
  }

  /**
   * Divides the price that the preferences of an offer add among groups, in proportion to their worth. The shares of pods in the
   * prices of nodes change with every other pod, so their sum could exceed the worth although the plan is worth its price.
   */
  #priceIn(
    pods: Group,
    chosen: Offer,
    standard: Offer,
  ): Required<Pick<PreferenceDecision, 'addedUsdPerHour' | 'worthUsdPerHour'>> {
    const gained = chosen.worthUsdPerHour - standard.worthUsdPerHour;
    const worthUsdPerHour = this.#worthIn(pods, chosen) - this.#worthIn(pods, standard);
    const added = Math.max(0, chosen.usdPerHour - standard.usdPerHour);
    return { addedUsdPerHour: gained > 0 ? (added * worthUsdPerHour) / gained : 0, worthUsdPerHour };
  }

  /** Returns the plan of an offer with its decisions. */
  decide(chosen: Offer, standard: Offer, all: Offer | undefined): Plan {
    const [before, after] = [this.#shares(standard), all && this.#shares(all)];
    const groups = this.#groups.map((pods): PreferenceDecision => {
      const [first] = pods;
      const satisfied = pods.reduce((sum, pod) => sum + countSatisfied(chosen, pod), 0);
      const wanted = pods.reduce((sum, pod) => sum + preferencesOf(pod).length, 0);
      return {
        pods: pods.map(podKey).sort(compareText),
        preferences:
          first === undefined ? [] : preferencesOf(first).map(({ text, weight }) => `${text} (weight ${weight})`),
        satisfied,
        wanted,
        ...(all !== undefined &&
          after !== undefined &&
          (satisfied === wanted
            ? this.#priceIn(pods, chosen, standard)
            : {
                addedUsdPerHour: this.#sum(pods, after) - this.#sum(pods, before),
                worthUsdPerHour: this.#worthIn(pods, all) - this.#worthIn(pods, standard),
              })),
      };
    });
    return {
      ...chosen.plan,
      // only this plan has the causes of refusals
      refusals: standard.plan.refusals,
      claims: annotate(chosen.plan.claims, groups),
      preferences: {
        addedUsdPerHour: chosen.usdPerHour - standard.usdPerHour,
        gainedUsdPerHour: chosen.worthUsdPerHour - standard.worthUsdPerHour,
        lostUsdPerHour: this.lostBy(chosen),
        groups,
      },
    };
  }
}

/** Adds the decisions on the preferences of their pods to planned nodes. */
function annotate(claims: readonly PlannedClaim[], groups: readonly PreferenceDecision[]): readonly PlannedClaim[] {
  const groupOf = new Map(groups.flatMap((group) => group.pods.map((pod) => [pod, group] as const)));
  return claims.map((claim) => {
    const own = new Set(claim.pods.flatMap((pod) => groupOf.get(pod) ?? []));
    if (own.size === 0) return claim;
    const [first, ...others] = own;
    const more = others.length === 0 ? '' : `; and ${others.length} more`;
    const text = `${first === undefined ? '' : groupText(first)}${more}`;
    return { ...claim, annotations: { ...claim.annotations, [PREFERENCES_ANNOTATION]: text } };
  });
}

const weightOf = (pod: EnginePod, held: readonly boolean[]): number =>
  preferencesOf(pod).reduce((sum, { weight }, at) => sum + (held[at] === true ? weight : 0), 0);

const countSatisfied = ({ byPod }: Offer, pod: EnginePod): number => (byPod.get(pod) ?? []).filter(Boolean).length;

/** Returns the price of the smallest part of new nodes that has the requests. */
const usdOfRequests = remembering((requests: Resources, pool: PoolInput): number =>
  worthOf(requests, unitPrices(pool, requests)),
);

/** Full cost of planned nodes, including spot risk. */
const usdOf = (claims: readonly PlannedClaim[]): number =>
  claims.reduce((sum, claim) => sum + nodeUsdPerHour(claim) + (claim.spotRiskUsdPerHour ?? 0), 0);

/**
 * Decides which preferences of pods are worth their price. A plan without preferences is the standard. Other plans satisfy more
 * preferences, and the plan with the lowest price minus the worth of its preferences is used. So the price of a plan exceeds the
 * price without preferences at most by the worth of the preferences that it satisfies in addition.
 */
import type { EnginePod } from '../input.ts';
import type { Plan, PlannedPreferences, SolveOptions } from '../model.ts';
import { isHeavy } from '../pod-bounds.ts';
import { podKey } from '../pods.ts';
import type { CompiledSnapshot } from '../solver/compiled-snapshot.ts';
import { Market, type MarketParts, type Offer } from './market.ts';
import { type LeftOutPreferences, preferencesOf, withoutPreferences } from './preferences.ts';
import { beyondLimit } from './work-share.ts';

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

export function pricedPlan(input: PricedSolve): Plan {
  const { common, pods, solve, options } = input;
  const wishing = common.withDefaults(pods).filter((pod) => preferencesOf(pod).length > 0);
  const light = wishing.filter((pod) => !isHeavy(pod));
  if (light.length === 0) return solve('all', true);
  const respecting = MANY_PODS <= light.length && light.length <= MOST_PODS ? cheapEnough(input, light) : undefined;
  if (respecting?.isUsed) return respecting.plan;
  const ignoring = solve('none', true);
  if (light.length > MOST_PODS) return withoutDecisions(ignoring, `more than ${MOST_PODS} pods have preferences`);
  if (isLate(options)) return withoutDecisions(ignoring, 'a solve without them used a third of the time');
  const { grouped, leftOut } = groupsOf(common, light);
  const soft = leftOut.size === 0 ? light : light.filter((pod) => !leftOut.has(podKey(pod)));
  for (const [podClass, [first]] of leftOut.size === 0 ? [] : grouped)
    if (first !== undefined && leftOut.has(podKey(first))) grouped.delete(podClass);
  const candidates = { wishing, soft, grouped, leftOut, ignoring, respecting: respecting?.plan };
  const plan = soft.length === 0 ? ignoring : bestPlan(input, candidates);
  if (leftOut.size === 0) return plan;
  return withoutDecisions(plan, `${leftOut.size} pods have too many different preferences, ${REMEDY}`);
}

/** Returns groups of equal pods, and the preferences that no plan considers. */
function groupsOf(common: CompiledSnapshot, pods: readonly EnginePod[]) {
  const classes = common.classesFor(pods);
  const grouped = Map.groupBy(pods, (pod) => classes.of(pod));
  const beyond = beyondLimit(common, [...grouped.values()]);
  return { grouped, leftOut: new Map(beyond.map((pod) => [podKey(pod), 'all'] as const)) };
}

/** Number of pods from which a comparison of plans takes long, and a plan is close to the lower bound of the price. */
const MANY_PODS = 500;

/**
 * Returns the plan with all preferences. It is used without a comparison if it is worth its price even if a plan without
 * preferences has the lowest possible price. Returns undefined if a bound is not known.
 */
function cheapEnough(
  { common, pods, solve, isSimulation, options }: PricedSolve,
  soft: readonly EnginePod[],
): { readonly plan: Plan; readonly isUsed: boolean } | undefined {
  // a bound does not know commitments
  if (isSimulation || common.committedUse !== undefined) return undefined;
  const { grouped, leftOut } = groupsOf(common, soft);
  if (leftOut.size > 0) return undefined;
  const plan = solve('all');
  if (plan.refusals.size + plan.notEvaluated.length > 0) return { plan, isUsed: false };
  const market = new Market({ common, soft, grouped, plan });
  const all = market.judge(plan);
  const floor = market.floor(all, pods);
  if (market.isWorth(all, floor)) return { plan: market.decide(all, floor, undefined), isUsed: true };
  if (!isLate(options)) return { plan, isUsed: false };
  return {
    plan: withoutDecisions(plan, 'a solve with them used a third of the time', 'compared with their price'),
    isUsed: true,
  };
}

const REMEDY = 'use the same labels and preferences in more pods of their namespaces';

/** Returns the plan with the reason for preferences that are not compared with their price. */
function withoutDecisions(plan: Plan, omitted: string, step = 'considered'): Plan {
  const { preferences = NO_DECISIONS } = plan;
  return { ...plan, preferences: { ...preferences, omitted: `preferences of pods are not ${step}: ${omitted}` } };
}

const NO_DECISIONS: PlannedPreferences = { addedUsdPerHour: 0, gainedUsdPerHour: 0, lostUsdPerHour: 0, groups: [] };

interface Candidates extends Omit<MarketParts, 'common' | 'plan'> {
  /** Plan without preferences. */
  readonly ignoring: Plan;
  /** Plan with all preferences, if it is known. */
  readonly respecting: Plan | undefined;
  /** Pods with preferences, including preferences that are not compared with their price. */
  readonly wishing: readonly EnginePod[];
  /** Preferences that no plan considers. */
  readonly leftOut: ReadonlyMap<string, LeftOutPreferences>;
}

function bestPlan(
  { common, solve, isSimulation, options }: PricedSolve,
  { wishing, soft, grouped, leftOut: omitted, ignoring, respecting: known }: Candidates,
): Plan {
  const market = new Market({ common, soft, grouped, plan: ignoring });
  const standard = market.judge(ignoring);
  const isEnough = isSimulation ? market.lostBy(standard) === 0 : standard.satisfied === standard.wanted;
  if (isEnough) return market.decide(standard, standard, standard);
  const respecting = known ?? solve(omitted.size === 0 ? 'all' : omitted);
  if (!leavesAsMuch(respecting, ignoring)) return market.decide(standard, standard, undefined);
  const all = market.judge(respecting);
  const offers = [standard, all];
  const leftOut = new Map(omitted);
  // first without the preferences by host of a group, then without all of them
  for (let last = all, trials = 0; trials < 2 && !isSimulation && !isLate(options); trials++) {
    if (!market.leaveOutDear(leftOut, last, standard)) break;
    if (!market.canPay(leftOut, offers.reduce(better), standard)) break;
    // a solve without all preferences is the standard
    if (leftOut.size === wishing.length && [...leftOut.values()].every((each) => each === 'all')) break;
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

/** Returns the offer with the lowest price minus its worth. If they are equal, returns the one that satisfies more. */
function better(one: Offer, other: Offer): Offer {
  const net = (offer: Offer): number => offer.usdPerHour - offer.worthUsdPerHour;
  const margin = ROUNDING * (one.usdPerHour + other.usdPerHour);
  if (Math.abs(net(one) - net(other)) > margin) return net(one) < net(other) ? one : other;
  return other.satisfied > one.satisfied ? other : one;
}

/**
 * Computes if moving pods pays. The benefit of a move is its savings per hour multiplied by their expected duration. The price
 * of a move is the work that is lost or paid for twice.
 */
import { remembering, timeOf } from '#lib';
import { podKey } from '../../pods.ts';
import { nodeUsdPerHour } from '../../purchase.ts';
import { jobOf, losesWork, workloadOf } from '../../workloads.ts';
import { emptyingSinceMs } from '../candidates/emptying.ts';
import { bothSavings, type Candidate, type Command, savingsOf } from '../command.ts';
import { hasOwnCost } from '../deletion-costs.ts';
import { calculationOf, type MoveWorth, type PriceParts } from '../move-worth.ts';
import type { DeclineCode, Reason } from '../reasons.ts';
import { isBalanced, K } from './balance.ts';
import {
  type Forecast,
  newLifeMsOf,
  nodeStartMsOf,
  type RunningJob,
  shareOf,
  startedMs,
  startMsOf,
} from './forecast.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Price of lost work as a multiple of its first price: it is done again, and it ends later. Derived from replays. */
const LOST_WORK = 2;

/**
 * Price of the eviction of a pod that loses no work, as a part of the price of its share for the lifetime of a new node. A move
 * that halves the price of a half-full node should pay from the start: it saves 1/2 for this lifetime, and its evictions cost
 * 3/4 × 1/2. The remaining 1/8 is for the starts of pods and nodes.
 */
const EVICTION_PART = 0.75;

/** Failure that ends a Job with the default `backoffLimit` of 6. An eviction counts as a failure. */
const LAST_FAILURE = 7;

type Forecasts = ReadonlyMap<string, Forecast>;

interface Context {
  readonly nowMs: number;
  /** Undefined if moves are not compared with their price. */
  readonly forecasts?: Forecasts | undefined;
  /** True if moves that do not pay are not declined, because their prices are only shown. */
  readonly showsPrices?: boolean | undefined;
}

type Move = Pick<Command, 'candidates' | 'replacements' | 'lostUsdPerHour' | 'preferencesUsdPerHour' | 'plan'>;

/** Returns the move with its worth, or the reason why it does not pay. */
export function withWorth<M extends Move>(
  move: M,
  context: Context,
): (M & { readonly worth?: MoveWorth }) | Reason<DeclineCode> {
  const worth = worthOfMove(move, context);
  if (worth === undefined) return move;
  if (worth.benefitUsd >= worth.neededUsd || context.showsPrices) return { ...move, worth };
  return { code: 'not-worth-moving', text: calculationOf(worth), ...nearestMiss(move.candidates, context.nowMs) };
}

/** Returns undefined if moves have no price. The price of a node may be unknown; it is then neither marked nor compared. */
function worthOfMove(move: Move, { nowMs, forecasts }: Context): MoveWorth | undefined {
  const { candidates } = move;
  if (forecasts === undefined || candidates.every(({ usdPerHour }) => usdPerHour <= 0)) return undefined;
  const netUsdPerHour = savingsOf(move);
  const { savings, planningSavings } = bothSavings(move);
  const hours = expectedHours(move, forecasts, nowMs);
  const parts = { ...priceParts(move, forecasts, nowMs), keptUsd: keptUsdOf(move, forecasts, { nowMs, hours }) };
  const priceUsd = sum(Object.values(parts));
  return {
    netUsdPerHour,
    hours,
    benefitUsd: netUsdPerHour * hours,
    ...(planningSavings !== undefined && { billedUsdPerHour: savings }),
    ...parts,
    priceUsd,
    neededUsd: candidates.some(({ nodePool }) => isBalanced(nodePool)) ? K * priceUsd : priceUsd,
    pods: sum(candidates.map(({ reschedulablePods }) => reschedulablePods.length)),
  };
}

function nearestMiss([candidate, ...others]: readonly Candidate[], nowMs: number): { nearestMiss?: string } {
  const sinceMs = candidate && others.length === 0 ? emptyingSinceMs(candidate.stateNode) : undefined;
  if (sinceMs === undefined) return {};
  const minutes = Math.max(0, Math.round((nowMs - sinceMs) / MINUTE_MS));
  const first = candidate?.stateNode.pods.filter(hasOwnCost).length ?? 0;
  const nearestMiss =
    `emptying since ${minutes} min, because its pods fit elsewhere` +
    (first === 0 ? '' : `, and scale-downs delete ${first} of its pods first`);
  return { nearestMiss };
}

/** Part of a move's price and benefit that depends only on a pod and its node. */
interface PodLoad {
  readonly key: string;
  readonly workload: string;
  /** UID of the Job that controls the pod. */
  readonly job: string | undefined;
  /** Infinite if the pod has not started. */
  readonly startMs: number;
  /** True if the work of the pod is lost by an eviction. */
  readonly losesWork: boolean;
  /** Share of the pod in the price of its node. */
  readonly usdPerMs: number;
}

/** Candidates stay the same until their node changes, and every pass reads each of them several times. */
const loadOf = remembering(({ reschedulablePods, stateNode, usdPerHour }: Candidate): readonly PodLoad[] =>
  reschedulablePods.map((pod) => ({
    key: podKey(pod),
    workload: workloadOf(pod),
    job: jobOf(pod),
    startMs: startedMs(pod),
    losesWork: losesWork(pod),
    usdPerMs: (shareOf(pod, stateNode.allocatable) * usdPerHour) / HOUR_MS,
  })),
);

const forecastOf = ({ nodePool }: Candidate, forecasts: Forecasts): Forecast | undefined =>
  forecasts.get(nodePool.metadata.name);

/**
 * Returns how long a pod should need a node. If a pod has run for some time, it should run for as long again on average. This
 * also damps repeated moves, because a pod that was just moved is young. If a pod of a service ends, another pod takes its place,
 * so the node should be needed for the lifetime of a new node longer.
 */
const needMs = ({ startMs, losesWork }: PodLoad, forecast: Forecast | undefined, nowMs: number): number =>
  ageMs(startMs - (losesWork ? 0 : newLifeMsOf(forecast)), nowMs);

/**
 * Returns the expected duration of the savings. This is the time until the nodes would end without the move: an average, weighted
 * by their prices. A replacement is planned for all pods, so its savings must end when the first node would end.
 */
function expectedHours({ candidates, replacements }: Move, forecasts: Forecasts, nowMs: number): number {
  const hours = candidates.map((candidate) => {
    const forecast = forecastOf(candidate, forecasts);
    const untilEmptyMs = loadOf(candidate).reduce((most, pod) => Math.max(most, needMs(pod, forecast, nowMs)), 0);
    const sizeMs = replacements.length > 0 ? steadyMs(candidate, forecast, nowMs) : Number.POSITIVE_INFINITY;
    return Math.min(forecast?.hours ?? 0, untilEmptyMs / HOUR_MS, sizeMs / HOUR_MS);
  });
  if (replacements.length > 0) return Math.min(...hours);
  const total = sum(candidates.map(({ usdPerHour }) => usdPerHour));
  return sum(candidates.map(({ usdPerHour }, at) => usdPerHour * (hours[at] ?? 0))) / total;
}

/**
 * Returns how long a replacement should have the right size: as long as the node's pods have not changed, and the lifetime of a
 * new node. If the node has Jobs or bare pods, this is unlimited, because they come and go without a trend.
 */
function steadyMs(candidate: Candidate, forecast: Forecast | undefined, nowMs: number): number {
  if (loadOf(candidate).some((pod) => pod.losesWork)) return Number.POSITIVE_INFINITY;
  const { metadata, status } = candidate.nodeClaim;
  const sinceMs = timeOf(status?.lastPodEventTime) || timeOf(metadata.creationTimestamp) || nowMs;
  return newLifeMsOf(forecast) + Math.max(0, nowMs - sinceMs);
}

/** Returns 0 for a pod that has not started. */
const ageMs = (startMs: number, nowMs: number): number => Math.max(0, nowMs - startMs);

/** Returns the price of a move. Lost work and the time of a start are priced at the share that each pod has in its node. */
function priceParts(
  { candidates, replacements }: Move,
  forecasts: Forecasts,
  nowMs: number,
): Omit<PriceParts, 'keptUsd'> {
  let [evictionsUsd, lostWorkUsd, startUsd] = [0, 0, 0];
  const evicted = new Map<RunningJob, number>();
  for (const candidate of candidates) {
    const forecast = forecastOf(candidate, forecasts);
    for (const pod of loadOf(candidate)) {
      evictionsUsd +=
        (pod.losesWork ? 0 : EVICTION_PART * newLifeMsOf(forecast) * pod.usdPerMs) + (forecast?.evictionUsd ?? 0);
      lostWorkUsd += pod.losesWork ? LOST_WORK * ageMs(pod.startMs, nowMs) * pod.usdPerMs : 0;
      startUsd += startMsOf(pod.workload, forecast) * pod.usdPerMs;
      const job = pod.job === undefined ? undefined : forecast?.jobs.get(pod.job);
      if (job !== undefined) evicted.set(job, (evicted.get(job) ?? 0) + 1);
    }
  }
  const endedUsd = [...evicted].map(([job, pods]) => (endsJob(job, pods) ? LOST_WORK * job.workUsd : 0));
  // a replacement and the node that it replaces are paid for at the same time
  for (const claim of replacements) {
    startUsd += (nodeUsdPerHour(claim) * nodeStartMsOf(forecasts.get(claim.nodePool))) / HOUR_MS;
  }
  return { evictionsUsd, lostWorkUsd, endedJobsUsd: sum(endedUsd), startUsd };
}

/**
 * Returns the price of the nodes that receive pods, for the part that Jobs use now and for the time after this. Otherwise,
 * services would move from a cheap node to a large one that is needed for minutes.
 */
function keptUsdOf(
  { candidates, plan }: Move,
  forecasts: Forecasts,
  { nowMs, hours }: { readonly nowMs: number; readonly hours: number },
): number {
  const [forecast] = forecasts.values();
  const kept = (plan?.placements ?? []).flatMap(({ node, pods }) => {
    const part = forecast?.ending.get(node);
    return part === undefined ? [] : [{ ...part, pods: new Set(pods) }];
  });
  if (kept.length === 0) return 0;
  const moved = candidates.flatMap((candidate) =>
    loadOf(candidate).map((pod) => ({ key: pod.key, ms: needMs(pod, forecastOf(candidate, forecasts), nowMs) })),
  );
  const usd = kept.map(({ usdPerHour, startMs, pods }) => {
    const neededMs = moved.filter(({ key }) => pods.has(key)).map(({ ms }) => ms);
    const addedMs = Math.min(Math.max(0, ...neededMs), hours * HOUR_MS) - ageMs(startMs, nowMs);
    return (usdPerHour * Math.max(0, addedMs)) / HOUR_MS;
  });
  return sum(usd);
}

/** Returns true if evictions end a Job, and all its pods. A Job that has outlived the default limit has a higher one. */
const endsJob = ({ failures }: RunningJob, evictions: number): boolean =>
  failures < LAST_FAILURE && failures + evictions >= LAST_FAILURE;

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

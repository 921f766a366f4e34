/**
 * Computes if moving pods pays. The benefit of a move is its savings per hour for the time that the savings are expected to last.
 * The price of a move is the work that is lost or paid for twice.
 */
import { NODEPOOL_LABEL } from '../../../api/labels.ts';
import { timeOf } from '../../../lib/times.ts';
import type { EnginePod } from '../../input.ts';
import type { EngineNode, PoolInput } from '../../model.ts';
import { podKey } from '../../pods.ts';
import { nodeUsdPerHour } from '../../purchase.ts';
import { addResources, amountIn } from '../../resources.ts';
import type { UnitPrices } from '../../unit-prices.ts';
import { EMPTYING_MS, emptyingSinceMs } from '../candidates/emptying.ts';
import type { Candidate, Command } from '../command.ts';
import { hasOwnCost } from '../deletion-costs.ts';
import type { DeclineCode, Reason } from '../reasons.ts';
import { readableRequests, unitPricesIn, worthOf } from './worth.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Price of lost work as a multiple of its first price: it is done again, and it ends later. Derived from replays. */
const LOST_WORK = 2;
/** Time from the eviction of a pod until its successor does useful work. */
const POD_START_MS = MINUTE_MS;
/** Time in which a replacement and the node that it replaces are paid for. */
const NODE_START_MS = MINUTE_MS;

/** Expectations about the nodes of a NodePool. */
export interface Forecast {
  /**
   * Time for which savings are expected to last: the mean age of the nodes, because nodes that end at a steady rate are expected
   * to last as long again. A launch shows that the demand changes, so the time since the last launch is a limit from one hour on.
   */
  readonly hours: number;
  /** Worth of the resources of its pods, at the best prices of new nodes. */
  readonly unitPrices: UnitPrices;
  /** Price of the eviction of a pod besides its work, in USD. */
  readonly evictionUsd: number;
}

type Forecasts = ReadonlyMap<string, Forecast>;

/** Returns the forecasts for the NodePools, by name. */
export function forecastsOf(
  nodes: readonly EngineNode[],
  pools: ReadonlyMap<string, PoolInput>,
  { nowMs, evictionUsd }: { readonly nowMs: number; readonly evictionUsd: number },
): Forecasts {
  const own = nodes.filter(({ nodeClaim }) => nodeClaim !== undefined);
  return new Map(
    [...Map.groupBy(own, ({ labels }) => labels[NODEPOOL_LABEL] ?? '')].flatMap(([name, members]) => {
      const pool = pools.get(name);
      if (pool === undefined) return [];
      const ages = members.map(({ nodeClaim }) => nowMs - timeOf(nodeClaim?.metadata.creationTimestamp) || 0);
      const hours = Math.min(sum(ages) / ages.length, Math.max(HOUR_MS, Math.min(...ages))) / HOUR_MS;
      return [[name, { hours, unitPrices: unitPricesIn(pool, members), evictionUsd }] as const];
    }),
  );
}

interface Context {
  readonly nowMs: number;
  /** Undefined if moves are not compared with their price. */
  readonly forecasts?: Forecasts | undefined;
}

/**
 * Returns the reason why a move does not pay, or undefined if it pays. After a node has been marked for some time, it could not
 * become empty on its own. Then the price of the move no longer counts, but the room that the pods take elsewhere does.
 */
export function notWorthMoving(
  command: Pick<Command, 'candidates' | 'replacements'>,
  savedUsdPerHour: number,
  { nowMs, forecasts }: Context,
): Reason<DeclineCode> | undefined {
  if (forecasts === undefined) return undefined;
  const { candidates } = command;
  // the price of a node is unknown, so it is neither marked nor compared
  if (candidates.every(({ usdPerHour }) => usdPerHour <= 0)) return undefined;
  const hours = expectedHours(candidates, forecasts, nowMs);
  const netUsdPerHour = savedUsdPerHour - roomUsdPerHour(command, forecasts);
  const benefit = netUsdPerHour * hours;
  const price = priceOf(command, forecasts, nowMs);
  if (benefit >= (hasHadTime(candidates, nowMs) ? 0 : price)) return undefined;
  const pods = candidates.reduce((count, { reschedulablePods }) => count + reschedulablePods.length, 0);
  return {
    code: 'not-worth-moving',
    text:
      `saves $${netUsdPerHour.toFixed(4)}/h for an expected ${Math.round(60 * hours)} min = $${benefit.toFixed(4)}; ` +
      `moving ${pods} pod${pods === 1 ? '' : 's'} costs $${price.toFixed(4)}`,
    ...nearestMiss(candidates, nowMs),
  };
}

const hasHadTime = (candidates: readonly Candidate[], nowMs: number): boolean =>
  candidates.every(({ stateNode }) => nowMs - (emptyingSinceMs(stateNode) ?? nowMs) >= EMPTYING_MS);

function nearestMiss([candidate, ...others]: readonly Candidate[], nowMs: number): { nearestMiss?: string } {
  const sinceMs = candidate && others.length === 0 ? emptyingSinceMs(candidate.stateNode) : undefined;
  if (sinceMs === undefined) return {};
  const minutes = (ms: number): number => Math.max(0, Math.round(ms / MINUTE_MS));
  const first = candidate?.stateNode.pods.filter(hasOwnCost).length ?? 0;
  const since =
    `emptying since ${minutes(nowMs - sinceMs)} min, because its pods fit elsewhere` +
    (first === 0 ? '' : `, and scale-downs delete ${first} of its pods first`);
  const leftMs = sinceMs + EMPTYING_MS - nowMs;
  return { nearestMiss: leftMs > 0 ? `${since}; in ${minutes(leftMs)} min the price no longer counts` : since };
}

/** Returns the time for which the nodes would stay without the move: an average, weighted by their prices. */
function expectedHours(candidates: readonly Candidate[], forecasts: Forecasts, nowMs: number): number {
  const total = sum(candidates.map(({ usdPerHour }) => usdPerHour));
  if (total <= 0) return 0;
  const weighted = candidates.map(({ usdPerHour, nodePool, reschedulablePods }) => {
    const hours = forecasts.get(nodePool.metadata.name)?.hours ?? 0;
    return usdPerHour * Math.min(hours, msUntilEmpty(reschedulablePods, nowMs) / HOUR_MS);
  });
  return sum(weighted) / total;
}

/**
 * Returns the expected time until the pods have ended. A pod of a Job that has run for some time is expected to run for as long
 * again. Other pods stay.
 */
const msUntilEmpty = (pods: readonly EnginePod[], nowMs: number): number =>
  pods.reduce((ms, pod) => Math.max(ms, endsOnItsOwn(pod) ? ageMs(pod, nowMs) : Number.POSITIVE_INFINITY), 0);

function endsOnItsOwn({ metadata }: EnginePod): boolean {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  return owner === undefined || owner.kind === 'Job';
}

const ageMs = ({ status }: EnginePod, nowMs: number): number =>
  Math.max(0, nowMs - (timeOf(status?.startTime) || nowMs));

/** Returns the worth of the room that moved pods take on existing nodes, in USD per hour. New pods could use this room. */
function roomUsdPerHour(
  { candidates, replacements }: Pick<Command, 'candidates' | 'replacements'>,
  forecasts: Forecasts,
): number {
  const onNewNodes = new Set(replacements.flatMap(({ pods }) => pods));
  return sum(
    candidates.map(({ reschedulablePods, nodePool }) => {
      const prices = forecasts.get(nodePool.metadata.name)?.unitPrices;
      const moved = reschedulablePods.filter((pod) => !onNewNodes.has(podKey(pod)));
      return prices === undefined ? 0 : worthOf(addResources(...moved.map(readableRequests)), prices);
    }),
  );
}

/** Returns the price of a move in USD. */
const priceOf = (
  { candidates, replacements }: Pick<Command, 'candidates' | 'replacements'>,
  forecasts: Forecasts,
  nowMs: number,
): number =>
  sum(candidates.map((candidate) => podsUsd(candidate, forecasts.get(candidate.nodePool.metadata.name), nowMs))) +
  sum(replacements.map((claim) => (nodeUsdPerHour(claim) * NODE_START_MS) / HOUR_MS));

/** Returns the price of evicting the pods of a node: lost work and the time to start again, at their share of the node. */
function podsUsd(
  { reschedulablePods, stateNode, usdPerHour }: Candidate,
  forecast: Forecast | undefined,
  nowMs: number,
): number {
  return sum(
    reschedulablePods.map((pod) => {
      const lostMs = endsOnItsOwn(pod) ? LOST_WORK * ageMs(pod, nowMs) : 0;
      const hours = (lostMs + POD_START_MS) / HOUR_MS;
      return (forecast?.evictionUsd ?? 0) + shareOf(pod, stateNode) * usdPerHour * hours;
    }),
  );
}

/** Returns the larger one of a pod's shares in the CPU and in the memory of its node. */
function shareOf(pod: EnginePod, { allocatable }: EngineNode): number {
  const requests = readableRequests(pod);
  const shares = ['cpu', 'memory'].map((name) => amountIn(requests, name) / amountIn(allocatable, name));
  return Math.max(0, ...shares.filter(Number.isFinite));
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

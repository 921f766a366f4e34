/**
 * Computes expectations about the nodes of a NodePool from the nodes and pods that run now. This data also
 * exists after a restart, so the operator must not store it.
 */
import { getCondition, INSTANCE_TYPE_LABEL, isTrue, NODEPOOL_LABEL, READY } from '#api/objects';
import { remembering, timeOf } from '#lib';
import type { EnginePod } from '../../input.ts';
import type { PoolInput, Resources, StateNode } from '../../model.ts';
import { extrasUsdPerHour } from '../../node-extras.ts';
import { readableRequests } from '../../placement-requests.ts';
import { isReschedulable, isTerminal } from '../../pods.ts';
import { amountIn } from '../../resources.ts';
import type { UnitPrices } from '../../unit-prices.ts';
import { jobOf, losesWork, workloadOf } from '../../workloads.ts';
import { nodePrice } from '../candidates/disruption-cost.ts';
import { PricedTypes } from '../price-table.ts';
import { unitPricesIn, worthOf } from './worth.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Expected lifetime of new nodes and of new pods of services, in start-up times of a node. Later, their age is added to it.
 * Replays with half and twice the factor have the same costs.
 */
const LIFE_IN_STARTS = 120;

/** Start-up time of nodes that were not observed. */
const USUAL_START_MS = MINUTE_MS / 2;
/** Maximum start-up time. If readiness changes later, this looks like a long start. */
const LONGEST_START_MS = 10 * MINUTE_MS;

/** Expectations about the nodes of a NodePool. */
export interface Forecast {
  /**
   * Expected duration of savings: the mean age of the nodes plus the lifetime of new nodes. Nodes that end at a steady rate
   * should last as long again, but young nodes do not show this yet.
   */
  readonly hours: number;
  /** Worth of the resources of its pods, at the best prices of new nodes. */
  readonly unitPrices: UnitPrices;
  /** Amount that is added to the price of each eviction, in USD. */
  readonly evictionUsd: number;
  /** Time from the launch of a node until it is initialized, in milliseconds. */
  readonly nodeStartMs: number;
  /** Time from the placement of a pod until it is ready, in milliseconds, by workload. */
  readonly podStartMs: ReadonlyMap<string, number>;
  /** Jobs with running pods, in all NodePools, by UID. */
  readonly jobs: ReadonlyMap<string, RunningJob>;
  /** Nodes with Jobs or bare pods, in all NodePools, by name. */
  readonly ending: ReadonlyMap<string, EndingNode>;
}

/** Part of a node that its Jobs and bare pods use. It should not be needed after they end. */
export interface EndingNode {
  readonly usdPerHour: number;
  /** Start of the oldest pod of this part. */
  readonly startMs: number;
}

export interface RunningJob {
  /** Worth of the work that its running pods have done, in USD. Does not count pods on nodes that are being deleted. */
  readonly workUsd: number;
  /** Known failures of its pods, and its pods on nodes that are being deleted. */
  readonly failures: number;
}

export interface ForecastOptions {
  readonly nowMs: number;
  readonly evictionUsd: number;
  /** Returns the known failures of the Job with this UID. */
  readonly failuresOf?: ((job: string) => number) | undefined;
}

/** Returns the largest of a pod's shares in the CPU, the memory and the devices of a node. */
export function shareOf(pod: EnginePod, allocatable: Resources): number {
  const requests = readableRequests(pod);
  const priced = Object.keys(requests).filter((name) => name === 'cpu' || name === 'memory' || name.includes('/'));
  return Math.max(0, ...priced.map((name) => partOf(requests, allocatable, name)));
}

/** Returns 0 if the node has none of the resource. */
function partOf(requests: Resources, allocatable: Resources, name: string): number {
  const part = amountIn(requests, name) / amountIn(allocatable, name);
  return Number.isFinite(part) ? part : 0;
}

/** Returns the start of a pod in milliseconds, or infinity if the pod has not started. */
export const startedMs = (pod: EnginePod): number => timeOf(pod.status?.startTime) || Number.POSITIVE_INFINITY;

/** Returns the start-up time of a workload's pods in milliseconds. If it was not observed, returns the time of a node. */
export const startMsOf = (workload: string, forecast: Forecast | undefined): number =>
  forecast?.podStartMs.get(workload) ?? nodeStartMsOf(forecast);

/** Returns the start-up time of a node in milliseconds. */
export const nodeStartMsOf = (forecast: Forecast | undefined): number => forecast?.nodeStartMs ?? USUAL_START_MS;

/** Returns the expected lifetime of nodes and of pods of services that have just started, in milliseconds. */
export const newLifeMsOf = (forecast: Forecast | undefined): number => LIFE_IN_STARTS * nodeStartMsOf(forecast);

/** Returns the forecasts for the NodePools, by name. */
export function forecastsOf(
  nodes: readonly StateNode[],
  pools: ReadonlyMap<string, PoolInput>,
  options: ForecastOptions,
): ReadonlyMap<string, Forecast> {
  const { nowMs, evictionUsd } = options;
  const own = nodes.filter(({ nodeClaim }) => nodeClaim !== undefined);
  const known = [...Map.groupBy(own, ({ labels }) => labels[NODEPOOL_LABEL] ?? '')].flatMap(([name, members]) => {
    const pool = pools.get(name);
    return pool === undefined ? [] : [{ name, members, unitPrices: unitPricesIn(pool, members) }];
  });
  const jobs = runningJobs(known, options);
  const ending = endingNodes(own, pools);
  return new Map(
    known.map(({ name, members, unitPrices }) => {
      const ages = members.map(({ nodeClaim }) => nowMs - timeOf(nodeClaim?.metadata.creationTimestamp) || 0);
      const nodeStartMs = usualOf(members.flatMap(nodeStart)) ?? USUAL_START_MS;
      const forecast: Forecast = {
        hours: (sum(ages) / ages.length + LIFE_IN_STARTS * nodeStartMs) / HOUR_MS,
        evictionUsd,
        unitPrices,
        jobs,
        ending,
        nodeStartMs,
        podStartMs: podStarts(members),
      };
      return [name, forecast];
    }),
  );
}

function endingNodes(
  nodes: readonly StateNode[],
  pools: ReadonlyMap<string, PoolInput>,
): ReadonlyMap<string, EndingNode> {
  const ending = new Map<string, EndingNode>();
  for (const node of nodes) {
    const part = endingPart(node.pods, node.allocatable);
    const pool = part === undefined ? undefined : pools.get(node.labels[NODEPOOL_LABEL] ?? '');
    if (part === undefined || pool === undefined) continue;
    const type = PricedTypes.of(pool.instanceTypes).type(node.labels[INSTANCE_TYPE_LABEL] ?? '');
    const usdPerHour = part.share * nodePrice(node, type, extrasUsdPerHour(pool.extras));
    ending.set(node.name, { usdPerHour, startMs: part.startMs });
  }
  return ending;
}

/** Returns the share of Jobs and bare pods among the pods, and the start of the oldest one. Returns undefined without them. */
const endingPart = remembering((pods: StateNode['pods'], allocatable: Resources) => {
  const own = pods.filter(isReschedulable);
  const jobs = own.filter(losesWork);
  if (jobs.length === 0) return undefined;
  const shareOfAll = (some: readonly EnginePod[]): number => sum(some.map((pod) => shareOf(pod, allocatable)));
  const startMs = jobs.reduce((earliest, pod) => Math.min(earliest, startedMs(pod)), Number.POSITIVE_INFINITY);
  return { share: shareOfAll(jobs) / shareOfAll(own) || 0, startMs };
});

function runningJobs(
  known: readonly { readonly members: readonly StateNode[]; readonly unitPrices: UnitPrices }[],
  { nowMs, failuresOf = () => 0 }: ForecastOptions,
): ReadonlyMap<string, RunningJob> {
  const jobs = new Map<string, { workUsd: number; failures: number }>();
  for (const { members, unitPrices } of known)
    for (const { pods, markedForDeletion } of members)
      for (const { job, startMs, requests } of jobPodsOn(pods)) {
        const found = jobs.get(job) ?? { workUsd: 0, failures: failuresOf(job) };
        const hours = Math.max(0, nowMs - startMs) / HOUR_MS;
        if (markedForDeletion) found.failures++;
        else found.workUsd += hours * worthOf(requests, unitPrices);
        jobs.set(job, found);
      }
  return jobs;
}

/** Returns the running pods of Jobs, with the UID of the Job. A pod that is being deleted has failed. */
const jobPodsOn = remembering((pods: StateNode['pods']) =>
  pods.flatMap((pod) => {
    const job = jobOf(pod);
    const startMs = timeOf(pod.status?.startTime);
    const isRunning = startMs > 0 && !isTerminal(pod) && pod.metadata.deletionTimestamp === undefined;
    return job !== undefined && isRunning ? [{ job, startMs, requests: readableRequests(pod) }] : [];
  }),
);

/** A node cannot start in no time, so such a duration is not an observation. */
function nodeStart({ nodeClaim }: StateNode): readonly number[] {
  const initialized = nodeClaim && getCondition(nodeClaim, 'Initialized');
  return initialized?.status === 'True'
    ? durationOf(nodeClaim?.metadata.creationTimestamp, initialized.lastTransitionTime).filter((ms) => ms > 0)
    : [];
}

function podStarts(nodes: readonly StateNode[]): ReadonlyMap<string, number> {
  const observed = new Map<string, number[]>();
  for (const { pods } of nodes)
    for (const [workload, ms] of startsOn(pods)) {
      const known = observed.get(workload);
      if (known === undefined) observed.set(workload, [ms]);
      else known.push(ms);
    }
  return new Map([...observed].map(([workload, all]) => [workload, usualOf(all) ?? 0]));
}

/** Returns the workload and the start-up time of each pod that is ready. */
const startsOn = remembering((pods: StateNode['pods']): readonly (readonly [string, number])[] =>
  pods
    .filter((pod) => isTrue(pod, READY))
    .flatMap((pod) =>
      durationOf(
        getCondition(pod, 'PodScheduled')?.lastTransitionTime ?? pod.status?.startTime,
        getCondition(pod, READY)?.lastTransitionTime,
      ).map((ms) => [workloadOf(pod), ms] as const),
    ),
);

/** Returns the limited duration between two times, or an empty list if a time is unknown. */
function durationOf(from: string | undefined, to: string | undefined): readonly number[] {
  const ms = timeOf(to) - timeOf(from);
  return Number.isNaN(ms) ? [] : [Math.min(LONGEST_START_MS, Math.max(0, ms))];
}

/** Returns the median, because single observations can be wrong. */
function usualOf(durationsMs: readonly number[]): number | undefined {
  return durationsMs.toSorted((a, b) => a - b)[Math.floor((durationsMs.length - 1) / 2)];
}

const sum = (amounts: readonly number[]): number => amounts.reduce((total, amount) => total + amount, 0);

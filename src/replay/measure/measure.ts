/** Observes the cluster of a replay and summarizes the run. */
import { NODE, NODE_CLAIM, POD, type Pod } from '#api/objects';
import {
  amountIn,
  isOwnedByDaemonSet,
  isTerminal,
  podRequests,
  type Resources,
  readableResources,
} from '#engine/model';
import { remembering } from '#lib';
import type { Clock } from '#lib/clock';
import type { Caches } from '#local/api-server';
import type { LocalInstance, LocalInstances } from '#local/aws';
import { JOBS } from '#local/cluster';
import type { LogFields, Logger } from '#observe/logger';
import type { ClusterState } from '#state';
import type { RedoneWork, ReplayRun } from '../result.ts';
import { Columns } from './columns.ts';
import { FailedJobsMeter } from './failed-jobs.ts';
import { NodeLog } from './node-log.ts';
import { hasLostNode, lifePhase, PodLives } from './pod-lives.ts';
import { type CreditsOf, type RateOf, SpendingMeter } from './spending.ts';

interface MeasureOptions {
  readonly clock: Clock;
  /** Start of the trace. */
  readonly startMs: number;
  readonly stepSeconds: number;
  readonly caches: Caches;
  readonly instances: LocalInstances;
  readonly rateOf: RateOf;
  readonly creditsOf?: CreditsOf;
  /** Ends the subscriptions when it aborts. */
  readonly signal: AbortSignal;
}

/** Part of a run's result that is computed here. */
type Measured = Omit<ReplayRun, 'name' | 'settings' | 'playedSeconds' | 'isComplete' | 'took'>;

export class Measure {
  readonly complaints = new Complaints();
  readonly nodeLog: NodeLog;
  readonly pods = new PodLives();
  readonly spending: SpendingMeter;
  readonly #options: MeasureOptions;
  readonly #columns: Columns;
  readonly #redone = new RedoneMeter((name) => this.#nodeOf(name));
  readonly #failedJobs = new FailedJobsMeter();
  /** Instances with an interruption warning. */
  readonly #warned = new Set<string>();

  constructor(options: MeasureOptions) {
    this.#options = options;
    const { clock, startMs, caches, instances, stepSeconds, rateOf, creditsOf, signal } = options;
    this.spending = new SpendingMeter(rateOf, creditsOf);
    this.#columns = new Columns(stepSeconds);
    this.nodeLog = new NodeLog({
      now: () => (clock.now() - startMs) / 1000,
      priceOf: (providerId) => instances.get(providerId.split('/').at(-1) ?? '')?.usdPerHour ?? 0,
    });
    caches.of(POD).subscribe((now, before) => {
      this.#podChanged(now, before);
    });
    caches.of(JOBS).subscribe((now, before) => this.#failedJobs.changed(now, before));
    caches.of(NODE_CLAIM).subscribe((now, before) => {
      if (now !== undefined) this.nodeLog.changed(now);
      else if (before !== undefined) this.nodeLog.gone(before);
    });
    const unsubscribe = instances.subscribe((instance) => this.#instanceChanged(instance));
    signal.addEventListener('abort', unsubscribe, { once: true });
  }

  /** Records the interruption warning of an instance. */
  warned(instanceId: string): void {
    this.#warned.add(instanceId);
  }

  #podChanged(now: Pod | undefined, before: Pod | undefined): void {
    const nowMs = this.#options.clock.now();
    if (now !== undefined) {
      this.pods.changed(now, nowMs);
      this.#redone.changed(now, nowMs);
    } else if (before !== undefined) {
      this.pods.gone(before);
      this.#redone.gone(before, nowMs);
    }
    const [from, to] = [nodeOf(before), nodeOf(now)];
    if (before && from) this.spending.requestsChanged(from, -cpuOf(before), nowMs);
    if (now && to) this.spending.requestsChanged(to, cpuOf(now), nowMs);
  }

  #nodeOf(name: string): PricedNode | undefined {
    const node = this.#options.caches.of(NODE).get({ name });
    if (node === undefined) return undefined;
    return {
      usdPerHour: this.spending.usdPerHourOf(name),
      allocatable: readableResources(node.status?.allocatable),
    };
  }

  #instanceChanged(instance: LocalInstance): void {
    const nowMs = this.#options.clock.now();
    if (instance.state === 'running') this.spending.started(instance, nowMs);
    else if (instance.state !== 'pending') this.spending.ended(instance, nowMs);
    if (instance.state === 'shutting-down' && this.#warned.delete(instance.id))
      this.nodeLog.takenBack(!this.#hasPods(instance));
  }

  #hasPods({ privateDnsName }: LocalInstance): boolean {
    return this.#options.caches
      .of(POD)
      .list()
      .some((pod) => pod.spec.nodeName === privateDnsName && !isTerminal(pod) && !isOwnedByDaemonSet(pod));
  }

  /**
   * Adds a row to the time series.
   * @param paid share of the list prices that is paid, as in `SpendingMeter.settle`
   */
  sample(cluster: ClusterState, paid: number): void {
    const { clock } = this.#options;
    this.spending.settle(clock.now(), paid);
    const { nodes, spotNodes } = this.spending;
    this.#columns.add(
      {
        usdPerHour: this.spending.usdPerHour(paid),
        nodes,
        spotNodes,
        runningPods: this.pods.running,
        waitingPods: this.pods.waiting,
      },
      cluster.nodes(),
    );
  }

  /** @param paid as in `sample`, for the time since the last sample */
  result(playedSeconds: number, paid: number): Measured {
    const nowMs = this.#options.clock.now();
    this.spending.settle(nowMs, paid);
    const { nodeHours, most, hoursByType, ...cost } = this.spending.totals;
    const average = playedSeconds > 0 ? nodeHours / (playedSeconds / 3600) : 0;
    return {
      cost,
      waiting: this.pods.summary(nowMs),
      evictions: this.pods.evictions,
      redone: this.#redone.total,
      failedJobs: this.#failedJobs.total,
      nodes: { ...this.nodeLog.summary(), most, average, hoursByType },
      interruptions: this.nodeLog.interruptions(),
      idle: this.#columns.idle,
      series: this.#columns.series,
      log: this.nodeLog.entries,
      complaints: this.complaints.told,
    };
  }
}

/** Returns the name of the node on which the pod needs CPU. */
const nodeOf = (pod: Pod | undefined): string | undefined =>
  pod === undefined || isTerminal(pod) ? undefined : pod.spec.nodeName;

/** Returns the requested CPU in millicores. */
const cpuOf = remembering((pod: Pod): number => amountIn(podRequests(pod), 'cpu'));

/** Maximum number of messages in the result. */
const MOST_MESSAGES = 50;
/** Maximum number of messages with a count of their own. Further messages share one count. */
const MOST_COUNTED = 1_000;
const OTHERS = 'other errors';
/** Maximum number of distinct objects for each message. Further objects count each time. */
const MOST_OBJECTS = 20_000;

interface Complaint {
  count: number;
  readonly example: string;
  readonly about: Set<string>;
}

/**
 * Errors that the operator logs during a replay, counted by message. A message counts once for each object, because the
 * operator tries again and again, for example to schedule a pod. The rest of the log is discarded.
 */
export class Complaints {
  readonly #counts = new Map<string, Complaint>();

  get logger(): Logger {
    return this.#with({});
  }

  /** Messages in descending order of their count. */
  get told(): ReplayRun['complaints'] {
    return [...this.#counts]
      .map(([message, { count, example }]) => ({ message, count, example }))
      .sort((a, b) => b.count - a.count || (a.message < b.message ? -1 : 1))
      .slice(0, MOST_MESSAGES);
  }

  #with(bound: LogFields): Logger {
    return {
      debug: () => {},
      info: () => {},
      warn: () => {},
      error: (message, fields = {}) => this.#count(message, { ...bound, ...fields }),
      with: (fields) => this.#with({ ...bound, ...fields }),
    };
  }

  #count(message: string, fields: LogFields): void {
    const isOther = !this.#counts.has(message) && this.#counts.size >= MOST_COUNTED;
    const name = isOther ? OTHERS : message;
    const known = this.#counts.get(name) ?? { count: 0, example: exampleOf(fields), about: new Set() };
    this.#counts.set(name, known);
    const about = aboutOf(fields);
    if (about !== '' && known.about.has(about)) return;
    known.count += 1;
    if (about !== '' && known.about.size < MOST_OBJECTS) known.about.add(about);
  }
}

/** Returns the object and the cause of an error in one line. */
function exampleOf(fields: LogFields): string {
  const { error } = fields;
  const cause = error instanceof Error ? error.message : error === undefined ? '' : String(error);
  return [aboutOf(fields), cause].filter((part) => part !== '').join(' ');
}

const aboutOf = ({ error: _error, controller: _controller, reconcileID: _id, ...about }: LogFields): string =>
  Object.entries(about)
    .map(([name, value]) => `${name}=${nameOf(value)}`)
    .join(' ');

function nameOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const { namespace, name } = value as { readonly namespace?: string; readonly name?: string };
  return name === undefined ? JSON.stringify(value) : namespace ? `${namespace}/${name}` : name;
}

const HOUR_MS = 3_600_000;

/** Price and resources of a node at a moment. */
export interface PricedNode {
  readonly usdPerHour: number;
  readonly allocatable: Resources;
}

interface Running {
  readonly sinceMs: number;
  /** Share of the price of this node. */
  readonly usdPerHour: number;
}

/** Returns true for pods that end by themselves. All other pods serve requests, and lose no work with their node. */
const endsByItself = (pod: Pod): boolean =>
  (pod.spec.restartPolicy ?? 'Always') !== 'Always' && !isOwnedByDaemonSet(pod);

/** Work that pods lose with their nodes and that must be done again. */
export class RedoneMeter {
  readonly #nodeOf: (name: string) => PricedNode | undefined;
  /** Running pods by uid. */
  readonly #running = new Map<string, Running>();
  #pods = 0;
  #podHours = 0;
  #usd = 0;

  /** @param nodeOf returns a node by its name, or undefined if it no longer exists */
  constructor(nodeOf: (name: string) => PricedNode | undefined) {
    this.#nodeOf = nodeOf;
  }

  changed(pod: Pod, nowMs: number): void {
    if (!endsByItself(pod)) return;
    const uid = pod.metadata.uid ?? '';
    const phase = lifePhase(pod);
    if (phase === 'Failed') this.gone(pod, nowMs);
    else if (phase === 'Succeeded') this.#running.delete(uid);
    else if (phase === 'Running' && !this.#running.has(uid))
      this.#running.set(uid, { sinceMs: nowMs, usdPerHour: this.#usdPerHourOf(pod) });
  }

  /** @param pod last state of a pod that failed or was deleted */
  gone(pod: Pod, nowMs: number): void {
    const uid = pod.metadata.uid ?? '';
    const running = this.#running.get(uid);
    if (running === undefined) return;
    this.#running.delete(uid);
    if (!hasLostNode(pod)) return;
    const hours = (nowMs - running.sinceMs) / HOUR_MS;
    this.#pods += 1;
    this.#podHours += hours;
    this.#usd += hours * running.usdPerHour;
  }

  get total(): RedoneWork {
    return { pods: this.#pods, podHours: this.#podHours, usd: this.#usd };
  }

  #usdPerHourOf(pod: Pod): number {
    const node = this.#nodeOf(pod.spec.nodeName ?? '');
    return node === undefined ? 0 : node.usdPerHour * packedShare(podRequests(pod), node.allocatable);
  }
}

/** Prefix of network resources. They do not affect the choice of instance types. */
const NETWORK = 'vpc.amazonaws.com/';

/** Returns true for CPU, memory and devices. They determine the price of an instance type. */
const isPriced = (name: string): boolean =>
  name === 'cpu' || name === 'memory' || (name.includes('/') && !name.startsWith(NETWORK));

/** Returns the mean share of the node's CPU, memory and devices. The shares of all pods add up to at most 1. */
export function packedShare(requests: Resources, allocatable: Resources): number {
  const offered = Object.entries(allocatable).filter(([name, amount]) => isPriced(name) && amount > 0);
  const shares = offered.map(([name, amount]) => amountIn(requests, name) / amount);
  return shares.length === 0 ? 0 : shares.reduce((sum, share) => sum + share, 0) / shares.length;
}

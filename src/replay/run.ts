/** One life of a cluster: a trace, a world, and an operator with its settings. */

import { openAws } from '../local/aws/open-aws.ts';
import { randomStream } from '../local/aws/random.ts';
import type { KubeApi } from '../local/client.ts';
import { inProcessClients } from './aws/in-process-clients.ts';
import { openCluster } from './cluster.ts';
import { fitted } from './fitted.ts';
import { Measure } from './measure/measure.ts';
import { type Operator, startOperator } from './operator/operator.ts';
import type { Progress, ReplayOptions, SettingsSet } from './options.ts';
import { play, Refused } from './player.ts';
import type { ReplayRun } from './result.ts';
import type { TraceEvent } from './trace/trace.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface RunOptions extends Pick<ReplayOptions, 'trace' | 'world'> {
  readonly set: SettingsSet;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: (progress: Omit<Progress, 'set' | 'index' | 'sets'>) => void;
}

const CLUSTER = 'replay';
const ENDPOINT = 'https://replay.invalid';
const KUBERNETES = '1.34';
/** For NodeClasses and NodePools to become Ready before anything else happens. */
const SETTLING_MS = 60_000;
/** Rows of a series: as many as a plot can show. */
const ROWS = 600;
const SHORTEST_STEP_SECONDS = 60;
const HOUR_MS = 3_600_000;
/** Real time between two reports of how far it is. */
const REPORT_MS = 200;

export const run = (options: RunOptions): Promise<ReplayRun> => new Run(options).play();

class Run {
  readonly #options: RunOptions;
  readonly #clock: VirtualClock;
  readonly #startMs: number;
  readonly #endMs: number;
  readonly #life = new AbortController();
  readonly #stepMs: number;
  readonly #startedMs = performance.now();
  #reportedMs = 0;
  #sampledMs: number;
  #highestRss = 0;

  constructor(options: RunOptions) {
    this.#options = options;
    const { start, seconds } = options.trace.header;
    this.#startMs = Date.parse(start);
    this.#endMs = this.#startMs + seconds * 1000;
    this.#clock = new VirtualClock(this.#startMs - SETTLING_MS);
    this.#stepMs = 1000 * Math.max(SHORTEST_STEP_SECONDS, Math.ceil(seconds / ROWS / 60) * 60);
    this.#sampledMs = this.#startMs;
  }

  async play(): Promise<ReplayRun> {
    const { world, set, trace, signal } = this.#options;
    const clock = this.#clock;
    const random = randomStream(world.seed);
    const aws = openAws({
      clock,
      clusterName: CLUSTER,
      clusterEndpoint: ENDPOINT,
      kubernetesVersion: KUBERNETES,
      region: world.region,
      randomSeed: world.seed,
      terminatedVisibleMs: HOUR_MS / 4,
    });
    const cluster = await openCluster({
      clock,
      clusterName: CLUSTER,
      endpoint: ENDPOINT,
      aws,
      kubelets: { podStartMs: [world.podStartSeconds * 1000, world.podStartSeconds * 1000], seed: world.seed },
      random: { below: (limit) => Math.floor(random.next() * limit), uuid: () => random.uuid() },
      kubernetesVersion: KUBERNETES,
      signal: this.#life.signal,
    });
    const measure = new Measure({
      clock,
      startMs: this.#startMs,
      stepSeconds: this.#stepMs / 1000,
      caches: cluster.caches,
      instances: aws.instances,
      rateOf: (instance, atMs) => ({
        instance:
          instance.capacityType === 'spot'
            ? (aws.catalogue.spotUsd(instance.type, instance.zone, atMs) ?? instance.usdPerHour)
            : instance.usdPerHour,
        extras: 0,
      }),
      signal: this.#life.signal,
    });
    const operator = await startOperator({
      api: cluster.api,
      clients: inProcessClients(aws, { clock }),
      clock,
      args: set.args,
      clusterName: CLUSTER,
      endpoint: ENDPOINT,
      kubernetesVersion: KUBERNETES,
      log: measure.complaints.logger,
      decisions: measure.nodeLog.decisions,
      signal: this.#life.signal,
    });
    for (const object of set.objects) await this.#apply(cluster.client, { at: 0, apply: object }, measure);
    for await (const event of trace.events()) {
      if (!(await this.#reach(this.#startMs + event.at * 1000, operator, measure))) break;
      await this.#apply(cluster.client, event, measure);
    }
    await this.#reach(this.#endMs, operator, measure);
    const playedSeconds = Math.max(0, (clock.now() - this.#startMs) / 1000);
    const result = measure.result(playedSeconds, 1);
    this.#life.abort();
    aws.close();
    return {
      name: set.name,
      settings: set.says,
      playedSeconds,
      isComplete: !(signal?.aborted ?? false),
      ...result,
      took: { seconds: (performance.now() - this.#startedMs) / 1000, rssBytes: this.#highestRss },
    };
  }

  /** Lets the time of the trace come, taking samples on the way. Answers false when the replay is to end. */
  async #reach(untilMs: number, operator: Operator, measure: Measure): Promise<boolean> {
    const { signal } = this.#options;
    while (this.#clock.now() < untilMs && !signal?.aborted) {
      const nextMs = Math.min(untilMs, this.#sampledMs);
      await this.#clock.runUntil(nextMs, signal);
      if (signal?.aborted) break;
      if (this.#clock.now() >= this.#sampledMs) {
        measure.sample(operator.deps.cluster, 1);
        this.#sampledMs += this.#stepMs;
      }
      this.#report(measure);
    }
    return !signal?.aborted;
  }

  #report(measure: Measure): void {
    const nowMs = performance.now();
    if (nowMs - this.#reportedMs < REPORT_MS) return;
    this.#reportedMs = nowMs;
    this.#highestRss = Math.max(this.#highestRss, process.memoryUsage.rss());
    const share = (this.#clock.now() - this.#startMs) / (this.#endMs - this.#startMs);
    const { instancesUsd, extrasUsd } = measure.spending.totals;
    this.#options.onProgress({
      share: Math.max(0, share),
      nodes: measure.spending.nodes,
      pods: measure.pods.running,
      usd: instancesUsd + extrasUsd,
    });
  }

  async #apply(client: KubeApi, event: TraceEvent, measure: Measure): Promise<void> {
    try {
      const isObject = 'apply' in event;
      await play(client, isObject ? { ...event, apply: fitted(event.apply, CLUSTER) } : event);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      measure.complaints.logger.error('the cluster refused what the trace did', { error });
    }
  }
}

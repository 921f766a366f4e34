/** One run of a trace in a world, with an operator and its settings. */

import { ALIAS_FAMILIES, EC2_NODE_CLASS, type EC2NodeClass, type KubeObject } from '#api/objects';
import { viewedPoolInputs } from '#controllers';
import { billedPriceOf, chargesUsdPerHour, nodePrices } from '#engine/costs';
import type { ObjectClient } from '#local/api-server';
import { chance } from '#local/aws';
import type { TieBreak } from '#local/cluster';
import type { ReplayOptions, SettingsSet } from './options.ts';
import { play, RefusedRequest } from './player.ts';
import type { ReplayRun } from './result.ts';
import type { RunProgress } from './threads/protocol.ts';
import type { TraceEvent } from './trace/trace.ts';
import { VirtualClock } from './virtual-clock.ts';
import { CLUSTER, openWorld, type ReplayWorld } from './world.ts';
import type { WorldModel } from './world-model/world-model.ts';

export interface RunOptions extends Pick<ReplayOptions, 'trace' | 'world'> {
  readonly set: SettingsSet;
  /** Number of the life, from 1, if several lives are played. */
  readonly life?: number | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: (progress: RunProgress) => void;
}

/** Time in which NodeClasses and NodePools become ready before the trace begins. */
const SETTLING_MS = 60_000;
/** Number of rows of a time series, which a plot can show. */
const ROWS = 600;
const SHORTEST_STEP_SECONDS = 60;
/** Interval between progress reports, in real time. */
const REPORT_MS = 200;

/** @throws SettingsError if the operator does not accept the arguments */
export const run = (options: RunOptions): Promise<ReplayRun> => new Run(options).play();

class Run {
  readonly #options: RunOptions;
  readonly #clock: VirtualClock;
  readonly #startMs: number;
  readonly #endMs: number;
  readonly #stepSeconds: number;
  readonly #startedMs = performance.now();
  #reportedMs = 0;
  #nextSampleMs: number;
  /** Share of the list prices that was paid at the last sample. */
  #paid = 1;
  #highestRss = 0;

  constructor(options: RunOptions) {
    this.#options = options;
    const { start, seconds } = options.trace.header;
    this.#startMs = Date.parse(start);
    this.#endMs = this.#startMs + seconds * 1000;
    this.#clock = new VirtualClock(this.#startMs - SETTLING_MS);
    this.#stepSeconds = Math.max(SHORTEST_STEP_SECONDS, Math.ceil(seconds / ROWS / 60) * 60);
    this.#nextSampleMs = this.#startMs;
  }

  async play(): Promise<ReplayRun> {
    const life = new AbortController();
    try {
      const { world: model, set, life: number } = this.#options;
      const world = await openWorld({
        model: number === undefined ? model : worldOfLife(model, number),
        tieBreak: number === undefined ? undefined : tieBreakOfLife(model, number),
        clock: this.#clock,
        startMs: this.#startMs,
        stepSeconds: this.#stepSeconds,
        args: set.args,
        signal: life.signal,
      });
      await this.#events(world);
      this.#report(world, true);
      return this.#result(world);
    } finally {
      life.abort();
    }
  }

  async #events(world: ReplayWorld): Promise<void> {
    const { set, trace } = this.#options;
    for (const object of set.objects) await this.#apply(world, { at: 0, apply: object });
    for await (const event of trace.events())
      if (await this.#reached(this.#startMs + event.at * 1000, world)) await this.#apply(world, event);
      else return;
    await this.#reached(this.#endMs, world);
  }

  /** Advances the virtual time and takes samples. Returns false if this replay was aborted. */
  async #reached(atLeastMs: number, world: ReplayWorld): Promise<boolean> {
    const { signal } = this.#options;
    // the clock returns whole milliseconds, so this loop would not end if it waited for a part of one
    const untilMs = Math.ceil(atLeastMs);
    while (this.#clock.now() < untilMs && !signal?.aborted) {
      await this.#clock.runUntil(Math.min(untilMs, this.#nextSampleMs), signal);
      if (signal?.aborted) break;
      if (this.#clock.now() >= this.#nextSampleMs) {
        world.measure.sample(world.operator.deps.cluster, this.#paid);
        this.#paid = await paidShare(world.operator);
        this.#nextSampleMs += 1000 * this.#stepSeconds;
      }
      this.#report(world);
    }
    return !signal?.aborted;
  }

  #report({ measure }: ReplayWorld, isLast = false): void {
    const nowMs = performance.now();
    if (!isLast && nowMs - this.#reportedMs < REPORT_MS) return;
    this.#reportedMs = nowMs;
    this.#highestRss = Math.max(this.#highestRss, process.memoryUsage.rss());
    const { instancesUsd, extrasUsd, surplusCreditsUsd } = measure.spending.totals;
    this.#options.onProgress({
      share: Math.max(0, (this.#clock.now() - this.#startMs) / (this.#endMs - this.#startMs)),
      nodes: measure.spending.nodes,
      pods: measure.pods.running,
      usd: instancesUsd + extrasUsd + surplusCreditsUsd,
    });
  }

  async #apply({ client, measure }: ReplayWorld, event: TraceEvent): Promise<void> {
    try {
      await playEvent(client, event);
    } catch (error) {
      if (!(error instanceof RefusedRequest)) throw error;
      measure.complaints.logger.error('the cluster rejected an event of the trace', { error });
    }
  }

  #result({ measure }: ReplayWorld): ReplayRun {
    const { set, life, signal } = this.#options;
    const playedSeconds = Math.max(0, (this.#clock.now() - this.#startMs) / 1000);
    return {
      name: set.name,
      settings: set.says,
      ...(life !== undefined && { life }),
      playedSeconds,
      isComplete: !(signal?.aborted ?? false),
      ...measure.result(playedSeconds, this.#paid),
      took: {
        seconds: (performance.now() - this.#startedMs) / 1000,
        rssBytes: Math.max(this.#highestRss, process.memoryUsage.rss()),
      },
    };
  }
}

const playEvent = (client: ObjectClient, event: TraceEvent): Promise<void> =>
  play(client, 'apply' in event ? { ...event, apply: fitToAccount(event.apply, CLUSTER) } : event);

/** Returns the share of list and spot prices that is paid for the current nodes, or 1 without a price book. */
async function paidShare({ deps, settings }: ReplayWorld['operator']): Promise<number> {
  const { cloud, cluster } = deps;
  if (settings.priceBook === '') return 1;
  const pools = await viewedPoolInputs(deps);
  let [listed, paid] = [0, 0];
  for (const price of nodePrices(cluster.nodes(), pools, cloud.commitments?.()).values()) {
    const { usdPerHour, listUsdPerHour = usdPerHour, extras } = price;
    listed += listUsdPerHour + chargesUsdPerHour(extras);
    paid += billedPriceOf(price);
  }
  return listed > 0 ? paid / listed : 1;
}

/**
 * Returns the seed of a life for one purpose. Lives of a trace differ in the boot times of machines and in the choice between
 * nodes with equal scores. Everything else comes from the seed of the world, so that all sets of settings play the same lives.
 */
const seedOf = ({ seed }: WorldModel, life: number, purpose: string): number =>
  Math.floor(chance(seed, 'life', life, purpose) * 2 ** 32);

/** @param life number of the life, from 1 */
const worldOfLife = (world: WorldModel, life: number): WorldModel => ({
  ...world,
  bootSeed: seedOf(world, life, 'boot'),
});

/**
 * Chooses between nodes with equal scores at random, as kube-scheduler does. The choice depends only on the life and on
 * the names of the pod and the nodes.
 * @param life number of the life, from 1
 */
function tieBreakOfLife(world: WorldModel, life: number): TieBreak {
  const seed = seedOf(world, life, 'ties');
  return ({ metadata: { namespace = '', name } }, node) => chance(seed, namespace, name, node.name);
}

/**
 * EC2NodeClasses that match the account of a replay. The subnets, security groups, roles and images of the recorded
 * cluster do not exist in this account. The selectors of a NodeClass are therefore replaced, and all other fields stay
 * the same.
 */
const DEFAULT_ALIAS = 'al2023@latest';

const isNodeClass = (object: KubeObject): object is EC2NodeClass =>
  object.kind === EC2_NODE_CLASS.kind && object.apiVersion.startsWith(`${EC2_NODE_CLASS.group}/`);

/** Returns an EC2NodeClass with selectors for the account of the replay. Other objects are returned unchanged. */
export function fitToAccount<T extends KubeObject>(object: T, clusterName: string): T {
  if (!isNodeClass(object)) return object;
  const {
    role: _role,
    instanceProfile: _profile,
    capacityReservationSelectorTerms: _reservations,
    placementGroupSelector: _placement,
    ...spec
  } = object.spec as EC2NodeClass['spec'] & { readonly placementGroupSelector?: unknown };
  const discovery = [{ tags: { 'karpenter.sh/discovery': clusterName } }];
  const alias = spec.amiSelectorTerms?.find((term) => term.alias !== undefined)?.alias ?? aliasOf(spec.amiFamily);
  return {
    ...object,
    spec: {
      ...spec,
      amiSelectorTerms: [{ alias: `${alias.split('@', 1)[0]}@latest` }],
      subnetSelectorTerms: discovery,
      securityGroupSelectorTerms: discovery,
      role: `KarpenterNodeRole-${clusterName}`,
    },
  } as T;
}

function aliasOf(family: string | undefined): string {
  const known = ALIAS_FAMILIES.find((each) => each === family);
  return known === undefined ? DEFAULT_ALIAS : `${known.toLowerCase()}@latest`;
}

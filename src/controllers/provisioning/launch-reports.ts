/** Reports unproductive launches: the condition of the NodePool, an event, metrics and `/debug/launches`. */
import { type NodePool, uidOf } from '#api/objects';
import { causeKey, LAUNCH_CAUSES, type LaunchCauseCode } from '#engine/solve';
import { timestamp } from '#lib';
import { monotonicMs } from '#lib/clock';
import { eventOf, LAUNCHES_ABANDONED, LAUNCHES_UNPRODUCTIVE } from '#observe/events';
import { NODEPOOLS_LAUNCH_BACK_OFF_SECONDS, NODEPOOLS_LAUNCHES_UNPRODUCTIVE } from '#observe/metrics';
import { wallTimeOf } from '#state';
import type { Deps } from '../deps.ts';
import { CostTracker } from '../metrics/cost.ts';
import { launchCondition, type ReportedCause, writeLaunchCondition } from './launch-condition.ts';
import type { Launch, Launches } from './launches.ts';
import type { Abandonment, CauseRecord, PoolBudget } from './pool-budget.ts';

const HOUR_MS = 3_600_000;
/** EC2 bills at least a minute. */
const LEAST_BILLED_MS = 60_000;

/** Cause in a NodePool, as `/debug/launches` shows it. */
export interface PoolReport extends ReportedCause {
  readonly nodePool: string;
  readonly allowances: number;
}

const namesOf = (abandonments: readonly Abandonment[]): string =>
  abandonments.map(({ namespace }) => namespace).join(' ');

export class LaunchReports {
  readonly #deps: Deps;
  readonly #prices: CostTracker;
  readonly #launches: Launches;
  readonly #pools: ReadonlyMap<string, PoolBudget>;
  /** NodePools whose condition may be outdated. */
  readonly #changed = new Set<string>();
  /** Reported namespaces with abandoned launches, by NodePool. */
  readonly #abandoning = new Map<string, string>();
  /** Number of the last hold in the log of decisions. */
  readonly #logged = new WeakMap<CauseRecord, number>();

  constructor(deps: Deps, launches: Launches, pools: ReadonlyMap<string, PoolBudget>) {
    this.#deps = deps;
    this.#prices = new CostTracker(deps);
    this.#launches = launches;
    this.#pools = pools;
    deps.metrics.beforeScrape(() => this.#measure());
  }

  /** The next `write` reports the NodePool. */
  changed(nodePool: string): void {
    this.#changed.add(nodePool);
  }

  count(nodepool: string, cause: LaunchCauseCode): void {
    this.#deps.metrics.counter(NODEPOOLS_LAUNCHES_UNPRODUCTIVE).inc({ nodepool, cause });
  }

  /** Ends the series of a NodePool that is gone. */
  forget(nodepool: string): void {
    this.#changed.delete(nodepool);
    this.#abandoning.delete(nodepool);
    for (const cause of LAUNCH_CAUSES)
      this.#deps.metrics.counter(NODEPOOLS_LAUNCHES_UNPRODUCTIVE).remove({ nodepool, cause });
  }

  /** Cost of a launch until now, in USD. */
  usdOf({ createdMs, usdPerHour = 0 }: Launch): number {
    return (usdPerHour * Math.max(LEAST_BILLED_MS, monotonicMs(this.#deps.clock) - createdMs)) / HOUR_MS;
  }

  *all(): Generator<PoolReport> {
    for (const [nodePool, budget] of this.#pools)
      for (const report of this.#causesOf(nodePool, budget))
        yield { nodePool, allowances: budget.allowancesFor(report.record).left, ...report };
  }

  /** Writes the conditions of NodePools that have changed. A failure is tried again with the next call. */
  async write(): Promise<void> {
    for (const [name, budget] of this.#pools)
      if (namesOf(budget.abandonments()) !== (this.#abandoning.get(name) ?? '')) this.#changed.add(name);
    for (const name of [...this.#changed]) {
      this.#changed.delete(name);
      const budget = this.#pools.get(name);
      const pool = this.#deps.cluster.stores.nodePools.get({ name });
      if (budget === undefined || pool === undefined) continue;
      try {
        await this.#writeOne(pool, budget);
      } catch (error) {
        this.#changed.add(name);
        this.#deps.log.debug('failed writing the launch condition, trying again', { NodePool: { name }, error });
      }
    }
  }

  async #writeOne(pool: NodePool, budget: PoolBudget): Promise<void> {
    const { clock } = this.#deps;
    const { name } = pool.metadata;
    for (const key of budget.records.keys())
      for (const launch of this.#launches.unproductiveOf(name, key)) await this.#readPrice(launch, pool);
    const causes = this.#causesOf(name, budget);
    for (const cause of causes) this.#publish(pool, cause);
    const abandonments = budget.abandonments();
    for (const { namespace, nodes, nextMs } of abandonments) {
      const message = LAUNCHES_ABANDONED.message(nodes, namespace, wallTimeOf(clock, nextMs));
      this.#deps.events.publish(eventOf(LAUNCHES_ABANDONED, pool, { message, dedupe: [uidOf(pool), namespace] }));
    }
    await writeLaunchCondition(this.#deps, name, launchCondition(clock, causes, abandonments));
    this.#abandoning.set(name, namesOf(abandonments));
  }

  #publish(pool: NodePool, { record, usd, nextMs }: ReportedCause): void {
    const { clock, decisions, events } = this.#deps;
    if (nextMs === undefined || nextMs <= monotonicMs(clock)) return;
    const until = wallTimeOf(clock, nextMs);
    const message = LAUNCHES_UNPRODUCTIVE.message(record.nodes, usd, record.text, until);
    const dedupe = [uidOf(pool), causeKey(record.cause), `${record.times}`];
    events.publish(eventOf(LAUNCHES_UNPRODUCTIVE, pool, { message, dedupe }));
    if (this.#logged.get(record) === record.times) return;
    this.#logged.set(record, record.times);
    const { name: nodePool } = pool.metadata;
    const at = timestamp(clock.now());
    decisions?.record({ kind: 'held', at, nodePool, reason: record.cause.code, text: record.text, until });
  }

  #causesOf(nodePool: string, budget: PoolBudget): readonly ReportedCause[] {
    return [...budget.records].map(([key, record]) => {
      const running = [...this.#launches.unproductiveOf(nodePool, key)];
      const usd = running.reduce((sum, launch) => sum + this.usdOf(launch), record.usd);
      return { record, usd, nextMs: record.times > 0 ? budget.nextAttemptMs(record) : undefined };
    });
  }

  /** Reads the price of a launch. If the cloud does not return a price, the node counts as free of charge. */
  async #readPrice(launch: Launch, pool: NodePool): Promise<void> {
    if (launch.usdPerHour !== undefined) return;
    try {
      launch.usdPerHour = await this.#prices.usdPerHour(pool, [launch.claim]);
    } catch {
      launch.usdPerHour = 0;
    }
  }

  #measure(): void {
    const { clock, metrics } = this.#deps;
    const gauge = metrics.gauge(NODEPOOLS_LAUNCH_BACK_OFF_SECONDS);
    gauge.reset();
    for (const [nodepool, budget] of this.#pools) {
      const longest = new Map<LaunchCauseCode, number>();
      for (const { cause, times, untilMs } of budget.records.values()) {
        const seconds = times === 0 ? 0 : Math.max(0, (untilMs - monotonicMs(clock)) / 1000);
        longest.set(cause.code, Math.max(seconds, longest.get(cause.code) ?? 0));
      }
      for (const [cause, seconds] of longest) gauge.set({ nodepool, cause }, seconds);
    }
  }
}

/**
 * Decides for every origin of launches whether a NodePool may launch nodes now. Launches that served no purpose hold back
 * those of affected pods alone; the others go on. See docs/decisions/0050.
 */
import type { KubeObject, Pod } from '../../api/kubernetes.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { uidOf } from '../../api/object-fields.ts';
import type { LaunchCause, WithheldLaunch } from '../../engine/launch-causes.ts';
import type { PlannedClaim } from '../../engine/model.ts';
import { podKey } from '../../engine/pods.ts';
import { causeKey } from '../../engine/withheld-launches.ts';
import { type HoldOf, timeOf } from '../../engine-worker/pod-holds.ts';
import { monotonicMs } from '../../kube/clock.ts';
import { after, type Singleton } from '../../kube/reconciler.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { LAUNCHES_UNPRODUCTIVE } from '../../observe/events/nodepools.ts';
import type { Logger } from '../../observe/logger.ts';
import { NODEPOOLS_LAUNCH_BACK_OFF_SECONDS, NODEPOOLS_LAUNCHES_UNPRODUCTIVE } from '../../observe/metrics/nodepools.ts';
import type { Deps } from '../deps.ts';
import { CostTracker } from '../metrics/cost.ts';
import { isSame, nodeClassKinds } from '../node-classes.ts';
import { launchCondition, type ReportedCause, restoredCauses, writeLaunchCondition } from './launch-condition.ts';
import { isProven, type Launch, Launches, type Outcomes } from './launches.ts';
import { affects, type CauseState, PoolBudget, type Unproductive } from './pool-budget.ts';

const PERIOD_MS = 5_000;
const HOUR_MS = 3_600_000;
/** EC2 bills at least a minute. */
const LEAST_BILLED_MS = 60_000;

type Suspects = ReturnType<Launches['suspects']>;

/** Cause as it stands in a NodePool now. */
interface Standing {
  readonly nodePool: string;
  readonly cause: LaunchCause;
  readonly text: string;
  readonly state: CauseState;
  /** By `monotonicMs`; undefined while it is not known. */
  readonly nextMs: number | undefined;
  readonly sinceMs: number;
  readonly times: number;
}

export class LaunchBudget implements Outcomes {
  readonly #deps: Deps;
  readonly #prices: CostTracker;
  readonly #launches: Launches;
  readonly #pools = new Map<string, PoolBudget>();
  /** NodePools whose condition may be outdated. */
  readonly #changed = new Set<string>();
  /** Withheld launches of the last simulations: equal ones stay the same objects. */
  readonly #simulated = new Map<string, WithheldLaunch>();
  /** Lets the pods that a cause affects take turns in trying. */
  #turn = 0;
  #log: Logger;

  constructor(deps: Deps) {
    const { cloud, cluster, informers, log, metrics } = deps;
    this.#deps = deps;
    this.#log = log;
    this.#prices = new CostTracker(deps);
    this.#launches = new Launches(deps, this);
    cluster.stores.nodePools.subscribe((event, pool, before) => this.#poolChanged(event, pool, before));
    for (const kind of nodeClassKinds(cloud))
      informers.store(kind).subscribe((event, object, before) => {
        if (event === 'deleted' || !isEdited(object, before)) return;
        for (const { metadata, spec } of cluster.stores.nodePools.list()) {
          const { nodeClassRef } = spec.template.spec;
          if (isSame(nodeClassRef, kind) && nodeClassRef.name === object.metadata.name) this.#edited(metadata.name);
        }
      });
    metrics.beforeScrape(() => this.#measure());
  }

  /** Launches that provisioning must not plan for these pods now. */
  withheld(pods: readonly Pod[]): readonly WithheldLaunch[] {
    const standing = this.#standing();
    if (standing.length === 0) return [];
    this.#turn += 1;
    return standing.map((each) => this.#withheld(each, standing, pods));
  }

  /** As `withheld`, for simulations of disruption: the same objects while nothing changes. */
  withheldFromSimulations(pods: readonly Pod[]): readonly WithheldLaunch[] {
    const held = this.#standing().filter(({ state }) => state === 'held');
    const withheld = held.map((each) => {
      const found = this.#withheld(each, held, pods);
      const key = JSON.stringify([found.nodePool, causeKey(found.cause), found.text, ...(found.pods ?? [])]);
      return [key, this.#simulated.get(key) ?? found] as const;
    });
    this.#simulated.clear();
    for (const [key, each] of withheld) this.#simulated.set(key, each);
    return withheld.map(([, each]) => each);
  }

  /** Number of nodes that may be launched from a NodePool without regard to pods. */
  room(nodePool: string): number {
    const ofAll = this.#standingIn(nodePool).filter(({ cause }) => affectsEveryPod(cause));
    if (ofAll.some(({ state }) => state === 'held')) return 0;
    return ofAll.length > 0 ? 1 : Number.POSITIVE_INFINITY;
  }

  /**
   * Splits planned claims into those to create and those that wait. A NodePool with many causes, or with few allowances
   * left, launches nodes for pods of which none runs there a few at a time.
   */
  admit(
    claims: readonly PlannedClaim[],
    pods: ReadonlyMap<string, Pod>,
  ): { readonly admitted: readonly PlannedClaim[]; readonly waiting: readonly PlannedClaim[] } {
    const rooms = new Map<string, number>();
    const roomOf = (nodePool: string): number => rooms.get(nodePool) ?? this.#roomForUnproven(nodePool);
    const admitted: PlannedClaim[] = [];
    const waiting: PlannedClaim[] = [];
    for (const claim of claims) {
      const room = roomOf(claim.nodePool);
      const isLimited = room !== Number.POSITIVE_INFINITY && !this.#isProven(claim, pods);
      if (isLimited && room <= 0) waiting.push(claim);
      else admitted.push(claim);
      rooms.set(claim.nodePool, isLimited ? room - 1 : room);
    }
    return { admitted, waiting };
  }

  /** Returns a function that finds why a NodePool launches no node for a pod at this moment. */
  holds(): HoldOf {
    const standing = this.#standing().filter(({ state, nextMs }) => state === 'held' && nextMs !== undefined);
    return (pod) => {
      const found = standing.find(({ cause }) => affects(cause, pod));
      if (found === undefined) return undefined;
      const { nodePool, text, nextMs = 0, sinceMs, times } = found;
      const why = `nodes of NodePool ${nodePool} that were launched for such pods serve no purpose: ${text}`;
      return { code: 'not-bound', text: why, sinceMs, untilMs: nextMs, times };
    };
  }

  /** Time of the next attempt, as text, for a planned claim that waits for an allowance. */
  allowedAt({ nodePool }: PlannedClaim): string {
    return timeOf(this.#deps.clock, this.#pools.get(nodePool)?.allowedAtMs(1) ?? monotonicMs(this.#deps.clock));
  }

  /** Causes of every NodePool, for `/debug/launches`. */
  *reports(): Generator<{ readonly nodePool: string; readonly allowances: number } & ReportedCause> {
    for (const [nodePool, budget] of this.#pools)
      for (const report of this.#reported(nodePool, budget))
        yield { nodePool, allowances: budget.allowances, ...report };
  }

  readonly judge: Singleton = {
    name: 'provisioner.launches',
    singleton: true,
    reconcile: async ({ log }) => {
      this.#log = log;
      this.#launches.judge();
      for (const nodePool of [...this.#changed]) await this.#report(nodePool);
      return after(PERIOD_MS);
    },
  };

  initialized({ nodePool, createdMs }: Launch): void {
    if (this.#pools.get(nodePool)?.initialized(createdMs)) this.#markChanged(nodePool);
  }

  served({ nodePool, createdMs }: Launch, pod: Pod): void {
    if (this.#pools.get(nodePool)?.served(pod, createdMs)) this.#markChanged(nodePool);
  }

  failed(launch: Launch, unproductive: Unproductive): void {
    const { nodePool } = launch;
    const { clock, cluster, metrics } = this.#deps;
    if (cluster.stores.nodePools.get({ name: nodePool }) === undefined) return;
    const budget = this.#budgetOf(nodePool);
    const { isHeld, forgotten } = budget.failed(unproductive);
    metrics.counter(NODEPOOLS_LAUNCHES_UNPRODUCTIVE).inc({ nodepool: nodePool, cause: unproductive.cause.code });
    this.#markChanged(nodePool);
    const NodePool = { name: nodePool };
    if (forgotten !== undefined)
      this.#log.error('forgetting a cause of unproductive launches, there are too many', {
        NodePool,
        error: forgotten.text,
      });
    if (!isHeld) return;
    const record = budget.records.get(causeKey(unproductive.cause));
    const until = timeOf(clock, record === undefined ? monotonicMs(clock) : budget.nextAttemptMs(record));
    this.#log.error('holding back launches', {
      NodePool,
      cause: unproductive.cause.code,
      until,
      error: unproductive.text,
    });
  }

  ended(launch: Launch): void {
    const { nodePool, unproductive = '' } = launch;
    this.#pools.get(nodePool)?.spent(unproductive, this.#usdOf(launch));
    this.#changed.add(nodePool);
  }

  forgotten({ name }: Launch): void {
    this.#log.error('forgetting a launch before its outcome is known, there are too many', { NodeClaim: { name } });
  }

  #budgetOf(nodePool: string): PoolBudget {
    let budget = this.#pools.get(nodePool);
    if (budget === undefined) {
      budget = new PoolBudget(this.#deps.clock, this.#deps.random);
      this.#pools.set(nodePool, budget);
    }
    return budget;
  }

  #poolChanged(event: string, pool: NodePool, before: NodePool | undefined): void {
    const { name } = pool.metadata;
    if (event === 'deleted') this.#forget(name);
    else if (event === 'added' && !this.#pools.has(name)) {
      const records = restoredCauses(this.#deps.clock, pool);
      if (records.length > 0) this.#budgetOf(name).restore(records);
    } else if (isEdited(pool, before)) this.#edited(name);
  }

  #forget(name: string): void {
    this.#pools.delete(name);
    this.#changed.delete(name);
    for (const cause of CODES) {
      this.#deps.metrics.counter(NODEPOOLS_LAUNCHES_UNPRODUCTIVE).remove({ nodepool: name, cause });
      this.#deps.metrics.gauge(NODEPOOLS_LAUNCH_BACK_OFF_SECONDS).remove({ nodepool: name, cause });
    }
  }

  #edited(nodePool: string): void {
    if (this.#pools.get(nodePool)?.edited()) this.#markChanged(nodePool);
  }

  /** Consolidation may find other replacements now. */
  #markChanged(nodePool: string): void {
    this.#changed.add(nodePool);
    this.#deps.cluster.markChanged();
  }

  #standing(): readonly Standing[] {
    const names = new Set(this.#pools.keys());
    for (const nodePool of this.#launches.nodePools()) names.add(nodePool);
    return [...names].flatMap((nodePool) => this.#standingIn(nodePool));
  }

  #standingIn(nodePool: string): readonly Standing[] {
    const suspects = this.#launches.suspects(nodePool);
    if (suspects.size === 0 && !this.#pools.has(nodePool)) return [];
    const budget = this.#budgetOf(nodePool);
    const { records } = budget;
    return [...new Set([...records.keys(), ...suspects.keys()])].flatMap((key) => {
      const record = records.get(key);
      const suspect = suspects.get(key);
      const { cause, text } = record ?? suspect ?? {};
      if (cause === undefined || text === undefined) return [];
      const hasTrialSince = (ms: number): boolean =>
        [...this.#launches.openOf(nodePool)].some((launch) => launch.createdMs >= ms && isFor(launch, cause));
      const state = budget.stateOf(cause, { suspects: suspect?.count ?? 0, hasTrialSince });
      if (state === 'open') return [];
      const isTimed = record !== undefined && record.times > 0;
      const nextMs = isTimed ? budget.nextAttemptMs(record) : undefined;
      const sinceMs = isTimed ? record.heldMs : monotonicMs(this.#deps.clock);
      return { nodePool, cause, text, state, nextMs, sinceMs, times: record?.times ?? 0 };
    });
  }

  #withheld(standing: Standing, all: readonly Standing[], pods: readonly Pod[]): WithheldLaunch {
    const { nodePool, cause, state } = standing;
    const found: WithheldLaunch = { nodePool, cause, text: this.#textOf(standing) };
    const isOfLikeness = cause.code === 'volume' || cause.code === 'not-used';
    if (!isOfLikeness && state === 'held') return found;
    const affected = pods.filter((pod) => affects(cause, pod));
    const ofLikeness = isOfLikeness ? { pods: new Set(affected.map(podKey)) } : {};
    if (state === 'held') return { ...found, ...ofLikeness };
    const others = all.filter((other) => other !== standing && other.nodePool === nodePool && other.state === 'held');
    const free = affected.filter((pod) => !others.some((other) => affects(other.cause, pod)));
    const trial = free[this.#turn % Math.max(free.length, 1)];
    return { ...found, ...ofLikeness, ...(trial && { trial: podKey(trial) }) };
  }

  #textOf({ text, nextMs }: Standing): string {
    const next = nextMs === undefined ? '' : `; the next attempt is at ${timeOf(this.#deps.clock, nextMs)}`;
    return `nodes that were launched for such pods serve no purpose: ${text}${next}`;
  }

  #roomForUnproven(nodePool: string): number {
    const suspects: Suspects = this.#launches.suspects(nodePool);
    if (suspects.size === 0 && !this.#pools.has(nodePool)) return Number.POSITIVE_INFINITY;
    const counts = new Map([...suspects].map(([key, { count }]) => [key, count]));
    const room = this.#budgetOf(nodePool).unprovenAtOnce(counts);
    if (room === Number.POSITIVE_INFINITY) return room;
    const underWay = [...this.#launches.openOf(nodePool)].filter(
      ({ initializedMs, departedMs, pods }) =>
        initializedMs === undefined &&
        departedMs === undefined &&
        ![...pods.values()].some((pod) => isProven(this.#deps.cluster, nodePool, pod)),
    );
    return room - underWay.length;
  }

  #isProven({ nodePool, pods: keys }: PlannedClaim, pods: ReadonlyMap<string, Pod>): boolean {
    return keys.some((key) => {
      const pod = pods.get(key);
      return pod !== undefined && isProven(this.#deps.cluster, nodePool, pod);
    });
  }

  #reported(nodePool: string, budget: PoolBudget): readonly ReportedCause[] {
    return [...budget.records].map(([key, record]) => {
      const running = [...this.#launches.unproductiveOf(nodePool, key)];
      const usd = running.reduce((sum, launch) => sum + this.#usdOf(launch), record.usd);
      return { record, usd, nextMs: record.times > 0 ? budget.nextAttemptMs(record) : undefined };
    });
  }

  async #report(nodePool: string): Promise<void> {
    const { clock, cluster, events } = this.#deps;
    const budget = this.#pools.get(nodePool);
    const pool = cluster.stores.nodePools.get({ name: nodePool });
    this.#changed.delete(nodePool);
    if (budget === undefined || pool === undefined) return;
    for (const key of budget.records.keys())
      for (const launch of this.#launches.unproductiveOf(nodePool, key)) await this.#readPrice(launch, pool);
    const causes = this.#reported(nodePool, budget);
    const update = launchCondition(clock, causes);
    try {
      await writeLaunchCondition(this.#deps, nodePool, update);
    } catch (error) {
      this.#changed.add(nodePool);
      this.#log.debug('failed writing the launch condition, trying again', { NodePool: { name: nodePool }, error });
    }
    for (const { record, usd, nextMs } of causes) {
      if (nextMs === undefined || nextMs <= monotonicMs(clock)) continue;
      const message = LAUNCHES_UNPRODUCTIVE.message(record.nodes, usd, record.text, timeOf(clock, nextMs));
      events.publish(
        eventOf(LAUNCHES_UNPRODUCTIVE, pool, {
          message,
          dedupe: [uidOf(pool), causeKey(record.cause), `${record.times}`],
        }),
      );
    }
  }

  /** The price is not known if the cloud cannot be asked; then the node counts as free of charge. */
  async #readPrice(launch: Launch, pool: NodePool): Promise<void> {
    if (launch.usdPerHour !== undefined) return;
    try {
      launch.usdPerHour = await this.#prices.usdPerHour(pool, [launch.claim]);
    } catch {
      launch.usdPerHour = 0;
    }
  }

  #usdOf({ createdMs, usdPerHour = 0 }: Launch): number {
    return (usdPerHour * Math.max(LEAST_BILLED_MS, monotonicMs(this.#deps.clock) - createdMs)) / HOUR_MS;
  }

  #measure(): void {
    const { clock, metrics } = this.#deps;
    const gauge = metrics.gauge(NODEPOOLS_LAUNCH_BACK_OFF_SECONDS);
    gauge.reset();
    for (const [nodepool, budget] of this.#pools) {
      const longest = new Map<string, number>();
      for (const record of budget.records.values()) {
        const seconds = record.times === 0 ? 0 : Math.max(0, (record.untilMs - monotonicMs(clock)) / 1000);
        longest.set(record.cause.code, Math.max(seconds, longest.get(record.cause.code) ?? 0));
      }
      for (const [cause, seconds] of longest) gauge.set({ nodepool, cause }, seconds);
    }
  }
}

const CODES = ['taint', 'label', 'resource', 'host-port', 'volume', 'not-used', 'never-joined', 'terminated'] as const;

const affectsEveryPod = ({ code }: LaunchCause): boolean => code === 'never-joined' || code === 'terminated';

const isFor = ({ pods }: Launch, cause: LaunchCause): boolean =>
  affectsEveryPod(cause) || [...pods.values()].some((pod) => affects(cause, pod));

const isEdited = (object: KubeObject, before: KubeObject | undefined): boolean =>
  before !== undefined && object.metadata.generation !== before.metadata.generation;

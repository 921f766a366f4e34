/**
 * Decides for every origin of launches whether a NodePool may launch nodes now. Launches that served no purpose hold back
 * further launches for affected pods; launches for other pods go on. See docs/decisions/0050.
 */
import type { KubeObject, NodeClaim, NodePool, Pause, Pod } from '#api/objects';
import { namespaceOf, type PlannedClaim, podKey } from '#engine/model';
import { causeKey, type LaunchCause, type WithheldLaunch } from '#engine/solve';
import { refOf } from '#kube/client';
import { after, type Singleton } from '#kube/reconcilers';
import { monotonicMs } from '#lib/clock';
import { type HoldOf, likenessOf, PAUSED_RETRY_MS, type PodHold, wallTimeOf } from '#state';
import type { Deps } from '../deps.ts';
import { isSame } from '../node-classes.ts';
import { reportLaunch, wouldLaunch } from '../observed.ts';
import { GangLaunches, wholeGangs } from './gang-launches.ts';
import { hasLimitedLaunches, restoredCauses } from './launch-condition.ts';
import { LaunchReports, type PoolReport } from './launch-reports.ts';
import { inTurn, LaunchRooms } from './launch-rooms.ts';
import { type SuspectNodes, suspectsAmong } from './launch-suspects.ts';
import { type Launch, Launches, type Outcomes } from './launches.ts';
import {
  affectedNamespaces,
  affectsEveryPod,
  type CauseRecord,
  type CauseState,
  isOfLikeness,
  isSubjectTo,
  PoolBudget,
  type Unproductive,
} from './pool-budget.ts';
import { UnneededLaunches } from './unneeded-launches.ts';

const PERIOD_MS = 5_000;

/** Cause that keeps a NodePool from launching nodes for affected pods now, except for one trial if it is due. */
interface Standing {
  readonly nodePool: string;
  readonly cause: LaunchCause;
  readonly text: string;
  readonly state: CauseState;
  /** Restricts the affected pods to these namespaces if set. */
  readonly namespaces: ReadonlySet<string> | undefined;
  /** Restricts the affected pods to these likenesses if set. */
  readonly likenesses: ReadonlySet<string> | undefined;
  /** Undefined before the first back-off. */
  readonly record: CauseRecord | undefined;
  /** By `monotonicMs`; undefined before the first back-off. */
  readonly nextMs: number | undefined;
}

const isSubject = (standing: Standing, pod: Pod): boolean =>
  isSubjectTo(standing, pod) && (standing.likenesses?.has(likenessOf(pod)) ?? true);

export class LaunchBudget implements Outcomes {
  readonly #deps: Deps;
  readonly gangs: GangLaunches;
  readonly #launches: Launches;
  readonly #reports: LaunchReports;
  readonly #unneeded: UnneededLaunches;
  readonly #pools = new Map<string, PoolBudget>();
  /** Withheld launches of the last simulations: equal ones stay the same objects. */
  readonly #simulated = new Map<string, WithheldLaunch>();
  /** Pods of planned claims that wait for an allowance since the last solve, by namespaced name. */
  #waits: ReadonlyMap<string, PodHold> = new Map();
  /** Lets the pods that a cause affects take turns in trying. */
  #turn = 0;
  /** False while another replica leads: its conditions are followed then. */
  #isActive = false;

  constructor(deps: Deps) {
    const { cloud, cluster, informers } = deps;
    this.#deps = deps;
    this.gangs = new GangLaunches(deps);
    this.#launches = new Launches(deps, this);
    this.#reports = new LaunchReports(deps, this.#launches, this.#pools);
    this.#unneeded = new UnneededLaunches(deps, this.#launches);
    cluster.stores.nodePools.subscribe((event, pool, before) => this.#poolChanged(event, pool, before));
    for (const kind of cloud.nodeClassKinds)
      informers.store(kind).subscribe((event, object, before) => {
        if (event === 'deleted' || !isEdited(object, before)) return;
        for (const { metadata, spec } of cluster.stores.nodePools.list()) {
          const { nodeClassRef } = spec.template.spec;
          if (isSame(nodeClassRef, kind) && nodeClassRef.name === object.metadata.name) this.#edited(metadata.name);
        }
      });
  }

  /** Launches that provisioning must not plan for these pods now. */
  withheld(pods: readonly Pod[]): readonly WithheldLaunch[] {
    this.#isActive = true;
    const standing = this.#standing();
    if (standing.length === 0) return [];
    this.#turn += 1;
    return standing.map((each) => this.#withheld(each, standing, pods));
  }

  /** Like `withheld`, for simulations of disruption. Returns the same objects until a change. */
  withheldFromSimulations(pods: readonly Pod[]): readonly WithheldLaunch[] {
    const held = this.#standing().filter(({ state }) => state === 'held');
    const withheld = held.map((each) => {
      const found = this.#withheld(each, held, pods);
      const { nodePool, cause, text, namespaces = [], pods: listed = [] } = found;
      const key = JSON.stringify([nodePool, causeKey(cause), text, [...namespaces], ...listed]);
      return [key, this.#simulated.get(key) ?? found] as const;
    });
    this.#simulated.clear();
    for (const [key, each] of withheld) this.#simulated.set(key, each);
    return withheld.map(([, each]) => each);
  }

  /** Reports whether a pod still needs a NodeClaim whose instance was not requested. */
  isNeeded({ metadata }: NodeClaim): boolean {
    return this.#launches.isNeeded(metadata.name);
  }

  /** Number of nodes that may be launched from a NodePool without regard to pods. */
  room(nodePool: string): number {
    if (this.#deps.cluster.pause.of('launches')) return 0;
    const ofAll = this.#standingIn(nodePool).filter(({ cause }) => affectsEveryPod(cause));
    if (ofAll.some(({ state }) => state === 'held')) return 0;
    return ofAll.length > 0 ? 1 : Number.POSITIVE_INFINITY;
  }

  /**
   * Splits planned claims into claims to create and claims that wait, because their namespaces have few allowances left. Kinds of
   * pods take turns.
   */
  admit(
    claims: readonly PlannedClaim[],
    pods: ReadonlyMap<string, Pod>,
  ): { readonly admitted: readonly PlannedClaim[]; readonly waiting: readonly PlannedClaim[] } {
    this.#launches.countAbandoned();
    const byPool = Map.groupBy(claims, ({ nodePool }) => nodePool);
    const { observation, pause: pauses } = this.#deps.cluster;
    const pause = pauses.of('launches');
    const short = new Set(
      pause === undefined
        ? [...byPool].flatMap(([nodePool, own]) =>
            observation.of(nodePool) === undefined ? this.#waitingAmong(nodePool, own, pods) : own,
          )
        : claims,
    );
    const waiting = wholeGangs(claims, short, pods);
    this.#waits = new Map(
      [...waiting].flatMap((claim) => {
        const hold = pause === undefined ? (this.#observed(claim) ?? this.#waitOf(claim)) : this.#pausedBy(pause);
        return claim.pods.map((key) => [key, hold] as const);
      }),
    );
    return { admitted: claims.filter((claim) => !waiting.has(claim)), waiting: [...waiting] };
  }

  /** Returns a function that finds why a NodePool launches no node for a pod at this moment. */
  holds(): HoldOf {
    const standing = this.#standing().filter(({ state }) => state === 'held');
    return (pod) => {
      const found = standing.find((each) => each.record !== undefined && isSubject(each, pod));
      if (found?.record === undefined) return this.#waits.get(podKey(pod));
      const { nodePool, text, nextMs, record } = found;
      const why = `nodes of NodePool ${nodePool} that were launched for such pods did not run them: ${text}`;
      return {
        code: 'not-bound',
        text: why,
        times: record.times,
        sinceMs: record.heldMs,
        untilMs: nextMs ?? record.untilMs,
      };
    };
  }

  /** Reports the launch of a claim of an observed NodePool, and returns the hold of its pods. */
  #observed(claim: PlannedClaim): PodHold | undefined {
    const by = this.#deps.cluster.observation.of(claim.nodePool);
    if (by === undefined) return undefined;
    reportLaunch(this.#deps, claim);
    const nowMs = monotonicMs(this.#deps.clock);
    const text = `NodePool ${claim.nodePool} is observed (${by}), ${wouldLaunch(claim)}`;
    return { code: 'observed', text, times: 1, sinceMs: nowMs, untilMs: nowMs + PAUSED_RETRY_MS };
  }

  #pausedBy({ untilMs, reason }: Pause): PodHold {
    const { clock } = this.#deps;
    const nowMs = monotonicMs(clock);
    const text = `launches are paused${reason === '' ? '' : `: ${reason}`}`;
    return { code: 'paused', text, times: 1, sinceMs: nowMs, untilMs: nowMs + untilMs - clock.now() };
  }

  /** Returns the hold of the pods of a claim that waits for an allowance. */
  #waitOf({ nodePool, pods: keys }: PlannedClaim): PodHold {
    const namespaces = new Set(keys.map((key) => refOf(key).namespace ?? ''));
    const shares = [...namespaces].map((namespace) => this.#budgetOf(nodePool).shareOf(namespace));
    const untilMs = shares.map(({ unproductive, abandoned }) => Math.max(unproductive.atMs(1), abandoned.atMs(1)));
    const text =
      `too many nodes of NodePool ${nodePool} that were recently launched for pods of namespace ` +
      `${[...namespaces].join(', ')} were not used, or their pods were deleted first`;
    const sinceMs = keys.map((key) => this.#waits.get(key)?.sinceMs ?? monotonicMs(this.#deps.clock));
    return { code: 'not-bound', text, times: 1, sinceMs: Math.min(...sinceMs), untilMs: Math.min(...untilMs) };
  }

  /** Causes of every NodePool. */
  reports(): Iterable<PoolReport> {
    return this.#reports.all();
  }

  readonly judge: Singleton = {
    name: 'provisioner.launches',
    singleton: true,
    reconcile: async () => {
      this.#isActive = true;
      this.#launches.judge();
      await this.#unneeded.end();
      await this.gangs.end();
      await this.#reports.write();
      return after(PERIOD_MS);
    },
  };

  initialized({ nodePool, createdMs }: Launch): void {
    if (this.#pools.get(nodePool)?.initialized(createdMs)) this.#changed(nodePool);
  }

  used({ nodePool, namespaces, isAbandoned }: Launch): void {
    const budget = this.#budgetOf(nodePool);
    for (const namespace of namespaces) {
      if (isAbandoned) budget.used(namespace);
      budget.used(namespace);
    }
  }

  abandoned({ nodePool, namespaces }: Launch): void {
    const budget = this.#budgetOf(nodePool);
    for (const namespace of namespaces) budget.abandoned(namespace);
  }

  served({ nodePool, createdMs, unproductive }: Launch, pod: Pod): void {
    const budget = this.#pools.get(nodePool);
    if (unproductive !== undefined) budget?.recovered(namespaceOf(pod));
    if (budget?.served(pod, createdMs)) this.#changed(nodePool);
  }

  failed({ nodePool }: Launch, unproductive: Unproductive): void {
    const { clock, cluster, log } = this.#deps;
    if (cluster.stores.nodePools.get({ name: nodePool }) === undefined) return;
    const { cause, text } = unproductive;
    const budget = this.#budgetOf(nodePool);
    const { isHeld, forgotten } = budget.failed(unproductive);
    this.#reports.count(nodePool, cause.code);
    this.#changed(nodePool);
    const NodePool = { name: nodePool };
    if (forgotten !== undefined)
      log.error('forgetting a cause of unproductive launches, there are too many', { NodePool, error: forgotten.text });
    const record = budget.records.get(causeKey(cause));
    if (!isHeld || record === undefined) return;
    const until = wallTimeOf(clock, budget.nextAttemptMs(record));
    log.error('holding back launches', { NodePool, cause: cause.code, until, error: text });
  }

  ended(launch: Launch): void {
    const { nodePool, unproductive = '' } = launch;
    this.#pools.get(nodePool)?.spent(unproductive, this.#reports.usdOf(launch));
    this.#reports.changed(nodePool);
  }

  forgotten({ name }: Launch): void {
    const NodeClaim = { name };
    this.#deps.log.error('forgetting a launch before its outcome is known, there are too many', { NodeClaim });
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
    if (event === 'deleted') {
      this.#pools.delete(name);
      this.#reports.forget(name);
    } else if (!this.#isActive) this.#restore(pool);
    else if (isEdited(pool, before)) this.#edited(name);
  }

  /** Takes over the counts of the leader. */
  #restore(pool: NodePool): void {
    const { name } = pool.metadata;
    this.#pools.delete(name);
    // the condition of a restriction without a cause becomes outdated
    if (!hasLimitedLaunches(pool)) return;
    this.#budgetOf(name).restore(restoredCauses(this.#deps.clock, pool));
    this.#reports.changed(name);
  }

  #edited(nodePool: string): void {
    if (this.#pools.get(nodePool)?.edited()) this.#changed(nodePool);
  }

  /** Consolidation may find other replacements now. */
  #changed(nodePool: string): void {
    this.#reports.changed(nodePool);
    this.#deps.cluster.markChanged();
  }

  #standing(): readonly Standing[] {
    const names = new Set([...this.#pools.keys(), ...this.#launches.nodePools()]);
    return [...names].flatMap((nodePool) => this.#standingIn(nodePool));
  }

  #standingIn(nodePool: string): readonly Standing[] {
    const suspects = suspectsAmong(this.#deps, this.#launches.openOf(nodePool));
    if (suspects.size === 0 && !this.#pools.has(nodePool)) return [];
    const budget = this.#budgetOf(nodePool);
    const keys = new Set([...budget.records.keys(), ...suspects.keys()]);
    return [...keys].flatMap((key) => this.#standingOf(nodePool, budget, suspects.get(key), budget.records.get(key)));
  }

  #standingOf(
    nodePool: string,
    budget: PoolBudget,
    suspects: SuspectNodes | undefined,
    known: CauseRecord | undefined,
  ): readonly Standing[] {
    const { cause, text } = known ?? suspects ?? {};
    if (cause === undefined || text === undefined) return [];
    const record = known !== undefined && known.times > 0 ? known : undefined;
    const found = new Set([...(known?.namespaces ?? []), ...(suspects?.namespaces ?? [])]);
    const namespaces = record === undefined ? affectedNamespaces(cause, found) : record.namespaces;
    const hasTrialSince = (ms: number): boolean =>
      [...this.#launches.openOf(nodePool)].some(
        (launch) => launch.createdMs >= ms && isFor(launch, { cause, namespaces }),
      );
    const stateWith = (count: number): CauseState => budget.stateOf(cause, { suspects: count, hasTrialSince });
    const ofAll = stateWith(suspects?.mature ?? 0);
    const state = ofAll === 'open' ? stateWith(suspects?.count ?? 0) : ofAll;
    if (state === 'open') return [];
    const likenesses = ofAll === 'open' ? suspects?.likenesses : undefined;
    return [
      {
        nodePool,
        cause,
        text,
        state,
        namespaces,
        likenesses,
        record,
        nextMs: record && budget.nextAttemptMs(record),
      },
    ];
  }

  #withheld(standing: Standing, all: readonly Standing[], pods: readonly Pod[]): WithheldLaunch {
    const { nodePool, cause, text, state, nextMs, namespaces, likenesses } = standing;
    const next = nextMs === undefined ? '' : `; the next attempt is at ${wallTimeOf(this.#deps.clock, nextMs)}`;
    const why = `nodes that were launched for such pods did not run them: ${text}${next}`;
    const found: WithheldLaunch = { nodePool, cause, text: why, ...(namespaces && { namespaces }) };
    const isListed = isOfLikeness(cause) || likenesses !== undefined;
    if (!isListed && state === 'held') return found;
    const affected = pods.filter((pod) => isSubject(standing, pod));
    const listed = isListed ? { pods: new Set(affected.map(podKey)) } : {};
    if (state === 'held') return { ...found, ...listed };
    const others = all.filter((other) => other !== standing && other.nodePool === nodePool && other.state === 'held');
    const free = affected.filter((pod) => !others.some((other) => isSubject(other, pod)));
    const trial = this.#trialAmong(free);
    return { ...found, ...listed, ...(trial && { trial: podKey(trial) }) };
  }

  /** Returns the pod that tries next. Namespaces take turns, and pods of a namespace take turns. */
  #trialAmong(pods: readonly Pod[]): Pod | undefined {
    const groups = [...Map.groupBy(pods, namespaceOf).values()];
    const own = groups[this.#turn % Math.max(groups.length, 1)] ?? [];
    return own[Math.floor(this.#turn / groups.length) % own.length];
  }

  #waitingAmong(
    nodePool: string,
    claims: readonly PlannedClaim[],
    pods: ReadonlyMap<string, Pod>,
  ): readonly PlannedClaim[] {
    const open = [...this.#launches.openOf(nodePool)];
    const suspects = suspectsAmong(this.#deps, open);
    if (suspects.size === 0 && !this.#pools.has(nodePool)) return [];
    const podsOf = (claim: PlannedClaim): readonly Pod[] => claim.pods.flatMap((key) => pods.get(key) ?? []);
    const launches = claims.map((claim) => ({ claim, pods: podsOf(claim) }));
    const planned = launches.flatMap((each) => each.pods);
    const rooms = new LaunchRooms(this.#deps, { nodePool, open, suspects, budget: this.#budgetOf(nodePool), planned });
    const lastMs = (likeness: string): number => this.#launches.lastLaunchMs(likeness);
    const waiting = inTurn(launches, lastMs).filter(({ pods: own }) => !rooms.admits(own));
    for (const namespace of new Set(waiting.flatMap(({ pods: own }) => own.map(namespaceOf))))
      this.#budgetOf(nodePool).waits(namespace);
    return waiting.map(({ claim }) => claim);
  }
}

const isFor = ({ pods }: Launch, standing: Pick<CauseRecord, 'cause' | 'namespaces'>): boolean =>
  affectsEveryPod(standing.cause) || [...pods.values()].some((pod) => isSubjectTo(standing, pod));

const isEdited = (object: KubeObject, before: KubeObject | undefined): boolean =>
  before !== undefined && object.metadata.generation !== before.metadata.generation;

/**
 * Decides for every origin of launches whether a NodePool may launch nodes now. Launches that served no purpose hold back
 * further launches for affected pods; launches for other pods go on. See docs/decisions/0050.
 */
import type { KubeObject, Pod } from '../../api/kubernetes.ts';
import type { NodePool } from '../../api/nodepool.ts';
import type { LaunchCause, WithheldLaunch } from '../../engine/launch-causes.ts';
import type { PlannedClaim } from '../../engine/model.ts';
import { podKey } from '../../engine/pods.ts';
import { causeKey } from '../../engine/withheld-launches.ts';
import { after, type Singleton } from '../../kube/reconciler.ts';
import { monotonicMs } from '../../lib/clock.ts';
import { type HoldOf, wallTimeOf } from '../../state/pod-holds.ts';
import { likenessOf } from '../../state/pod-likeness.ts';
import type { Deps } from '../deps.ts';
import { isSame, nodeClassKinds } from '../node-classes.ts';
import { restoredCauses } from './launch-condition.ts';
import { LaunchReports, type PoolReport } from './launch-reports.ts';
import { isMature, provenAmong, type SuspectNodes, suspectsAmong } from './launch-suspects.ts';
import { type Launch, Launches, type Outcomes } from './launches.ts';
import {
  affects,
  affectsEveryPod,
  type CauseRecord,
  type CauseState,
  isOfLikeness,
  PoolBudget,
  type Unproductive,
} from './pool-budget.ts';

const PERIOD_MS = 5_000;

/** Cause that keeps a NodePool from launching nodes for affected pods now, except for one trial if it is due. */
interface Standing {
  readonly nodePool: string;
  readonly cause: LaunchCause;
  readonly text: string;
  readonly state: CauseState;
  /** Restricts the affected pods to these likenesses if set. */
  readonly likenesses: ReadonlySet<string> | undefined;
  /** Undefined before the first back-off. */
  readonly record: CauseRecord | undefined;
  /** By `monotonicMs`; undefined before the first back-off. */
  readonly nextMs: number | undefined;
}

const isSubject = ({ cause, likenesses }: Standing, pod: Pod): boolean =>
  affects(cause, pod) && (likenesses === undefined || likenesses.has(likenessOf(pod)));

export class LaunchBudget implements Outcomes {
  readonly #deps: Deps;
  readonly #launches: Launches;
  readonly #reports: LaunchReports;
  readonly #pools = new Map<string, PoolBudget>();
  /** Withheld launches of the last simulations: equal ones stay the same objects. */
  readonly #simulated = new Map<string, WithheldLaunch>();
  /** Lets the pods that a cause affects take turns in trying. */
  #turn = 0;
  /** False while another replica leads: its conditions are followed then. */
  #isActive = false;

  constructor(deps: Deps) {
    const { cloud, cluster, informers } = deps;
    this.#deps = deps;
    this.#launches = new Launches(deps, this);
    this.#reports = new LaunchReports(deps, this.#launches, this.#pools);
    cluster.stores.nodePools.subscribe((event, pool, before) => this.#poolChanged(event, pool, before));
    for (const kind of nodeClassKinds(cloud))
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
   * Splits planned claims into claims to create and claims that wait. A NodePool with many causes, or with few allowances
   * left, launches only a few nodes at a time for pods unless pods of their likeness run there.
   */
  admit(
    claims: readonly PlannedClaim[],
    pods: ReadonlyMap<string, Pod>,
  ): { readonly admitted: readonly PlannedClaim[]; readonly waiting: readonly PlannedClaim[] } {
    const byPool = Map.groupBy(claims, ({ nodePool }) => nodePool);
    const waiting = new Set([...byPool].flatMap(([nodePool, own]) => this.#waitingAmong(nodePool, own, pods)));
    return { admitted: claims.filter((claim) => !waiting.has(claim)), waiting: [...waiting] };
  }

  /** Returns a function that finds why a NodePool launches no node for a pod at this moment. */
  holds(): HoldOf {
    const standing = this.#standing().filter(({ state }) => state === 'held');
    return (pod) => {
      const found = standing.find((each) => each.record !== undefined && isSubject(each, pod));
      if (found?.record === undefined) return undefined;
      const { nodePool, text, nextMs, record } = found;
      const why = `nodes of NodePool ${nodePool} that were launched for such pods did not run them: ${text}`;
      return {
        ...{ code: 'not-bound', text: why, times: record.times },
        ...{ sinceMs: record.heldMs, untilMs: nextMs ?? record.untilMs },
      };
    };
  }

  /** Time at which a planned claim that waits may be created. */
  allowedAt({ nodePool }: PlannedClaim): string {
    return wallTimeOf(this.#deps.clock, this.#pools.get(nodePool)?.allowedAtMs(1) ?? monotonicMs(this.#deps.clock));
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
      await this.#reports.write();
      return after(PERIOD_MS);
    },
  };

  initialized({ nodePool, createdMs }: Launch): void {
    if (this.#pools.get(nodePool)?.initialized(createdMs)) this.#changed(nodePool);
  }

  served({ nodePool, createdMs, unproductive }: Launch, pod: Pod): void {
    const budget = this.#pools.get(nodePool);
    if (unproductive !== undefined) budget?.recovered();
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
    const records = restoredCauses(this.#deps.clock, pool);
    if (records.length > 0) this.#budgetOf(name).restore(records);
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
    const hasTrialSince = (ms: number): boolean =>
      [...this.#launches.openOf(nodePool)].some((launch) => launch.createdMs >= ms && isFor(launch, cause));
    const stateWith = (count: number): CauseState => budget.stateOf(cause, { suspects: count, hasTrialSince });
    const record = known !== undefined && known.times > 0 ? known : undefined;
    const ofAll = stateWith(suspects?.mature ?? 0);
    const state = ofAll === 'open' ? stateWith(suspects?.count ?? 0) : ofAll;
    if (state === 'open') return [];
    const likenesses = ofAll === 'open' ? suspects?.likenesses : undefined;
    return [
      { ...{ nodePool, cause, text, state, likenesses, record }, nextMs: record && budget.nextAttemptMs(record) },
    ];
  }

  #withheld(standing: Standing, all: readonly Standing[], pods: readonly Pod[]): WithheldLaunch {
    const { nodePool, cause, text, state, nextMs, likenesses } = standing;
    const next = nextMs === undefined ? '' : `; the next attempt is at ${wallTimeOf(this.#deps.clock, nextMs)}`;
    const why = `nodes that were launched for such pods did not run them: ${text}${next}`;
    const found: WithheldLaunch = { nodePool, cause, text: why };
    const isListed = isOfLikeness(cause) || likenesses !== undefined;
    if (!isListed && state === 'held') return found;
    const affected = pods.filter((pod) => isSubject(standing, pod));
    const listed = isListed ? { pods: new Set(affected.map(podKey)) } : {};
    if (state === 'held') return { ...found, ...listed };
    const others = all.filter((other) => other !== standing && other.nodePool === nodePool && other.state === 'held');
    const free = affected.filter((pod) => !others.some((other) => isSubject(other, pod)));
    const trial = free[this.#turn % Math.max(free.length, 1)];
    return { ...found, ...listed, ...(trial && { trial: podKey(trial) }) };
  }

  #waitingAmong(
    nodePool: string,
    claims: readonly PlannedClaim[],
    pods: ReadonlyMap<string, Pod>,
  ): readonly PlannedClaim[] {
    const suspects = suspectsAmong(this.#deps, this.#launches.openOf(nodePool));
    if (suspects.size === 0 && !this.#pools.has(nodePool)) return [];
    const mature = new Map([...suspects].flatMap(([key, { mature: count }]) => (count > 0 ? [[key, count]] : [])));
    const atOnce = this.#budgetOf(nodePool).unprovenAtOnce(mature);
    if (atOnce === Number.POSITIVE_INFINITY) return [];
    const underWay = [...this.#launches.openOf(nodePool)].filter(
      (launch) => launch.departedMs === undefined && !isMature(launch, this.#deps.clock),
    );
    const podsOf = (claim: PlannedClaim): readonly Pod[] => claim.pods.flatMap((key) => pods.get(key) ?? []);
    const all = [...claims.flatMap(podsOf), ...underWay.flatMap((launch) => [...launch.pods.values()])];
    const proven = provenAmong(this.#deps, nodePool, all);
    const isProven = (of: readonly Pod[]): boolean => of.some((pod) => proven.has(likenessOf(pod)));
    const room = atOnce - underWay.filter((launch) => !isProven([...launch.pods.values()])).length;
    return claims.filter((claim) => !isProven(podsOf(claim))).slice(Math.max(0, room));
  }
}

const isFor = ({ pods }: Launch, cause: LaunchCause): boolean =>
  affectsEveryPod(cause) || [...pods.values()].some((pod) => affects(cause, pod));

const isEdited = (object: KubeObject, before: KubeObject | undefined): boolean =>
  before !== undefined && object.metadata.generation !== before.metadata.generation;

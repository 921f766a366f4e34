/** Follows moves after they are carried out: deleted nodes, launched nodes, duration and savings. */
import { getCondition, isTrue, type NodeClaim, poolNameOf } from '#api/objects';
import { workloadsOf } from '#engine/model';
import { refOf } from '#kube/client';
import { after, type Outcome, type Singleton } from '#kube/reconcilers';
import { remembering, timeOf } from '#lib';
import { CLAIMS_BY_NODE_POOL, type ClusterState } from '#state';
import type { Deps } from '../deps.ts';
import { CostTracker } from '../metrics/cost.ts';
import { publishSavings, publishUndone } from './disruption-events.ts';
import { countMove, recordSavings } from './measures.ts';
import { type Move, type MovedNode, type MoveHistory, savingsUntil } from './moves.ts';

/** Precision of the times in the accounts. */
const INTERVAL_MS = 10_000;

interface DatedClaim {
  readonly claim: NodeClaim;
  readonly bornMs: number;
}

type WorkloadsOf = (claim: NodeClaim) => ReadonlySet<string>;

export class MoveWatch implements Singleton {
  readonly name = 'disruption.moves';
  readonly singleton = true;
  readonly #deps: Deps;
  readonly #history: MoveHistory;
  readonly #prices: CostTracker;
  /** Cache by the list of all NodeClaims, because each change creates a new list. All observed moves read the same entries. */
  readonly #stayingByPool = remembering((_: readonly NodeClaim[]) => new Map<string, readonly DatedClaim[]>());

  constructor(deps: Deps, history: MoveHistory) {
    this.#deps = deps;
    this.#history = history;
    this.#prices = new CostTracker(deps);
  }

  async reconcile(): Promise<Outcome> {
    const { cluster } = this.#deps;
    const { watched } = this.#history;
    this.#history.forget((name) => cluster.claim(name) === undefined);
    if (watched.length === 0) return after(INTERVAL_MS);
    const workloadsOf = workloadsByClaim(cluster);
    for (const move of watched) await this.#follow(move, workloadsOf);
    return after(INTERVAL_MS);
  }

  async #follow(move: Move, workloadsOf: WorkloadsOf): Promise<void> {
    const { clock, cluster } = this.#deps;
    const nowMs = clock.now();
    const again = this.#boughtAgain(move, workloadsOf);
    const own = move.replacements.flatMap((name) => cluster.claim(name) ?? []);
    for (const claim of [...own, ...again]) await this.#take(move, claim);
    this.#settle(move.given, nowMs);
    this.#settle(move.taken, nowMs);
    const lost = this.#lostReplacement(move);
    const [first] = again;
    if (lost !== undefined) this.#undo(move, { atMs: nowMs, code: 'replacement-gone', nodeClaim: lost });
    else if (first) this.#undo(move, { atMs: nowMs, code: 'bought-again', nodeClaim: first.metadata.name });
    if (nowMs >= move.endsMs) this.#end(move, nowMs);
  }

  /**
   * Returns NodeClaims that were launched after the move for pods of the same workloads. Excludes NodeClaims that only replace
   * nodes: replacements of commands, and replacements of drifted, expired or interrupted nodes, because they do not enlarge the
   * NodePools. A NodeClaim undoes at most one move. At most as many NodeClaims as the move deleted count as undoing it, because
   * further NodeClaims are growth.
   */
  #boughtAgain(move: Move, workloadsOf: WorkloadsOf): readonly NodeClaim[] {
    const { orderedMs, replacements, nodePools: names, nodesLeft, workloads, given, taken } = move;
    const counted = [...taken.keys()].filter((name) => !replacements.includes(name)).length;
    const pools = [...names].map((name) => this.#stayingIn(name));
    const count = pools.reduce((sum, claims) => sum + claims.length, 0);
    if (count <= nodesLeft) return [];
    const sinceMs = Math.floor(orderedMs / 1_000) * 1_000; // creation timestamps have a precision of one second
    return pools
      .flatMap((claims) => claims.slice(claims.findLastIndex(({ bornMs }) => bornMs < sinceMs) + 1))
      .filter(({ claim }) => isTrue(claim, 'Launched') && !this.#history.isReplacement(claim.metadata.name))
      .filter(({ claim: { metadata } }) => !this.#history.watched.some(({ taken }) => taken.has(metadata.name)))
      .filter(({ claim }) => !workloads.isDisjointFrom(workloadsOf(claim)))
      .sort((a, b) => a.bornMs - b.bornMs)
      .slice(0, Math.max(0, given.size - counted))
      .map(({ claim }) => claim);
  }

  /** Returns the NodeClaims of a NodePool that are not being deleted, oldest first. */
  #stayingIn(nodePool: string): readonly DatedClaim[] {
    const { nodeClaims } = this.#deps.cluster.stores;
    const byPool = this.#stayingByPool(nodeClaims.list());
    const known = byPool.get(nodePool);
    if (known !== undefined) return known;
    const claims = nodeClaims.byIndex(CLAIMS_BY_NODE_POOL, nodePool).filter(isStaying);
    const staying = claims.map((claim) => ({ claim, bornMs: bornMs(claim) })).sort((a, b) => a.bornMs - b.bornMs);
    byPool.set(nodePool, staying);
    return staying;
  }

  /** Records the cost of a NodeClaim once it is launched. */
  async #take(move: Move, claim: NodeClaim): Promise<void> {
    if (move.taken.has(claim.metadata.name) || !isTrue(claim, 'Launched')) return;
    const launchedText = getCondition(claim, 'Launched')?.lastTransitionTime ?? '';
    const launchedMs = Date.parse(launchedText) || this.#deps.clock.now();
    move.taken.set(claim.metadata.name, { usdPerHour: await this.#priceOf(claim), launchedMs });
  }

  async #priceOf(claim: NodeClaim): Promise<number> {
    const { nodePools } = this.#deps.cluster.stores;
    const pool = nodePools.get({ name: poolNameOf(claim) });
    if (pool === undefined) return 0;
    try {
      return await this.#prices.usdPerHour(pool, [claim]);
    } catch {
      return 0; // prices are not available now; the metric of the cost tracker counts such failures
    }
  }

  /** Ends the cost of NodeClaims that no longer exist. */
  #settle<T extends MovedNode>(rents: Map<string, T>, nowMs: number): void {
    const { cluster } = this.#deps;
    for (const [name, rent] of rents) {
      if (rent.goneMs === undefined && cluster.claim(name) === undefined) rents.set(name, { ...rent, goneMs: nowMs });
    }
  }

  /** Returns the name of a replacement that is deleted or being deleted, unless the deletion has an unrelated reason. */
  #lostReplacement({ replacements }: Move): string | undefined {
    return replacements.find((name) => {
      const claim = this.#deps.cluster.claim(name);
      return (claim === undefined || !isStaying(claim)) && !this.#history.isExcused(name);
    });
  }

  #undo(move: Move, undoing: NonNullable<Move['undoing']>): void {
    if (move.undoing) return;
    move.undoing = undoing;
    publishUndone(this.#deps.events, move);
  }

  #end(move: Move, nowMs: number): void {
    const { events, metrics, decisions } = this.#deps;
    move.isOver = true;
    const savings = savingsUntil(move, nowMs);
    decisions?.ended(move.id, {
      predictedUsd: savings.predicted,
      realisedUsd: savings.realised,
      ...(move.undoing && { undone: move.undoing.code }),
    });
    countMove(metrics, move, move.undoing ? 'undone' : 'kept');
    recordSavings(metrics, move, savings);
    publishSavings(events, move, savings);
  }
}

/**
 * Returns a function that lists the workloads of pods that a NodeClaim was created for or runs. Computes the required index on
 * first use.
 */
function workloadsByClaim(cluster: ClusterState): WorkloadsOf {
  let planned: ReturnType<typeof plannedPods> | undefined;
  return (claim) => {
    planned ??= plannedPods(cluster);
    const pods = (planned.get(claim.metadata.name) ?? []).flatMap((key) => cluster.stores.pods.get(refOf(key)) ?? []);
    return workloadsOf([...pods, ...(cluster.nodeOfClaim(claim)?.pods ?? [])]);
  };
}

/** Returns the pods that NodeClaims were created for, as `namespace/name`, by the name of the NodeClaim. */
function plannedPods({ podTimings }: ClusterState): ReadonlyMap<string, readonly string[]> {
  const planned = new Map<string, string[]>();
  for (const [key, { nodeClaim }] of podTimings.entries()) {
    if (nodeClaim === undefined) continue;
    const keys = planned.get(nodeClaim);
    if (keys) keys.push(key);
    else planned.set(nodeClaim, [key]);
  }
  return planned;
}

/** Returns the creation time. A NodeClaim with an unknown creation time counts as older than every move. */
function bornMs({ metadata }: NodeClaim): number {
  const ms = timeOf(metadata.creationTimestamp);
  return Number.isNaN(ms) ? Number.NEGATIVE_INFINITY : ms;
}

const isStaying = ({ metadata }: NodeClaim): boolean => metadata.deletionTimestamp === undefined;

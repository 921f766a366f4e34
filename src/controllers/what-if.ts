/**
 * Computes the effect of a change, such as more replicas of a workload or the remedy of a pending pod, with the solver and the
 * current state of the cluster. Changes copies of objects only. The results match `karpenter simulate --what-if`.
 */

import {
  type KubeObject,
  type NodePool,
  type PersistentVolumeClaim,
  type Pod,
  type PodDisruptionBudget,
  VOLUME_ATTACHMENT,
} from '#api/objects';
import type { RemedyProof } from '#engine/explanations';
import { compareText, isScheduled, type Plan, podKey, type StateNode } from '#engine/model';
import { checkRemedies, provePodRemedy } from '#engine/solve';
import {
  applyChange,
  CHANGE_FORMS,
  type ChangeEffect,
  ChangeError,
  effectOf,
  type ObjectChanges,
  parseChange,
  podsToSolve,
  type Situation,
  withFewerPods,
} from '#engine/what-if';
import type { Solver } from '#engine-worker';
import { defined } from '#lib';
import { monotonicMs } from '#lib/clock';
import { silent } from '#observe/logger';
import { activePools, launchOptions, launchSnapshot, workloadOf } from '#planner';
import type { Deps } from './deps.ts';
import { nodeClassesOf } from './node-classes.ts';
import { viewedPoolInputs } from './pool-inputs.ts';
import { readLaunchPools } from './provisioning/solve-input.ts';

/** Time limit of each of the two solves. Pending pods may have to wait for one of them. */
const DEADLINE_MS = 5_000;
/** Inverse share of the solver's time for this work, which is a fifth. */
const SHARE = 5;
/** Maximum number of pods that a change can add. */
const MOST_ADDED = 2_000;
/** Maximum number of pods with a reason in a result. Further pods are only counted. */
const MOST_REFUSED = 50;
/** Maximum number of pods with their places in a result. Further pods are only counted. */
const MOST_MOVED = 500;

export interface WhatIfAnswer {
  readonly change: string;
  readonly addedPods: number;
  readonly removedPods: number;
  /** Difference to the cluster without the change. */
  readonly effect: ChangeEffect;
  /** New nodes, by NodePool and cheapest instance type, also for pods that wait without the change. */
  readonly launches: readonly {
    readonly nodePool: string;
    readonly instanceType: string;
    readonly nodes: number;
    readonly pods: number;
    /** USD per hour of these nodes. */
    readonly usdPerHour: number;
  }[];
  readonly existing: readonly { readonly node: string; readonly pods: number }[];
  readonly unschedulable: readonly { readonly pod: string; readonly reason: string }[];
  /** Number of pods that are not in the list of unschedulable pods. */
  readonly moreUnschedulable: number;
  /** Number of pods that were not evaluated within the time limit. */
  readonly notEvaluated: number;
  /** USD per hour of all new nodes. */
  readonly usdPerHour: number;
}

/** The change is invalid. The message names the object and the remedy. */
export class WhatIfError extends Error {
  override readonly name = 'WhatIfError';
}

const NONE: ReadonlySet<string> = new Set();

export class WhatIf {
  readonly #deps: Deps;
  readonly #solver: Solver;
  #isBusy = false;
  #freeAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: Deps, solver: Solver) {
    this.#deps = deps;
    this.#solver = solver;
  }

  /**
   * Returns undefined if another effect is being computed, and for some time afterwards.
   * @throws WhatIfError if the change cannot be made
   */
  async ask(change: string): Promise<WhatIfAnswer | undefined> {
    // a change that is not valid is refused even while another effect is being computed
    this.#changesOf(change);
    return this.#withinShare(() => this.#answer(change));
  }

  /**
   * Returns the proof of the remedy of a pending pod, which is absent if the pod has none. Returns undefined at the same times as
   * {@link ask}.
   */
  proveRemedy(pod: string): Promise<{ readonly proof?: RemedyProof } | undefined> {
    return this.#withinShare(async () => {
      const { snapshot, leaving } = await this.#situation();
      const problem = { snapshot: { ...snapshot, pendingPods: [...snapshot.pendingPods, ...leaving] } };
      const options = { ...launchOptions(this.#deps.settings), deadlineMs: DEADLINE_MS, explain: true };
      const unchecked = {
        ...problem,
        options,
        solve: this.#solver,
        plan: await this.#solver(problem.snapshot, options),
      };
      const plan = { refusals: await checkRemedies(unchecked) };
      return defined({ proof: await provePodRemedy(pod, { ...unchecked, plan }) });
    });
  }

  async #withinShare<T>(work: () => Promise<T>): Promise<T | undefined> {
    const { clock } = this.#deps;
    const startedMs = monotonicMs(clock);
    if (this.#isBusy || startedMs < this.#freeAtMs) return undefined;
    this.#isBusy = true;
    try {
      return await work();
    } finally {
      this.#isBusy = false;
      const nowMs = monotonicMs(clock);
      this.#freeAtMs = nowMs + (nowMs - startedMs) * (SHARE - 1);
    }
  }

  #changesOf(text: string): ObjectChanges {
    const { cluster, clock } = this.#deps;
    const change = parseChange(text);
    if (change === undefined) throw new WhatIfError(`expected ${CHANGE_FORMS}`);
    const { pods, nodePools, nodeClaims, persistentVolumeClaims, podDisruptionBudgets } = cluster.stores;
    const objects = {
      nodes: cluster.nodes().flatMap(({ node }) => node ?? []),
      nodeClaims: nodeClaims.list(),
      nodePools: nodePools.list(),
      pods: pods.list(),
      workloads: [],
      persistentVolumeClaims: persistentVolumeClaims.list(),
      podDisruptionBudgets: podDisruptionBudgets.list(),
    };
    try {
      return applyChange(objects, change, { nowMs: clock.now(), mostAdded: MOST_ADDED });
    } catch (error) {
      if (!(error instanceof ChangeError)) throw error;
      const { kind, name } = error.missing ?? {};
      throw new WhatIfError(
        change.verb === 'scale' && kind !== undefined
          ? `${kind} "${name}" has no pods, so the operator does not know their requests; use karpenter simulate with the manifest of the workload`
          : error.message,
      );
    }
  }

  async #answer(change: string): Promise<WhatIfAnswer> {
    const { informers } = this.#deps;
    const before = await this.#situation();
    // the objects of the snapshot, which may have changed since the request
    const changes = this.#changesOf(change);
    const drained = changes.drained === undefined ? NONE : new Set([changes.drained]);
    const after = situationAfter(before, changes);
    const basePlan = await this.#solve(before, NONE);
    const plan = await this.#solve(after, drained);
    const effect = effectOf({
      before: { situation: before, plan: basePlan },
      after: { situation: after, plan },
      drained,
      volumeAttachments: informers.store(VOLUME_ATTACHMENT).list(),
    });
    const { added, removed } = changes;
    const counts = { addedPods: added.filter(isPod).length, removedPods: removed.size };
    return { change, ...counts, effect: withFewerPods(effect, MOST_MOVED), ...totalsOf(plan) };
  }

  /** Returns the cluster without the change. */
  async #situation(): Promise<Situation> {
    const { cluster, clock, cloud, settings } = this.#deps;
    const launching = await readLaunchPools(this.#deps, activePools(cluster), silent);
    const pools = await viewedPoolInputs(this.#deps);
    const { leaving, ...workload } = workloadOf(cluster, clock.now());
    const input = { cluster, settings, workload: { ...workload, leaving: [] }, commitments: cloud.commitments?.() };
    return { snapshot: launchSnapshot(input, launching, nodeClassesOf(this.#deps)), leaving, pools };
  }

  #solve(situation: Situation, drained: ReadonlySet<string>): Promise<Plan> {
    const snapshot = { ...situation.snapshot, pendingPods: podsToSolve(situation, drained) };
    const options = launchOptions(this.#deps.settings);
    return this.#solver(snapshot, { ...options, deadlineMs: DEADLINE_MS, explain: true });
  }
}

/** Objects of a list in the API have no kind. Only pods are removed, and added objects have a kind. */
const isPod = (object: KubeObject): object is Pod => object.kind !== 'PersistentVolumeClaim';

/** Applies changed objects to the state of the cluster. */
function situationAfter({ snapshot, leaving, pools }: Situation, changes: ObjectChanges): Situation {
  const { replaced, removed, added, drained, nodePool } = changes;
  const withPool = <T extends { readonly nodePool: NodePool }>(pool: T): T =>
    nodePool?.metadata.name === pool.nodePool.metadata.name ? { ...pool, nodePool } : pool;
  const gone = new Set([...removed].filter(isPod).map(podKey));
  const isKept = (pod: Pod): boolean => !gone.has(podKey(pod));
  const nodeAfter = (node: StateNode): StateNode => ({
    ...node,
    pods: node.pods.every(isKept) ? node.pods : node.pods.filter(isKept),
    markedForDeletion: node.markedForDeletion || node.providerId === drained,
  });
  return {
    leaving: leaving.filter(isKept),
    pools: pools.map(withPool),
    snapshot: {
      ...snapshot,
      pools: snapshot.pools.map(withPool),
      nodes: snapshot.nodes.map(nodeAfter),
      pendingPods: [...snapshot.pendingPods.filter(isKept), ...added.filter(isPod).map(asPending)],
      podDisruptionBudgets: snapshot.podDisruptionBudgets.map(
        (budget) => (replaced.get(budget) as PodDisruptionBudget | undefined) ?? budget,
      ),
      persistentVolumeClaims: [
        ...snapshot.persistentVolumeClaims,
        ...added.filter((object): object is PersistentVolumeClaim => object.kind === 'PersistentVolumeClaim'),
      ],
    },
  };
}

/** Adds the status of a pod for which kube-scheduler finds no node. */
const asPending = (pod: Pod): Pod =>
  isScheduled(pod)
    ? pod
    : {
        ...pod,
        status: {
          phase: 'Pending',
          conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] as never,
        },
      };

function totalsOf(plan: Plan): Omit<WhatIfAnswer, 'change' | 'addedPods' | 'removedPods' | 'effect'> {
  const groups = Map.groupBy(plan.claims, ({ nodePool, cheapest }) => `${nodePool} ${cheapest}`);
  const launches = [...groups.values()].map((claims) => ({
    nodePool: claims[0]?.nodePool ?? '',
    instanceType: claims[0]?.cheapest ?? '',
    nodes: claims.length,
    pods: claims.reduce((sum, { pods }) => sum + pods.length, 0),
    usdPerHour: sumOf(claims.map(({ usdPerHour, listUsdPerHour = usdPerHour }) => listUsdPerHour)),
  }));
  const refused = [...plan.refusals].sort(([a], [b]) => compareText(a, b));
  return {
    launches: launches.sort((a, b) => b.usdPerHour - a.usdPerHour || compareText(a.instanceType, b.instanceType)),
    existing: plan.placements
      .filter(({ pods }) => pods.length > 0)
      .map(({ node, pods }) => ({ node, pods: pods.length }))
      .sort((a, b) => compareText(a.node, b.node)),
    unschedulable: refused.slice(0, MOST_REFUSED).map(([pod, { text }]) => ({ pod, reason: text })),
    moreUnschedulable: Math.max(0, refused.length - MOST_REFUSED),
    notEvaluated: plan.notEvaluated.length,
    usdPerHour: sumOf(launches.map(({ usdPerHour }) => usdPerHour)),
  };
}

const sumOf = (amounts: readonly number[]): number =>
  Number(amounts.reduce((sum, amount) => sum + amount, 0).toFixed(6));

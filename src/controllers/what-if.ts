/**
 * Computes the effect of a change, such as more replicas of a workload, with the solver and the current state of the cluster.
 * Changes copies of objects only. The results match `karpenter simulate --what-if`.
 */

import type { PersistentVolumeClaim, Pod } from '../api/kubernetes.ts';
import type { NodePool } from '../api/nodepool.ts';
import { podsOfLeavingNodes } from '../engine/disruption/candidates/pod-blocks.ts';
import { compareText } from '../engine/instance-types.ts';
import type { Plan, Snapshot, StateNode } from '../engine/model.ts';
import { isActive, isScheduled, podKey } from '../engine/pods.ts';
import {
  CHANGE_FORMS,
  isReplicaSetName,
  type NodePoolChange,
  parseChange,
  type ScaleChange,
  workloadKindOf,
} from '../engine/what-if/change.ts';
import { changedNodePool } from '../engine/what-if/node-pool-change.ts';
import { copiesOf } from '../engine/what-if/pod-copies.ts';
import { inOrderOfRemoval } from '../engine/what-if/removal-order.ts';
import type { Solver } from '../engine-worker/solver.ts';
import { monotonicMs } from '../lib/clock.ts';
import { silent } from '../observe/logger.ts';
import { launchSnapshot } from '../planner/inputs.ts';
import { activePools } from '../planner/node-pools.ts';
import { launchOptions } from '../planner/options.ts';
import { podsToPlace, withoutPodsOfOverdueClaims } from '../planner/pods.ts';
import type { Deps } from './deps.ts';
import { nodeClassesOf } from './node-classes.ts';
import { readLaunchPools } from './provisioning/solve-input.ts';

/** Time limit of a solve. Pending pods may have to wait for it. */
const DEADLINE_MS = 5_000;
/** Inverse share of the solver's time for this work, which is a fifth. */
const SHARE = 5;
/** Maximum number of pods that a change can add. */
const MOST_ADDED = 2_000;
/** Maximum number of pods with a reason in a result. Further pods are only counted. */
const MOST_REFUSED = 50;

export interface WhatIfAnswer {
  readonly change: string;
  readonly addedPods: number;
  readonly removedPods: number;
  /** New nodes, by NodePool and cheapest instance type. */
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
class WhatIfError extends Error {
  override readonly name = 'WhatIfError';
}

/** State of the cluster after a change. */
interface Scene {
  readonly nodes: readonly StateNode[];
  readonly pending: readonly Pod[];
  /** Volume claims of added pods. */
  readonly volumeClaims: readonly PersistentVolumeClaim[];
  readonly addedPods: number;
  readonly removedPods: number;
  /** Replacement for a NodePool. */
  readonly changed?: { readonly from: NodePool; readonly to: NodePool };
}

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
    const { clock } = this.#deps;
    const scene = this.#sceneAfter(change);
    const startedMs = monotonicMs(clock);
    if (this.#isBusy || startedMs < this.#freeAtMs) return undefined;
    this.#isBusy = true;
    try {
      return answerOf(change, scene, await this.#solve(scene));
    } finally {
      this.#isBusy = false;
      const nowMs = monotonicMs(clock);
      this.#freeAtMs = nowMs + (nowMs - startedMs) * (SHARE - 1);
    }
  }

  async #solve(scene: Scene): Promise<Plan> {
    const { cluster, clock, cloud, informers, settings } = this.#deps;
    const listed = await readLaunchPools(this.#deps, activePools(cluster), silent);
    const { from, to } = scene.changed ?? {};
    const pools = listed.map((pool) => (to && pool.nodePool === from ? { ...pool, nodePool: to } : pool));
    const nowMs = clock.now();
    const budgets = cluster.stores.podDisruptionBudgets.list();
    const leaving = withoutPodsOfOverdueClaims(
      cluster,
      podsOfLeavingNodes(scene.nodes, budgets, nowMs) as readonly Pod[],
    );
    const workload = {
      ...{ nowMs, nodes: scene.nodes, overdue: cluster.unlaunched.overdue() },
      ...{ pending: scene.pending, leaving, virtual: [] },
    };
    const input = { cluster, settings, workload, commitments: cloud.commitments?.() };
    const taken = launchSnapshot(input, pools, nodeClassesOf(informers));
    const snapshot: Snapshot = {
      ...taken,
      persistentVolumeClaims: [...taken.persistentVolumeClaims, ...scene.volumeClaims],
    };
    return this.#solver(snapshot, { ...launchOptions(settings), deadlineMs: DEADLINE_MS, explain: true });
  }

  #sceneAfter(text: string): Scene {
    const { cluster } = this.#deps;
    const now: Scene = {
      nodes: cluster.nodes(),
      pending: withoutPodsOfOverdueClaims(cluster, [...podsToPlace(cluster), ...cluster.virtualPods.list()]),
      ...{ volumeClaims: [], addedPods: 0, removedPods: 0 },
    };
    const change = parseChange(text);
    if (change?.verb === 'drain') return withDrain(now, change.node);
    if (change?.verb === 'scale') return this.#scaled(now, change);
    if (change !== undefined) return { ...now, changed: this.#changed(change) };
    throw new WhatIfError(`expected ${CHANGE_FORMS}`);
  }

  #scaled(scene: Scene, change: ScaleChange): Scene {
    const kind = workloadKindOf(change.kind);
    if (kind === undefined)
      throw new WhatIfError(`"${change.kind}" cannot be scaled; use deploy, statefulset or replicaset`);
    const { pods: stored, persistentVolumeClaims } = this.#deps.cluster.stores;
    const isOwn = ({ metadata }: Pod): boolean =>
      (metadata.namespace ?? 'default') === change.namespace &&
      (metadata.ownerReferences ?? []).some((owner) =>
        kind === 'Deployment'
          ? owner.kind === 'ReplicaSet' && isReplicaSetName(owner.name, change.name)
          : owner.kind === kind && owner.name === change.name,
      );
    const pods = stored.list().filter((pod) => isActive(pod) && isOwn(pod));
    if (pods.length === 0)
      throw new WhatIfError(
        `${kind} "${change.namespace}/${change.name}" has no pods, so the operator does not know their requests; ` +
          'use karpenter simulate with the manifest of the workload',
      );
    const count = Math.max(0, change.replicas - pods.length);
    if (count > MOST_ADDED)
      throw new WhatIfError(
        `the change adds ${count} pods, but at most ${MOST_ADDED} can be added here; use karpenter simulate`,
      );
    const least = inOrderOfRemoval(pods, kind).slice(0, Math.max(0, pods.length - change.replicas));
    const gone = new Set(least.map(podKey));
    const manifests = persistentVolumeClaims.list().map((object) => ({ object }));
    const made = copiesOf(pods, { kind, name: change.name, count, where: 'what-if', manifests });
    const added = made.flatMap(({ object }) => (object.kind === 'Pod' ? [asPending(object as Pod)] : []));
    return {
      nodes: scene.nodes.map((node) => withoutPods(node, gone)),
      pending: [...scene.pending.filter((pod) => !gone.has(podKey(pod))), ...added],
      volumeClaims: made.flatMap(({ object }) =>
        object.kind === 'PersistentVolumeClaim' ? [object as PersistentVolumeClaim] : [],
      ),
      addedPods: added.length,
      removedPods: gone.size,
    };
  }

  #changed(change: NodePoolChange): NonNullable<Scene['changed']> {
    const from = this.#deps.cluster.stores.nodePools.get({ name: change.nodePool });
    if (from === undefined) throw new WhatIfError(notFound('NodePool', change.nodePool));
    const to = changedNodePool(from, change);
    if (typeof to === 'string') throw new WhatIfError(to);
    return { from, to };
  }
}

const notFound = (kind: string, name: string): string => `${kind} "${name}" does not exist; check its name`;

function withDrain(scene: Scene, name: string): Scene {
  const drained = scene.nodes.find(
    (node) => node.name === name || node.nodeClaim?.metadata.name === name || node.name.startsWith(`${name}.`),
  );
  if (drained === undefined) throw new WhatIfError(notFound('Node', name));
  const nodes = scene.nodes.map((node) => (node === drained ? { ...node, markedForDeletion: true } : node));
  return { ...scene, nodes };
}

const withoutPods = (node: StateNode, gone: ReadonlySet<string>): StateNode => {
  const pods = node.pods.filter((pod) => !gone.has(podKey(pod)));
  return pods.length === node.pods.length ? node : { ...node, pods };
};

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

function answerOf(change: string, { addedPods, removedPods }: Scene, plan: Plan): WhatIfAnswer {
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
    ...{ change, addedPods, removedPods },
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

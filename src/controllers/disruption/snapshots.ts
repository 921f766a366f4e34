/**
 * Avoids repeated disruption decisions. The same snapshot of the cluster is reused until its inputs change, and a method does
 * not decide again on a snapshot if its last run on this snapshot found no command. A consolidation method does not search again
 * until the cluster changes in a way that can make a consolidation possible, which is Karpenter's rule, or until five minutes
 * have passed.
 */

import { isDeepStrictEqual } from 'node:util';
import { NODEPOOL_LABEL } from '#api/objects';
import { consolidationPolicy } from '#api/values';
import type { Commitment } from '#engine/costs';
import { type Method, type MethodInput, type MethodResult, nextChangeMs, type PassInput } from '#engine/disruption';
import type { PoolInput, StateNode } from '#engine/model';
import type { WithheldLaunch } from '#engine/solve';
import { sameItems } from '#lib';
import { EVENT_WINDOW_MS } from '#observe/events';
import { type Logger, silent } from '#observe/logger';
import {
  type DisruptionInput,
  disruptionInput,
  managedPools,
  simulationSnapshot,
  type Workload,
  workloadOf,
} from '#planner';
import type { ClusterState } from '#state';
import type { Deps } from '../deps.ts';
import { readPoolInputs } from '../pool-inputs.ts';
import type { LaunchBudget } from '../provisioning/launch-budget.ts';
import type { DisruptionQueue } from './queue.ts';

/** Time limit of one simulation. A pod without a place at the limit counts as stranded. */
const DEADLINE_MS = 60_000;

/** Inputs of a snapshot besides the time. */
interface Sources {
  /** Revision of the cluster. */
  readonly revision: number;
  /** Every managed NodePool. */
  readonly pools: readonly PoolInput[];
  readonly commitments: readonly Commitment[] | undefined;
  readonly workload: Workload;
  readonly withheld: readonly WithheldLaunch[];
}

interface Taken extends Sources {
  readonly snapshot: DisruptionInput;
  readonly takenMs: number;
  readonly changesAtMs: number;
}

const poolsInUse = (nodes: readonly StateNode[]): ReadonlySet<string | undefined> =>
  new Set(nodes.map(({ labels }) => labels[NODEPOOL_LABEL]));

export class Snapshots {
  readonly #deps: Deps;
  readonly #queue: Pick<DisruptionQueue, 'providerIds'>;
  readonly #launches: Pick<LaunchBudget, 'withheldFromSimulations'> | undefined;
  #taken: Taken | undefined;

  /** @param launches withholds replacements in the same way as launches of the provisioner */
  constructor(
    deps: Deps,
    queue: Pick<DisruptionQueue, 'providerIds'>,
    launches?: Pick<LaunchBudget, 'withheldFromSimulations'>,
  ) {
    this.#deps = deps;
    this.#queue = queue;
    this.#launches = launches;
    // its pods are outdated while many pods change
    deps.pressure?.onShort(() => {
      this.#taken = undefined;
    });
  }

  /** Returns the last snapshot for up to two minutes if no input and no decision has changed since then. */
  async current(log: Logger): Promise<DisruptionInput> {
    const pools = await this.#poolInputs(log);
    const { cluster, cloud, clock } = this.#deps;
    const workload = workloadOf(cluster, clock.now());
    const sources: Sources = {
      revision: cluster.revision,
      pools,
      workload,
      commitments: cloud.commitments?.(),
      withheld: this.#launches?.withheldFromSimulations([...workload.pending, ...workload.virtual]) ?? [],
    };
    if (this.#taken === undefined || !this.#holds(this.#taken, sources)) this.#taken = this.#take(sources);
    return this.#taken.snapshot;
  }

  #holds(taken: Taken, now: Sources): boolean {
    const { nowMs, overdue } = now.workload;
    return (
      taken.revision === now.revision &&
      taken.commitments === now.commitments &&
      taken.takenMs <= nowMs &&
      nowMs < taken.changesAtMs &&
      taken.workload.overdue.length === overdue.length &&
      sameItems(taken.withheld, now.withheld) &&
      taken.pools.length === now.pools.length &&
      taken.pools.every((pool, at) => isSamePool(pool, now.pools[at]))
    );
  }

  #take(sources: Sources): Taken {
    const { cluster, settings } = this.#deps;
    const { pools, workload } = sources;
    const { nodes, nowMs } = workload;
    const nodePools = cluster.stores.nodePools.list();
    const input = disruptionInput(simulationSnapshot({ cluster, settings, ...sources }, pools), {
      pools,
      settings,
      nodePools,
      nodes,
      inProgress: this.#queue.providerIds,
      deadlineMs: DEADLINE_MS,
    });
    const snapshot = { ...input, claims: this.#withReserved(input.claims) };
    // An event about a node may be dropped, because an earlier event has the same key. The next snapshot publishes it again.
    const changesAtMs = Math.min(nextChangeMs({ nodes, nodePools: input.nodePools }, nowMs), nowMs + EVENT_WINDOW_MS);
    return { ...sources, snapshot, takenMs: nowMs, changesAtMs };
  }

  /**
   * Lists the inputs of all managed NodePools. Does not log problems of NodePools without nodes, because they have no nodes to
   * disrupt and their NodeClass may not be ready.
   */
  #poolInputs(log: Logger): Promise<readonly PoolInput[]> {
    const { cluster, settings } = this.#deps;
    const inUse = poolsInUse(cluster.nodes());
    return readPoolInputs(this.#deps, managedPools(cluster), {
      policy: consolidationPolicy(settings.consolidation),
      logOf: ({ metadata }) => (inUse.has(metadata.name) ? log : silent),
      purpose: 'disruption',
    });
  }

  /** Adds NodeClaims that are about to be created, because they count towards the node limit of their NodePool. */
  #withReserved(counts: PassInput['claims']): PassInput['claims'] {
    const { reservedNodes } = this.#deps.cluster;
    return new Map(
      [...counts].map(([pool, count]) => {
        const reserved = reservedNodes.of(pool);
        return [pool, reserved === 0 ? count : { ...count, deleting: count.deleting + reserved }];
      }),
    );
  }
}

const NO_POOLS: ReadonlySet<string> = new Set();

interface Search {
  /** `consolidationState` of the cluster. */
  readonly state: number;
  /** Returns true if a search with this input would find no command. */
  readonly covers: (input: MethodInput) => boolean;
}

/** Results of a method's last run. */
interface Entry {
  /** The snapshot if the run found nothing. It must not keep the pods of an outdated snapshot in memory. */
  snapshot?: WeakRef<DisruptionInput> | undefined;
  /** The search if it found nothing. */
  search?: Search | undefined;
  /** NodePools that the last search did not reach before its time limit. */
  unseenPools: ReadonlySet<string>;
}

export class DecisionMemo {
  readonly #cluster: Pick<ClusterState, 'consolidationState'>;
  readonly #entries = new Map<string, Entry>();

  constructor(cluster: Pick<ClusterState, 'consolidationState'>) {
    this.#cluster = cluster;
  }

  /** Returns the methods that must still run on this snapshot, because no run on it has finished without a command. */
  due(methods: readonly Method[], snapshot: DisruptionInput): readonly Method[] {
    return methods.filter((method) => this.#entry(method).snapshot?.deref() !== snapshot);
  }

  /**
   * Records the results of a pass.
   * @param isOver false for each method that found a command, or may find one if it runs again on the same snapshot
   * @param snapshot of the beginning of the pass
   */
  passed(isOver: ReadonlyMap<Method, boolean>, snapshot: DisruptionInput): void {
    for (const [method, over] of isOver) this.#entry(method).snapshot = over ? new WeakRef(snapshot) : undefined;
  }

  /** Returns true if a search of a consolidation method would find no command. */
  isCovered(method: Method, input: MethodInput): boolean {
    const { search } = this.#entry(method);
    if (method.consolidationType === '' || search?.state !== this.#cluster.consolidationState()) return false;
    return search.covers(input);
  }

  searched(method: Method, input: MethodInput, result: MethodResult): void {
    const { commands, exhausted, timeout, failures = [], unseenPools = NO_POOLS } = result;
    const entry = this.#entry(method);
    // a search that finds a command stops before it has reached all NodePools
    if (timeout || commands.length === 0) entry.unseenPools = timeout ? unseenPools : NO_POOLS;
    const isWhole = commands.length === 0 && !timeout && failures.length === 0;
    const covers = exhausted ? coversNoMoreThan(input) : isWhole ? coversTheSame(input) : undefined;
    entry.search = covers && { state: this.#cluster.consolidationState(), covers };
  }

  /** NodePools that the next search considers first, because the last search timed out before it reached them. */
  unseenPools(method: Method): ReadonlySet<string> {
    return this.#entry(method).unseenPools;
  }

  #entry({ name }: Method): Entry {
    let entry = this.#entries.get(name);
    if (entry === undefined) {
      entry = { unseenPools: NO_POOLS };
      this.#entries.set(name, entry);
    }
    return entry;
  }
}

/**
 * A complete search covers every subset of its candidates. In Karpenter it also covers candidates that become consolidatable,
 * or that a PodDisruptionBudget allows, after the search. Such candidates wait for the next change of the cluster.
 */
function coversNoMoreThan({ candidates, consolidation }: MethodInput): Search['covers'] {
  if (!consolidationPolicy(consolidation).seesNewCandidates) return () => true;
  const seen = new Set(candidates.map(({ providerId }) => providerId));
  return (input) => input.candidates.every(({ providerId }) => seen.has(providerId));
}

/** A search that budgets limited covers the same choice only. */
function coversTheSame(input: MethodInput): Search['covers'] {
  const choice = choiceOf(input);
  return (other) => choiceOf(other) === choice;
}

/** The candidates, the number that each NodePool allows, and the NodePools that come first. */
const choiceOf = ({ candidates, budgets, unseenPools }: MethodInput): string =>
  JSON.stringify([[...budgets], [...unseenPools], candidates.map(({ providerId }) => providerId)]);

/** Returns true if the inputs are equal. Compares by identity, because NodePools and lists of instance types never change. */
const isSamePool = (pool: PoolInput, other: PoolInput | undefined): boolean =>
  pool.nodePool === other?.nodePool &&
  pool.instanceTypes === other.instanceTypes &&
  pool.zoneBalance === other.zoneBalance &&
  isDeepStrictEqual(pool.preferences, other.preferences) &&
  pool.deviceTemplates === other.deviceTemplates &&
  isDeepStrictEqual(pool.extras, other.extras);

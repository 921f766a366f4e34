/** The loop that removes or replaces nodes. */
import { getCondition, READY } from '../../api/conditions.ts';
import { formatDuration } from '../../api/duration.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { budgetErrors } from '../../engine/disruption/budgets/budgets.ts';
import type { Method } from '../../engine/disruption/method.ts';
import type { VerdictHistory } from '../../engine/disruption/verdicts.ts';
import { awaitsReadiness } from '../../engine/idle-pools.ts';
import type { StateNode } from '../../engine/model.ts';
import type { SimulationRunner } from '../../engine-worker/simulation-runner.ts';
import { after, type Outcome, type ReconcileContext, Requeue, type Singleton, settled } from '../../kube/reconciler.ts';
import { withBoundedConcurrency } from '../../lib/bounded-concurrency.ts';
import { monotonicMs } from '../../lib/clock.ts';
import { remembering } from '../../lib/remembering.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Deps } from '../deps.ts';
import { findNodeClass } from '../node-classes.ts';
import type { LaunchBudget } from '../provisioning/launch-budget.ts';
import { during, isConflictOnly } from './failures.ts';
import { hasReason, isTainted, untaint, withdrawReason } from './marks.ts';
import { forgetAllowances, initDisruptionCounters } from './measures.ts';
import type { DisruptionQueue } from './queue.ts';
import { MethodPreparer, MethodRunner } from './run.ts';
import { DecisionMemo, managedPools, type RunOutcome, type Snapshots } from './snapshots.ts';

const POLL_MS = 10_000;
const UNSYNCED_MS = 1000;
/**
 * Maximum time that a pass waits for NodePools to be Ready after an edit. Without these NodePools, a search would find no place
 * for their pods.
 */
const READY_WITHIN_MS = 10_000;
const ABNORMAL_MS = 15 * 60_000;
const AT_ONCE = 20;
/** Back-off after a command fails to start. The next pass must remove the marks of the command soon, but not in a tight loop. */
const BACK_OFF = { baseMs: 1000, maxMs: 60_000 };
const LOOP = 'disruption-loop';

interface DisruptionParts {
  readonly queue: DisruptionQueue;
  /** Methods in execution order. A pass ends at the first method that starts a command. */
  readonly methods: readonly Method[];
  /** Runs simulations. */
  readonly simulations: SimulationRunner;
  /** Keeps the verdicts of the methods on each node. */
  readonly history: VerdictHistory;
  readonly launches: Pick<LaunchBudget, 'room'>;
  readonly snapshots: Snapshots;
  /** Results of earlier passes. Replays pass their own. */
  readonly memo?: DecisionMemo | undefined;
}

export class DisruptionLoop implements Singleton {
  readonly name = 'disruption';
  readonly singleton = true;
  readonly backOff = BACK_OFF;
  readonly #deps: Deps;
  readonly #queue: DisruptionQueue;
  readonly #methods: readonly Method[];
  readonly #runner: MethodRunner;
  readonly #snapshots: Snapshots;
  readonly #memo: DecisionMemo;
  /** Time of the last run by name, by `monotonicMs`. */
  readonly #lastRunMs = new Map<string, number>();
  /** Start of the current wait for each NodePool, by UID of the NodePool and by `monotonicMs`. */
  #awaitedFromMs: ReadonlyMap<string | undefined, number> = new Map();
  /** Names of the NodePools of the last run. */
  #known: ReadonlySet<string> = new Set();

  constructor(deps: Deps, parts: DisruptionParts) {
    const { queue, methods, simulations, history, launches, snapshots, memo = new DecisionMemo(deps.cluster) } = parts;
    this.#deps = deps;
    this.#queue = queue;
    this.#methods = methods;
    this.#memo = memo;
    this.#snapshots = snapshots;
    const preparer = new MethodPreparer(deps, { snapshots: this.#snapshots, moves: queue.moves, simulations });
    this.#runner = new MethodRunner(deps, { queue, preparer, history, launches, memo });
    initDisruptionCounters(deps.metrics, methods);
  }

  async reconcile(context: ReconcileContext): Promise<Outcome> {
    this.#warnOfGaps(context.log);
    this.#lastRunMs.set(LOOP, monotonicMs(this.#deps.clock));
    try {
      return await this.#pass(context);
    } finally {
      this.#warnOfGaps(context.log);
    }
  }

  async #pass(context: ReconcileContext): Promise<Outcome> {
    const { cluster, clock } = this.#deps;
    const pools = managedPools(this.#deps);
    this.#forgetGone(pools);
    const errors = budgetErrors(pools, clock.now());
    if (errors.length > 0) context.log.error('detected disruption budget errors', { error: errors.join('; ') });
    if (!cluster.synced() || this.#awaits(pools)) return after(UNSYNCED_MS);
    for (const { name } of this.#methods) this.#lastRunMs.set(name, monotonicMs(clock));
    const snapshot = await this.#snapshots.current(context.log);
    const methods = this.#memo.due(this.#methods, snapshot);
    if (methods.length > 0) await this.#cleanStaleMarks();
    const outcomes = new Map<Method, RunOutcome>();
    for (const method of methods) {
      this.#lastRunMs.set(method.name, monotonicMs(clock));
      const outcome = await step('disrupting', () => this.#runner.run(method, context));
      outcomes.set(method, outcome);
      if (outcome === 'started') break;
    }
    this.#memo.passed(outcomes, snapshot);
    return [...outcomes.values()].includes('started') ? settled : after(POLL_MS);
  }

  /** Returns true if a NodePool may soon be Ready. The wait has a time limit, even if a NodePool is edited repeatedly. */
  #awaits(pools: readonly NodePool[]): boolean {
    const { informers, clock } = this.#deps;
    const nowMs = monotonicMs(clock);
    const awaited = pools.filter(
      (pool) =>
        isEditedSince(pool) || awaitsReadiness(pool, findNodeClass(informers, pool.spec.template.spec.nodeClassRef)),
    );
    this.#awaitedFromMs = new Map(awaited.map(({ metadata: { uid } }) => [uid, this.#awaitedFromMs.get(uid) ?? nowMs]));
    return [...this.#awaitedFromMs.values()].some((fromMs) => nowMs - fromMs < READY_WITHIN_MS);
  }

  #forgetGone(pools: readonly NodePool[]): void {
    const present = new Set(pools.map(({ metadata }) => metadata.name));
    for (const name of this.#known.difference(present)) forgetAllowances(this.#deps.metrics, name);
    this.#known = present;
  }

  /**
   * Removes marks from nodes that are not part of a command of this process. Their command failed to start, or an earlier
   * process started it.
   */
  async #cleanStaleMarks(): Promise<void> {
    const { tainted, withReason } = markedAmong(this.#deps.cluster.nodes());
    const isOutdated = (node: StateNode): boolean => !this.#queue.has(node.providerId) && !node.markedForDeletion;
    await step('removing taint from nodes', () =>
      withBoundedConcurrency(tainted.filter(isOutdated), AT_ONCE, (node) => untaint(this.#deps, node)),
    );
    await step('removing condition from nodeclaims', () =>
      withBoundedConcurrency(withReason.filter(isOutdated), AT_ONCE, (node) => withdrawReason(this.#deps, node)),
    );
  }

  #warnOfGaps(log: Logger): void {
    for (const [name, ms] of this.#lastRunMs) {
      const sinceMs = monotonicMs(this.#deps.clock) - ms;
      if (sinceMs > ABNORMAL_MS) log.debug('abnormal time between runs', { name, time_since: formatDuration(sinceMs) });
    }
  }
}

/**
 * Returns true if a NodePool was edited after its readiness was last evaluated. Such a NodePool may soon be reported as not
 * Ready, until its next evaluation.
 */
function isEditedSince(pool: NodePool): boolean {
  const { deletionTimestamp, generation } = pool.metadata;
  const observed = getCondition(pool, READY)?.observedGeneration;
  return deletionTimestamp === undefined && observed !== undefined && observed !== generation;
}

/** Nodes with marks. The cache key is the list of all nodes, because each change of the cluster creates a new list. */
const markedAmong = remembering((nodes: readonly StateNode[]) => ({
  tainted: nodes.filter(isTainted),
  withReason: nodes.filter(hasReason),
}));

/** @throws Requeue if only write conflicts occurred, otherwise an Error that names the step */
async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isConflictOnly(error)) throw new Requeue(`${name}: write conflict`, { cause: error });
    throw during(name, error);
  }
}

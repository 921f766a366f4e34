/** The loop that looks for nodes to give back or replace. */
import { formatDuration } from '../../api/duration.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { budgetErrors } from '../../engine/disruption/budgets/budgets.ts';
import type { Method } from '../../engine/disruption/method.ts';
import type { SimulationRunner } from '../../engine-worker/simulation-runner.ts';
import { monotonicMs } from '../../kube/clock.ts';
import { inBatches } from '../../kube/parallel.ts';
import { after, type Outcome, type ReconcileContext, Requeue, type Singleton, settled } from '../../kube/reconciler.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Deps } from '../deps.ts';
import type { Purchases } from '../provisioning/purchases.ts';
import { during, isConflictOnly } from './failures.ts';
import { isTainted, tellsReason, untaint, withdrawReason } from './marks.ts';
import { forgetAllowances, initTimeouts } from './measures.ts';
import { MethodPreparer, managedPools } from './prepare-method.ts';
import type { DisruptionQueue } from './queue.ts';
import { methodRunner } from './run.ts';
import { sessions } from './simulation-session.ts';
import type { VerdictHistory } from './verdict-history.ts';

const POLL_MS = 10_000;
const UNSYNCED_MS = 1000;
const ABNORMAL_MS = 15 * 60_000;
const AT_ONCE = 20;
/** A command that fails to start leaves marks, which the next pass must clean up soon, but not in a tight loop. */
const BACK_OFF = { baseMs: 1000, maxMs: 60_000 };
const LOOP = 'disruption-loop';

export interface DisruptionParts {
  readonly queue: DisruptionQueue;
  /** In the order in which they are asked; the first that starts a command ends the pass. */
  readonly methods: readonly Method[];
  /** Where simulations run. */
  readonly simulations: SimulationRunner;
  /** Keeps what the methods say of every node. */
  readonly history: VerdictHistory;
  readonly purchases: Pick<Purchases, 'taking'>;
}

export function disruption(
  deps: Deps,
  { queue, methods, simulations, history, purchases }: DisruptionParts,
): Singleton {
  const { cluster, clock, metrics } = deps;
  const open = sessions(deps, simulations, (pods) => purchases.taking(pods));
  const run = methodRunner(deps, queue, new MethodPreparer(deps, queue, open), history);
  /** By `monotonicMs`. */
  const lastRunMs = new Map<string, number>();
  /** Names of the NodePools of the last run. */
  let known: ReadonlySet<string> = new Set();
  initTimeouts(metrics);

  function warnOfGaps(log: Logger): void {
    for (const [name, ms] of lastRunMs) {
      const sinceMs = monotonicMs(clock) - ms;
      if (sinceMs > ABNORMAL_MS) log.debug('abnormal time between runs', { name, time_since: formatDuration(sinceMs) });
    }
  }

  /** Nodes that carry marks of a command which this process knows nothing of: it failed to start, or died with us. */
  async function cleanStaleMarks(): Promise<void> {
    const outdated = cluster.nodes().filter((node) => !queue.has(node.providerId) && !node.markedForDeletion);
    await step('removing taint from nodes', () =>
      inBatches(outdated.filter(isTainted), AT_ONCE, (node) => untaint(deps, node)),
    );
    await step('removing condition from nodeclaims', () =>
      inBatches(outdated.filter(tellsReason), AT_ONCE, (node) => withdrawReason(deps, node)),
    );
  }

  function forgetGone(pools: readonly NodePool[]): void {
    const present = new Set(pools.map(({ metadata }) => metadata.name));
    for (const name of known.difference(present)) forgetAllowances(metrics, name);
    known = present;
  }

  async function pass(context: ReconcileContext): Promise<Outcome> {
    const pools = managedPools(deps);
    forgetGone(pools);
    const errors = budgetErrors(pools, clock.now());
    if (errors.length > 0) context.log.error('detected disruption budget errors', { error: errors.join('; ') });
    if (!cluster.synced()) return after(UNSYNCED_MS);
    await cleanStaleMarks();
    for (const method of methods) {
      lastRunMs.set(method.name, monotonicMs(clock));
      if (await step('disrupting', () => run(method, context))) return settled;
    }
    return after(POLL_MS);
  }

  return {
    name: 'disruption',
    singleton: true,
    backOff: BACK_OFF,
    async reconcile(context) {
      warnOfGaps(context.log);
      lastRunMs.set(LOOP, monotonicMs(clock));
      try {
        return await pass(context);
      } finally {
        warnOfGaps(context.log);
      }
    },
  };
}

/** @throws Requeue when others only wrote first, else an Error that names the step */
async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isConflictOnly(error)) throw new Requeue(`${name}: others wrote first`, { cause: error });
    throw during(name, error);
  }
}

/** The loop that looks for nodes to give back or replace. */
import { formatDuration } from '../../api/duration.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { allowances, budgetErrors } from '../../engine/disruption/budgets.ts';
import { candidateOf, isBlock } from '../../engine/disruption/candidates.ts';
import type { Command } from '../../engine/disruption/command.ts';
import type { Deliberation, Method } from '../../engine/disruption/method.ts';
import type { PoolInput } from '../../engine/model.ts';
import { after, type ReconcileContext, Requeue, type Singleton, settled } from '../../kube/reconciler.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Deps } from '../deps.ts';
import { inBatches } from '../parallel.ts';
import { withInstanceTypes } from '../provisioning/pools.ts';
import { isMarked, unmark } from './marks.ts';
import { countFailedValidations, initTimeouts, observeEvaluation, setAllowance, setEligible } from './measures.ts';
import { publishBlocked, publishBlockedPool, publishNotes, publishUnconsolidatable } from './notes.ts';
import type { DisruptionQueue } from './queue.ts';
import type { Simulate } from './simulate.ts';
import { podsByKey, startCommand } from './start.ts';

const POLL_MS = 10_000;
const UNSYNCED_MS = 1000;
const ABNORMAL_MS = 15 * 60_000;
const AT_ONCE = 20;
const LOOP = 'disruption-loop';

export function disruption(
  deps: Deps,
  queue: DisruptionQueue,
  { methods, simulate }: { readonly methods: readonly Method[]; readonly simulate: Simulate },
): Singleton {
  const { cluster, clock, events, metrics } = deps;
  const lastRunMs = new Map<string, number>();
  /** State of the cluster for which a consolidation method found nothing to do, by method. */
  const memos = new Map<string, number>();
  initTimeouts(metrics);

  const managedPools = (): readonly NodePool[] =>
    cluster.stores.nodePools.list().filter(({ spec }) => cluster.manages(spec.template.spec.nodeClassRef));

  function warnOfGaps(log: Logger): void {
    for (const [name, ms] of lastRunMs) {
      const sinceMs = clock.now() - ms;
      if (sinceMs > ABNORMAL_MS) log.debug('abnormal time between runs', { name, time_since: formatDuration(sinceMs) });
    }
  }

  /** Nodes that carry marks of a command which this process knows nothing of: it failed to start, or died with us. */
  async function cleanStaleMarks(): Promise<void> {
    const outdated = cluster
      .nodes()
      .filter((node) => !queue.has(node.providerId) && !node.markedForDeletion && isMarked(node));
    try {
      await inBatches(outdated, AT_ONCE, (node) => unmark(deps, node));
    } catch (error) {
      if (error instanceof Requeue) throw error;
      throw new Error(`removing taint from nodes, ${error instanceof Error ? error.message : error}`, { cause: error });
    }
  }

  async function candidatesFor(method: Method, log: Logger): Promise<Deliberation['candidates']> {
    const inputs = await withInstanceTypes(deps, managedPools(), log);
    const pools = new Map<string, PoolInput>(
      inputs.filter(({ instanceTypes }) => instanceTypes.length > 0).map((pool) => [pool.nodePool.metadata.name, pool]),
    );
    const context = {
      nowMs: clock.now(),
      class: method.class,
      inProgress: queue.providerIds,
      pools,
      podDisruptionBudgets: cluster.stores.podDisruptionBudgets.list(),
    };
    return cluster.nodes().flatMap((stateNode) => {
      const result = candidateOf(stateNode, context);
      if (isBlock(result)) {
        if (result.code !== 'in-progress' && result.code !== 'unmanaged')
          publishBlocked(events, stateNode, result.text);
        return [];
      }
      const { eligible, because } = method.filter(result);
      if (because !== undefined) publishUnconsolidatable(events, result, because);
      return eligible ? [result] : [];
    });
  }

  function budgetsFor({ reason }: Method): Deliberation['budgets'] {
    const pools = managedPools();
    const found = allowances(cluster.nodes(), pools, { reason, nowMs: clock.now() });
    for (const pool of pools) {
      const allowance = found.get(pool.metadata.name);
      if (allowance === undefined) continue;
      setAllowance(metrics, pool.metadata.name, reason, allowance);
      publishBlockedPool(events, pool, { reason, allowance });
    }
    return new Map([...found].map(([name, { remaining }]) => [name, remaining]));
  }

  function deliberation(method: Method, candidates: Deliberation['candidates'], log: Logger): Deliberation {
    const nowMs = clock.now();
    return {
      nowMs,
      candidates,
      budgets: budgetsFor(method),
      simulate: (gone, options) => simulate(gone, options, log),
      elapsedMs: () => clock.now() - nowMs,
    };
  }

  /** What is left of a command once it has stood for a while; undefined when the world has moved on. */
  async function confirmed(
    method: Method,
    command: Command,
    { log, signal }: ReconcileContext,
  ): Promise<Command | undefined> {
    if (method.validate === undefined || method.validateAfterMs === undefined) return command;
    await clock.sleep(method.validateAfterMs, signal);
    if (signal.aborted) return undefined;
    const later = deliberation(method, await candidatesFor(method, log), log);
    const { command: valid, failure, dropped, notes = [] } = await method.validate(command, later);
    countFailedValidations(metrics, method, (failure?.failed ?? 0) + dropped);
    publishNotes(events, notes);
    if (failure)
      log.debug(method.abandoned ?? 'abandoning disruption attempt, command is no longer valid', { ...failure });
    return valid;
  }

  /** Answers whether a command was started. */
  async function run(method: Method, context: ReconcileContext): Promise<boolean> {
    lastRunMs.set(method.name, clock.now());
    const startedMs = clock.now();
    const stopTimer = (): void => observeEvaluation(metrics, method, (clock.now() - startedMs) / 1000);
    const candidates = await candidatesFor(method, context.log);
    setEligible(metrics, method, candidates.length);
    if (candidates.length === 0) {
      stopTimer();
      return false;
    }
    const input = deliberation(method, candidates, context.log);
    const isRemembered = method.consolidationType !== '';
    if (isRemembered && memos.get(method.name) === cluster.consolidationState()) {
      stopTimer();
      return false;
    }
    const { commands, constrained, timedOut, notes } = await method.decide(input);
    publishNotes(events, notes);
    if (commands.length === 0 && isRemembered && !constrained && !timedOut) {
      memos.set(method.name, cluster.consolidationState());
    }
    const valid = await Promise.all(commands.map((command) => confirmed(method, command, context)));
    stopTimer();
    const started = valid.filter((command) => command !== undefined);
    const results = await Promise.allSettled(
      started.map((command) => {
        const pods = podsByKey(cluster.stores.pods.list());
        return startCommand(deps, queue, { command, method, pods }, context.log);
      }),
    );
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    if (failures.length > 0) {
      throw new AggregateError(failures, `disrupting candidates, ${failures.map(String).join('; ')}`);
    }
    return started.length > 0;
  }

  return {
    name: 'disruption',
    singleton: true,
    async reconcile(context) {
      const { log } = context;
      warnOfGaps(log);
      lastRunMs.set(LOOP, clock.now());
      const errors = budgetErrors(managedPools(), clock.now());
      if (errors.length > 0) log.error('detected disruption budget errors', { error: errors.join('; ') });
      if (!cluster.synced()) return after(UNSYNCED_MS);
      await cleanStaleMarks();
      for (const method of methods) {
        if (await run(method, context)) return settled;
      }
      return after(POLL_MS);
    },
  };
}

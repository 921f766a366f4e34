/**
 * Runs one disruption method: prepares it on the current snapshot, decides, validates the commands again after a delay, and
 * starts them. Reports the nodes that the method does not disrupt, with reasons.
 */
import type { Command } from '../../engine/disruption/command.ts';
import type { Method, MethodInput, MethodResult, Validated } from '../../engine/disruption/method.ts';
import { type PassInput, type Preparation, prepare } from '../../engine/disruption/pass.ts';
import type { VerdictHistory } from '../../engine/disruption/verdicts.ts';
import type { StateNode } from '../../engine/model.ts';
import type { SimulationRunner } from '../../engine-worker/simulation-runner.ts';
import type { ReconcileContext } from '../../kube/reconciler.ts';
import { monotonicMs } from '../../lib/clock.ts';
import { rejections } from '../../lib/rejections.ts';
import { type Pause, yielding } from '../../lib/yielding.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Deps } from '../deps.ts';
import type { LaunchBudget } from '../provisioning/launch-budget.ts';
import { publishBlocked, publishBlockedPool, publishEvents, publishUnconsolidatable } from './disruption-events.ts';
import { together } from './failures.ts';
import {
  countFailedValidations,
  countTimeout,
  observeEvaluation,
  observeEvaluations,
  setAllowance,
  setEligible,
} from './measures.ts';
import type { MoveHistory } from './moves.ts';
import { publishProtection } from './pod-events.ts';
import { type DisruptionQueue, describe } from './queue.ts';
import { type DecisionMemo, managedPools, type RunOutcome, type Snapshots } from './snapshots.ts';

const NO_POOLS: ReadonlySet<string> = new Set();
const NOTHING: MethodResult = { commands: [], exhausted: false, events: [] };

interface MethodRequest {
  readonly method: Method;
  readonly log: Logger;
  /** NodePools that the method's last search did not reach before its time limit. */
  readonly unseenPools: ReadonlySet<string>;
}

interface PreparedMethod extends Preparation {
  /** Decides on commands. Rejects if the signal aborts. */
  readonly decide: (signal: AbortSignal) => Promise<MethodResult>;
}

interface PreparerParts {
  readonly snapshots: Pick<Snapshots, 'current'>;
  readonly moves: Pick<MoveHistory, 'undone'>;
  readonly simulations: Pick<SimulationRunner, 'simulate' | 'decide'>;
}

export class MethodPreparer {
  readonly #deps: Deps;
  readonly #parts: PreparerParts;

  constructor(deps: Deps, parts: PreparerParts) {
    this.#deps = deps;
    this.#parts = parts;
  }

  async prepare(request: MethodRequest): Promise<PreparedMethod> {
    const { method, log, unseenPools } = request;
    const { clock, settings } = this.#deps;
    const { snapshots, moves, simulations } = this.#parts;
    const { simulation, ...snapshot } = await snapshots.current(log);
    const nowMs = clock.now();
    let startedMs = monotonicMs(clock);
    const pass: PassInput = {
      ...snapshot,
      nowMs,
      unseenPools,
      spotToSpot: settings.featureGates.spotToSpotConsolidation,
      steering: settings.steering ? { evictionUsd: settings.evictionPrice } : undefined,
      undone: settings.consolidation === 'compatible' ? [] : moves.undone(nowMs),
      simulate: (candidates, options) =>
        simulations.simulate(
          simulation,
          candidates.map(({ providerId }) => providerId),
          options,
        ),
      elapsedMs: () => monotonicMs(clock) - startedMs,
    };
    const isFirst = !snapshot.surveys.has(method.class);
    // uses the clock of the cluster: in virtual time, the speed of the machine must not change the order of work
    const pause = yielding(() => monotonicMs(clock));
    const preparation = await prepare(method, pass, pause);
    if (isFirst) await this.#reportBlocks(preparation.blocks, pass, pause);
    await this.#report(preparation, pause);
    startedMs = monotonicMs(clock);
    const input: MethodInput = { ...preparation.input, refresh: async () => (await this.prepare(request)).input };
    return {
      ...preparation,
      input,
      decide: async (signal) =>
        method.isSearch ? simulations.decide(simulation, method, input, signal) : method.decide(input),
    };
  }

  /** Publishes events and metrics about the result of the preparation. */
  async #report({ method, declined, candidates, allowances }: Preparation, pause: Pause): Promise<void> {
    const { events, metrics } = this.#deps;
    for (const { candidate, reason, isReported } of declined.values()) {
      if (isReported) publishUnconsolidatable(events, candidate, reason.text);
      await pause();
    }
    // without candidates, budgets block no node
    if (candidates.length === 0) return;
    for (const pool of managedPools(this.#deps)) {
      const allowance = allowances.get(pool.metadata.name);
      if (allowance === undefined) continue;
      setAllowance(metrics, pool.metadata.name, method.reason, allowance);
      publishBlockedPool(events, pool, { reason: method.reason, allowance });
    }
  }

  /** Reports blocked nodes. Blocks are the same for all methods of a disruption class. */
  async #reportBlocks(
    blocks: Preparation['blocks'],
    { nodes, nowMs }: { readonly nodes: readonly StateNode[]; readonly nowMs: number },
    pause: Pause,
  ): Promise<void> {
    const { events } = this.#deps;
    for (const node of nodes) {
      if (node.nodeClaim) publishProtection(events, node.pods, nowMs);
      const block = blocks.get(node.providerId);
      if (block !== undefined && block.code !== 'in-progress' && block.code !== 'unmanaged')
        publishBlocked(events, node, block.text);
      await pause();
    }
  }
}

interface Evaluated {
  readonly commands: readonly Command[];
  /** True if the method would decide the same on an unchanged cluster. */
  readonly isOver: boolean;
}

interface RunnerParts {
  readonly queue: DisruptionQueue;
  readonly preparer: Pick<MethodPreparer, 'prepare'>;
  readonly history: VerdictHistory;
  readonly launches: Pick<LaunchBudget, 'room'>;
  readonly memo: DecisionMemo;
}

export class MethodRunner {
  readonly #deps: Deps;
  readonly #queue: DisruptionQueue;
  readonly #preparer: Pick<MethodPreparer, 'prepare'>;
  readonly #history: VerdictHistory;
  readonly #launches: Pick<LaunchBudget, 'room'>;
  readonly #memo: DecisionMemo;

  constructor(deps: Deps, { queue, preparer, history, launches, memo }: RunnerParts) {
    this.#deps = deps;
    this.#queue = queue;
    this.#preparer = preparer;
    this.#history = history;
    this.#launches = launches;
    this.#memo = memo;
  }

  async run(method: Method, context: ReconcileContext): Promise<RunOutcome> {
    const { commands, isOver } = await this.#evaluated(method, context);
    context.signal.throwIfAborted();
    if (commands.length === 0) return isOver ? 'nothing' : 'more to see';
    await this.#start(method, commands, context);
    return 'started';
  }

  async #evaluated(method: Method, context: ReconcileContext): Promise<Evaluated> {
    const { clock, metrics } = this.#deps;
    const startedMs = monotonicMs(clock);
    try {
      const { commands: decided, isOver } = await this.#decide(method, context);
      const commands = this.#launchable(method, decided);
      // a command that failed validation leaves room for other commands
      return { commands: await this.#confirmed(method, commands, context), isOver: isOver && decided.length === 0 };
    } finally {
      observeEvaluation(metrics, method, (monotonicMs(clock) - startedMs) / 1000);
    }
  }

  async #decide(method: Method, { log, signal }: ReconcileContext): Promise<Evaluated> {
    const unseenPools = this.#memo.unseenPools(method);
    const { input, decide, ...preparation } = await this.#preparer.prepare({ method, log, unseenPools });
    const count = preparation.candidates.length;
    const decidedMs = this.#deps.clock.now();
    this.#history.record({ ...preparation, decidedMs, ...(count === 0 && { result: NOTHING }) });
    setEligible(this.#deps.metrics, method, count);
    if (count === 0 || this.#memo.isCovered(method, input)) return { commands: [], isOver: true };
    if (unseenPools.size > 0) {
      log.debug('prioritizing nodepools that have not yet been considered due to timeouts in previous runs', {
        nodepools: [...unseenPools],
      });
    }
    const result = await decide(signal);
    this.#history.record({ ...preparation, decidedMs: this.#deps.clock.now(), result });
    this.#report(method, result, log);
    this.#memo.searched(method, input, result);
    const { commands, timeout, failures = [] } = result;
    return { commands, isOver: timeout === undefined && failures.length === 0 && unseenPools.size === 0 };
  }

  /** Returns the commands whose replacements fit into the launch budgets of their NodePools. */
  #launchable(method: Method, commands: readonly Command[]): readonly Command[] {
    const rooms = new Map<string, number>();
    return commands.filter(({ candidates, replacements }) => {
      const wanted = Map.groupBy(replacements, ({ nodePool }) => nodePool);
      const roomOf = (pool: string): number => rooms.get(pool) ?? this.#launches.room(pool);
      const full = [...wanted].find(([pool, { length }]) => roomOf(pool) < length);
      if (full === undefined) {
        for (const [pool, { length }] of wanted) rooms.set(pool, roomOf(pool) - length);
        return true;
      }
      const ids = candidates.map(({ providerId }) => providerId);
      this.#history.withdraw(method, ids, `launches from NodePool ${full[0]} are held back: earlier nodes ended early`);
      return false;
    });
  }

  #report(method: Method, result: MethodResult, log: Logger): void {
    const { events, metrics } = this.#deps;
    const { failures = [], timeout, commands } = result;
    publishEvents(events, result.events);
    observeEvaluations(metrics, method, result);
    logScores(log, result);
    for (const { node, error } of failures)
      log.error('failed computing consolidation', { Node: { name: node }, error });
    if (timeout === undefined) return;
    countTimeout(metrics, method);
    const [found] = commands;
    log.debug(timeout.message, { ...timeout.fields, ...(found && describe(found)) });
  }

  /**
   * Returns the commands that are still valid after the validation delay. Validates all commands against the same state of the
   * cluster.
   */
  async #confirmed(
    method: Method,
    commands: readonly Command[],
    { log, signal }: ReconcileContext,
  ): Promise<readonly Command[]> {
    const { validate, validateAfterMs } = method;
    if (commands.length === 0 || validate === undefined || validateAfterMs === undefined) return commands;
    await this.#deps.clock.sleep(validateAfterMs, signal);
    signal.throwIfAborted();
    const { input: later } = await this.#preparer.prepare({ method, log, unseenPools: NO_POOLS });
    const held = await Promise.all(
      commands.map(async (command) => this.#held(method, command, await validate(command, later), log)),
    );
    return held.filter((command) => command !== undefined);
  }

  /** Records the result of a command's validation. */
  #held(
    method: Method,
    command: Command,
    { command: valid, failure, dropped, events: ofNodes = [] }: Validated,
    log: Logger,
  ): Command | undefined {
    const { events, metrics } = this.#deps;
    countFailedValidations(metrics, method, (failure?.failed ?? 0) + dropped);
    publishEvents(events, ofNodes);
    if (failure) this.#withdraw(method, command, failure, log);
    return valid;
  }

  #withdraw(
    method: Method,
    { candidates }: Command,
    { category, text }: NonNullable<Validated['failure']>,
    log: Logger,
  ): void {
    this.#history.withdraw(
      method,
      candidates.map(({ providerId }) => providerId),
      text,
    );
    log.debug(method.abandoned ?? 'abandoning disruption attempt, command is no longer valid', { category, text });
  }

  async #start(method: Method, commands: readonly Command[], context: ReconcileContext): Promise<void> {
    const results = await Promise.allSettled(commands.map((command) => this.#queue.start(command, method, context)));
    const failures = rejections(results);
    if (failures.length > 0) throw together('disrupting candidates', failures);
  }
}

/** Logs how the Balanced policy scored each move. */
function logScores(log: Logger, { evaluations = [], weighed = evaluations }: MethodResult): void {
  for (const { nodePool, score, approved, figures } of weighed) {
    if (score === undefined) continue;
    const decision = approved ? 'approved' : 'rejected';
    log.debug('consolidation score', { nodepool: nodePool.metadata.name, score, approved, decision, ...figures });
  }
}

/** Runs one disruption method, validates its commands again after a delay, and starts them. */
import type { Command } from '../../engine/disruption/command.ts';
import type { Method, MethodResult, Validated, ValidationFailure } from '../../engine/disruption/method.ts';
import type { ReconcileContext } from '../../kube/reconciler.ts';
import { monotonicMs } from '../../lib/clock.ts';
import { rejections } from '../../lib/rejections.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Deps } from '../deps.ts';
import type { LaunchBudget } from '../provisioning/launch-budget.ts';
import type { DecisionMemo, RunOutcome } from './decision-memo.ts';
import { publishEvents } from './disruption-events.ts';
import { together } from './failures.ts';
import {
  countFailedValidations,
  countTimeout,
  observeEvaluation,
  observeEvaluations,
  setEligible,
} from './measures.ts';
import type { MethodPreparer } from './prepare-method.ts';
import type { DisruptionQueue } from './queue.ts';
import { describe, startCommand } from './start.ts';
import type { VerdictHistory } from './verdict-history.ts';

const NO_POOLS: ReadonlySet<string> = new Set();
const NOTHING: MethodResult = { commands: [], exhausted: false, events: [] };

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
    this.#history.record(count === 0 ? { ...preparation, result: NOTHING } : preparation);
    setEligible(this.#deps.metrics, method, count);
    if (count === 0 || this.#memo.isCovered(method, input)) return { commands: [], isOver: true };
    if (unseenPools.size > 0) {
      log.debug('prioritizing nodepools that have not yet been considered due to timeouts in previous runs', {
        nodepools: [...unseenPools],
      });
    }
    const result = await decide(signal);
    this.#history.record({ ...preparation, result });
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

  #withdraw(method: Method, { candidates }: Command, { category, text }: ValidationFailure, log: Logger): void {
    this.#history.withdraw(
      method,
      candidates.map(({ providerId }) => providerId),
      text,
    );
    log.debug(method.abandoned ?? 'abandoning disruption attempt, command is no longer valid', { category, text });
  }

  async #start(method: Method, commands: readonly Command[], context: ReconcileContext): Promise<void> {
    const results = await Promise.allSettled(
      commands.map((command) => startCommand(this.#deps, this.#queue, { command, method }, context)),
    );
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

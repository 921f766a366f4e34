/** Lets one disruption method decide, checks its commands again after a while, and starts them. */
import type { Command } from '../../engine/disruption/command.ts';
import type {
  Method,
  MethodInput,
  MethodResult,
  Validated,
  ValidationFailure,
} from '../../engine/disruption/method.ts';
import type { ReconcileContext } from '../../kube/reconciler.ts';
import { monotonicMs } from '../../lib/clock.ts';
import { rejections } from '../../lib/rejections.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Deps } from '../deps.ts';
import type { LaunchBudget } from '../provisioning/launch-budget.ts';
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

const NONE: ReadonlySet<string> = new Set();
const NOTHING: MethodResult = { commands: [], exhausted: false, events: [] };

interface Memo {
  /** Of the cluster. */
  readonly state: number;
  /** Whether a search that chooses from this would find nothing again. */
  readonly covers: (input: MethodInput) => boolean;
}

/**
 * Of a search that came to its end: among fewer candidates it finds nothing either. One that comes later, since it has
 * become consolidatable or a PodDisruptionBudget lets it go, would have to wait for the next change of the cluster where
 * consolidation is Karpenter's.
 */
function coversNoMoreThan({ candidates, consolidation }: MethodInput): Memo['covers'] {
  if (consolidation === 'compatible') return () => true;
  const seen = new Set(candidates.map(({ providerId }) => providerId));
  return (input) => input.candidates.every(({ providerId }) => seen.has(providerId));
}

/** Of a search that budgets ended: it finds something else when the choice is another one. */
function coversTheSame(input: MethodInput): Memo['covers'] {
  const choice = choiceOf(input);
  return (other) => choiceOf(other) === choice;
}

/**
 * The candidates, how many of each NodePool may go, and which come first: with budgets in the way a search ends before it has
 * seen all.
 */
const choiceOf = ({ candidates, budgets, unseenPools }: MethodInput): string =>
  JSON.stringify([[...budgets], [...unseenPools], candidates.map(({ providerId }) => providerId)]);

/** `more to see`: nothing was started, but a search did not come to its end, or not to the same end as the next one. */
export type RunOutcome = 'started' | 'nothing' | 'more to see';

interface Evaluated {
  readonly commands: readonly Command[];
  /** Whether the same cluster would be decided on in the same way again. */
  readonly isOver: boolean;
}

interface RunnerParts {
  readonly queue: DisruptionQueue;
  readonly preparer: Pick<MethodPreparer, 'prepare'>;
  readonly history: VerdictHistory;
  readonly launches: Pick<LaunchBudget, 'room'>;
}

export class MethodRunner {
  readonly #deps: Deps;
  readonly #queue: DisruptionQueue;
  readonly #preparer: Pick<MethodPreparer, 'prepare'>;
  readonly #history: VerdictHistory;
  readonly #launches: Pick<LaunchBudget, 'room'>;
  /** What a consolidation method found nothing to do with, by method. */
  readonly #memos = new Map<string, Memo>();
  readonly #unseenPools = new Map<string, ReadonlySet<string>>();

  constructor(deps: Deps, { queue, preparer, history, launches }: RunnerParts) {
    this.#deps = deps;
    this.#queue = queue;
    this.#preparer = preparer;
    this.#history = history;
    this.#launches = launches;
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
      // one that no longer holds leaves room for others
      return { commands: await this.#confirmed(method, commands, context), isOver: isOver && decided.length === 0 };
    } finally {
      observeEvaluation(metrics, method, (monotonicMs(clock) - startedMs) / 1000);
    }
  }

  async #decide(method: Method, { log, signal }: ReconcileContext): Promise<Evaluated> {
    const unseenPools = this.#unseenPools.get(method.name) ?? NONE;
    const { input, decide, ...preparation } = await this.#preparer.prepare({ method, log, unseenPools });
    const count = preparation.candidates.length;
    this.#history.record(count === 0 ? { ...preparation, result: NOTHING } : preparation);
    setEligible(this.#deps.metrics, method, count);
    if (count === 0 || this.#remembers(method, input)) return { commands: [], isOver: true };
    if (unseenPools.size > 0) {
      log.debug('prioritizing nodepools that have not yet been considered due to timeouts in previous runs', {
        nodepools: [...unseenPools],
      });
    }
    const result = await decide(signal);
    this.#history.record({ ...preparation, result });
    this.#report(method, result, log);
    this.#remember(method, result, input);
    const { commands, timeout, failures = [] } = result;
    return { commands, isOver: timeout === undefined && failures.length === 0 && unseenPools.size === 0 };
  }

  /** Commands whose replacements the launch budgets of their NodePools have room for. */
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

  #remembers({ name, consolidationType }: Method, input: MethodInput): boolean {
    const memo = this.#memos.get(name);
    if (consolidationType === '' || memo?.state !== this.#deps.cluster.consolidationState()) return false;
    return memo.covers(input);
  }

  #remember({ name }: Method, result: MethodResult, input: MethodInput): void {
    const { commands, exhausted, timeout, failures = [], unseenPools = NONE } = result;
    // a search that ends with a command says nothing of the NodePools that it has not reached
    if (timeout || commands.length === 0) this.#unseenPools.set(name, timeout ? unseenPools : NONE);
    const state = this.#deps.cluster.consolidationState();
    if (exhausted) this.#memos.set(name, { state, covers: coversNoMoreThan(input) });
    else if (commands.length === 0 && !timeout && failures.length === 0)
      this.#memos.set(name, { state, covers: coversTheSame(input) });
    else this.#memos.delete(name);
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

  /** What is left of commands once they have stood for a while: the world may have moved on. All are held against one cluster. */
  async #confirmed(
    method: Method,
    commands: readonly Command[],
    { log, signal }: ReconcileContext,
  ): Promise<readonly Command[]> {
    const { validate, validateAfterMs } = method;
    if (commands.length === 0 || validate === undefined || validateAfterMs === undefined) return commands;
    await this.#deps.clock.sleep(validateAfterMs, signal);
    signal.throwIfAborted();
    const { input: later } = await this.#preparer.prepare({ method, log, unseenPools: NONE });
    const held = await Promise.all(
      commands.map(async (command) => this.#held(method, command, await validate(command, later), log)),
    );
    return held.filter((command) => command !== undefined);
  }

  /** Records what came of a command's validation. */
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

/** What the Balanced policy made of each move that was weighed. */
function logScores(log: Logger, { evaluations = [], weighed = evaluations }: MethodResult): void {
  for (const { nodePool, score, approved, figures } of weighed) {
    if (score === undefined) continue;
    const decision = approved ? 'approved' : 'rejected';
    log.debug('consolidation score', { nodepool: nodePool.metadata.name, score, approved, decision, ...figures });
  }
}

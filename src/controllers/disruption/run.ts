/** Lets one disruption method decide, checks its commands again after a while, and starts them. */
import type { Command } from '../../engine/disruption/command.ts';
import type { Method, MethodResult } from '../../engine/disruption/method.ts';
import { monotonicMs } from '../../kube/clock.ts';
import type { ReconcileContext } from '../../kube/reconciler.ts';
import { rejections } from '../../kube/rejections.ts';
import type { Logger } from '../../observe/logger.ts';
import type { Deps } from '../deps.ts';
import { together } from './failures.ts';
import {
  countFailedValidations,
  countTimeout,
  observeEvaluation,
  observeEvaluations,
  setEligible,
} from './measures.ts';
import { publishNotes } from './notes.ts';
import type { MethodPreparer } from './prepare-method.ts';
import type { DisruptionQueue } from './queue.ts';
import { describe, podsByKey, startCommand } from './start.ts';
import type { VerdictHistory } from './verdict-history.ts';

const NONE: ReadonlySet<string> = new Set();
const NOTHING: MethodResult = { commands: [], exhausted: false, notes: [] };

/** Answers whether a command was started. */
export type Run = (method: Method, context: ReconcileContext) => Promise<boolean>;

export function methodRunner(
  deps: Deps,
  queue: DisruptionQueue,
  preparer: Pick<MethodPreparer, 'prepare'>,
  history: VerdictHistory,
): Run {
  const { cluster, clock, events, metrics } = deps;
  /** State of the cluster for which a consolidation method found nothing to do, by method. */
  const memos = new Map<string, number>();
  const unseenPools = new Map<string, ReadonlySet<string>>();

  const remembers = ({ name, consolidationType }: Method): boolean =>
    consolidationType !== '' && memos.get(name) === cluster.consolidationState();

  function report(method: Method, result: MethodResult, log: Logger): void {
    const { notes, failures = [], timeout, commands } = result;
    publishNotes(events, notes);
    observeEvaluations(metrics, method, result);
    logScores(log, result);
    for (const { node, error } of failures)
      log.error('failed computing consolidation', { Node: { name: node }, error });
    if (timeout === undefined) return;
    countTimeout(metrics, method);
    const [found] = commands;
    log.debug(timeout.message, { ...timeout.fields, ...(found && describe(found)) });
  }

  async function decide(method: Method, { log, signal }: ReconcileContext): Promise<readonly Command[]> {
    const unseen = unseenPools.get(method.name) ?? NONE;
    const { input: _, decide: decideOn, ...preparation } = await preparer.prepare({ method, log, unseenPools: unseen });
    const count = preparation.candidates.length;
    history.record(count === 0 ? { ...preparation, result: NOTHING } : preparation);
    setEligible(metrics, method, count);
    if (count === 0 || remembers(method)) return [];
    if (unseen.size > 0) {
      log.debug('prioritizing nodepools that have not yet been considered due to timeouts in previous runs', {
        nodepools: [...unseen],
      });
    }
    const result = await decideOn(signal);
    history.record({ ...preparation, result });
    report(method, result, log);
    // a search that ends with a command says nothing of the NodePools that it has not come to
    if (result.timeout || result.commands.length === 0)
      unseenPools.set(method.name, result.timeout ? (result.unseenPools ?? NONE) : NONE);
    if (result.exhausted) memos.set(method.name, cluster.consolidationState());
    return result.commands;
  }

  /** What is left of a command once it has stood for a while; undefined when the world has moved on. */
  async function confirmed(
    method: Method,
    command: Command,
    { log, signal }: ReconcileContext,
  ): Promise<Command | undefined> {
    if (method.validate === undefined || method.validateAfterMs === undefined) return command;
    await clock.sleep(method.validateAfterMs, signal);
    signal.throwIfAborted();
    const { input: later } = await preparer.prepare({ method, log, unseenPools: NONE });
    const { command: valid, failure, dropped, notes = [] } = await method.validate(command, later);
    countFailedValidations(metrics, method, (failure?.failed ?? 0) + dropped);
    publishNotes(events, notes);
    if (failure) {
      const { category, text } = failure;
      history.withdraw(
        method,
        command.candidates.map(({ providerId }) => providerId),
        text,
      );
      log.debug(method.abandoned ?? 'abandoning disruption attempt, command is no longer valid', { category, text });
    }
    return valid;
  }

  async function evaluated(method: Method, context: ReconcileContext): Promise<readonly Command[]> {
    const startedMs = monotonicMs(clock);
    try {
      const commands = await decide(method, context);
      const held = await Promise.all(commands.map((command) => confirmed(method, command, context)));
      return held.filter((command) => command !== undefined);
    } finally {
      observeEvaluation(metrics, method, (monotonicMs(clock) - startedMs) / 1000);
    }
  }

  async function start(method: Method, commands: readonly Command[], context: ReconcileContext): Promise<void> {
    const pods = podsByKey(cluster.stores.pods.list());
    const results = await Promise.allSettled(
      commands.map((command) => startCommand(deps, queue, { command, method, pods }, context)),
    );
    const failures = rejections(results);
    if (failures.length > 0) throw together('disrupting candidates', failures);
  }

  return async (method, context) => {
    const valid = await evaluated(method, context);
    context.signal.throwIfAborted();
    if (valid.length > 0) await start(method, valid, context);
    return valid.length > 0;
  };
}

/** What the Balanced policy made of each move that was weighed. */
function logScores(log: Logger, { evaluations = [], weighed = evaluations }: MethodResult): void {
  for (const { nodePool, score, approved, figures } of weighed) {
    if (score === undefined) continue;
    const decision = approved ? 'approved' : 'rejected';
    log.debug('consolidation score', { nodepool: nodePool.metadata.name, score, approved, decision, ...figures });
  }
}

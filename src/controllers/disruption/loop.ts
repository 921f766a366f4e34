/**
 * The loop that removes or replaces nodes. A pass runs the disruption methods in order: it prepares a method on the current
 * snapshot, decides, validates the commands again after a delay, and starts them.
 */

import { getCondition, type NodePool, pauseText, READY } from '#api/objects';
import { formatDuration } from '#api/values';
import {
  budgetErrors,
  type Candidate,
  type Command,
  type Method,
  type MethodInput,
  type MethodResult,
  type MethodReview,
  prepare,
  type Validated,
  type VerdictHistory,
} from '#engine/disruption';
import { awaitsReadiness } from '#engine/model';
import type { SimulationRunner } from '#engine-worker';
import { after, type Outcome, type ReconcileContext, type Singleton, settled } from '#kube/reconcilers';
import { rejections } from '#lib';
import { monotonicMs, yielding } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { governedPools, managedPools, passOf } from '#planner';
import type { Deps } from '../deps.ts';
import { findNodeClass } from '../node-classes.ts';
import { reportDisruption, wouldDisrupt } from '../observed.ts';
import type { LaunchBudget } from '../provisioning/launch-budget.ts';
import { publishEvents } from './disruption-events.ts';
import { together as failedTogether, step } from './failures.ts';
import { removeMarks } from './marks.ts';
import {
  countFailedValidations,
  forgetAllowances,
  initDisruptionCounters,
  observeEvaluation,
  setEligible,
} from './measures.ts';
import type { DisruptionQueue } from './queue.ts';
import { reportBlocks, reportDeclined, reportResult } from './reports.ts';
import { DecisionMemo, type Snapshots } from './snapshots.ts';

const POLL_MS = 10_000;
const UNSYNCED_MS = 1000;
/**
 * Maximum time that a pass waits for NodePools to be Ready after an edit. Without these NodePools, a search would find no place
 * for their pods.
 */
const READY_WITHIN_MS = 10_000;
const ABNORMAL_MS = 15 * 60_000;
/** Back-off after a command fails to start. The next pass must remove the marks of the command soon, but not in a tight loop. */
const BACK_OFF = { baseMs: 1000, maxMs: 60_000 };
const LOOP = 'disruption-loop';
const NO_POOLS: ReadonlySet<string> = new Set();
const NOTHING: MethodResult = { commands: [], exhausted: false, events: [] };

interface DisruptionParts {
  readonly queue: DisruptionQueue;
  /** Methods in execution order. A pass ends at the first method that starts a command. */
  readonly methods: readonly Method[];
  /** Runs simulations. */
  readonly simulations: Pick<SimulationRunner, 'simulate' | 'decide'>;
  /** Keeps the verdicts of the methods on each node. */
  readonly history: VerdictHistory;
  readonly launches: Pick<LaunchBudget, 'room'>;
  readonly snapshots: Pick<Snapshots, 'current'>;
  /** Results of earlier passes. Replays pass their own. */
  readonly memo?: DecisionMemo | undefined;
}

/** Method that is ready to decide. */
interface PreparedMethod extends Omit<MethodReview, 'result'> {
  readonly input: MethodInput;
  /** Decides on commands. Rejects if the signal aborts. */
  readonly decide: (signal: AbortSignal, candidates?: readonly Candidate[]) => Promise<MethodResult>;
}

interface Evaluated {
  readonly commands: readonly Command[];
  /** True if the method would decide the same on an unchanged cluster. */
  readonly isOver: boolean;
}

export class DisruptionLoop implements Singleton {
  readonly name = 'disruption';
  readonly singleton = true;
  readonly backOff = BACK_OFF;
  readonly #deps: Deps;
  readonly #parts: DisruptionParts;
  readonly #memo: DecisionMemo;
  /** Time of the last run by name, by `monotonicMs`. */
  readonly #lastRunMs = new Map<string, number>();
  /** Start of the current wait for each NodePool, by UID of the NodePool and by `monotonicMs`. */
  #awaitedFromMs: ReadonlyMap<string | undefined, number> = new Map();
  /** Resources of the stale watches at the last run. */
  #stale = '';
  /** Names of the NodePools of the last run. */
  #known: ReadonlySet<string> = new Set();

  constructor(deps: Deps, parts: DisruptionParts) {
    this.#deps = deps;
    this.#parts = parts;
    this.#memo = parts.memo ?? new DecisionMemo(deps.cluster);
    initDisruptionCounters(deps.metrics, parts.methods);
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
    const { cluster, clock, pressure } = this.#deps;
    const { methods: all, snapshots, queue } = this.#parts;
    const pools = managedPools(this.#deps.cluster);
    this.#forgetGone(pools);
    const errors = budgetErrors(governedPools(cluster, clock.now(), pools), clock.now());
    if (errors.length > 0) context.log.error('detected disruption budget errors', { error: errors.join('; ') });
    if (pressure?.stage === 2 || this.#hasStaleWatch(context.log) || !cluster.synced() || this.#awaits(pools))
      return after(UNSYNCED_MS);
    for (const { name } of all) this.#lastRunMs.set(name, monotonicMs(clock));
    const snapshot = await snapshots.current(context.log);
    const methods = this.#memo.due(all, snapshot);
    // The command of a stale mark failed to start, or an earlier process started it.
    if (methods.length > 0 && !cluster.observation.ofAll)
      await removeMarks(this.#deps, (node) => !queue.has(node.providerId) && !node.markedForDeletion);
    const isOver = new Map<Method, boolean>();
    let isStarted = false;
    for (const method of methods) {
      this.#lastRunMs.set(method.name, monotonicMs(clock));
      const evaluated = await step('disrupting', () => this.run(method, context));
      isOver.set(method, evaluated.isOver);
      isStarted = evaluated.commands.length > 0;
      if (isStarted) break;
    }
    this.#memo.passed(isOver, snapshot);
    return isStarted ? settled : after(POLL_MS);
  }

  /** Runs a method and starts its valid commands. */
  async run(method: Method, context: ReconcileContext): Promise<Evaluated> {
    const evaluated = await this.#evaluate(method, context);
    context.signal.throwIfAborted();
    const { queue } = this.#parts;
    const results = await Promise.allSettled(
      evaluated.commands.map((command) => queue.start(command, method, context)),
    );
    const failures = rejections(results);
    if (failures.length > 0) throw failedTogether('disrupting candidates', failures);
    return evaluated;
  }

  async #evaluate(method: Method, context: ReconcileContext): Promise<Evaluated> {
    const { clock, metrics } = this.#deps;
    const startedMs = monotonicMs(clock);
    try {
      const { commands: decided, isOver } = await this.#decide(method, context);
      const launchable = this.#launchable(method, this.#unpaused(method, decided));
      // the delay before validation is long enough for a new pause
      const unpaused = this.#unpaused(method, await this.#validate(method, launchable, context));
      const commands = this.#unobserved(method, unpaused);
      // a command that failed validation leaves room for other commands
      return { commands, isOver: isOver && decided.length === 0 };
    } finally {
      observeEvaluation(metrics, method, (monotonicMs(clock) - startedMs) / 1000);
    }
  }

  /**
   * Prepares a method on the current snapshot, and reports the nodes that are not its candidates.
   * @param unseenPools NodePools that the method's last search did not reach before its time limit
   */
  async prepare(method: Method, log: Logger, unseenPools: ReadonlySet<string> = NO_POOLS): Promise<PreparedMethod> {
    const { clock, cluster, settings } = this.#deps;
    const { simulations } = this.#parts;
    const { simulation, ...current } = await this.#parts.snapshots.current(log);
    const nowMs = clock.now();
    let startedMs = monotonicMs(clock);
    const pass = passOf(current, {
      cluster,
      settings,
      nowMs,
      unseenPools,
      simulate: (candidates, options) =>
        simulations.simulate(
          simulation,
          candidates.map(({ providerId }) => providerId),
          options,
        ),
      elapsedMs: () => monotonicMs(clock) - startedMs,
    });
    const isFirst = !current.surveys.has(method.class);
    // uses the clock of the cluster: in virtual time, the speed of the machine must not change the order of work
    const pause = yielding(() => monotonicMs(clock));
    const preparation = await prepare(method, pass, pause);
    if (isFirst) await reportBlocks(this.#deps, preparation.blocks, { nodes: pass.nodes, nowMs, pause });
    await reportDeclined(this.#deps, preparation, pause);
    startedMs = monotonicMs(clock);
    const refresh = async (): Promise<MethodInput> => (await this.prepare(method, log, unseenPools)).input;
    const input: MethodInput = { ...preparation.input, refresh };
    return {
      ...preparation,
      input,
      decide: async (signal, candidates = input.candidates) => {
        const own = candidates === input.candidates ? input : { ...input, candidates };
        return method.isSearch ? simulations.decide(simulation, method, own, signal) : method.decide(own);
      },
    };
  }

  async #decide(method: Method, { log, signal }: ReconcileContext): Promise<Evaluated> {
    const { clock, metrics } = this.#deps;
    const { history } = this.#parts;
    const unseenPools = this.#memo.unseenPools(method);
    const { input, decide, ...preparation } = await this.prepare(method, log, unseenPools);
    const count = preparation.candidates.length;
    const decidedMs = clock.now();
    history.record({ ...preparation, decidedMs, ...(count === 0 && { result: NOTHING }) });
    setEligible(metrics, method, count);
    if (count === 0 || this.#memo.isCovered(method, input)) return { commands: [], isOver: true };
    if (unseenPools.size > 0) {
      log.debug('prioritizing nodepools that have not yet been considered due to timeouts in previous runs', {
        nodepools: [...unseenPools],
      });
    }
    const groups = this.#groupsOf(input.candidates);
    const results: MethodResult[] = [];
    for (const candidates of groups) results.push(await decide(signal, candidates));
    const result = together(results);
    history.record({ ...preparation, decidedMs: clock.now(), result });
    reportResult(this.#deps, { method, result }, log);
    this.#memo.searched(method, input, result);
    const { commands, timeout, failures = [] } = result;
    return { commands, isOver: timeout === undefined && failures.length === 0 && unseenPools.size === 0 };
  }

  /**
   * Returns the candidates of observed NodePools and the other candidates as groups, so that a command that is not carried out
   * does not take the place of one that is.
   */
  #groupsOf(candidates: readonly Candidate[]): readonly (readonly Candidate[])[] {
    const { observation } = this.#deps.cluster;
    const isObserved = (candidate: Candidate): boolean => observation.of(poolOf(candidate)) !== undefined;
    const observed = candidates.filter(isObserved);
    if (observed.length === 0 || observed.length === candidates.length) return [candidates];
    return [candidates.filter((candidate) => !isObserved(candidate)), observed];
  }

  /** Returns the commands that no pause stops. The verdicts of stopped commands name the pause. */
  #unpaused(method: Method, commands: readonly Command[]): readonly Command[] {
    const { pause } = this.#deps.cluster;
    return commands.filter(({ candidates, replacements }) => {
      const stops = pause.of('disruption') ?? (replacements.length > 0 ? pause.of('launches') : undefined);
      if (stops === undefined) return true;
      const ids = candidates.map(({ providerId }) => providerId);
      this.#parts.history.withdraw(method, ids, pauseText(stops), 'paused');
      return false;
    });
  }

  /** Returns the commands of NodePools that are not observed. Reports the others. */
  #unobserved(method: Method, commands: readonly Command[]): readonly Command[] {
    const { observation } = this.#deps.cluster;
    return commands.filter((command) => {
      const { candidates, replacements } = command;
      const pools = [...candidates.map(poolOf), ...replacements.map(({ nodePool }) => nodePool)];
      const by = pools.map((pool) => observation.of(pool)).find((source) => source !== undefined);
      if (by === undefined) return true;
      reportDisruption(this.#deps, command);
      const ids = candidates.map(({ providerId }) => providerId);
      this.#parts.history.withdraw(method, ids, `${wouldDisrupt(command)}; observed (${by})`, 'observed');
      return false;
    });
  }

  /** Returns the commands whose replacements fit into the launch budgets of their NodePools. */
  #launchable(method: Method, commands: readonly Command[]): readonly Command[] {
    const { history, launches } = this.#parts;
    const rooms = new Map<string, number>();
    return commands.filter(({ candidates, replacements }) => {
      const wanted = Map.groupBy(replacements, ({ nodePool }) => nodePool);
      const roomOf = (pool: string): number => rooms.get(pool) ?? launches.room(pool);
      const full = [...wanted].find(([pool, { length }]) => roomOf(pool) < length);
      if (full === undefined) {
        for (const [pool, { length }] of wanted) rooms.set(pool, roomOf(pool) - length);
        return true;
      }
      const ids = candidates.map(({ providerId }) => providerId);
      history.withdraw(method, ids, `launches from NodePool ${full[0]} are held back: earlier nodes ended early`);
      return false;
    });
  }

  /**
   * Returns the commands that are still valid after the validation delay. Validates all commands against the same state of the
   * cluster.
   */
  async #validate(
    method: Method,
    commands: readonly Command[],
    { log, signal }: ReconcileContext,
  ): Promise<readonly Command[]> {
    const { validate, validateAfterMs } = method;
    if (commands.length === 0 || validate === undefined || validateAfterMs === undefined) return commands;
    await this.#deps.clock.sleep(validateAfterMs, signal);
    signal.throwIfAborted();
    const { input: later } = await this.prepare(method, log);
    const valid = await Promise.all(
      commands.map(async (command) => this.#reportValidation(method, command, await validate(command, later), log)),
    );
    return valid.filter((command) => command !== undefined);
  }

  /** Reports the result of a command's validation, and returns the valid command. */
  #reportValidation(
    method: Method,
    { candidates }: Command,
    { command: valid, failure, dropped, events: ofNodes = [] }: Validated,
    log: Logger,
  ): Command | undefined {
    const { events, metrics } = this.#deps;
    countFailedValidations(metrics, method, (failure?.failed ?? 0) + dropped);
    publishEvents(events, ofNodes);
    if (failure) {
      const { category, text } = failure;
      const ids = candidates.map(({ providerId }) => providerId);
      this.#parts.history.withdraw(method, ids, text);
      log.debug(method.abandoned ?? 'abandoning disruption attempt, command is no longer valid', { category, text });
    }
    return valid;
  }

  /** Returns true if a watch is stale, so that decisions would be based on an outdated cache. Logs each change. */
  #hasStaleWatch(log: Logger): boolean {
    const stale = this.#deps.informers.watches().flatMap(({ resource, isStale }) => (isStale ? [resource] : []));
    const text = stale.join(', ');
    if (text === this.#stale) return text !== '';
    this.#stale = text;
    if (text === '') log.info('continuing disruption, no watch is stale');
    else log.info('pausing disruption, watches are stale', { resources: stale });
    return text !== '';
  }

  /** Returns true if a NodePool may soon be Ready. The wait has a time limit, even if a NodePool is edited repeatedly. */
  #awaits(pools: readonly NodePool[]): boolean {
    const nowMs = monotonicMs(this.#deps.clock);
    const awaited = pools.filter(
      (pool) =>
        isEditedSince(pool) || awaitsReadiness(pool, findNodeClass(this.#deps, pool.spec.template.spec.nodeClassRef)),
    );
    this.#awaitedFromMs = new Map(awaited.map(({ metadata: { uid } }) => [uid, this.#awaitedFromMs.get(uid) ?? nowMs]));
    return [...this.#awaitedFromMs.values()].some((fromMs) => nowMs - fromMs < READY_WITHIN_MS);
  }

  #forgetGone(pools: readonly NodePool[]): void {
    const present = new Set(pools.map(({ metadata }) => metadata.name));
    for (const name of this.#known.difference(present)) forgetAllowances(this.#deps.metrics, name);
    this.#known = present;
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

const poolOf = ({ nodePool }: Candidate): string => nodePool.metadata.name;

/** Combines the results of a method for groups of candidates. */
function together(results: readonly MethodResult[]): MethodResult {
  const [first = NOTHING] = results;
  if (results.length === 1) return first;
  const timeout = results.find((result) => result.timeout !== undefined)?.timeout;
  const unseenPools = new Set(results.flatMap((result) => [...(result.unseenPools ?? [])]));
  return {
    commands: results.flatMap(({ commands }) => commands),
    exhausted: results.every(({ exhausted }) => exhausted),
    events: results.flatMap(({ events }) => events),
    evaluations: results.flatMap(({ evaluations = [] }) => evaluations),
    weighed: results.flatMap(({ evaluations = [], weighed = evaluations }) => weighed),
    reasons: new Map(results.flatMap(({ reasons = new Map() }) => [...reasons])),
    failures: results.flatMap(({ failures = [] }) => failures),
    ...(timeout !== undefined && { timeout }),
    ...(unseenPools.size > 0 && { unseenPools }),
  };
}

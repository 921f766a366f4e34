/**
 * Carries out commands: marks the candidates, creates the replacements, waits until these are initialized, then deletes the
 * candidates. Rolls the command back if it cannot succeed.
 *
 *   started ──replacements initialized, API server read──▶ candidates deleted ──▶ done
 *      └──a replacement is gone, a candidate is protected, or the command timed out──▶ rolled back
 */

import { randomUUID } from 'node:crypto';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, isTrue, NODE_CLAIM, type Pod, pauseText } from '#api/objects';
import { consolidationPolicy } from '#api/values';
import {
  billedSavingsOf,
  type Candidate,
  type Command,
  decisionOf,
  isStaged,
  longText,
  type Method,
  readRollout,
  shortText,
} from '#engine/disruption';
import { type PlannedClaim, podKey, Requirements, type StateNode } from '#engine/model';
import { deleteExactly, refOf } from '#kube/client';
import { after, type KeyedWorker, type Outcome, type ReconcileContext, settled } from '#kube/reconcilers';
import { messageOf, rejections, timestamp } from '#lib';
import { monotonicMs } from '#lib/clock';
import { MOST_NAMES, namespacesOf } from '#observe/history';
import type { LogFields, Logger } from '#observe/logger';
import { nominateNode, placedPods } from '#planner';
import { CLAIMS_BY_NODE_POOL } from '#state';
import { createClaim } from '../claims.ts';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { countDisrupted } from '../disrupted.ts';
import { publishNominated } from '../nomination.ts';
import { publishRefusal } from '../provisioning/results.ts';
import { retryWrites } from '../retry.ts';
import { firstFew, snakeCase } from '../text.ts';
import type { CommandTrace } from '../traces/command-trace.ts';
import { publishAbandoned, publishLaunching, publishTerminating, publishWaiting } from './disruption-events.ts';
import { together } from './failures.ts';
import { mark, untaint, withdrawReason } from './marks.ts';
import { countDecision, countQueueFailures } from './measures.ts';
import { MoveHistory } from './moves.ts';
import { candidatesToKeep } from './unseen-pods.ts';

const POLL_MS = 1000;
const PER_CANDIDATE_MS = 80;
const LEAST_TIME_MS = 10 * 60_000;
const MOST_TIME_MS = 60 * 60_000;

/** The command cannot succeed, however long the queue waits. */
class Unrecoverable extends Error {
  override readonly name = 'Unrecoverable';
}

/** A candidate has pods or budgets that the decision did not consider, or disruption was paused. */
class Outdated extends Unrecoverable {}

/** Time after which a command is rolled back if the pods of its candidates cannot be read. */
const UNREAD_MS = 60_000;
/** Time for which a kept candidate is not disrupted. Otherwise the next pass would immediately start the same command again. */
const KEPT_MS = 60_000;

/** Maximum length of a command in the decision log. The text of a command for a hundred nodes would be too long. */
const MOST_TEXT = 200;
const clipText = (text: string): string => (text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT - 1)}…`);

/** Returns the maximum time for a command. This time increases with the number of nodes in the queue. */
export const limitMs = (candidates: number): number =>
  Math.min(MOST_TIME_MS, Math.max(LEAST_TIME_MS, PER_CANDIDATE_MS * candidates));

interface StartedCommand {
  readonly id: string;
  readonly command: Command;
  readonly method: Method;
  /** Start time, comparable with the creation times of NodeClaims. */
  readonly startedMs: number;
  /** Names of the NodeClaims that replace the candidates. */
  readonly replacements: readonly string[];
  readonly fields: LogFields;
  /** Undefined if tracing is disabled. */
  readonly trace?: CommandTrace | undefined;
}

/** Command that is being carried out. */
interface QueuedCommand extends StartedCommand {
  /** Command without the candidates that were released. */
  command: Command;
  /** Time at which the command was added, by `monotonicMs`. */
  readonly addedMs: number;
  /** Replacements that were initialized once. Their later state does not matter. */
  readonly initialized: Set<string>;
  /** UIDs of candidates' NodeClaims that are deleted while the deletion of another candidate is still due. */
  readonly deleted: Set<string | undefined>;
  /** Time since which the pods of the candidates cannot be read, by `monotonicMs`. */
  unreadSinceMs?: number | undefined;
}

export class DisruptionQueue {
  readonly #deps: Deps;
  /** Records commands of consolidation methods that were carried out. */
  readonly moves: MoveHistory;
  readonly #commands = new Map<string, QueuedCommand>();
  #providerIds: ReadonlySet<string> = new Set();
  #add: (id: string) => void = () => undefined;

  constructor(deps: Deps, moves: MoveHistory = new MoveHistory()) {
    this.#deps = deps;
    this.moves = moves;
  }

  /** Returns the same set until a command is added or ends. */
  get providerIds(): ReadonlySet<string> {
    return this.#providerIds;
  }

  has(providerId: string): boolean {
    return this.#providerIds.has(providerId);
  }

  /**
   * Starts a command: marks its candidates, creates the replacements, and adds the command to this queue.
   * @throws Error if the command was not started; the next pass of the loop removes remaining marks
   */
  async start(command: Command, method: Method, context: ReconcileContext): Promise<void> {
    const { clock, cluster, metrics, traces } = this.#deps;
    if (command.candidates.some(({ providerId }) => this.has(providerId))) {
      throw new Error('candidate is being disrupted');
    }
    const id = randomUUID();
    const fields = describe(command, id);
    context.log.info('disrupting node(s)', fields);
    const trace = traces?.decided(command);
    const { marked, replacements } = await holdingRoom(this.#deps, command, async () => {
      const marked = await markCandidates(this.#deps, command);
      return { marked, replacements: await createReplacements(this.#deps, marked, { ...context, trace }) };
    }).catch((error: unknown) => {
      if (trace) traces?.commandFailed(trace, error);
      throw error;
    });
    trace?.started(marked, clock.now());
    // Must come after the creation of the replacements: the provisioner plans for pods of marked nodes and must see the
    // replacements.
    cluster.markForDeletion(...marked.candidates.map(({ providerId }) => providerId));
    recordPlan(this.#deps, command);
    this.enqueue({ id, command: marked, method, startedMs: clock.now(), replacements, fields, trace });
    countDecision(metrics, marked, method);
  }

  enqueue(started: StartedCommand): void {
    const { id, replacements } = started;
    const addedMs = monotonicMs(this.#deps.clock);
    this.#commands.set(id, { ...started, addedMs, initialized: new Set(), deleted: new Set() });
    this.moves.created(replacements);
    const { candidates, reason } = started.command;
    if (reason !== 'Underutilized') this.moves.excused(candidates.map(({ nodeClaim }) => nodeClaim.metadata.name));
    this.#changed();
    this.#add(id);
  }

  #changed(): void {
    const commands = [...this.#commands.values()];
    this.#providerIds = new Set(
      commands.flatMap(({ command }) => command.candidates.map(({ providerId }) => providerId)),
    );
    this.#deps.cluster.changed();
  }

  get worker(): KeyedWorker {
    const { settings } = this.#deps;
    return {
      name: 'disruption.queue',
      keyed: true,
      concurrency: concurrency(settings, { min: 100, max: 1000 }),
      backOff: { baseMs: 1000, maxMs: 10_000 },
      rateLimit: { qps: 100, burst: 1000 },
      bind: (add) => {
        this.#add = add;
        for (const id of this.#commands.keys()) add(id);
      },
      reconcile: (id, context) => this.#work(id, context),
    };
  }

  async #work(id: string, { log }: ReconcileContext): Promise<Outcome> {
    const queued = this.#commands.get(id);
    if (queued === undefined) return settled;
    try {
      const finished = await this.#attempt(queued, log);
      this.#checkTime(queued);
      if (!finished) return after(POLL_MS);
      log.debug('command succeeded', queued.fields);
      this.#record(queued);
      const { command, method } = queued;
      if (method.consolidationType !== '')
        this.moves.enter(command, { ...queued, nodesLeft: this.#nodesLeft(command) }, this.#deps.clock.now());
    } catch (error) {
      if (!(error instanceof Unrecoverable)) throw error;
      await this.#rollBack(queued, error, log);
    }
    this.#commands.delete(id);
    this.#changed();
    return settled;
  }

  /** Returns true if the command is carried out. @throws Unrecoverable if the command cannot succeed */
  async #attempt(queued: QueuedCommand, log: Logger): Promise<boolean> {
    const pause = this.#deps.cluster.pause.of('disruption');
    if (pause !== undefined) throw new Outdated(pauseText(pause));
    const observed = queued.command.candidates.find(({ nodePool }) => this.#observes(nodePool.metadata.name));
    if (observed !== undefined) throw new Outdated(`NodePool ${observed.nodePool.metadata.name} is observed`);
    const halted =
      queued.command.reason === 'Drifted' && queued.command.candidates.find((each) => this.#isHalted(each));
    if (halted) throw new Outdated(`the rollout of NodePool ${halted.nodePool.metadata.name} is halted`);
    const waiting = queued.replacements.filter((name) => !this.#isReady(queued, name));
    if (waiting.length > 0) return false;
    queued.trace?.replaced(this.#deps.clock.now());
    if (!(await this.#releaseProtected(queued, log))) return false;
    const results = await Promise.allSettled(
      queued.command.candidates.map((candidate) => this.#deleteCandidate(queued, candidate)),
    );
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
    if (failures.length > 0)
      log.debug('failed deleting disrupted nodeclaims, trying again', { error: failures.join('; ') });
    return failures.length === 0;
  }

  #isHalted({ nodeClaim, nodePool }: Candidate): boolean {
    const pool = this.#deps.cluster.stores.nodePools.get({ name: nodePool.metadata.name });
    return pool !== undefined && isStaged(nodeClaim) && readRollout(pool)?.halted !== undefined;
  }

  #observes(nodePool: string): boolean {
    return this.#deps.cluster.observation.of(nodePool) !== undefined;
  }

  #isReady({ command, initialized }: QueuedCommand, name: string): boolean {
    if (initialized.has(name)) return true;
    const { cluster, events } = this.#deps;
    const replacement = cluster.claim(name);
    if (replacement === undefined) throw new Unrecoverable(`replacement was deleted, NodeClaim "${name}"`);
    publishLaunching(events, replacement, command.reason);
    if (!isTrue(replacement, 'Initialized')) {
      publishWaiting(events, replacement);
      return false;
    }
    initialized.add(name);
    return true;
  }

  /**
   * Reads the candidates' pods from the API server, and releases the candidates that must stay. Returns false if the pods
   * could not be read. @throws Outdated if the command cannot continue without the released candidates
   */
  async #releaseProtected(queued: QueuedCommand, log: Logger): Promise<boolean> {
    const { clock, cluster, events } = this.#deps;
    const { command, method, deleted } = queued;
    const due = command.candidates.filter(({ nodeClaim }) => !deleted.has(nodeClaim.metadata.uid));
    let kept: ReadonlyMap<Candidate, string>;
    try {
      kept = await candidatesToKeep(this.#deps, { reason: command.reason, class: method.class }, due);
      queued.unreadSinceMs = undefined;
    } catch (error) {
      queued.unreadSinceMs ??= monotonicMs(clock);
      log.debug('failed reading the pods of disrupted nodes, trying again', { error });
      if (monotonicMs(clock) - queued.unreadSinceMs < UNREAD_MS) return false;
      for (const { providerId } of due) cluster.nominate(providerId, KEPT_MS);
      throw new Unrecoverable(`the pods of its nodes cannot be read: ${messageOf(error)}`);
    }
    if (kept.size === 0) return true;
    const text = [...kept].map(([{ name }, reason]) => `node "${name}": ${reason}`).join('; ');
    for (const [{ stateNode, providerId }, reason] of kept) {
      publishAbandoned(events, stateNode, reason);
      cluster.nominate(providerId, KEPT_MS);
    }
    // the candidates of other commands depend on each other, because one simulation placed their pods
    if (command.reason !== 'Empty' || kept.size === command.candidates.length) throw new Outdated(text);
    log.info('keeping disrupted nodes, their pods have changed', { ...queued.fields, reason: clipText(text) });
    queued.command = { ...command, candidates: command.candidates.filter((candidate) => !kept.has(candidate)) };
    await this.#release([...kept.keys()]);
    this.#changed();
    return true;
  }

  async #deleteCandidate({ command, method, deleted }: QueuedCommand, candidate: Candidate): Promise<void> {
    const { client, events, metrics } = this.#deps;
    const { nodeClaim, nodePool, reschedulablePods } = candidate;
    if (deleted.has(nodeClaim.metadata.uid)) return;
    if (!(await retryWrites(this.#deps, () => deleteExactly(client, NODE_CLAIM, nodeClaim)))) return;
    deleted.add(nodeClaim.metadata.uid);
    publishTerminating(events, candidate, command.reason);
    const policy = nodePool.spec.disruption?.consolidationPolicy ?? 'WhenEmptyOrUnderutilized';
    countDisrupted(metrics, nodeClaim, {
      reason: snakeCase(command.reason),
      pods: reschedulablePods.length,
      ...(method.consolidationType === '' ? {} : { policy: snakeCase(policy) }),
    });
  }

  #record({ id, command, method }: QueuedCommand): void {
    const { candidates, replacements } = command;
    const nodeClaims = candidates.map(({ nodeClaim }) => nodeClaim.metadata.name);
    const pods = candidates.flatMap(({ reschedulablePods }) => reschedulablePods.map(podKey));
    this.#deps.decisions?.record(
      {
        kind: 'disrupted',
        at: timestamp(this.#deps.clock.now()),
        id,
        method: method.name,
        decision: decisionOf(command),
        reason: snakeCase(command.reason),
        command: clipText(shortText(command)),
        nodePools: [...new Set(candidates.map(({ nodePool }) => nodePool.metadata.name))],
        nodeClaims: nodeClaims.slice(0, MOST_NAMES),
        nodeNames: candidates.slice(0, MOST_NAMES).map(({ name }) => name),
        namespaces: namespacesOf(pods),
        nodes: candidates.length,
        replacements: replacements.length,
        pods: pods.length,
        predictedUsdPerHour: billedSavingsOf(command),
      },
      { removed: nodeClaims },
    );
  }

  /** Returns the number of NodeClaims that the NodePools of a command keep after the deletion of its candidates. */
  #nodesLeft({ candidates }: Command): number {
    const { nodeClaims } = this.#deps.cluster.stores;
    const gone = new Set(candidates.map(({ nodeClaim }) => nodeClaim.metadata.name));
    return [...new Set(candidates.map(({ nodePool }) => nodePool.metadata.name))]
      .flatMap((name) => nodeClaims.byIndex(CLAIMS_BY_NODE_POOL, name))
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined && !gone.has(metadata.name)).length;
  }

  #checkTime({ addedMs }: QueuedCommand): void {
    if (monotonicMs(this.#deps.clock) - addedMs > limitMs(this.#providerIds.size))
      throw new Unrecoverable('command reached timeout');
  }

  async #rollBack(queued: QueuedCommand, error: Error, log: Logger): Promise<void> {
    const { command, fields, replacements, initialized, trace } = queued;
    const { metrics, traces } = this.#deps;
    if (trace) traces?.commandFailed(trace, error);
    countQueueFailures(metrics, command, replacements.filter((name) => !initialized.has(name)).length);
    if (error instanceof Outdated)
      log.info('abandoned disruption command, its nodes have changed', { ...fields, reason: clipText(error.message) });
    else log.error('failed terminating nodes while executing a disruption command', { ...fields, error });
    await this.#release(command.candidates);
  }

  /**
   * Removes the marks of candidates. If a removal fails, the next pass of the disruption loop removes the marks, because
   * the nodes are not part of a command.
   */
  async #release(candidates: readonly Candidate[]): Promise<void> {
    const nodes = candidates.map(({ stateNode }) => stateNode);
    await Promise.allSettled(nodes.map((node) => untaint(this.#deps, node)));
    await Promise.allSettled(nodes.map((node) => withdrawReason(this.#deps, node)));
    this.#deps.cluster.unmarkForDeletion(...candidates.map(({ providerId }) => providerId));
  }
}

/** Reserves the nodes that the replacements need under the limits of static NodePools while `work` runs. */
async function holdingRoom<T>({ cluster }: Deps, command: Command, work: () => Promise<T>): Promise<T> {
  const fixed = new Set(
    command.candidates.flatMap(({ nodePool: { spec, metadata } }) =>
      spec.replicas === undefined ? [] : metadata.name,
    ),
  );
  const pools = command.replacements.map(({ nodePool }) => nodePool).filter((pool) => fixed.has(pool));
  for (const pool of pools) cluster.reservedNodes.add(pool);
  try {
    return await work();
  } finally {
    for (const pool of pools) cluster.reservedNodes.take(pool);
  }
}

/**
 * Marks the candidates. A command without replacements continues with the candidates that could be marked. A command with
 * replacements fails unless all candidates could be marked.
 */
async function markCandidates(deps: Deps, command: Command): Promise<Command> {
  const results = await Promise.allSettled(
    command.candidates.map(({ stateNode }) => mark(deps, stateNode, command.reason)),
  );
  const failures = rejections(results);
  if (failures.length === 0) return command;
  if (command.replacements.length > 0 || failures.length === command.candidates.length)
    throw together('marking disrupted', failures);
  const candidates = command.candidates.filter((_, at) => results[at]?.status === 'fulfilled');
  return { ...command, candidates };
}

async function createReplacements(
  deps: Deps,
  command: Command,
  { trace, ...context }: ReconcileContext & { readonly trace: CommandTrace | undefined },
): Promise<readonly string[]> {
  const reason = command.reason.toLowerCase();
  const decision = trace && { steps: [], parent: trace.span, podsOf: () => [] };
  const creation = { ...context, reason, decision, isFree: exemptFromLimits(command, deps) };
  const results = await Promise.allSettled(command.replacements.map((planned) => createClaim(deps, planned, creation)));
  const failures = rejections(results);
  if (failures.length > 0) throw together('launching replacement nodeclaim', failures);
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.metadata.name] : []));
}

/** Returns a test for nodes that do not count toward limits. As in Karpenter, replaced nodes do not count with `compatible`. */
function exemptFromLimits({ candidates }: Command, { settings }: Deps): ((node: StateNode) => boolean) | undefined {
  if (consolidationPolicy(settings.consolidation).limitsLeavingNodes) return undefined;
  const replaced = new Set(candidates.map(({ stateNode }) => stateNode.providerId));
  return (node) => node.markedForDeletion || replaced.has(node.providerId);
}

function recordPlan(deps: Deps, { plan }: Command): void {
  if (plan === undefined) return;
  const podOf = (key: string): Pod | undefined => deps.cluster.stores.pods.get(refOf(key));
  for (const { node, pods } of placedPods(plan, deps.cluster, podOf)) {
    nominateNode(deps, node);
    for (const pod of pods) publishNominated(deps, pod, node);
  }
  for (const [key, refusal] of plan.refusals) {
    const pod = podOf(key);
    if (pod) publishRefusal(deps, pod, refusal);
  }
}

/** Returns the fields of a command for the log. A command that is only considered has no id. */
export function describe(command: Command, id?: string): LogFields {
  const { candidates, replacements } = command;
  return {
    command: id === undefined ? shortText(command) : longText(command, id),
    decision: decisionOf(command),
    'disrupted-node-count': candidates.length,
    'replacement-node-count': replacements.length,
    'pod-count': candidates.reduce((sum, { reschedulablePods }) => sum + reschedulablePods.length, 0),
    'disrupted-nodes': candidates.map(({ node, nodeClaim, capacityType, stateNode }) => ({
      Node: { name: node.metadata.name },
      NodeClaim: { name: nodeClaim.metadata.name },
      'capacity-type': capacityType,
      'instance-type': stateNode.labels[INSTANCE_TYPE_LABEL],
    })),
    'replacement-nodes': replacements.map((planned) => ({
      'capacity-type': capacityTypeOf(planned),
      ...(replacements.length === 1 ? { 'instance-types': firstFew(planned.instanceTypes) } : {}),
    })),
  };
}

const LAUNCH_ORDER = ['reserved', 'spot', 'on-demand'];

/** Returns the capacity type that is launched first. */
const capacityTypeOf = ({ requirements }: PlannedClaim): string => {
  const wanted = Requirements.fromRequirements(requirements).get(CAPACITY_TYPE_LABEL);
  return LAUNCH_ORDER.find((type) => wanted.has(type)) ?? 'on-demand';
};

/**
 * Carries out commands: waits until the replacements are initialized, then deletes the candidates. Rolls the command back if it
 * cannot succeed.
 *
 *   started ──replacements initialized──▶ candidates deleted ──▶ done
 *      └──a replacement is gone, or the command timed out──▶ rolled back
 */
import { isTrue } from '../../api/conditions.ts';
import { NODE_CLAIM } from '../../api/kinds.ts';
import type { Candidate } from '../../engine/disruption/candidates/candidates.ts';
import { decisionOf, savingsOf, shortText } from '../../engine/disruption/command.ts';
import { deleteExactly } from '../../kube/patch.ts';
import { after, type KeyedWorker, type Outcome, type ReconcileContext, settled } from '../../kube/reconciler.ts';
import { monotonicMs } from '../../lib/clock.ts';
import { timestamp } from '../../lib/times.ts';
import type { Logger } from '../../observe/logger.ts';
import { CLAIMS_BY_NODE_POOL } from '../../state/stores.ts';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { countDisrupted } from '../disrupted.ts';
import { retried } from '../retry.ts';
import { snakeCase } from '../text.ts';
import { publishLaunching, publishTerminating, publishWaiting } from './disruption-events.ts';
import { untaint, withdrawReason } from './marks.ts';
import { countQueueFailures } from './measures.ts';
import { MoveHistory } from './moves.ts';
import type { Order } from './order.ts';

const POLL_MS = 1000;
const PER_CANDIDATE_MS = 80;
const LEAST_TIME_MS = 10 * 60_000;
const MOST_TIME_MS = 60 * 60_000;

/** The command cannot succeed, however long the queue waits. */
class Unrecoverable extends Error {
  override readonly name = 'Unrecoverable';
}

/** Maximum length of a command in the decision log. The text of a command for a hundred nodes would be too long. */
const MOST_TEXT = 200;
const clipped = (text: string): string => (text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT - 1)}…`);

/** Returns the maximum time for a command. This time increases with the number of nodes in the queue. */
export const limitMs = (candidates: number): number =>
  Math.min(MOST_TIME_MS, Math.max(LEAST_TIME_MS, PER_CANDIDATE_MS * candidates));

export class DisruptionQueue {
  readonly #deps: Deps;
  /** Records commands of consolidation methods that were carried out. */
  readonly moves: MoveHistory;
  readonly #orders = new Map<string, Order>();
  /** Time at which each order was added, by `monotonicMs`. */
  readonly #sinceMs = new Map<string, number>();
  readonly #byProviderId = new Map<string, string>();
  #providerIds: ReadonlySet<string> | undefined;
  /** Replacements that were initialized once. Their later state does not matter. */
  readonly #initialized = new Set<string>();
  /** UIDs of candidates' NodeClaims that are deleted while the deletion of another candidate of the same command is still due. */
  readonly #deleted = new Set<string | undefined>();
  #add: (id: string) => void = () => undefined;

  constructor(deps: Deps, moves: MoveHistory = new MoveHistory()) {
    this.#deps = deps;
    this.moves = moves;
  }

  /** Returns the same set until a command is added or ends. */
  get providerIds(): ReadonlySet<string> {
    this.#providerIds ??= new Set(this.#byProviderId.keys());
    return this.#providerIds;
  }

  has(providerId: string): boolean {
    return this.#byProviderId.has(providerId);
  }

  enqueue(order: Order): void {
    this.#orders.set(order.id, order);
    this.#sinceMs.set(order.id, monotonicMs(this.#deps.clock));
    this.moves.created(order.replacements);
    const { candidates, reason } = order.command;
    if (reason !== 'Underutilized') this.moves.excused(candidates.map(({ nodeClaim }) => nodeClaim.metadata.name));
    for (const { providerId } of candidates) this.#byProviderId.set(providerId, order.id);
    this.#providerIds = undefined;
    this.#deps.cluster.changed();
    this.#add(order.id);
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
        for (const id of this.#orders.keys()) add(id);
      },
      reconcile: (id, context) => this.#work(id, context),
    };
  }

  async #work(id: string, { log }: ReconcileContext): Promise<Outcome> {
    const order = this.#orders.get(id);
    if (order === undefined) return settled;
    try {
      const finished = await this.#attempt(order, log);
      this.#checkTime(order);
      if (!finished) return after(POLL_MS);
      log.debug('command succeeded', order.fields);
      this.#record(order);
      if (order.method.consolidationType !== '')
        this.moves.enter(order, this.#nodesLeft(order), this.#deps.clock.now());
    } catch (error) {
      if (!(error instanceof Unrecoverable)) throw error;
      await this.#rollBack(order, error, log);
    }
    this.#forget(order);
    return settled;
  }

  /** Returns true if the command is carried out. @throws Unrecoverable if the command cannot succeed */
  async #attempt(order: Order, log: Logger): Promise<boolean> {
    const waiting = order.replacements.filter((name) => !this.#isReady(order, name));
    if (waiting.length > 0) return false;
    order.trace?.replaced(this.#deps.clock.now());
    const results = await Promise.allSettled(
      order.command.candidates.map((candidate) => this.#deleteCandidate(order, candidate)),
    );
    const failures = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
    if (failures.length > 0)
      log.debug('failed deleting disrupted nodeclaims, trying again', { error: failures.join('; ') });
    return failures.length === 0;
  }

  #isReady({ command }: Order, name: string): boolean {
    if (this.#initialized.has(name)) return true;
    const { cluster, events } = this.#deps;
    const replacement = cluster.claim(name);
    if (replacement === undefined) throw new Unrecoverable(`replacement was deleted, NodeClaim "${name}"`);
    publishLaunching(events, replacement, command.reason);
    if (!isTrue(replacement, 'Initialized')) {
      publishWaiting(events, replacement);
      return false;
    }
    this.#initialized.add(name);
    return true;
  }

  async #deleteCandidate({ command, method }: Order, candidate: Candidate): Promise<void> {
    const { client, events, metrics } = this.#deps;
    const { nodeClaim, nodePool, reschedulablePods } = candidate;
    if (this.#deleted.has(nodeClaim.metadata.uid)) return;
    if (!(await retried(this.#deps, () => deleteExactly(client, NODE_CLAIM, nodeClaim)))) return;
    this.#deleted.add(nodeClaim.metadata.uid);
    publishTerminating(events, candidate, command.reason);
    const policy = nodePool.spec.disruption?.consolidationPolicy ?? 'WhenEmptyOrUnderutilized';
    countDisrupted(metrics, nodeClaim, {
      reason: snakeCase(command.reason),
      pods: reschedulablePods.length,
      ...(method.consolidationType === '' ? {} : { policy: snakeCase(policy) }),
    });
  }

  #record({ id, command, method }: Order): void {
    const { candidates, replacements } = command;
    this.#deps.decisions?.record({
      kind: 'disrupted',
      at: timestamp(this.#deps.clock.now()),
      id,
      method: method.name,
      decision: decisionOf(command),
      reason: snakeCase(command.reason),
      command: clipped(shortText(command)),
      nodePools: [...new Set(candidates.map(({ nodePool }) => nodePool.metadata.name))],
      nodes: candidates.length,
      replacements: replacements.length,
      pods: candidates.reduce((sum, { reschedulablePods }) => sum + reschedulablePods.length, 0),
      predictedUsdPerHour: savingsOf(command),
    });
  }

  /** Returns the number of NodeClaims that the NodePools of a command keep after the deletion of its candidates. */
  #nodesLeft({ command: { candidates } }: Order): number {
    const { nodeClaims } = this.#deps.cluster.stores;
    const gone = new Set(candidates.map(({ nodeClaim }) => nodeClaim.metadata.name));
    return [...new Set(candidates.map(({ nodePool }) => nodePool.metadata.name))]
      .flatMap((name) => nodeClaims.byIndex(CLAIMS_BY_NODE_POOL, name))
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined && !gone.has(metadata.name)).length;
  }

  #checkTime({ id }: Order): void {
    const nowMs = monotonicMs(this.#deps.clock);
    if (nowMs - (this.#sinceMs.get(id) ?? nowMs) > limitMs(this.#byProviderId.size))
      throw new Unrecoverable('command reached timeout');
  }

  async #rollBack({ command, fields, replacements, trace }: Order, error: Error, log: Logger): Promise<void> {
    const { cluster, metrics, traces } = this.#deps;
    if (trace) traces?.commandFailed(trace, error);
    countQueueFailures(metrics, command, replacements.filter((name) => !this.#initialized.has(name)).length);
    // If a removal fails, the next pass of the disruption loop removes the marks, because the nodes are not part of a command.
    const nodes = command.candidates.map(({ stateNode }) => stateNode);
    await Promise.allSettled(nodes.map((node) => untaint(this.#deps, node)));
    await Promise.allSettled(nodes.map((node) => withdrawReason(this.#deps, node)));
    log.error('failed terminating nodes while executing a disruption command', { ...fields, error });
    cluster.unmarkForDeletion(...command.candidates.map(({ providerId }) => providerId));
  }

  #forget({ id, command, replacements }: Order): void {
    this.#orders.delete(id);
    this.#sinceMs.delete(id);
    this.#providerIds = undefined;
    this.#deps.cluster.changed();
    for (const { providerId, nodeClaim } of command.candidates) {
      this.#byProviderId.delete(providerId);
      this.#deleted.delete(nodeClaim.metadata.uid);
    }
    for (const name of replacements) this.#initialized.delete(name);
  }
}

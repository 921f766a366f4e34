/**
 * Lowers the deletion cost of ReplicaSet pods on marked nodes, so that scale-downs empty these nodes. Needs the right to patch
 * pods, so it is off by default. Removes the costs when a node is released, when the setting is off, and when the operator stops.
 */
import { DELETION_COST_ANNOTATION, DELETION_COST_SINCE_ANNOTATION, POD, type Pod, uidOf } from '#api/objects';
import {
  emptyingSinceMs,
  hasCostMark,
  hasForeignCost,
  hasOwnCost,
  isEmptying,
  OWN_COST,
  podsToDeleteFirst,
} from '#engine/disruption';
import { isActive } from '#engine/model';
import { writeChanges } from '#kube/client';
import { after, backOffMs, type Outcome, type ReconcileContext, Requeue, type Singleton } from '#kube/reconcilers';
import { interleave, timeOf, timestamp, withBoundedConcurrency } from '#lib';
import { monotonicMs } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { VOLUNTARY_DISRUPTION_EMPTYING_PODS } from '#observe/metrics';
import type { Deps } from '../deps.ts';

/** Time between two plans, as between two rankings of nodes. */
const INTERVAL_MS = 30_000;
const UNSYNCED_MS = 1000;
/** Time until the next write for a pod after a failure. It doubles with each further failure of the pod. */
const FAILED = { baseMs: 5 * 60_000, maxMs: 60 * 60_000 };
/** Failures in succession until the next plan waits as long as a pod. Without the right to patch pods, every write fails. */
const MOST_FAILURES = 10;
/** Minimum time between two changes of a pod's cost. */
const DWELL_MS = 2 * 60_000;
/** Maximum number of writes in one second. */
const MOST_WRITES = 2;
const SECOND_MS = 1000;
/** Number of concurrent writes when the operator stops. */
const AT_ONCE = 5;

interface Change {
  readonly pod: Pod;
  readonly wanted: boolean;
}

export class DeletionCosts implements Singleton {
  readonly name = 'disruption.deletioncosts';
  readonly singleton = true;
  readonly #deps: Deps;
  /** Changes of the last plan that are not written yet. */
  #planned: readonly Change[] = [];
  #plannedMs = Number.NEGATIVE_INFINITY;
  /** Failed writes by UID of the pod. */
  readonly #failed = new Map<string, { readonly failures: number; readonly untilMs: number }>();
  /** Failures since the last successful write. */
  #failures = 0;
  /** Time of the last removal by UID of the pod. The time at which a cost was set is in the pod's annotation. */
  readonly #removedMs = new Map<string, number>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async reconcile({ log }: ReconcileContext): Promise<Outcome> {
    const { cluster, clock } = this.#deps;
    if (!cluster.synced()) return after(UNSYNCED_MS);
    if (monotonicMs(clock) - this.#plannedMs >= INTERVAL_MS) this.#plan();
    const due = this.#planned.slice(0, MOST_WRITES);
    this.#planned = this.#planned.slice(MOST_WRITES);
    await withBoundedConcurrency(due, MOST_WRITES, (change) => this.#tryOne(change, log));
    if (this.#failures >= MOST_FAILURES) {
      this.#failures = 0;
      this.#planned = [];
      return after(FAILED.baseMs);
    }
    return after(this.#planned.length > 0 ? SECOND_MS : INTERVAL_MS);
  }

  /** Removes all costs when the operator stops, because this may be an uninstall. */
  readonly leaving = async (): Promise<void> => {
    const marked = this.#deps.cluster.stores.pods.list().filter(hasCostMark);
    await withBoundedConcurrency(marked, AT_ONCE, (pod) => this.#write(pod, false));
  };

  /** Writes a change. After a failure, the pod waits, so that writes for other pods go on. */
  async #tryOne(change: Change, log: Logger): Promise<void> {
    const uid = uidOf(change.pod);
    try {
      await this.#carryOut(change);
      this.#failed.delete(uid);
      this.#failures = 0;
    } catch (error) {
      const { namespace, name } = change.pod.metadata;
      log.error('failed changing the deletion cost of pods', { Pod: { namespace, name }, error });
      const { failures = 0 } = this.#failed.get(uid) ?? {};
      const untilMs = monotonicMs(this.#deps.clock) + backOffMs(FAILED, failures, this.#deps.random);
      this.#failed.set(uid, { failures: failures + 1, untilMs });
      this.#failures += 1;
    }
  }

  #plan(): void {
    const { cluster, clock, metrics } = this.#deps;
    this.#plannedMs = monotonicMs(clock);
    const pods = cluster.stores.pods.list();
    this.#planned = this.#changes(pods);
    metrics.gauge(VOLUNTARY_DISRUPTION_EMPTYING_PODS).set(pods.filter(hasOwnCost).length);
  }

  /**
   * Returns the pods whose cost must change. Removals come first, so that a scale-down spares nodes that are needed again.
   * Namespaces take turns, because a webhook may refuse all writes of one namespace.
   */
  #changes(pods: readonly Pod[]): readonly Change[] {
    const nowMs = this.#deps.clock.now();
    for (const [uid, ms] of this.#removedMs) if (nowMs - ms >= DWELL_MS) this.#removedMs.delete(uid);
    const own = new Set(pods.map(uidOf));
    for (const uid of this.#failed.keys()) if (!own.has(uid)) this.#failed.delete(uid);
    const wanted = new Set(this.#wanted(pods));
    const removed = pods.filter(
      (pod) => hasCostMark(pod) && isActive(pod) && !wanted.has(pod) && mayRemove(pod, nowMs),
    );
    const lowered = [...wanted].filter((pod) => !hasOwnCost(pod) && !this.#removedMs.has(uidOf(pod)));
    return [
      ...this.#inTurn(removed).map((pod): Change => ({ pod, wanted: false })),
      ...this.#inTurn(lowered).map((pod): Change => ({ pod, wanted: true })),
    ];
  }

  #inTurn(pods: readonly Pod[]): readonly Pod[] {
    const nowMs = monotonicMs(this.#deps.clock);
    const due = pods.filter((pod) => (this.#failed.get(uidOf(pod))?.untilMs ?? nowMs) <= nowMs);
    return interleave([...Map.groupBy(due, ({ metadata }) => metadata.namespace).values()]);
  }

  #wanted(pods: readonly Pod[]): readonly Pod[] {
    const { cluster, settings } = this.#deps;
    if (!settings.podDeletionCost) return [];
    const marked = cluster.nodes().filter(isEmptying);
    return podsToDeleteFirst(
      pods,
      new Map(marked.flatMap((node) => (node.node ? [[node.node.metadata.name, emptyingSinceMs(node) ?? 0]] : []))),
    );
  }

  async #carryOut({ pod, wanted }: Change): Promise<void> {
    const current = this.#deps.cluster.stores.pods.get(pod.metadata);
    // the pod may have ended since the plan
    if (current === undefined || uidOf(current) !== uidOf(pod) || !isActive(current)) return;
    await this.#write(current, wanted);
    if (!wanted) this.#removedMs.set(uidOf(pod), this.#deps.clock.now());
  }

  /** Ignores conflicts: the next plan has the newer version of the pod. */
  async #write(before: Pod, wanted: boolean): Promise<void> {
    const { client, clock } = this.#deps;
    const after = wanted ? withOwnCost(before, timestamp(clock.now())) : withoutOwnCost(before);
    try {
      await writeChanges(client, POD, { before, after }, { part: 'object', lock: true });
    } catch (error) {
      if (!(error instanceof Requeue)) throw error;
    }
  }
}

/** Returns true if the cost is old enough, or if its time cannot be parsed. */
const mayRemove = ({ metadata }: Pod, nowMs: number): boolean =>
  !(nowMs - timeOf(metadata.annotations?.[DELETION_COST_SINCE_ANNOTATION]) < DWELL_MS);

const withAnnotations = (pod: Pod, annotations: Pod['metadata']['annotations']): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, annotations: annotations ?? {} },
});

function withOwnCost(pod: Pod, since: string): Pod {
  if (hasForeignCost(pod)) return pod;
  const { annotations } = pod.metadata;
  const own = { [DELETION_COST_ANNOTATION]: OWN_COST, [DELETION_COST_SINCE_ANNOTATION]: since };
  return withAnnotations(pod, { ...annotations, ...own });
}

/** Keeps a cost that another client has set. */
function withoutOwnCost(pod: Pod): Pod {
  const { [DELETION_COST_SINCE_ANNOTATION]: _, ...others } = pod.metadata.annotations ?? {};
  if (!hasOwnCost(pod)) return withAnnotations(pod, others);
  const { [DELETION_COST_ANNOTATION]: __, ...rest } = others;
  return withAnnotations(pod, rest);
}

/** A scheduler with kube-scheduler's filters, scores, queue, preemption and messages. */
import {
  CSI_NODE,
  getCondition,
  NAMESPACE,
  NODE,
  type Node,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  type PersistentVolumeClaim,
  POD,
  POD_DISRUPTION_BUDGET,
  type Pod,
  type RESOURCE_CLAIM,
  type ResourceClaim,
  STORAGE_CLASS,
} from '#api/objects';
import { own, sameJson, timestamp } from '#lib';
import type { Clock } from '#lib/clock';
import type { Caches } from '../../cache.ts';
import { ApiError, isGone } from '../../client.ts';
import { withConditions } from '../../conditions.ts';
import { eventReporter, type Parts, type Report } from '../../parts.ts';
import { podRequests } from './amounts.ts';
import { bindClaims } from './bind-claims.ts';
import { Cluster, isOver } from './cluster.ts';
import { dependsOnChange, mayCount } from './counted-pods.ts';
import { SELECTING_KINDS } from './default-selectors.ts';
import { DEVICE_KINDS } from './devices/device-cluster.ts';
import { type Reservation, releaseIdleClaim, reserveDevices } from './devices/reserve.ts';
import { FILTERS, type FilterVerdict, feasibleNodes, firstRefusalOn } from './filters.ts';
import { NodeSearch } from './node-search.ts';
import { NominatedPods } from './nominated-pods.ts';
import { antiTerms } from './pod-affinity.ts';
import { findPreemptions, isWaitingForVictims, mayFit, PREEMPTED, type Preemption } from './preemption.ts';
import { priorityOf } from './priority.ts';
import { type Helped, SchedulingQueue } from './queue.ts';
import { Refusals } from './refusals.ts';
import { bestNodes, type TieBreak } from './scores/index.ts';
import type { Filter, NodeView } from './view.ts';
import { usesClaim } from './volumes.ts';

const NAME = 'default-scheduler';

const isWaiting = (pod: Pod): boolean =>
  !pod.spec.nodeName &&
  !isOver(pod) &&
  pod.metadata.deletionTimestamp === undefined &&
  (pod.spec.schedulerName ?? NAME) === NAME;

/** Reports whether a change of a node can make room for a pod. Heartbeats cannot. */
function makesRoom(now: Node, before: Node): boolean {
  const isSame = (of: (node: Node) => unknown): boolean => sameJson(of(now), of(before));
  return !(
    isSame(({ metadata }) => metadata.labels) &&
    isSame(({ spec }) => spec?.taints) &&
    isSame(({ spec }) => spec?.unschedulable) &&
    isSame(({ status }) => status?.allocatable)
  );
}

/** Reports whether a pod requests less of any resource than before, after it was resized in place. */
function isReduced(now: Pod, before: Pod | undefined): boolean {
  if (before === undefined || now === before) return false;
  const [requests, earlier] = [podRequests(now), podRequests(before)];
  return requests !== earlier && Object.entries(earlier).some(([name, amount]) => (own(requests, name) ?? 0) < amount);
}

export interface SchedulerOptions {
  /** Order of nodes with equal scores. By default, they are ordered by name. */
  readonly tieBreak?: TieBreak | undefined;
}

/** Starts the scheduler. It stops when `parts.signal` is aborted. */
export async function startScheduler(parts: Parts, options: SchedulerOptions = {}): Promise<void> {
  await new Scheduler(parts, options).start();
}

class Scheduler {
  readonly #parts: Parts;
  readonly #caches: Caches;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #cluster: Cluster;
  readonly #queue: SchedulingQueue;
  readonly #refusals: Refusals;
  readonly #search = new NodeSearch();
  readonly #nominated = new NominatedPods();
  /** Names of nodes with more room since the last round. */
  readonly #offered = new Set<string>();
  readonly #tieBreak: SchedulerOptions['tieBreak'];
  readonly #report: Report;
  /** Pods that are deleting their victims. */
  readonly #preempting = new Set<string>();
  /** Pods whose binding is in progress. */
  readonly #binding: Set<string>;
  #planned: boolean;
  #cancelTimer: () => void;

  constructor(parts: Parts, { tieBreak }: SchedulerOptions) {
    this.#parts = parts;
    this.#tieBreak = tieBreak;
    this.#caches = parts.caches;
    this.#clock = parts.clock;
    this.#signal = parts.signal;
    this.#cluster = new Cluster(this.#caches);
    this.#queue = new SchedulingQueue();
    this.#refusals = new Refusals(this.#cluster);
    this.#report = eventReporter(NAME, parts);
    this.#binding = new Set<string>();
    this.#planned = false;
    this.#cancelTimer = () => {};
  }

  async start(): Promise<void> {
    this.#caches.of(POD).subscribe((now, before) => {
      if (now === undefined) {
        if (before) this.#left(before);
      } else if (isWaiting(now)) this.#waits(now, before);
      else this.#settled(now, before);
    });
    this.#caches.of(NODE).subscribe((now, before) => {
      if (now === undefined) this.#nodeLeft(before);
      else if (before === undefined) this.#offer(now.metadata.name);
      else if (makesRoom(now, before)) {
        this.#retry('counting', (pod) => dependsOnChange(pod, now, before));
        this.#offer(now.metadata.name);
      }
    });
    this.#caches.of(PERSISTENT_VOLUME_CLAIM).subscribe((now: PersistentVolumeClaim | undefined) => {
      if (now) this.#retry('with-volumes', (pod) => usesClaim(pod, now));
    });
    this.#caches.of(PERSISTENT_VOLUME).subscribe(() => this.#retry('with-volumes'));
    this.#caches.of(STORAGE_CLASS).subscribe(() => this.#retry('with-volumes'));
    this.#caches.of(CSI_NODE).subscribe(() => this.#retry('with-volumes'));
    for (const kind of DEVICE_KINDS)
      this.#caches.of<ResourceClaim>(kind as typeof RESOURCE_CLAIM).subscribe(() => this.#retry('with-devices'));
    this.#caches.of(NAMESPACE).subscribe(() => this.#retry('counting'));
    this.#signal.addEventListener('abort', () => this.#cancelTimer(), { once: true });
    const kinds = [
      ...SELECTING_KINDS,
      POD,
      NODE,
      PERSISTENT_VOLUME_CLAIM,
      PERSISTENT_VOLUME,
      STORAGE_CLASS,
      CSI_NODE,
      NAMESPACE,
      POD_DISRUPTION_BUDGET,
      ...DEVICE_KINDS,
    ];
    await Promise.all(kinds.map((kind) => this.#caches.of<Pod>(kind as typeof POD).synced));
  }

  #plan(): void {
    if (this.#planned || this.#signal.aborted) return;
    this.#planned = true;
    setImmediate(() => {
      this.#planned = false;
      this.#round();
    });
  }

  #round(): void {
    if (this.#signal.aborted) return;
    this.#retryOnOffered();
    for (const pod of this.#queue.due(this.#clock.now())) this.#attempt(pod);
    this.#cancelTimer();
    const next = this.#queue.nextDue();
    if (next !== undefined)
      this.#cancelTimer = this.#clock.after(Math.max(1, next - this.#clock.now()), () => this.#plan());
  }

  #attempt(pod: Pod): void {
    if (this.#preempting.has(pod.metadata.uid ?? '') || this.#cluster.devices.isParked(pod)) {
      this.#queue.refuse(pod, this.#clock.now());
      return;
    }
    const filters = this.#nominated.filtersBeside(FILTERS);
    const verdict = this.#verdictOf(pod, filters);
    const chosen = 'fits' in verdict ? this.#choose(pod, bestNodes(pod, verdict.fits, this.#cluster)) : undefined;
    if (chosen) {
      this.#nominated.remove(pod);
      const reservation = reserveDevices(pod, chosen, this.#cluster.devices, this.#parts);
      this.#queue.remove(pod);
      this.#binding.add(pod.metadata.uid ?? '');
      this.#cluster.assume(pod, chosen.name);
      void this.#bind(pod, chosen.node, reservation);
      return;
    }
    this.#queue.refuse(pod, this.#clock.now());
    void this.#release(pod);
    const message = 'message' in verdict ? verdict.message : '';
    const isKnown = this.#refusals.of(pod) === verdict && this.#nominated.nodeOf(pod) === undefined;
    const nominated = isKnown ? '' : this.#preempt(pod, filters);
    // preemption does not help equal pods either, unless nominated pods are the reason
    if ('message' in verdict && nominated === '' && this.#nominated.isEmpty) this.#refusals.put(pod, verdict);
    void this.#markUnschedulable(pod, 'Unschedulable', message, nominated);
    this.#report(pod, 'Warning', 'FailedScheduling', message);
  }

  /** Evaluates the nominated node before all nodes. */
  #verdictOf(pod: Pod, filters: readonly Filter[]): FilterVerdict {
    const nominated = this.#nominated.nodeOf(pod);
    const node = nominated && this.#cluster.nodes.find(({ name }) => name === nominated);
    if (node && firstRefusalOn(pod, node, this.#cluster, filters) === undefined) return { fits: [node] };
    return this.#refusals.of(pod) ?? feasibleNodes(pod, this.#cluster, filters, this.#search);
  }

  /** Deletes pods with lower priority if this makes room. Returns the name of the node, or '' without a node. */
  #preempt(pod: Pod, filters: readonly Filter[]): string {
    const before = this.#nominated.nodeOf(pod);
    if (before !== undefined && isWaitingForVictims(pod, before, this.#cluster)) return before;
    const budgets = this.#caches.of(POD_DISRUPTION_BUDGET).list();
    const best = findPreemptions(pod, this.#cluster, filters, budgets);
    this.#nominated.remove(pod);
    const node = this.#choose(
      pod,
      best.map((each) => each.node),
    );
    const preemption = best.find((each) => each.node === node);
    if (preemption === undefined) return '';
    const { name } = preemption.node;
    const lower = this.#nominated.lowerOn(name, pod);
    this.#nominated.put(pod, name);
    void this.#deleteVictims(pod, preemption, lower);
    return name;
  }

  /** @param lower pods that lose their nomination, so that they are tried on other nodes */
  async #deleteVictims(pod: Pod, { node, victims }: Preemption, lower: readonly Pod[]): Promise<void> {
    const { uid = '' } = pod.metadata;
    this.#preempting.add(uid);
    for (const other of lower) {
      this.#nominated.remove(other);
      const patch = { metadata: { uid: other.metadata.uid }, status: { nominatedNodeName: null } };
      await this.#patchStatus(other, patch);
    }
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: PREEMPTED,
      message: `${NAME}: preempting to accommodate a higher priority pod`,
      lastTransitionTime: timestamp(this.#clock.now()),
    };
    for (const victim of victims) {
      if (victim.metadata.deletionTimestamp !== undefined) continue;
      try {
        const patch = { metadata: { uid: victim.metadata.uid }, status: { conditions: [condition] } };
        await this.#parts.client.patch(POD, victim.metadata, patch, { subresource: 'status', type: 'strategic' });
        await this.#parts.client.delete(POD, victim.metadata, { uid: victim.metadata.uid ?? '' });
        this.#report(victim, 'Normal', 'Preempted', `Preempted by pod ${uid} on node ${node.name}`);
      } catch (error) {
        if (!this.#signal.aborted && !(error instanceof ApiError))
          this.#parts.log(`preemption of ${victim.metadata.name}: ${String(error)}`);
      }
    }
    this.#preempting.delete(uid);
    // events are ignored meanwhile
    this.#retry('all', ({ metadata }) => metadata.uid === uid);
  }

  #choose(pod: Pod, best: readonly NodeView[]): NodeView | undefined {
    const tieBreak = this.#tieBreak;
    if (tieBreak === undefined || best.length < 2) return best[0];
    const ranked = best.map((node) => ({ node, rank: tieBreak(pod, node) }));
    return ranked.reduce((first, other) => (other.rank < first.rank ? other : first)).node;
  }

  async #bind(pod: Pod, node: Node, reservation: Reservation | undefined): Promise<void> {
    const { name, namespace = '', uid } = pod.metadata;
    const nodeName = node.metadata.name;
    try {
      await bindClaims(pod, node, this.#parts);
      await reservation?.write();
      await this.#parts.client.post(POD, pod.metadata, 'binding', {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, namespace, ...(uid ? { uid } : {}) },
        target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
      });
      this.#report(pod, 'Normal', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${nodeName}`);
    } catch (error) {
      if (this.#signal.aborted) return;
      this.#cluster.forget(pod);
      this.#released({ ...pod, spec: { ...pod.spec, nodeName } });
      const present = this.#caches.of(POD).get(pod.metadata);
      if (isGone(error) || !present || !isWaiting(present)) return;
      if (!(error instanceof ApiError)) this.#parts.log(`binding ${namespace}/${name}: ${String(error)}`);
      this.#report(pod, 'Warning', 'FailedScheduling', error instanceof Error ? error.message : String(error));
      this.#queue.put(present);
      this.#queue.delay(present, this.#clock.now());
    } finally {
      reservation?.end();
      this.#binding.delete(uid ?? '');
      this.#plan();
    }
  }

  async #release(pod: Pod): Promise<void> {
    try {
      await releaseIdleClaim(pod, this.#cluster, this.#parts);
    } catch (error) {
      if (!this.#signal.aborted && !(error instanceof ApiError))
        this.#parts.log(`claims of ${pod.metadata.name}: ${String(error)}`);
    }
  }

  async #markUnschedulable(pod: Pod, reason: string, message: string, nominated?: string): Promise<void> {
    const before = getCondition(pod, 'PodScheduled');
    const isNominated = nominated === undefined || (pod.status?.nominatedNodeName ?? '') === nominated;
    if (isNominated && before?.status === 'False' && before.reason === reason && before.message === message) return;
    const change = { type: 'PodScheduled', status: 'False', reason, message } as const;
    const conditions = withConditions(pod.status?.conditions, [change], timestamp(this.#clock.now()));
    const condition = conditions.find(({ type }) => type === 'PodScheduled');
    const nominatedNodeName = nominated === '' ? null : nominated;
    const status = { conditions: [condition], ...(isNominated ? {} : { nominatedNodeName }) };
    await this.#patchStatus(pod, { metadata: { uid: pod.metadata.uid }, status });
  }

  async #patchStatus(pod: Pod, patch: object): Promise<void> {
    try {
      await this.#parts.client.patch(POD, pod.metadata, patch, { subresource: 'status', type: 'strategic' });
    } catch (error) {
      if (!this.#signal.aborted && !isGone(error)) this.#parts.log(`status of ${pod.metadata.name}: ${String(error)}`);
    }
  }

  #retry(helped?: Helped, isHelped?: (pod: Pod) => boolean): void {
    this.#queue.retry(helped, isHelped);
    this.#plan();
  }

  /** Tries refused pods again if they may fit on a node with more room. Attempts of other pods would have the same result. */
  #retryOnOffered(): void {
    if (this.#offered.size === 0) return;
    const offered = this.#cluster.nodes.filter(({ name }) => this.#offered.has(name));
    this.#offered.clear();
    this.#queue.retry('all', (pod) => offered.some((node) => mayFit(pod, node, this.#cluster)));
  }

  /** Marks a node that has more room. */
  #offer(nodeName: string): void {
    this.#offered.add(nodeName);
    this.#plan();
  }

  /** A bound pod ended or needs less. */
  #released(pod: Pod): void {
    this.#offer(pod.spec.nodeName ?? '');
    if (antiTerms(pod).length > 0) this.#retry();
    else this.#retry('counting', (other) => mayCount(other, pod));
  }

  /** Domains of topology rules may have changed, and pods that were nominated for the node need a different node. */
  #nodeLeft(node: Node | undefined): void {
    this.#retry('counting');
    this.#retry('all', (pod) => this.#nominated.nodeOf(pod) === node?.metadata.name);
  }

  #left(pod: Pod): void {
    this.#queue.remove(pod);
    const wasNominated = this.#nominated.remove(pod);
    if (pod.spec.nodeName) this.#released(pod);
    else if (wasNominated) this.#nominationEnded(pod);
  }

  /** The room of a nominated pod was kept from pods with the same or a lower priority. */
  #nominationEnded(pod: Pod): void {
    this.#retry('all', (other) => priorityOf(other) <= priorityOf(pod));
  }

  #settled(pod: Pod, before: Pod | undefined): void {
    this.#queue.remove(pod);
    if (this.#nominated.remove(pod)) this.#nominationEnded(pod);
    if (!pod.spec.nodeName) return;
    if (isOver(pod) ? !(before && isOver(before)) : isReduced(pod, before)) this.#released(pod);
    // affinity and topology spread may depend on a newly bound pod
    else if (!before?.spec.nodeName) this.#retry('counting', (other) => mayCount(other, pod));
    else if (!sameJson(pod.metadata.labels, before.metadata.labels)) this.#retry('counting');
  }

  #waits(pod: Pod, before: Pod | undefined): void {
    const gates = (pod.spec.schedulingGates ?? []).map(({ name }) => name).join(', ');
    if (gates !== '') {
      const message = `Scheduling is blocked due to non-empty scheduling gates: ${gates}`;
      void this.#markUnschedulable(pod, 'SchedulingGated', message);
    } else if (!this.#binding.has(pod.metadata.uid ?? '')) {
      this.#nominate(pod, before);
      this.#queue.put(pod);
      this.#plan();
    }
  }

  /** Follows nominations in the status of pods, because they outlive this process and may come from different components. */
  #nominate(pod: Pod, before: Pod | undefined): void {
    const [now, earlier] = [pod, before].map((each) => each?.status?.nominatedNodeName || undefined);
    if (now !== undefined) this.#nominated.put(pod, now);
    else if (earlier !== undefined) this.#nominated.remove(pod);
    if (earlier !== undefined && earlier !== now) this.#nominationEnded(pod);
  }
}

/** A scheduler with kube-scheduler's filters, scores, queue and messages. It does not support preemption. */
import { getCondition } from '../../../api/conditions.ts';
import type { ResourceClaim } from '../../../api/dra/objects.ts';
import {
  CSI_NODE,
  NAMESPACE,
  NODE,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  type RESOURCE_CLAIM,
  STORAGE_CLASS,
} from '../../../api/kinds.ts';
import type { Node, PersistentVolumeClaim, Pod } from '../../../api/kubernetes.ts';
import type { Clock } from '../../../lib/clock.ts';
import { sameJson } from '../../../lib/json-object.ts';
import { timestamp } from '../../../lib/times.ts';
import type { Caches } from '../../cache.ts';
import { ApiError, isGone } from '../../client.ts';
import { withConditions } from '../../conditions.ts';
import { eventReporter, type Parts, type Report } from '../../parts.ts';
import { bindClaims } from './bind-claims.ts';
import { Cluster, isOver } from './cluster.ts';
import { SELECTING_KINDS } from './default-selectors.ts';
import { DEVICE_KINDS } from './devices/device-cluster.ts';
import { type Reservation, releaseIdleClaim, reserveDevices } from './devices/reserve.ts';
import { FILTERS, feasibleNodes, type Search, type Verdict } from './filters.ts';
import { NodeSearch } from './node-search.ts';
import { type Helped, SchedulingQueue } from './queue.ts';
import { bestNodes, type TieBreak } from './scores/index.ts';
import type { NodeView } from './view.ts';

const NAME = 'default-scheduler';

const isWaiting = (pod: Pod): boolean =>
  !pod.spec.nodeName &&
  !isOver(pod) &&
  pod.metadata.deletionTimestamp === undefined &&
  (pod.spec.schedulerName ?? NAME) === NAME;

/** Reports whether a change of a node can make room for a pod. Heartbeats cannot. */
function matters(now: Node, before: Node | undefined): boolean {
  const isSame = (of: (node: Node) => unknown): boolean => sameJson(of(now), before && of(before));
  return !(
    isSame(({ metadata }) => metadata.labels) &&
    isSame(({ spec }) => spec?.taints) &&
    isSame(({ spec }) => spec?.unschedulable) &&
    isSame(({ status }) => status?.allocatable)
  );
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
  readonly #tieBreak: SchedulerOptions['tieBreak'];
  readonly #report: Report;
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
      } else if (isWaiting(now)) this.#waits(now);
      else this.#settled(now, before);
    });
    this.#caches.of(NODE).subscribe((now, before) => {
      if (now && matters(now, before)) this.#retry();
    });
    this.#caches
      .of(PERSISTENT_VOLUME_CLAIM)
      .subscribe((now: PersistentVolumeClaim | undefined) => now && this.#retry('with-volumes'));
    this.#caches.of(PERSISTENT_VOLUME).subscribe(() => this.#retry('with-volumes'));
    this.#caches.of(STORAGE_CLASS).subscribe(() => this.#retry('with-volumes'));
    this.#caches.of(CSI_NODE).subscribe(() => this.#retry('with-volumes'));
    for (const kind of DEVICE_KINDS)
      this.#caches.of<ResourceClaim>(kind as typeof RESOURCE_CLAIM).subscribe(() => this.#retry('with-devices'));
    this.#caches.of(NAMESPACE).subscribe(() => this.#retry('choosy'));
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
    for (const pod of this.#queue.due(this.#clock.now())) this.#attempt(pod);
    this.#cancelTimer();
    const next = this.#queue.nextDue();
    if (next !== undefined)
      this.#cancelTimer = this.#clock.after(Math.max(1, next - this.#clock.now()), () => this.#plan());
  }

  #attempt(pod: Pod): void {
    const verdict =
      this.#onNominated(pod) ?? this.#refusals.of(pod) ?? feasibleNodes(pod, this.#cluster, FILTERS, this.#search);
    const chosen = 'fits' in verdict ? this.#choose(pod, bestNodes(pod, verdict.fits, this.#cluster)) : undefined;
    if (chosen) {
      const reservation = reserveDevices(pod, chosen, this.#cluster.devices, this.#parts);
      this.#queue.remove(pod);
      this.#binding.add(pod.metadata.uid ?? '');
      this.#cluster.assume(pod, chosen.name);
      void this.#bind(pod, chosen.node, reservation);
      return;
    }
    this.#queue.refuse(pod, this.#clock.now());
    if ('isParked' in verdict) return;
    void this.#release(pod);
    const message = 'message' in verdict ? verdict.message : '';
    if ('message' in verdict) this.#refusals.put(pod, verdict);
    void this.#markUnschedulable(pod, 'Unschedulable', message);
    this.#report(pod, 'Warning', 'FailedScheduling', message);
  }

  /** Returns the nominated node if the pod fits there. kube-scheduler tries this node first. */
  #onNominated(pod: Pod): Verdict | undefined {
    const nominated = pod.status?.nominatedNodeName;
    if (!nominated) return undefined;
    const search: Search = { find: (nodes, fits) => nodes.filter((node) => node.name === nominated && fits(node)) };
    const verdict = feasibleNodes(pod, this.#cluster, FILTERS, search);
    return 'fits' in verdict ? verdict : undefined;
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
      const present = this.#caches.of(POD).get(pod.metadata);
      if (isGone(error) || !present || !isWaiting(present)) return this.#retry();
      if (!(error instanceof ApiError)) this.#parts.log(`binding ${namespace}/${name}: ${String(error)}`);
      this.#report(pod, 'Warning', 'FailedScheduling', error instanceof Error ? error.message : String(error));
      this.#queue.put(present, this.#clock.now());
      this.#queue.refuse(present, this.#clock.now());
      this.#queue.retry();
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

  async #markUnschedulable(pod: Pod, reason: string, message: string): Promise<void> {
    const before = getCondition(pod, 'PodScheduled');
    if (before?.status === 'False' && before.reason === reason && before.message === message) return;
    const change = { type: 'PodScheduled', status: 'False', reason, message } as const;
    const conditions = withConditions(pod.status?.conditions, [change], timestamp(this.#clock.now()));
    const condition = conditions.find(({ type }) => type === 'PodScheduled');
    try {
      const patch = { metadata: { uid: pod.metadata.uid }, status: { conditions: [condition] } };
      await this.#parts.client.patch(POD, pod.metadata, patch, { subresource: 'status', type: 'strategic' });
    } catch (error) {
      if (!this.#signal.aborted && !isGone(error)) this.#parts.log(`status of ${pod.metadata.name}: ${String(error)}`);
    }
  }

  #retry(helped?: Helped): void {
    this.#queue.retry(helped);
    this.#plan();
  }

  #left(pod: Pod): void {
    this.#queue.remove(pod);
    if (pod.spec.nodeName) this.#retry();
  }

  #settled(pod: Pod, before: Pod | undefined): void {
    this.#queue.remove(pod);
    if (isOver(pod)) this.#retry();
    // Pods with affinity may depend on a newly bound pod.
    else if (pod.spec.nodeName && !before?.spec.nodeName) this.#retry('drawn');
  }

  #waits(pod: Pod): void {
    const gates = (pod.spec.schedulingGates ?? []).map(({ name }) => name).join(', ');
    if (gates !== '') {
      const message = `Scheduling is blocked due to non-empty scheduling gates: ${gates}`;
      void this.#markUnschedulable(pod, 'SchedulingGated', message);
    } else if (!this.#binding.has(pod.metadata.uid ?? '')) {
      this.#queue.put(pod, this.#clock.now());
      this.#plan();
    }
  }
}

/** Refusals of pods, so that equal pods are not tried on the same nodes again. */
type Refusal = Extract<Verdict, { readonly message: string }>;

export class Refusals {
  readonly #cluster: Pick<Cluster, 'version'>;
  readonly #found = new Map<string, Refusal>();
  #version = 0;

  constructor(cluster: Pick<Cluster, 'version'>) {
    this.#cluster = cluster;
  }

  /** Returns the refusal of an equal pod, if the cluster has not changed since. */
  of(pod: Pod): Refusal | undefined {
    if (this.#version !== this.#cluster.version || this.#found.size === 0) return undefined;
    const face = faceOf(pod);
    return face === undefined ? undefined : this.#found.get(face);
  }

  put(pod: Pod, refusal: Refusal): void {
    const face = faceOf(pod);
    if (face === undefined) return;
    if (this.#version !== this.#cluster.version) this.#found.clear();
    this.#version = this.#cluster.version;
    this.#found.set(face, refusal);
  }
}

/** Returns all fields that the filters read, or undefined if filters read objects other than nodes and their pods. */
function faceOf({ metadata, spec }: Pod): string | undefined {
  const readsOthers = (spec.volumes?.length ?? 0) + (spec.resourceClaims?.length ?? 0) > 0;
  if (readsOthers || spec.affinity !== undefined) return undefined;
  return JSON.stringify([metadata.namespace, metadata.labels, spec]);
}

/**
 * Sets the Ready condition of nodes with a silent kubelet to Unknown, updates taints according to the Ready condition,
 * and evicts pods because of NoExecute taints.
 */
import {
  type Condition,
  getCondition,
  LEASE,
  type Lease,
  NODE,
  type Node,
  POD,
  type Pod,
  type Taint,
} from '#api/objects';
import { tolerates } from '#engine/model';
import { keyOf, refOf } from '#kube/client';
import { sameJson, timestamp } from '#lib';
import type { Cache } from '../../cache.ts';
import { isGone } from '../../client.ts';
import { withConditions } from '../../conditions.ts';
import { eventReporter, type Parts, type Report } from '../../parts.ts';
import { isOver } from '../scheduler/cluster.ts';
import { type Loop, startLoop } from './loop.ts';
import { deletePod, isPodActive, nodeNameOf } from './workloads/pods.ts';

/** A node is Unknown if it sends no heartbeat for this long. */
const GRACE_MS = 40_000;
const CHECK_MS = 5_000;
const LEASE_NAMESPACE = 'kube-node-lease';

const NOT_READY = 'node.kubernetes.io/not-ready';
const UNREACHABLE = 'node.kubernetes.io/unreachable';
const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable';
const PRESSURE: Readonly<Record<string, string>> = {
  MemoryPressure: 'node.kubernetes.io/memory-pressure',
  DiskPressure: 'node.kubernetes.io/disk-pressure',
  PIDPressure: 'node.kubernetes.io/pid-pressure',
  NetworkUnavailable: 'node.kubernetes.io/network-unavailable',
};

/** Returns the taints that follow from a node's state. */
function wantedTaints(node: Node): readonly Taint[] {
  const taints: Taint[] = [];
  const add = (key: string, ...effects: Taint['effect'][]): void => {
    for (const effect of effects) taints.push({ key, effect });
  };
  const ready = getCondition(node, 'Ready')?.status;
  if (ready === 'Unknown') add(UNREACHABLE, 'NoSchedule', 'NoExecute');
  else if (ready !== 'True') add(NOT_READY, 'NoSchedule', 'NoExecute');
  for (const [type, key] of Object.entries(PRESSURE))
    if (getCondition(node, type)?.status === 'True') add(key, 'NoSchedule');
  if (node.spec?.unschedulable) add(UNSCHEDULABLE, 'NoSchedule');
  return taints;
}

const MANAGED: ReadonlySet<string> = new Set([NOT_READY, UNREACHABLE, UNSCHEDULABLE, ...Object.values(PRESSURE)]);
const idOf = ({ key, effect }: Taint): string => `${key}:${effect}`;

/** Returns the node's taints with corrected managed taints, or undefined if they are already correct. */
export function correctedTaints(node: Node, now: number): readonly Taint[] | undefined {
  const present = node.spec?.taints ?? [];
  const wanted = wantedTaints(node);
  const wantedIds = new Set(wanted.map(idOf));
  const presentIds = new Set(present.map(idOf));
  const kept = present.filter((taint) => !MANAGED.has(taint.key) || wantedIds.has(idOf(taint)));
  const added = wanted
    .filter((taint) => !presentIds.has(idOf(taint)))
    .map((taint) => (taint.effect === 'NoExecute' ? { ...taint, timeAdded: timestamp(now) } : taint));
  return kept.length === present.length && added.length === 0 ? undefined : [...kept, ...added];
}

/** Returns the time at which NoExecute taints evict a pod, or undefined if they never do. */
export function evictionTime(pod: Pod, taints: readonly Taint[], now: number): number | undefined {
  let earliest: number | undefined;
  for (const taint of taints) {
    if (taint.effect !== 'NoExecute') continue;
    const covering = (pod.spec.tolerations ?? []).filter((toleration) => tolerates(toleration, taint));
    const seconds = covering.map(({ tolerationSeconds }) => tolerationSeconds).filter((one) => one !== undefined);
    if (covering.length > 0 && seconds.length === 0) continue;
    const since = taint.timeAdded === undefined ? now : Date.parse(taint.timeAdded);
    const due = covering.length === 0 ? now : since + 1000 * Math.max(0, Math.min(...seconds));
    earliest = Math.min(earliest ?? due, due);
  }
  return earliest;
}

const statuses = ({ status }: Node): unknown => status?.conditions?.map((one) => one.status);

export interface NodeLifecycleOptions {
  /** True if kubelets send heartbeats, so that silent kubelets are detected. Default true. */
  readonly heartbeats?: boolean;
}

export async function startNodeLifecycle(parts: Parts, options: NodeLifecycleOptions = {}): Promise<void> {
  await new NodeLifecycle(parts, options).start();
}

class NodeLifecycle {
  readonly #parts: Parts;
  readonly #nodes: Cache<Node>;
  readonly #leases: Cache<Lease>;
  readonly #pods: Cache<Pod>;
  readonly #report: Report;
  /** Time of the last observed change of each node's lease or status. */
  readonly #lastSeen: Map<string, number>;
  readonly #loop: Loop;
  readonly #evictions: Loop;
  #lastTick: number;
  #cancelTick: () => void;
  readonly #heartbeats: boolean;

  constructor(parts: Parts, { heartbeats = true }: NodeLifecycleOptions) {
    this.#parts = parts;
    this.#heartbeats = heartbeats;
    const { caches } = parts;
    this.#nodes = caches.of(NODE);
    this.#leases = caches.of(LEASE);
    this.#pods = caches.of(POD);
    this.#report = eventReporter('node-controller', parts);
    this.#lastSeen = new Map<string, number>();
    this.#loop = startLoop({
      ...parts,
      name: 'node lifecycle',
      reconcile: (name) => this.#reconcile(name),
    });
    this.#evictions = startLoop({
      ...parts,
      name: 'taint eviction',
      reconcile: (key) => this.#evict(key),
    });
    this.#lastTick = this.#parts.clock.now();
    this.#cancelTick = () => {};
  }

  async start(): Promise<void> {
    if (this.#heartbeats) this.#tick();
    this.#leases.subscribe((now) => {
      if (now?.metadata.namespace === LEASE_NAMESPACE) this.#sign(now.metadata.name);
    });
    this.#nodes.subscribe((now, before) => {
      if (!now) {
        if (before) this.#lastSeen.delete(before.metadata.name);
        return;
      }
      if (!this.#lastSeen.has(now.metadata.name)) this.#sign(now.metadata.name);
      if (!before) this.#loop.add(now.metadata.name);
      if (before && (!sameJson(before.spec, now.spec) || !sameJson(statuses(before), statuses(now))))
        this.#loop.add(now.metadata.name);
    });
    this.#pods.subscribe((now, before) => {
      if (now?.spec.nodeName && now.spec.nodeName !== before?.spec.nodeName) this.#evictions.add(keyOf(now.metadata));
    });
    this.#parts.signal.addEventListener('abort', () => this.#cancelTick(), { once: true });
    await Promise.all([this.#nodes.synced, this.#leases.synced, this.#pods.synced]);
  }

  async #markUnknown(node: Node): Promise<void> {
    const now = timestamp(this.#parts.clock.now());
    const types = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];
    const change = (type: string): Omit<Condition, 'lastTransitionTime'> => ({
      type,
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
      message: 'Kubelet stopped posting node status.',
    });
    const conditions = withConditions(node.status?.conditions, types.map(change), now);
    const patch = { status: { conditions } };
    this.#nodes.wrote(
      await this.#parts.client.patch(NODE, node.metadata, patch, { subresource: 'status', type: 'strategic' }),
    );
    this.#report(node, 'Normal', 'NodeNotReady', `Node ${node.metadata.name} status is now: NodeNotReady`);
    const ours = this.#pods.by(nodeNameOf, node.metadata.name).filter(isPodActive);
    await Promise.all(ours.map((pod) => this.#markPodUnready(pod, now)));
  }

  async #markPodUnready(pod: Pod, now: string): Promise<void> {
    if (getCondition(pod, 'Ready')?.status !== 'True') return;
    const change = { type: 'Ready', status: 'False', reason: 'NodeNotReady' } as const;
    const conditions = withConditions(pod.status?.conditions, [change], now).filter(({ type }) => type === 'Ready');
    await this.#parts.client.patch(
      POD,
      pod.metadata,
      { status: { conditions } },
      { subresource: 'status', type: 'strategic' },
    );
  }

  #tick(): void {
    this.#notePause();
    this.#lastTick = this.#parts.clock.now();
    this.#cancelTick = this.#parts.clock.after(CHECK_MS, () => this.#tick());
  }

  /**
   * Kubelets of the local cluster run in this process. A pause of the process must not appear as their silence, whichever timer
   * fires first afterwards.
   */
  #notePause(): void {
    const now = this.#parts.clock.now();
    const pausedMs = now - this.#lastTick - CHECK_MS;
    if (pausedMs <= CHECK_MS) return;
    for (const [name, seen] of this.#lastSeen) this.#lastSeen.set(name, Math.min(now, seen + pausedMs));
    this.#lastTick = now;
  }

  #sign(name: string): void {
    this.#lastSeen.set(name, this.#parts.clock.now());
  }

  async #reconcile(name: string): Promise<number | undefined> {
    const node = this.#nodes.get({ name });
    if (!node) return undefined;
    if (this.#heartbeats) this.#notePause();
    const now = this.#parts.clock.now();
    const silentMs = this.#heartbeats ? now - (this.#lastSeen.get(name) ?? now) : 0;
    const ready = getCondition(node, 'Ready');
    if (silentMs > GRACE_MS && ready && ready.status !== 'Unknown') await this.#markUnknown(node);
    const latest = this.#nodes.get({ name }) ?? node;
    const taints = correctedTaints(latest, now);
    if (taints) {
      const patch = { metadata: { resourceVersion: latest.metadata.resourceVersion }, spec: { taints } };
      this.#nodes.wrote(await this.#parts.client.patch(NODE, latest.metadata, patch));
    }
    const isEvicting = latest.spec?.taints?.some(({ effect }) => effect === 'NoExecute') ?? false;
    if (isEvicting) for (const pod of this.#pods.by(nodeNameOf, name)) this.#evictions.add(keyOf(pod.metadata));
    return this.#heartbeats || isEvicting ? CHECK_MS : undefined;
  }

  async #evict(key: string): Promise<undefined> {
    const pod = this.#pods.get(refOf(key));
    if (!pod?.spec.nodeName || !isPodActive(pod)) return undefined;
    const node = this.#nodes.get({ name: pod.spec.nodeName });
    const due = node && evictionTime(pod, node.spec?.taints ?? [], this.#parts.clock.now());
    if (due === undefined) return undefined;
    // The taint may be removed before this time. The next run for the node checks again.
    if (due > this.#parts.clock.now()) return undefined;
    this.#report(pod, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${key}`);
    await deletePod(this.#parts, pod);
    return undefined;
  }
}

/** Delay after the disappearance of a node, so that a late watch event does not delete pods. */
const QUARANTINE_MS = 5_000;

/** Deletes pods that no kubelet will terminate: their node is gone, or they are being deleted and were never bound. */
export async function startPodGc(parts: Parts): Promise<void> {
  const { client, caches, clock } = parts;
  const pods = caches.of(POD);
  const nodes = caches.of(NODE);

  const fail = async (pod: Pod): Promise<void> => {
    const message = 'PodGC: node no longer exists';
    const change = { type: 'DisruptionTarget', status: 'True', reason: 'DeletionByPodGC', message } as const;
    const conditions = withConditions(pod.status?.conditions, [change], timestamp(clock.now()));
    try {
      const patch = { status: { phase: 'Failed', conditions } };
      await client.patch(POD, pod.metadata, patch, { subresource: 'status', type: 'strategic' });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  };

  const loop = startLoop({
    ...parts,
    name: 'pod garbage',
    async reconcile(key) {
      const pod = pods.get(refOf(key));
      if (!pod) return;
      if (!pod.spec.nodeName) {
        if (pod.metadata.deletionTimestamp) await deletePod(parts, pod, 0);
        return;
      }
      if (nodes.get({ name: pod.spec.nodeName })) return;
      if (await client.find(NODE, { name: pod.spec.nodeName })) return;
      if (!isOver(pod)) await fail(pod);
      await deletePod(parts, pod, 0);
    },
  });
  pods.subscribe((now) => {
    if (!now) return;
    const orphaned = now.spec.nodeName !== undefined && !nodes.get({ name: now.spec.nodeName });
    const unassigned = !now.spec.nodeName && now.metadata.deletionTimestamp !== undefined;
    if (unassigned) loop.add(keyOf(now.metadata));
    else if (orphaned) loop.add(keyOf(now.metadata), QUARANTINE_MS);
  });
  nodes.subscribe((now, before) => {
    if (now || !before) return;
    for (const pod of pods.by(nodeNameOf, before.metadata.name)) loop.add(keyOf(pod.metadata), QUARANTINE_MS);
  });
  await Promise.all([pods.synced, nodes.synced]);
}

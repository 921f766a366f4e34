/** Nodes whose kubelet is silent become Unknown; taints follow the Ready condition; NoExecute taints evict pods. */
import { getCondition, timestamp } from '../../../api/conditions.ts';
import { LEASE, NODE, POD } from '../../../api/kinds.ts';
import type { Condition, Node, Pod, Taint } from '../../../api/kubernetes.ts';
import { keyOf, refOf } from '../../../kube/store.ts';
import { withConditions } from '../../conditions.ts';
import { eventReporter, type Parts } from '../../parts.ts';
import { tolerates } from '../scheduler/taints.ts';
import { startLoop } from './loop.ts';
import { deletePod, isActive } from './workloads/pods.ts';

/** Without a sign of life for this long a node is Unknown. */
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

/** The taints that follow from a node's state. */
export function wantedTaints(node: Node): readonly Taint[] {
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

/** The node's taints with the managed ones put right; undefined when they are right already. */
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

/** When NoExecute taints end a pod: undefined never, else a time. */
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

export async function startNodeLifecycle(parts: Parts): Promise<void> {
  const { client, caches, clock, signal } = parts;
  const nodes = caches.of(NODE);
  const leases = caches.of(LEASE);
  const pods = caches.of(POD);
  const report = eventReporter('node-controller', parts);
  /** When each node's lease or status last moved, by this process's own watch. */
  const lastSeen = new Map<string, number>();

  const markUnknown = async (node: Node): Promise<void> => {
    const now = timestamp(clock.now());
    const types = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];
    const change = (type: string): Omit<Condition, 'lastTransitionTime'> => ({
      type,
      status: 'Unknown',
      reason: 'NodeStatusUnknown',
      message: 'Kubelet stopped posting node status.',
    });
    const conditions = withConditions(node.status?.conditions, types.map(change), now);
    const patch = { status: { conditions } };
    nodes.wrote(await client.patch(NODE, node.metadata, patch, { subresource: 'status', type: 'strategic' }));
    report(node, 'Normal', 'NodeNotReady', `Node ${node.metadata.name} status is now: NodeNotReady`);
    const ours = pods.list().filter((pod) => pod.spec.nodeName === node.metadata.name && isActive(pod));
    await Promise.all(ours.map((pod) => markPodUnready(pod, now)));
  };

  const markPodUnready = async (pod: Pod, now: string): Promise<void> => {
    if (getCondition(pod, 'Ready')?.status !== 'True') return;
    const change = { type: 'Ready', status: 'False', reason: 'NodeNotReady' } as const;
    const conditions = withConditions(pod.status?.conditions, [change], now).filter(({ type }) => type === 'Ready');
    await client.patch(POD, pod.metadata, { status: { conditions } }, { subresource: 'status', type: 'strategic' });
  };

  const loop = startLoop({
    ...parts,
    name: 'node lifecycle',
    async reconcile(name) {
      const node = nodes.get({ name });
      if (!node) return undefined;
      const now = clock.now();
      const silentMs = now - (lastSeen.get(name) ?? now);
      const ready = getCondition(node, 'Ready');
      if (silentMs > GRACE_MS && ready && ready.status !== 'Unknown') await markUnknown(node);
      const latest = nodes.get({ name }) ?? node;
      const taints = correctedTaints(latest, now);
      if (taints) {
        const patch = { metadata: { resourceVersion: latest.metadata.resourceVersion }, spec: { taints } };
        nodes.wrote(await client.patch(NODE, latest.metadata, patch));
      }
      if (latest.spec?.taints?.some(({ effect }) => effect === 'NoExecute'))
        for (const pod of pods.list()) if (pod.spec.nodeName === name) evictions.add(keyOf(pod.metadata));
      return CHECK_MS;
    },
  });

  const evictions = startLoop({
    ...parts,
    name: 'taint eviction',
    async reconcile(key) {
      const pod = pods.get(refOf(key));
      if (!pod?.spec.nodeName || !isActive(pod)) return undefined;
      const node = nodes.get({ name: pod.spec.nodeName });
      const due = node && evictionTime(pod, node.spec?.taints ?? [], clock.now());
      if (due === undefined) return undefined;
      // A taint that waits may be gone when it is due; the node's next look asks again.
      if (due > clock.now()) return undefined;
      report(pod, 'Normal', 'TaintManagerEviction', `Marking for deletion Pod ${key}`);
      await deletePod(parts, pod);
      return undefined;
    },
  });

  // Kubelets of the local world share this process: a pause of its own must not look like their silence.
  let lastTick = clock.now();
  let cancelTick: () => void = () => {};
  const tick = (): void => {
    const pausedMs = clock.now() - lastTick - CHECK_MS;
    if (pausedMs > CHECK_MS) for (const [name, seen] of lastSeen) lastSeen.set(name, seen + pausedMs);
    lastTick = clock.now();
    cancelTick = clock.after(CHECK_MS, tick);
  };
  tick();
  const sign = (name: string): void => {
    lastSeen.set(name, clock.now());
  };
  leases.subscribe((now) => {
    if (now?.metadata.namespace === LEASE_NAMESPACE) sign(now.metadata.name);
  });
  nodes.subscribe((now, before) => {
    if (!now) {
      if (before) lastSeen.delete(before.metadata.name);
      return;
    }
    if (!lastSeen.has(now.metadata.name)) sign(now.metadata.name);
    if (!before) loop.add(now.metadata.name);
    const face = (node: Node): string => JSON.stringify([node.spec, node.status?.conditions?.map((one) => one.status)]);
    if (before && face(before) !== face(now)) loop.add(now.metadata.name);
  });
  pods.subscribe((now, before) => {
    if (now?.spec.nodeName && now.spec.nodeName !== before?.spec.nodeName) evictions.add(keyOf(now.metadata));
  });
  signal.addEventListener('abort', () => cancelTick(), { once: true });
  await Promise.all([nodes.synced, leases.synced, pods.synced]);
}

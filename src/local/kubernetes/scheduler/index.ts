/** A scheduler with kube-scheduler's filters, scores, queue and words; it does not preempt. */
import { getCondition, timestamp } from '../../../api/conditions.ts';
import {
  CSI_NODE,
  NAMESPACE,
  NODE,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  STORAGE_CLASS,
} from '../../../api/kinds.ts';
import type { Node, PersistentVolumeClaim, Pod } from '../../../api/kubernetes.ts';
import { ApiError, isGone } from '../../client.ts';
import { withConditions } from '../../conditions.ts';
import { eventReporter, type Parts } from '../../parts.ts';
import { bindClaims } from './bind-claims.ts';
import { Cluster, isOver } from './cluster.ts';
import { feasibleNodes } from './filters.ts';
import { SchedulingQueue } from './queue.ts';
import { bestNode } from './scores.ts';

const NAME = 'default-scheduler';

const isWaiting = (pod: Pod): boolean =>
  !pod.spec.nodeName &&
  !isOver(pod) &&
  pod.metadata.deletionTimestamp === undefined &&
  (pod.spec.schedulerName ?? NAME) === NAME;

/** Whether a change of a node can make room for a pod. Heartbeats cannot. */
function matters(now: Node, before: Node | undefined): boolean {
  const face = (node: Node | undefined): string =>
    JSON.stringify([node?.metadata.labels, node?.spec?.taints, node?.spec?.unschedulable, node?.status?.allocatable]);
  return face(now) !== face(before);
}

/** Starts the scheduler; it ends with `parts.signal`. */
export async function startScheduler(parts: Parts): Promise<void> {
  const { client, caches, clock, signal, log } = parts;
  const cluster = new Cluster(caches);
  const queue = new SchedulingQueue();
  const report = eventReporter(NAME, parts);
  /** Pods whose binding is on the way. */
  const binding = new Set<string>();
  let planned = false;
  let cancelTimer: () => void = () => {};

  const plan = (): void => {
    if (planned || signal.aborted) return;
    planned = true;
    setImmediate(() => {
      planned = false;
      round();
    });
  };

  const round = (): void => {
    if (signal.aborted) return;
    for (const pod of queue.due(clock.now())) attempt(pod);
    cancelTimer();
    const next = queue.nextDue();
    if (next !== undefined) cancelTimer = clock.after(Math.max(1, next - clock.now()), plan);
  };

  const attempt = (pod: Pod): void => {
    const verdict = feasibleNodes(pod, cluster);
    const chosen = 'fits' in verdict ? bestNode(pod, verdict.fits, cluster) : undefined;
    if (chosen) {
      queue.remove(pod);
      binding.add(pod.metadata.uid ?? '');
      cluster.assume(pod, chosen.name);
      void bind(pod, chosen.node);
      return;
    }
    queue.refuse(pod, clock.now());
    const message = 'message' in verdict ? verdict.message : '';
    void markUnschedulable(pod, 'Unschedulable', message);
    report(pod, 'Warning', 'FailedScheduling', message);
  };

  const bind = async (pod: Pod, node: Node): Promise<void> => {
    const { name, namespace = '', uid } = pod.metadata;
    const nodeName = node.metadata.name;
    try {
      await bindClaims(pod, node, parts);
      await client.post(POD, pod.metadata, 'binding', {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name, namespace, ...(uid ? { uid } : {}) },
        target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
      });
      report(pod, 'Normal', 'Scheduled', `Successfully assigned ${namespace}/${name} to ${nodeName}`);
    } catch (error) {
      if (signal.aborted) return;
      cluster.forget(pod);
      const present = caches.of(POD).get(pod.metadata);
      if (isGone(error) || !present || !isWaiting(present)) return retry();
      if (!(error instanceof ApiError)) log(`binding ${namespace}/${name}: ${String(error)}`);
      report(pod, 'Warning', 'FailedScheduling', error instanceof Error ? error.message : String(error));
      queue.put(present, clock.now());
      queue.refuse(present, clock.now());
      queue.retry();
    } finally {
      binding.delete(uid ?? '');
      plan();
    }
  };

  const markUnschedulable = async (pod: Pod, reason: string, message: string): Promise<void> => {
    const before = getCondition(pod, 'PodScheduled');
    if (before?.status === 'False' && before.reason === reason && before.message === message) return;
    const change = { type: 'PodScheduled', status: 'False', reason, message } as const;
    const conditions = withConditions(pod.status?.conditions, [change], timestamp(clock.now()));
    const condition = conditions.find(({ type }) => type === 'PodScheduled');
    try {
      const patch = { metadata: { uid: pod.metadata.uid }, status: { conditions: [condition] } };
      await client.patch(POD, pod.metadata, patch, { subresource: 'status', type: 'strategic' });
    } catch (error) {
      if (!signal.aborted && !isGone(error)) log(`status of ${pod.metadata.name}: ${String(error)}`);
    }
  };

  const retry = (helps?: (pod: Pod) => boolean): void => {
    queue.retry(helps);
    plan();
  };

  const left = (pod: Pod): void => {
    queue.remove(pod);
    if (pod.spec.nodeName) retry();
  };
  const settled = (pod: Pod, before: Pod | undefined): void => {
    queue.remove(pod);
    if (isOver(pod)) retry();
    // A pod that came to run may be what others want to be near.
    else if (pod.spec.nodeName && !before?.spec.nodeName) retry((one) => one.spec.affinity?.podAffinity !== undefined);
  };
  const waits = (pod: Pod): void => {
    const gates = (pod.spec.schedulingGates ?? []).map(({ name }) => name).join(', ');
    if (gates !== '') {
      const message = `Scheduling is blocked due to non-empty scheduling gates: ${gates}`;
      void markUnschedulable(pod, 'SchedulingGated', message);
    } else if (!binding.has(pod.metadata.uid ?? '')) {
      queue.put(pod, clock.now());
      plan();
    }
  };
  caches.of(POD).subscribe((now, before) => {
    if (now === undefined) {
      if (before) left(before);
    } else if (isWaiting(now)) waits(now);
    else settled(now, before);
  });
  caches.of(NODE).subscribe((now, before) => {
    if (now && matters(now, before)) retry();
  });
  const usesClaims = (pod: Pod): boolean => (pod.spec.volumes?.length ?? 0) > 0;
  caches.of(PERSISTENT_VOLUME_CLAIM).subscribe((now: PersistentVolumeClaim | undefined) => now && retry(usesClaims));
  caches.of(PERSISTENT_VOLUME).subscribe(() => retry(usesClaims));
  caches.of(STORAGE_CLASS).subscribe(() => retry(usesClaims));
  caches.of(CSI_NODE).subscribe(() => retry(usesClaims));
  caches.of(NAMESPACE).subscribe(() => retry((pod) => pod.spec.affinity !== undefined));
  signal.addEventListener('abort', () => cancelTimer(), { once: true });

  const kinds = [POD, NODE, PERSISTENT_VOLUME_CLAIM, PERSISTENT_VOLUME, STORAGE_CLASS, CSI_NODE, NAMESPACE] as const;
  await Promise.all(kinds.map((kind) => caches.of<Pod>(kind as typeof POD).synced));
}

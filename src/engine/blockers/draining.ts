/** Finds the obstacles of a draining node, in the order of its termination: pods, volumes, the instance. */
import { getCondition, isTrue } from '../../api/conditions.ts';
import type { PersistentVolumeClaim, Pod, PodDisruptionBudget, VolumeAttachment } from '../../api/kubernetes.ts';
import { TERMINATION_FINALIZER, TERMINATION_TIMESTAMP_ANNOTATION } from '../../api/labels.ts';
import { timeOf, timestamp } from '../../lib/times.ts';
import { pendingAttachments } from '../drain/attachments.ts';
import { readDeadline } from '../drain/deadline.ts';
import type { StateNode } from '../model.ts';
import { doNotDisrupt, isTerminating, isWaitingForEviction, podKey, STUCK_MS } from '../pods.ts';
import type { Blocker } from './blocker.ts';
import { budgetedPods, podKeys, protectedPods } from './pods.ts';

export interface DrainContext {
  readonly nowMs: number;
  readonly podDisruptionBudgets: readonly PodDisruptionBudget[];
  /** Attachments of the node. */
  readonly attachments: readonly VolumeAttachment[];
  readonly volumeClaim: (ref: {
    readonly namespace: string;
    readonly name: string;
  }) => PersistentVolumeClaim | undefined;
}

export function drainBlockers(node: StateNode, context: DrainContext): readonly Blocker[] {
  const finalizers = finalizerBlockers(node);
  if (Number.isNaN(readDeadline(node.nodeClaim))) return [unreadableDeadline(node), ...finalizers];
  const waiting = node.pods.filter((pod) => isWaitingForEviction(pod, context.nowMs));
  if (waiting.length > 0) return [...podBlockers(waiting, context), ...finalizers];
  const volumes = volumeBlockers(node, context);
  return volumes.length > 0 ? [...volumes, ...finalizers] : [...instanceBlockers(node), ...finalizers];
}

function unreadableDeadline({ name, nodeClaim }: StateNode): Blocker {
  const { annotations, name: claim = name } = nodeClaim?.metadata ?? {};
  return {
    code: 'deadline-unreadable',
    text: `annotation ${TERMINATION_TIMESTAMP_ANNOTATION} is "${annotations?.[TERMINATION_TIMESTAMP_ANNOTATION]}" and must be a time, for example 2026-01-31T10:11:12Z`,
    object: { kind: 'NodeClaim', name: claim },
  };
}

function podBlockers(waiting: readonly Pod[], { podDisruptionBudgets, nowMs }: DrainContext): readonly Blocker[] {
  const terminating = waiting.filter(isTerminating);
  const active = waiting.filter((pod) => !isTerminating(pod));
  const untouchable = active.filter((pod) => doNotDisrupt(pod, nowMs));
  const budgeted = budgetedPods(active, podDisruptionBudgets, nowMs);
  const held = new Set([...podKeys(untouchable), ...budgeted.flatMap(({ pods = [] }) => pods)]);
  const others = active.filter((pod) => !held.has(podKey(pod)));
  return [
    ...protectedPods(untouchable, nowMs),
    ...budgeted,
    ...terminating.map(terminatingPod),
    ...(others.length === 0 ? [] : [evictions(others)]),
  ];
}

/**
 * Returns the blocker for a terminating pod. The deletion timestamp is the end of the grace period. Shortly after this time, the
 * drain no longer waits for the pod.
 */
function terminatingPod(pod: Pod): Blocker {
  const {
    namespace = 'default',
    name,
    deletionTimestamp = '',
    deletionGracePeriodSeconds = 0,
    finalizers = [],
  } = pod.metadata;
  const endMs = timeOf(deletionTimestamp);
  const kept = finalizers.length === 0 ? '' : `, held by ${finalizers.join(', ')}`;
  return {
    code: 'pod-terminating',
    text: `pod is terminating${kept}`,
    object: { kind: 'Pod', namespace, name },
    pods: [podKey(pod)],
    ...(Number.isNaN(endMs)
      ? {}
      : { since: timestamp(endMs - deletionGracePeriodSeconds * 1_000), until: timestamp(endMs + STUCK_MS) }),
  };
}

const evictions = (pods: readonly Pod[]): Blocker => ({
  code: 'pod-eviction',
  text: `${pods.length} pod${pods.length === 1 ? ' is' : 's are'} being evicted, or wait for pods that are evicted first`,
  pods: podKeys(pods),
});

function volumeBlockers(node: StateNode, { attachments, volumeClaim, nowMs }: DrainContext): readonly Blocker[] {
  return pendingAttachments({ attachments, pods: node.pods, claim: volumeClaim, nowMs }).map(
    ({ metadata, spec }): Blocker => ({
      code: 'volume-attached',
      text: `volume ${spec.source?.persistentVolumeName} is attached${spec.attacher === undefined ? '' : ` by ${spec.attacher}`}`,
      object: { kind: 'VolumeAttachment', name: metadata.name },
      ...(metadata.deletionTimestamp === undefined ? {} : { since: metadata.deletionTimestamp }),
    }),
  );
}

function instanceBlockers({ name, nodeClaim, node }: StateNode): readonly Blocker[] {
  const ours = [node, nodeClaim].some((each) => each?.metadata.finalizers?.includes(TERMINATION_FINALIZER));
  if (!ours) return [];
  const since =
    nodeClaim && isTrue(nodeClaim, 'InstanceTerminating')
      ? getCondition(nodeClaim, 'InstanceTerminating')?.lastTransitionTime
      : undefined;
  return [
    {
      code: 'instance',
      text: 'no pods and volumes are left, and the instance is being terminated',
      object: { kind: 'NodeClaim', name: nodeClaim?.metadata.name ?? name },
      ...(since === undefined ? {} : { since }),
    },
  ];
}

/** Returns blockers for finalizers of other controllers. The object stays until those controllers remove them. */
function finalizerBlockers({ node, nodeClaim }: StateNode): readonly Blocker[] {
  return [node, nodeClaim].flatMap((object): readonly Blocker[] => {
    if (object?.metadata.deletionTimestamp === undefined) return [];
    const foreign = (object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== TERMINATION_FINALIZER);
    if (foreign.length === 0) return [];
    const kind = object === node ? 'Node' : 'NodeClaim';
    return [
      {
        code: kind === 'Node' ? 'node-finalizer' : 'nodeclaim-finalizer',
        text: `${kind} is kept by finalizers of other controllers: ${foreign.join(', ')}`,
        object: { kind, name: object.metadata.name },
        since: object.metadata.deletionTimestamp,
      },
    ];
  });
}

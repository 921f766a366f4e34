/** Joins a Node and a NodeClaim into the engine's view of one node. */

import {
  type CSINode,
  INITIALIZED_LABEL,
  INSTANCE_TYPE_LABEL,
  isTrue,
  NODEPOOL_LABEL,
  type Node,
  type NodeClaim,
  type Pod,
  type QuantityList,
  REGISTERED_LABEL,
  type Taint,
  UNREGISTERED_TAINT,
  type VolumeAttachment,
} from '#api/objects';
import {
  type AttachedVolume,
  amountIn,
  MAINTENANCE_TAINT,
  type Resources,
  readableResources,
  refusesPods,
  type StateNode,
  sameTaint,
} from '#engine/model';
import { own, remembering } from '#lib';

export interface Halves {
  readonly providerId: string;
  readonly node?: Node | undefined;
  readonly nodeClaim?: NodeClaim | undefined;
  readonly pods: readonly Pod[];
  readonly csiNode?: CSINode | undefined;
  readonly volumeAttachments?: readonly VolumeAttachment[];
  /** True if this process marked the node because a disruption command includes it. */
  readonly marked: boolean;
  readonly nominatedUntilMs: number;
  readonly bufferPods: number;
}

/** Taints that every node has at its start and loses without action of the operator. */
const EPHEMERAL: readonly Taint[] = [
  { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' },
  { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' },
  UNREGISTERED_TAINT,
];
const READINESS_PREFIX = 'readiness.k8s.io/';

export const isEphemeralTaint = (taint: Taint): boolean =>
  taint.key.startsWith(READINESS_PREFIX) || EPHEMERAL.some((known) => sameTaint(known, taint));

/**
 * Returns the key of a Node in the cluster state. Undefined if the Node lacks the labels that scheduling needs, so that the Node
 * cannot accept pods yet.
 */
export function providerIdOf(node: Node): string | undefined {
  const labels = node.metadata.labels ?? {};
  if (!labels[NODEPOOL_LABEL]) return node.spec?.providerID || node.metadata.name;
  const described = labels[INSTANCE_TYPE_LABEL] !== undefined || labels[INITIALIZED_LABEL] === 'true';
  return described ? node.spec?.providerID || undefined : undefined;
}

/** Joins the halves. @throws Error if both halves are missing */
export function stateNode(halves: Halves): StateNode {
  const { node, nodeClaim, providerId, csiNode, volumeAttachments = [] } = halves;
  const registered = node !== undefined && (nodeClaim === undefined || hasLabel(node, REGISTERED_LABEL));
  const initialized = node !== undefined && (nodeClaim === undefined || hasLabel(node, INITIALIZED_LABEL));
  const view = registered || nodeClaim === undefined ? node : nodeClaim;
  const named = node ?? nodeClaim;
  const isDeleted = isLeaving(node, nodeClaim);
  if (view === undefined || named === undefined)
    throw new Error(`Cannot create state node "${providerId}": it has neither a Node nor a NodeClaim`);
  return {
    name: named.metadata.name,
    providerId,
    ...(node === undefined ? {} : { node }),
    ...(nodeClaim === undefined ? {} : { nodeClaim }),
    ...(csiNode === undefined ? {} : { csiNode }),
    ...(volumeAttachments.length === 0 ? {} : { attachedVolumes: attachedVolumesOf(volumeAttachments) }),
    registered,
    initialized,
    labels: view.metadata.labels ?? {},
    annotations: view.metadata.annotations ?? {},
    // conditions of the operator's own drain must not change its plans
    taints: withMaintenance(isDeleted ? undefined : node, effectiveTaints(node, nodeClaim, registered, initialized)),
    capacity: withItself(amounts(halves, initialized, 'capacity')),
    allocatable: amounts(halves, initialized, 'allocatable'),
    pods: halves.pods,
    markedForDeletion: halves.marked || isDeleted,
    nominatedUntilMs: halves.nominatedUntilMs,
    bufferPods: halves.bufferPods,
  };
}

const attachedVolumesOf = (attachments: readonly VolumeAttachment[]): readonly AttachedVolume[] =>
  attachments.flatMap(({ spec: { attacher = '', source } }) =>
    source?.persistentVolumeName === undefined ? [] : [{ driver: attacher, volume: source.persistentVolumeName }],
  );

/** Adds the resource `nodes`, because a node counts toward limits on `nodes`. */
const withItself = remembering((capacity: Resources): Resources => ({ ...capacity, nodes: 1 }));

const hasLabel = (node: Node, label: string): boolean => own(node.metadata.labels, label) === 'true';

/**
 * Returns true if the node is being deleted. The deletion of a managed Node itself does not count: its NodeClaim is deleted in
 * response and then counts.
 */
function isLeaving(node: Node | undefined, nodeClaim: NodeClaim | undefined): boolean {
  if (nodeClaim === undefined) return node?.metadata.deletionTimestamp !== undefined;
  return nodeClaim.metadata.deletionTimestamp !== undefined || isTrue(nodeClaim, 'InstanceTerminating');
}

const withMaintenance = (node: Node | undefined, taints: readonly Taint[]): readonly Taint[] =>
  node !== undefined && refusesPods(node) ? [...taints, MAINTENANCE_TAINT] : taints;

function effectiveTaints(
  node: Node | undefined,
  nodeClaim: NodeClaim | undefined,
  registered: boolean,
  initialized: boolean,
): readonly Taint[] {
  const taints = (registered ? node?.spec?.taints : nodeClaim?.spec.taints) ?? [];
  if (nodeClaim === undefined || initialized) return taints;
  const startup = nodeClaim.spec.startupTaints ?? [];
  return taints.filter((taint) => !isEphemeralTaint(taint) && !startup.some((expected) => sameTaint(expected, taint)));
}

/** Parses each list only once, because lists are read again after every change of a node's pods. */
const readOnce = remembering((list: QuantityList): Resources => readableResources(list));

const amountsIn = (list: QuantityList | undefined): Resources => (list === undefined ? {} : readOnce(list));

/**
 * Returns the amounts of a node. Before a managed node is initialized, its kubelet may not have reported all resources, so the
 * amounts of the NodeClaim fill the gaps.
 */
function amounts(halves: Halves, initialized: boolean, field: 'capacity' | 'allocatable'): Resources {
  const reported = amountsIn(halves.node?.status?.[field]);
  if (halves.nodeClaim === undefined || initialized) return reported;
  const completed: Record<string, number> = { ...reported };
  for (const [name, amount] of Object.entries(amountsIn(halves.nodeClaim.status?.[field]))) {
    if (amountIn(completed, name) === 0) completed[name] = amount;
  }
  return completed;
}

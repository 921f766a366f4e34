/**
 * Builds the engine's input from objects of the informers, and its form in messages. This makes a worker's copy of a cluster much
 * smaller.
 */
import { isRequestedByStatus, type Node, type NodeClaim, type Pod, type PodStatus, RESIZE_PENDING } from '#api/objects';
import {
  CLAIM_CONDITION,
  CLAIM_METADATA,
  CLAIM_SPEC,
  type EngineClaim,
  type EngineNode,
  type EngineNodeObject,
  type EnginePod,
  NODE_METADATA,
  POD_CONDITION,
  POD_METADATA,
  type Resources,
  type StateNode,
} from '#engine/model';
import { defined, picked } from '#lib';
import type { NumberOf, PartAt } from './copied-lists.ts';

export function trimmedPod(pod: Pod & EnginePod): EnginePod {
  const { apiVersion, kind, metadata, spec, status, successorRequests } = pod;
  return {
    apiVersion,
    kind,
    metadata: picked(metadata, POD_METADATA),
    spec,
    ...(status === undefined ? {} : { status: trimmedStatus(pod, status) }),
    ...defined({ successorRequests }),
  };
}

/** Fields with values of the pod alone. Pods of a workload or a node have the values of other fields in common. */
const OWN: ReadonlySet<string> = new Set(['name', 'uid', 'annotations']);

type Fields = Record<string, unknown>;

/** A trimmed pod with numbers in place of the values that pods have in common. */
export interface NumberedPod {
  readonly apiVersion: number;
  readonly kind: number;
  readonly metadata: Fields;
  readonly spec: Fields;
  readonly status?: Fields;
  readonly successorRequests?: Resources;
}

export function numberedPod(pod: Pod, numberOf: NumberOf): NumberedPod {
  const { apiVersion, kind, metadata, spec, status, successorRequests } = trimmedPod(pod);
  return {
    apiVersion: numberOf(apiVersion),
    kind: numberOf(kind),
    metadata: numbered(metadata, numberOf),
    spec: numbered({ ...spec }, numberOf),
    ...(status === undefined ? {} : { status: numbered(status, numberOf) }),
    ...defined({ successorRequests }),
  };
}

/** Replaces the values of a copy in place. */
function numbered(copy: object, numberOf: NumberOf): Fields {
  const fields = copy as Fields;
  for (const key in fields) if (!OWN.has(key)) fields[key] = numberOf(fields[key]);
  return fields;
}

/** Restores a received pod. Changes its fields in place. */
export function restoredPod(
  { apiVersion, kind, metadata, spec, status, successorRequests }: NumberedPod,
  partAt: PartAt,
): EnginePod {
  for (const fields of [metadata, spec, status ?? {}])
    for (const key in fields) if (!OWN.has(key)) fields[key] = partAt(fields[key] as number);
  // the sender has the same types
  return {
    apiVersion: partAt(apiVersion),
    kind: partAt(kind),
    metadata,
    spec,
    status,
    successorRequests,
  } as unknown as EnginePod;
}

function trimmedStatus(pod: Pod, given: PodStatus): NonNullable<EnginePod['status']> {
  const { conditions = [], containerStatuses, initContainerStatuses, resources, allocatedResources, ...status } = given;
  const isResized = isRequestedByStatus(pod);
  const kept = conditions.filter((each) => each.status === 'False' || (isResized && each.type === RESIZE_PENDING));
  return {
    ...status,
    ...(kept.length === 0 ? {} : { conditions: kept.map((condition) => picked(condition, POD_CONDITION)) }),
    ...(isResized ? defined({ containerStatuses, initContainerStatuses, resources, allocatedResources }) : {}),
  };
}

export interface NumberedNode extends Omit<EngineNode, 'pods'> {
  readonly pods: readonly NumberedPod[];
}

export function numberedNode(
  { annotations: _, node, nodeClaim, pods, ...state }: StateNode,
  numberOf: NumberOf,
): NumberedNode {
  return {
    ...state,
    pods: pods.map((pod) => numberedPod(pod, numberOf)),
    ...(node === undefined ? {} : { node: trimmedNodeObject(node) }),
    ...(nodeClaim === undefined ? {} : { nodeClaim: trimmedClaim(nodeClaim) }),
  };
}

const trimmedNodeObject = ({ apiVersion, kind, metadata }: Node): EngineNodeObject => ({
  apiVersion,
  kind,
  metadata: picked(metadata, NODE_METADATA),
});

/** Omits the requirements, because they list the sixty instance types that were possible for the NodeClaim. */
function trimmedClaim({ apiVersion, kind, metadata, spec, status = {} }: NodeClaim): EngineClaim {
  const { lastPodEventTime, conditions = [] } = status;
  return {
    apiVersion,
    kind,
    metadata: picked(metadata, CLAIM_METADATA),
    spec: picked(spec, CLAIM_SPEC),
    status: {
      ...defined({ lastPodEventTime }),
      conditions: conditions.map((condition) => picked(condition, CLAIM_CONDITION)),
    },
  };
}

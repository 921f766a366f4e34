/** Builds the engine's input from objects of the informers. This makes a worker's copy of a cluster much smaller. */
import type { Node, Pod, PodStatus } from '../api/kubernetes.ts';
import type { NodeClaim } from '../api/nodeclaim.ts';
import {
  CLAIM_CONDITION,
  CLAIM_METADATA,
  CLAIM_SPEC,
  type EngineClaim,
  type EngineNodeObject,
  type EnginePod,
  NODE_METADATA,
  POD_CONDITION,
  POD_METADATA,
} from '../engine/input.ts';
import type { EngineNode, StateNode } from '../engine/model.ts';
import { defined } from '../lib/defined.ts';
import { picked } from '../lib/picked.ts';

export function trimmedPod({ apiVersion, kind, metadata, spec, status }: Pod): EnginePod {
  return {
    apiVersion,
    kind,
    metadata: picked(metadata, POD_METADATA),
    spec,
    ...(status === undefined ? {} : { status: trimmedStatus(status) }),
  };
}

function trimmedStatus(given: PodStatus): NonNullable<EnginePod['status']> {
  const { conditions = [], containerStatuses, initContainerStatuses, ...status } = given;
  const unmet = conditions.filter((condition) => condition.status === 'False');
  // kubelets report allocated resources that differ from the requests only while they resize a pod
  const statuses = [...(containerStatuses ?? []), ...(initContainerStatuses ?? [])];
  const isResized = statuses.some(({ allocatedResources }) => allocatedResources !== undefined);
  return {
    ...status,
    ...(unmet.length === 0 ? {} : { conditions: unmet.map((condition) => picked(condition, POD_CONDITION)) }),
    ...(isResized ? defined({ containerStatuses, initContainerStatuses }) : {}),
  };
}

export function trimmedNode({ annotations: _, node, nodeClaim, pods, ...state }: StateNode): EngineNode {
  return {
    ...state,
    pods: pods.map(trimmedPod),
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

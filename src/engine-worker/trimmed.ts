/** Objects without what the engine never looks at: a worker's copy of a cluster is much smaller for it. */
import { getCondition } from '../api/conditions.ts';
import type { Node, Pod } from '../api/kubernetes.ts';
import { DO_NOT_DISRUPT_ANNOTATION } from '../api/labels.ts';
import type { StateNode } from '../engine/model.ts';
import { DELETION_COST_ANNOTATION } from '../engine/pods.ts';

/** A pod that waits: its spec, and of the rest what rules look at. */
export function trimmedPod(pod: Pod): Pod {
  const { annotations } = pod.metadata;
  const trimmed = trimmedBoundPod(pod);
  return annotations === undefined ? trimmed : { ...trimmed, metadata: { ...trimmed.metadata, annotations } };
}

/** Annotations matter to pods that wait alone. */
function trimmedBoundPod(pod: Pod): Pod {
  const { name, namespace, uid, labels, creationTimestamp, deletionTimestamp, ownerReferences } = pod.metadata;
  return {
    apiVersion: pod.apiVersion,
    kind: pod.kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(labels === undefined ? {} : { labels }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
    },
    spec: pod.spec,
    ...(pod.status === undefined ? {} : { status: trimmedStatus(pod.status) }),
  };
}

function trimmedStatus({ conditions: _, ...status }: NonNullable<Pod['status']>): NonNullable<Pod['status']> {
  const { containerStatuses = [], initContainerStatuses = [], ...rest } = status;
  // only a pod that is being resized has been given something else than it asks for
  const given = [...containerStatuses, ...initContainerStatuses].some((each) => each.allocatedResources !== undefined);
  return given ? status : rest;
}

/** Of a Node only that it is there: what counts of it stands in the state node. */
export function trimmedNode(node: StateNode): StateNode {
  return {
    ...node,
    pods: node.pods.map(trimmedBoundPod),
    ...(node.node === undefined ? {} : { node: nameOnly(node.node) }),
  };
}

const nameOnly = ({ apiVersion, kind, metadata: { name, labels } }: Node): Node => ({
  apiVersion,
  kind,
  metadata: { name, ...(labels === undefined ? {} : { labels }) },
});

const ANNOTATIONS = [DO_NOT_DISRUPT_ANNOTATION, DELETION_COST_ANNOTATION];

/** What solving looks at, and what decides whether and how dearly the pod can be moved. */
function trimmedCandidatePod(pod: Pod): Pod {
  const { metadata, ...trimmed } = trimmedPod(pod);
  const { annotations: all = {}, ...rest } = metadata;
  const annotations = Object.fromEntries(Object.entries(all).filter(([key]) => ANNOTATIONS.includes(key)));
  const ready = getCondition(pod, 'Ready');
  return {
    ...trimmed,
    metadata: Object.keys(annotations).length === 0 ? rest : { ...rest, annotations },
    ...(ready?.status === 'False' ? { status: { ...trimmed.status, conditions: [ready] } } : {}),
  };
}

/** For disruption, which besides solving asks whether and how dearly pods can be moved. */
export const trimmedForSimulations = (node: StateNode): StateNode => ({
  ...trimmedNode({ ...node, pods: [] }),
  pods: node.pods.map(trimmedCandidatePod),
});

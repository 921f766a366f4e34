/** Objects without what solving never looks at: a thread's copy of a cluster is much smaller for it. */
import type { Node, Pod } from '../api/kubernetes.ts';
import type { StateNode } from '../engine/model.ts';

/** A pod that waits: its spec, and of the rest what rules look at. */
export function slimPod(pod: Pod): Pod {
  const { annotations } = pod.metadata;
  const slim = slimBoundPod(pod);
  return annotations === undefined ? slim : { ...slim, metadata: { ...slim.metadata, annotations } };
}

/** Annotations matter to pods that wait alone. */
function slimBoundPod(pod: Pod): Pod {
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
    ...(pod.status === undefined ? {} : { status: slimStatus(pod.status) }),
  };
}

function slimStatus({ conditions: _, ...status }: NonNullable<Pod['status']>): NonNullable<Pod['status']> {
  const { containerStatuses = [], initContainerStatuses = [], ...rest } = status;
  // only a pod that is being resized has been given something else than it asks for
  const given = [...containerStatuses, ...initContainerStatuses].some((each) => each.allocatedResources !== undefined);
  return given ? status : rest;
}

/** Of a Node only that it is there: what counts of it stands in the state node. */
export function slimNode(node: StateNode): StateNode {
  return {
    ...node,
    pods: node.pods.map(slimBoundPod),
    ...(node.node === undefined ? {} : { node: nameOnly(node.node) }),
  };
}

const nameOnly = ({ apiVersion, kind, metadata: { name, labels } }: Node): Node => ({
  apiVersion,
  kind,
  metadata: { name, ...(labels === undefined ? {} : { labels }) },
});

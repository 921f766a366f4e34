/** Objects without what solving never looks at: a thread's copy of a cluster is much smaller for it. */
import type { Container, Node, Pod } from '../api/kubernetes.ts';
import type { StateNode } from '../engine/model.ts';

const slimContainer = ({ name, resources, ports, restartPolicy }: Container): Container => ({
  name,
  ...(resources === undefined ? {} : { resources }),
  ...(ports === undefined ? {} : { ports }),
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
});

/** A pod that waits: its metadata, the rules of its spec and its containers' resources. */
export function slimPod(pod: Pod): Pod {
  const { annotations } = pod.metadata;
  const slim = slimBoundPod(pod);
  return annotations === undefined ? slim : { ...slim, metadata: { ...slim.metadata, annotations } };
}

/** Annotations matter to pods that wait alone. */
function slimBoundPod(pod: Pod): Pod {
  const { name, namespace, uid, labels, creationTimestamp, deletionTimestamp, ownerReferences } = pod.metadata;
  const { containers, initContainers, ...spec } = pod.spec;
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
    spec: {
      ...spec,
      containers: containers.map(slimContainer),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(slimContainer) }),
    },
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

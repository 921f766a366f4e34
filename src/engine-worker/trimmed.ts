/** Objects without what the engine never looks at: a worker's copy of a cluster is much smaller for it. */
import { getCondition } from '../api/conditions.ts';
import type { Node, Pod } from '../api/kubernetes.ts';
import { DELETION_COST_ANNOTATION, DO_NOT_DISRUPT_ANNOTATION } from '../api/labels.ts';
import type { NodeClaim } from '../api/nodeclaim.ts';
import type { StateNode } from '../engine/model.ts';
import { defined } from '../lib/defined.ts';

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

/** Of a Node and a NodeClaim only that they are there: what counts of them stands in the state node. */
export function trimmedNode(node: StateNode): StateNode {
  return { ...bareNode(node), ...(node.nodeClaim === undefined ? {} : { nodeClaim: claimName(node.nodeClaim) }) };
}

const NO_ANNOTATIONS = {};

function bareNode(node: StateNode): StateNode {
  return {
    ...node,
    // whether they keep a node is asked before the worker is
    annotations: NO_ANNOTATIONS,
    pods: node.pods.map(trimmedBoundPod),
    ...(node.node === undefined ? {} : { node: nameOnly(node.node) }),
  };
}

const nameOnly = ({ apiVersion, kind, metadata: { name, labels } }: Node): Node => ({
  apiVersion,
  kind,
  metadata: { name, ...(labels === undefined ? {} : { labels }) },
});

const NO_REQUIREMENTS: NodeClaim['spec']['requirements'] = [];

/** Without its requirements: those name the sixty instance types that it could have been. */
const claimName = ({ apiVersion, kind, metadata: { name }, spec: { nodeClassRef } }: NodeClaim): NodeClaim => ({
  apiVersion,
  kind,
  metadata: { name },
  spec: { nodeClassRef, requirements: NO_REQUIREMENTS },
});

/** With what says how old the node is, and since when it is quiet, drifted or ending. */
function trimmedClaim(claim: NodeClaim): NodeClaim {
  const { creationTimestamp, deletionTimestamp } = claim.metadata;
  const { expireAfter, terminationGracePeriod } = claim.spec;
  const { lastPodEventTime, conditions = [] } = claim.status ?? {};
  const bare = claimName(claim);
  return {
    ...bare,
    metadata: { ...bare.metadata, ...defined({ creationTimestamp, deletionTimestamp }) },
    spec: { ...bare.spec, ...defined({ expireAfter, terminationGracePeriod }) },
    status: {
      ...defined({ lastPodEventTime }),
      conditions: conditions.map(({ type, status, lastTransitionTime }) => ({
        type,
        status,
        ...defined({ lastTransitionTime }),
      })),
    },
  };
}

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
  ...bareNode({ ...node, pods: [] }),
  pods: node.pods.map(trimmedCandidatePod),
  ...(node.nodeClaim === undefined ? {} : { nodeClaim: trimmedClaim(node.nodeClaim) }),
});

/** Manifests in which all pods of NodePools are pending, so that the planner packs them on new nodes. */
import { type KubeObject, NODEPOOL_LABEL, type Pod, type PodSpec } from '#api/objects';
import type { RightRequests } from '#engine/costs';
import {
  amountIn,
  isOwnedByDaemonSet,
  isTerminal,
  isTerminating,
  podRequests,
  quantityOf,
  workloadOf,
} from '#engine/model';
import { own } from '#lib';
import type { Manifest } from '../objects/read.ts';

/** Objects that describe the present nodes and the present places of pods. */
const OF_NODES: ReadonlySet<string> = new Set(['NodeClaim', 'VolumeAttachment', 'CSINode', 'Event']);

const PENDING = {
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
} as const;

const isPod = (object: KubeObject): object is Pod => object.kind === 'Pod';

/**
 * Removes the nodes of NodePools and makes their pods pending. Nodes outside NodePools keep their pods.
 * @param right requests to use instead of those of the pods
 */
export function repackManifests(manifests: readonly Manifest[], right?: RightRequests): readonly Manifest[] {
  const staying = new Set(
    manifests.flatMap(({ object: { kind, metadata } }) =>
      kind === 'Node' && own(metadata.labels ?? {}, NODEPOOL_LABEL) === undefined ? [metadata.name] : [],
    ),
  );
  return manifests.flatMap((manifest) => {
    const { object } = manifest;
    if (OF_NODES.has(object.kind) || (object.kind === 'Node' && !staying.has(object.metadata.name))) return [];
    if (!isPod(object)) return [manifest];
    const isMoving = !staying.has(object.spec.nodeName ?? '');
    // new nodes have a pod of each DaemonSet, and kubelet creates static pods
    const ofNode = isOwnedByDaemonSet(object) || object.metadata.ownerReferences?.some(({ kind }) => kind === 'Node');
    if (isTerminal(object) || (isMoving && (isTerminating(object) || ofNode))) return [];
    const fitted = ofNode ? object : withRequests(object, right);
    return [{ ...manifest, object: isMoving ? withoutPlace(fitted) : fitted }];
  });
}

function withoutPlace(pod: Pod): Pod {
  const { nodeName: _, ...spec } = pod.spec;
  return { ...pod, spec, status: PENDING } as Pod;
}

/** Scales the requests of the containers, so that their sum is the request that fits. */
function withRequests(pod: Pod, right: RightRequests | undefined): Pod {
  const wanted = right?.get(workloadOf(pod));
  if (wanted === undefined) return pod;
  const now = podRequests(pod);
  let { spec } = pod;
  for (const resource of ['cpu', 'memory'] as const)
    spec = scaleRequests(spec, resource, { from: amountIn(now, resource), to: wanted[resource] });
  return { ...pod, spec };
}

function scaleRequests(
  spec: PodSpec,
  resource: 'cpu' | 'memory',
  { from, to }: { readonly from: number; readonly to: number },
): PodSpec {
  const containersOf = (containers: PodSpec['containers']): PodSpec['containers'] =>
    containers.map((container, at) => {
      const { resources = {} } = container;
      const present = podRequests({ spec: { containers: [container] } } as unknown as Pod);
      const amount = from > 0 ? (amountIn(present, resource) * to) / from : at === 0 ? to : 0;
      const { [resource]: _, ...limits } = resources.limits ?? {};
      const requests = { ...resources.requests, [resource]: quantityOf(resource, Math.ceil(amount)) };
      return { ...container, resources: { ...resources, limits, requests } };
    });
  // a request of the whole pod replaces those of its containers
  const { resources: _, ...rest } = spec as PodSpec & { readonly resources?: unknown };
  return {
    ...rest,
    containers: containersOf(spec.containers),
    ...(spec.initContainers && from > 0 && { initContainers: containersOf(spec.initContainers) }),
  };
}

/** In-place resizes of pods, as kubelets report them in the status of pods. */
import type { Container, ContainerStatus, ObjectMeta, PodSpec, PodStatus, QuantityList } from './kubernetes.ts';

/** Condition of a pod until its kubelet admits the requested resources. Its status is always True. */
export const RESIZE_PENDING = 'PodResizePending';

type Conditions = readonly { readonly type: string; readonly reason?: string }[];

/** A pod, or the part of it that workers receive. */
interface ResizablePod {
  readonly spec: PodSpec;
  readonly status?: Omit<PodStatus, 'conditions'> & { readonly conditions?: Conditions };
}

/**
 * Returns true if the resources of the pod were changed after its creation, and undefined if the metadata does not show this.
 * The generation also counts other changes of the spec.
 */
export function wasResized({ managedFields = [], generation }: ObjectMeta): boolean | undefined {
  if (managedFields.length > 0) return managedFields.some(({ subresource }) => subresource === 'resize');
  return generation === undefined ? undefined : generation > 1;
}

const RESIZED: ObjectMeta['managedFields'] = [{ subresource: 'resize' }];
const NOT_RESIZED: ObjectMeta['managedFields'] = [{}];

/** Replaces the managers of a pod's fields by one of two shared lists, which only contain if the pod was resized. */
export function withResizeMark<M extends ObjectMeta>(metadata: M): M {
  const { managedFields = [] } = metadata;
  return managedFields.length === 0
    ? metadata
    : { ...metadata, managedFields: wasResized(metadata) ? RESIZED : NOT_RESIZED };
}

/** Returns true if the node of the pod can never provide the requested resources. */
export const isResizeInfeasible = ({ status }: Pick<ResizablePod, 'status'>): boolean =>
  status?.conditions?.find(({ type }) => type === RESIZE_PENDING)?.reason === 'Infeasible';

export const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

/** Returns true if two lists have the same texts. The API server writes equal amounts as equal texts. */
function hasSameTexts(a: QuantityList = {}, b: QuantityList = {}): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => String(a[name]) === String(b[name]));
}

/**
 * Returns true if the reported requests of a container differ from its spec. A kubelet reports the requests of every container,
 * and they usually match the spec.
 */
export function reportsOtherRequests(
  { resources }: Container,
  { resources: inEffect, allocatedResources }: ContainerStatus,
): boolean {
  if (inEffect === undefined) return false;
  const differs = (list: QuantityList | undefined): boolean => !hasSameTexts(resources?.requests, list);
  return differs(inEffect.requests) || (allocatedResources !== undefined && differs(allocatedResources));
}

/** Returns true if the status of the pod determines its requests, as it does while the pod is resized. */
export function isRequestedByStatus({ spec, status }: ResizablePod): boolean {
  if (status === undefined) return false;
  const { containerStatuses, initContainerStatuses, resources, nodeAllocatableResourceClaimStatuses } = status;
  if (nodeAllocatableResourceClaimStatuses !== undefined) return true;
  if (resources !== undefined && spec.resources?.requests !== undefined) return true;
  return reportsOther(spec.containers, containerStatuses) || reportsOther(spec.initContainers, initContainerStatuses);
}

/** Compares by position first, because kubelets usually report containers in the order of the spec. */
const reportsOther = (containers: readonly Container[] = [], statuses: readonly ContainerStatus[] = []): boolean =>
  statuses.some((status, at) => {
    if (status.resources === undefined) return false;
    const container =
      containers[at]?.name === status.name ? containers[at] : containers.find(({ name }) => name === status.name);
    return container !== undefined && reportsOtherRequests(container, status);
  });

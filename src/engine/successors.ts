/**
 * Predicts the requests of the pod that a controller creates in place of a pod. A resize changes only the pod, so its successor
 * has the requests of the template again.
 */
import {
  type Container,
  isResizeInfeasible,
  type Pod,
  type PodSpec,
  type PodTemplateSpec,
  type QuantityList,
  type ResourceRequirements,
  VPA_CONTAINERS_ANNOTATION,
  wasResized,
} from '#api/objects';
import { own, remembering } from '#lib';
import type { EnginePod } from './input.ts';
import type { Resources } from './model.ts';
import { defaultRequests, podRequests, sameResources } from './resources.ts';

/** Part of a pod template that determines the requests of its pods. */
export type ResourceTemplate = Pick<PodSpec, 'containers' | 'initContainers' | 'resources'>;

export const resourceTemplateOf = ({ spec }: PodTemplateSpec): ResourceTemplate => {
  const { containers, initContainers, resources } = defaultRequests(spec);
  return {
    containers: containers.map(sizeOf),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(sizeOf) }),
    ...(resources === undefined ? {} : { resources }),
  };
};

const sizeOf = ({ name, resources }: Container): Container =>
  resources?.requests === undefined ? { name } : { name, resources: { requests: resources.requests } };

/**
 * Returns true if the successor may have other requests than the pod. The vertical pod autoscaler sets the requests of a
 * successor to its recommendation, as it does when it resizes a pod, so such a pod has the requests of its successor.
 */
export const hasOtherSuccessor = ({ metadata }: Pod): boolean =>
  wasResized(metadata) !== false && own(metadata.annotations, VPA_CONTAINERS_ANNOTATION) === undefined;

/**
 * Returns a pod with the requests of its successor. Returns the same pod if they are equal, and the same object for the same
 * input, so that results can be cached by object.
 *
 * @param template template of the controller; undefined if there is none or if it could not be read
 */
export const withSuccessor = remembering((pod: Pod, template: ResourceTemplate | undefined): EnginePod & Pod => {
  if (!hasOtherSuccessor(pod)) return pod;
  const requests = successorRequests(pod, template);
  return sameResources(requests, podRequests(pod)) ? pod : { ...pod, successorRequests: requests };
});

function successorRequests(pod: Pod, template: ResourceTemplate | undefined): Resources {
  const { status: _, ...fresh } = pod;
  if (template !== undefined) return podRequests({ ...fresh, spec: specOfSuccessor(pod.spec, template) });
  return isResizeInfeasible(pod)
    ? podRequests({ ...pod, status: { ...pod.status, conditions: [] } })
    : podRequests(pod);
}

/** Returns the spec with the requests of the template. Containers and requests that admission added stay. */
function specOfSuccessor(spec: PodSpec, template: ResourceTemplate): PodSpec {
  const { initContainers, resources } = spec;
  return {
    ...spec,
    containers: spec.containers.map((each) => withRequestsOf(each, template.containers)),
    ...(initContainers && {
      initContainers: initContainers.map((each) => withRequestsOf(each, template.initContainers)),
    }),
    ...(resources && { resources: withAmounts(resources, template.resources?.requests) }),
  };
}

function withRequestsOf(container: Container, templates: readonly Container[] = []): Container {
  const template = templates.find(({ name }) => name === container.name);
  return template === undefined
    ? container
    : { ...container, resources: withAmounts(container.resources, template.resources?.requests) };
}

/** Resources that can be resized. */
const RESIZABLE = ['cpu', 'memory'] as const;

function withAmounts(resources: ResourceRequirements | undefined, from: QuantityList = {}): ResourceRequirements {
  const sized = RESIZABLE.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]] as const]));
  return { ...resources, requests: { ...resources?.requests, ...Object.fromEntries(sized) } };
}

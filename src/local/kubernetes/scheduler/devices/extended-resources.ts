/** Extended resources that a DeviceClass provides: a pod requests devices in its containers' resources, without a claim. */
import type { Container, DeviceClass, Pod, ResourceClaim } from '#api/objects';
import { parseQuantity } from '#api/values';

/** Resources with this prefix request devices of the class that follows. */
const IMPLICIT = 'deviceclass.resource.kubernetes.io/';
/** Marks claims that the scheduler created. */
export const EXTENDED_CLAIM = 'resource.kubernetes.io/extended-resource-claim';

/** Containers' request for one resource. */
export interface ExtendedRequest {
  /** Name of the request in the claim. */
  readonly name: string;
  readonly container: string;
  readonly resource: string;
  readonly deviceClass: string;
  readonly count: number;
}

/** Returns the device classes by the extended resource that they provide. The latest class wins, then the first name. */
export function classesByResource(classes: readonly DeviceClass[]): ReadonlyMap<string, string> {
  const age = ({ metadata }: DeviceClass): number => Date.parse(metadata.creationTimestamp ?? '') || 0;
  const ordered = [...classes].sort((a, b) => age(b) - age(a) || (a.metadata.name < b.metadata.name ? -1 : 1));
  const byResource = new Map<string, string>();
  for (const { metadata, spec } of ordered) {
    const { extendedResourceName } = spec;
    if (extendedResourceName !== undefined && !byResource.has(extendedResourceName))
      byResource.set(extendedResourceName, metadata.name);
    byResource.set(`${IMPLICIT}${metadata.name}`, metadata.name);
  }
  return byResource;
}

const requestsOf = ({ resources }: Container): readonly (readonly [string, number])[] =>
  Object.entries({ ...resources?.limits, ...resources?.requests })
    .map(([name, quantity]) => [name, parseQuantity(quantity)] as const)
    .filter(([, count]) => count > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1));

/** Returns the requests of a pod for devices. Most pods request no devices. */
export function extendedRequests(pod: Pod, classes: ReadonlyMap<string, string>): readonly ExtendedRequest[] {
  if (classes.size === 0) return [];
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  return containers.flatMap((container, at) =>
    requestsOf(container).flatMap(([resource, count], index) => {
      const deviceClass = classes.get(resource);
      const name = `container-${at}-request-${index}`;
      return deviceClass === undefined ? [] : [{ name, container: container.name, resource, deviceClass, count }];
    }),
  );
}

/** Returns the claim that the scheduler creates for requests of a pod. */
export const extendedClaim = (pod: Pod, requests: readonly ExtendedRequest[]): ResourceClaim => ({
  apiVersion: 'resource.k8s.io/v1',
  kind: 'ResourceClaim',
  metadata: { name: '<extended-resources>', namespace: pod.metadata.namespace ?? 'default' },
  spec: {
    devices: {
      requests: requests.map(({ name, deviceClass, count }) => ({
        name,
        exactly: { deviceClassName: deviceClass, allocationMode: 'ExactCount', count },
      })),
    },
  },
});

/**
 * Resources that DeviceClasses provide. A pod requests such a resource like any other resource. On a node without a device plugin
 * for the resource, kube-scheduler creates a claim for the pod.
 */
import type { DeviceClass, ResourceClaim } from '#api/objects';
import { timeOf } from '#lib';
import type { EngineNode, InstanceType, Resources } from '../model.ts';
import { amountIn } from '../resources.ts';

/** Prefix of the resource that each class provides. */
const IMPLICIT_PREFIX = 'deviceclass.resource.kubernetes.io/';

export interface ExtendedResources {
  /** Class of a resource. Undefined if no class provides the resource. */
  readonly classOf: (resource: string) => string | undefined;
  /** Returns true if no node and no instance type has the resource, so that only devices provide it. */
  readonly isOnlyDevices: (resource: string) => boolean;
  /** Text that is equal for equal resources. */
  readonly identity: string;
}

/** Returns the resources that classes provide in a cluster. */
export function extendedResources({ deviceClasses = [], nodes, pools }: ClusterResources): ExtendedResources {
  const classes = new Map<string, DeviceClass>();
  for (const each of deviceClasses) {
    const name = each.spec.extendedResourceName;
    const known = name === undefined ? undefined : classes.get(name);
    if (name !== undefined && (known === undefined || isPreferred(each, known))) classes.set(name, each);
  }
  const offered = new Set<string>();
  if (classes.size > 0) {
    const all = [
      ...nodes.map(({ allocatable }) => allocatable),
      ...pools.flatMap(({ instanceTypes }) => instanceTypes.map(({ capacity }) => capacity)),
    ];
    for (const resources of all)
      for (const name of classes.keys()) if (amountIn(resources, name) > 0) offered.add(name);
  }
  const classOf = (resource: string): string | undefined =>
    resource.startsWith(IMPLICIT_PREFIX)
      ? resource.slice(IMPLICIT_PREFIX.length)
      : classes.get(resource)?.metadata.name;
  const isOnlyDevices = (resource: string): boolean => classOf(resource) !== undefined && !offered.has(resource);
  const named = [...classes].map(([name, { metadata }]) => [name, metadata.name, isOnlyDevices(name)]);
  return { classOf, isOnlyDevices, identity: JSON.stringify(named.sort()) };
}

interface ClusterResources {
  readonly deviceClasses?: readonly DeviceClass[];
  readonly nodes: readonly Pick<EngineNode, 'allocatable'>[];
  readonly pools: readonly { readonly instanceTypes: readonly Pick<InstanceType, 'capacity'>[] }[];
}

/** Returns true if a class has precedence over another class for the same resource: the later one, then by name. */
function isPreferred(one: DeviceClass, other: DeviceClass): boolean {
  const [oneMs, otherMs] = [one, other].map(({ metadata }) => timeOf(metadata.creationTimestamp) || 0) as [
    number,
    number,
  ];
  return oneMs === otherMs ? one.metadata.name < other.metadata.name : oneMs > otherMs;
}

/** Claim that kube-scheduler would create for a resource of a pod. */
export interface ExtendedClaim {
  readonly resource: string;
  readonly claim: ResourceClaim;
}

/** Returns a claim for each requested resource that a class provides. */
export function claimsForResources(requests: Resources, { classOf }: ExtendedResources): readonly ExtendedClaim[] {
  return Object.keys(requests).flatMap((resource) => {
    const deviceClassName = classOf(resource);
    const count = amountIn(requests, resource);
    if (deviceClassName === undefined || count <= 0) return [];
    const exactly = { deviceClassName, count: Math.ceil(count) };
    const claim: ResourceClaim = {
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceClaim',
      metadata: { name: resource },
      spec: { devices: { requests: [{ name: 'devices', exactly }] } },
    };
    return [{ resource, claim }];
  });
}

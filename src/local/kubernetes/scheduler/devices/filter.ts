/** The filter for resource claims, and for extended resources that devices provide. */

import type { Node, Pod } from '#api/objects';
import type { Resources } from '#engine/model';
import { own } from '#lib';
import type { Check, Filter, PodRefusal } from '../view.ts';
import type { ClaimGrants, DeviceCluster, PodDevices } from './device-cluster.ts';
import { type ExtendedRequest, extendedClaim } from './extended-resources.ts';

/** Returns the requests that a node satisfies with devices, because no device plugin provides the resource there. */
export const requestsOnNode = (
  extended: readonly ExtendedRequest[],
  allocatable: Resources,
): readonly ExtendedRequest[] => extended.filter(({ resource }) => !((own(allocatable, resource) ?? 0) > 0));

interface NodeOfPod {
  readonly node: Node;
  readonly allocatable: Resources;
}

/** Returns devices for all requests of a pod on a node, or the reason why the node has none. */
export function grantsOn(
  devices: DeviceCluster,
  pod: Pod,
  { claims, extended }: PodDevices,
  { node, allocatable }: NodeOfPod,
): readonly ClaimGrants[] | string {
  const requests = requestsOnNode(extended, allocatable);
  return devices.allocate(requests.length === 0 ? claims : [...claims, extendedClaim(pod, requests)], node);
}

export const dynamicResources: Filter = (pod, { devices }): Check | PodRefusal | undefined => {
  const needs = devices?.needsOf(pod);
  if (devices === undefined || needs === undefined) return undefined;
  if ('refusal' in needs) return needs;
  return (view) => {
    const found = grantsOn(devices, pod, needs, view);
    return typeof found === 'string' ? [found] : undefined;
  };
};

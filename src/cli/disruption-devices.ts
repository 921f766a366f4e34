/** Devices after a disruption command: slices of the replacements, and allocations of the claims whose pods have moved. */
import {
  apiVersionOf,
  DEVICE_CLASS,
  type Device,
  type Kind,
  type KubeObject,
  type Pod,
  RESOURCE_CLAIM,
  RESOURCE_SLICE,
  type ResourceClaim,
  type ResourceSlice,
} from '#api/objects';
import { claimId, type DeviceTemplates, deviceKey } from '#engine/devices';
import type { Snapshot, StateNode } from '#engine/model';
import type { Ref } from '#kube/client';
import type { Caches } from '#local/api-server';
import { allocationOf, DeviceCluster } from '#local/cluster';

export interface MovedPods {
  /** Provider ids of the nodes that receive pods, with these pods. */
  readonly arriving: ReadonlyMap<string, readonly Pod[]>;
  /** UIDs of all pods that have left their node. */
  readonly moving: ReadonlySet<string>;
}

/** Returns the slices that the drivers of a new node publish. */
export function slicesOfNode({ pools, runtime = [] }: DeviceTemplates, nodeName: string): readonly ResourceSlice[] {
  const values = new Map<string, Record<string, { readonly string: string }>>();
  const put = (key: string, attribute: string, value: string): void => {
    values.set(key, { ...values.get(key), [attribute]: { string: `${nodeName} ${value}` } });
  };
  for (const each of runtime)
    if ('unique' in each) {
      for (const { driver, pool, devices } of pools.filter((one) => one.driver === each.driver))
        for (const { name } of devices) put(deviceKey(driver, pool, name), each.attribute, `${pool}/${name}`);
    } else {
      for (const [at, group] of each.same.entries())
        for (const { driver, pool, device } of group) put(deviceKey(driver, pool, device), each.attribute, `${at}`);
    }
  return pools.map(({ driver, pool, devices, sharedCounters = [] }, at): ResourceSlice => {
    const complete = (device: Device): Device => {
      const own = values.get(deviceKey(driver, pool, device.name));
      return own === undefined ? device : { ...device, attributes: { ...own, ...device.attributes } };
    };
    return {
      apiVersion: apiVersionOf(RESOURCE_SLICE),
      kind: RESOURCE_SLICE.kind,
      metadata: { name: `${nodeName}-${at}`, uid: `${nodeName}-${at}` },
      spec: {
        driver,
        nodeName,
        pool: { name: `${nodeName}/${pool}`, generation: 1, resourceSliceCount: 1 },
        devices: devices.map(complete),
        ...(sharedCounters.length > 0 && { sharedCounters }),
      },
    };
  });
}

/** Returns the claims after pods have moved to their nodes. A claim without devices on the node is not allocated. */
export function claimsAfter(
  snapshot: Pick<Snapshot, 'nodes' | 'resourceClaims' | 'resourceSlices' | 'deviceClasses'>,
  { arriving, moving }: MovedPods,
): readonly ResourceClaim[] {
  const { resourceSlices: slices = [], deviceClasses = [] } = snapshot;
  const claims = new Map((snapshot.resourceClaims ?? []).map((claim) => [claimId(claim), withoutMoved(claim, moving)]));
  let shares = 0;
  const changed: (() => void)[] = [];
  const fixed = (objects: readonly KubeObject[]) => ({ list: () => objects, subscribe: () => undefined });
  const caches = new Map<string, object>([
    [
      RESOURCE_CLAIM.plural,
      {
        list: () => [...claims.values()],
        get: ({ namespace = 'default', name }: Ref) => claims.get(`${namespace}/${name}`),
        subscribe: (listener: () => void) => changed.push(listener),
      },
    ],
    [RESOURCE_SLICE.plural, fixed(slices)],
    [DEVICE_CLASS.plural, fixed(deviceClasses)],
  ]);
  const of = ({ plural }: Kind): unknown => caches.get(plural);
  const cluster = new DeviceCluster({ of } as unknown as Caches, () => undefined);
  const bind = (pod: Pod, node: NonNullable<StateNode['node']>): void => {
    const needs = cluster.needsOf(pod);
    if (needs === undefined || 'refusal' in needs) return;
    const found = cluster.allocate(needs.claims, node);
    if (typeof found === 'string') return;
    const sources = {
      slices,
      classes: cluster.classes,
      nodeName: node.metadata.name,
      newShareId: () => `share-${shares++}`,
    };
    const allocations = new Map(found.map(({ claim, grants }) => [claim, allocationOf(claim, grants, sources)]));
    const bound = needs.claims.map((claim): ResourceClaim => {
      const allocation = allocations.get(claim) ?? claim.status?.allocation;
      const user = { resource: 'pods', name: pod.metadata.name, uid: pod.metadata.uid ?? '' };
      return {
        ...claim,
        status: { ...claim.status, ...(allocation && { allocation }), reservedFor: [...reservationsOf(claim), user] },
      };
    });
    for (const claim of bound) claims.set(claimId(claim), claim);
    for (const listener of changed) listener();
  };
  for (const { node, providerId } of snapshot.nodes)
    for (const pod of (node && arriving.get(providerId)) ?? []) if (node !== undefined) bind(pod, node);
  return [...claims.values()];
}

const reservationsOf = ({ status }: ResourceClaim) => status?.reservedFor ?? [];

/** Removes the reservations of pods that move. Without other consumers, the claim loses its devices. */
function withoutMoved(claim: ResourceClaim, moving: ReadonlySet<string>): ResourceClaim {
  const before = reservationsOf(claim);
  const reservedFor = before.filter(({ uid }) => !moving.has(uid));
  if (reservedFor.length === before.length) return claim;
  const { allocation: _, reservedFor: __, ...status } = claim.status ?? {};
  return { ...claim, status: reservedFor.length === 0 ? status : { ...claim.status, reservedFor } };
}

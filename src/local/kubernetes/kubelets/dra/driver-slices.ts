/** Pools of a DRA driver as ResourceSlices. */
import { parse } from 'yaml';
import type { CounterSet, Device, Node, Pod, ResourceSlice } from '#api/objects';
import { isObject } from '#lib';
import type { LocalInstance } from '../../../aws/types.ts';
import { devicesOf } from './driver-devices.ts';

/** Annotation of a pod that stands for a DRA driver, with the name of the driver. */
export const DRIVER_ANNOTATION = 'local.karpenter-ts.sh/dra-driver';
/** Annotation with the pools that the driver publishes instead of the devices of the machine, as YAML. */
export const POOLS_ANNOTATION = 'local.karpenter-ts.sh/dra-pools';
const NODE_NAME = '$(NODE_NAME)';

/** Maximum number of devices in a slice, and in a slice with taints or counters. */
const MOST_DEVICES = 128;
const MOST_DETAILED = 64;

export interface DriverPool {
  /** Default: the name of the node. */
  readonly name?: string;
  readonly devices?: readonly Device[];
  readonly sharedCounters?: readonly CounterSet[];
  /** Number of slices that each slice announces. A wrong number lets the pool be incomplete. */
  readonly resourceSliceCount?: number;
}

export const driverOf = ({ metadata }: Pod): string | undefined => metadata.annotations?.[DRIVER_ANNOTATION];

/** Returns the pools that a driver publishes. @throws Error if its annotation is not valid */
export function poolsOf(pod: Pod, instance: LocalInstance): readonly DriverPool[] {
  const text = pod.metadata.annotations?.[POOLS_ANNOTATION];
  if (text === undefined) {
    const devices = devicesOf(driverOf(pod) ?? '', instance);
    return devices.length === 0 ? [] : [{ devices }];
  }
  const pools: unknown = parse(text.replaceAll(NODE_NAME, instance.privateDnsName));
  if (Array.isArray(pools) && pools.every((pool) => isObject(pool))) return pools;
  throw new Error(
    `annotation ${POOLS_ANNOTATION} of pod ${pod.metadata.name} must be a list of pools with devices, for example "[]"`,
  );
}

/** Returns the slices of a pool on a node. Their names are generated. */
export function slicesOf(
  { name, devices = [], sharedCounters = [], resourceSliceCount }: DriverPool,
  { driver, node, generation }: { readonly driver: string; readonly node: Node; readonly generation: number },
): readonly ResourceSlice[] {
  const isDetailed = devices.some(
    ({ taints, consumesCounters }) => taints !== undefined || consumesCounters !== undefined,
  );
  const most = isDetailed ? MOST_DETAILED : MOST_DEVICES;
  const chunks = Array.from({ length: Math.ceil(devices.length / most) }, (_, at) => ({
    devices: devices.slice(at * most, (at + 1) * most),
  }));
  // counters are in a slice of their own, as the API requires since Kubernetes 1.35
  const parts = [...(sharedCounters.length > 0 ? [{ sharedCounters }] : []), ...chunks];
  const { name: nodeName, uid = '' } = node.metadata;
  return parts.map(
    (part) =>
      ({
        apiVersion: 'resource.k8s.io/v1',
        kind: 'ResourceSlice',
        metadata: {
          generateName: `${nodeName}-${driver}-`,
          ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid, controller: true }],
        },
        spec: {
          driver,
          nodeName,
          pool: { name: name ?? nodeName, generation, resourceSliceCount: resourceSliceCount ?? parts.length },
          ...part,
        },
      }) as unknown as ResourceSlice,
  );
}

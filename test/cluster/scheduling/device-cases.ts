/** Random devices of nodes and of networks, and pods whose claims request them. */
import {
  type Device,
  type DeviceClass,
  type DeviceConstraint,
  type DeviceRequest,
  type DeviceRequestDetails,
  HOSTNAME_LABEL,
  type Node,
  type Pod,
  REGION_LABEL,
  type ResourceClaim,
  type ResourceSlice,
  ZONE_LABEL,
} from '#api/objects';
import type { Draws } from './cases.ts';

const API = 'resource.k8s.io/v1';
const GPU = 'gpu.example.com';
const NIC = 'nic.example.com';
const ROOT = 'example.com/root';
const ZONES = ['z1', 'z2'] as const;
const NODES = 5;

const deviceClass = (name: string, expression: string): DeviceClass => ({
  apiVersion: API,
  kind: 'DeviceClass',
  metadata: { name },
  spec: { selectors: [{ cel: { expression } }] },
});
export const CLASSES: readonly DeviceClass[] = [
  deviceClass('gpu', `device.driver == '${GPU}'`),
  deviceClass('nic', `device.driver == '${NIC}'`),
  deviceClass('any', 'true'),
];

export const deviceNodes = (): readonly Node[] =>
  Array.from({ length: NODES }, (_, index) => {
    const name = `device-node-${index}`;
    const allocatable = { cpu: '64', memory: '256Gi', pods: '110' };
    const labels = { [HOSTNAME_LABEL]: name, [ZONE_LABEL]: ZONES[index % 2] ?? '', [REGION_LABEL]: 'r' };
    return {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels },
      status: { allocatable, capacity: allocatable, conditions: [{ type: 'Ready', status: 'True' }] },
    } as Node;
  });

const slice = (name: string, driver: string, spec: Omit<ResourceSlice['spec'], 'driver' | 'pool'>): ResourceSlice => ({
  apiVersion: API,
  kind: 'ResourceSlice',
  metadata: { name },
  spec: { driver, pool: { name, generation: 1, resourceSliceCount: 1 }, ...spec },
});

function deviceFrom(draws: Draws, name: string): Device {
  const isShared = draws.isWithin(0.2);
  return {
    name,
    attributes: {
      model: { int: draws.below(2) },
      ...(draws.isWithin(0.8) && { [ROOT]: { int: draws.below(2) } }),
    },
    ...(isShared && {
      allowMultipleAllocations: true,
      capacity: { shares: { value: '3', requestPolicy: { default: '1', validRange: { min: '1', step: '1' } } } },
    }),
    ...(draws.isWithin(0.15) && { taints: [{ key: 'worn', effect: 'NoSchedule' }] }),
  };
}

const devicesFrom = (draws: Draws, count: number): readonly Device[] =>
  Array.from({ length: count }, (_, index) => deviceFrom(draws, `d${index}`));

const inZone = (zone: string) => ({
  nodeSelectorTerms: [{ matchExpressions: [{ key: ZONE_LABEL, operator: 'In' as const, values: [zone] }] }],
});

export const slicesFrom = (draws: Draws, nodes: readonly Node[]): readonly ResourceSlice[] => [
  ...nodes.map(({ metadata: { name } }) =>
    slice(name, GPU, { nodeName: name, devices: devicesFrom(draws, 2 + draws.below(3)) }),
  ),
  ...ZONES.map((zone) => slice(`net-${zone}`, NIC, { nodeSelector: inZone(zone), devices: devicesFrom(draws, 3) })),
  slice('net-all', NIC, { allNodes: true, devices: devicesFrom(draws, 3) }),
  slice('net-each', NIC, {
    perDeviceNodeSelection: true,
    devices: devicesFrom(draws, 4).map((device, index) => ({
      ...device,
      ...([
        { allNodes: true },
        { nodeSelector: inZone('z1') },
        { nodeName: nodes[0]?.metadata.name ?? '' },
        { nodeSelector: inZone('z2') },
      ][index] ?? {}),
    })),
  }),
];

function detailsFrom(draws: Draws): DeviceRequestDetails {
  const deviceClassName = draws.one(['gpu', 'gpu', 'nic', 'nic', 'any']);
  // the attribute is in the domain of the driver, which only some classes determine
  const domain = deviceClassName === 'gpu' ? GPU : NIC;
  const isAll = draws.isWithin(0.05);
  return {
    deviceClassName,
    ...(deviceClassName !== 'any' &&
      draws.isWithin(0.4) && {
        selectors: [{ cel: { expression: `device.attributes['${domain}'].model == ${draws.below(2)}` } }],
      }),
    ...(isAll ? { allocationMode: 'All' } : { allocationMode: 'ExactCount', count: 1 + draws.below(2) }),
    ...(draws.isWithin(0.2) && { capacity: { requests: { shares: '2' } } }),
    ...(draws.isWithin(0.3) && { tolerations: [{ key: 'worn', operator: 'Exists' }] }),
  };
}

function requestFrom(draws: Draws, index: number): DeviceRequest {
  if (draws.isWithin(0.8)) return { name: `r${index}`, exactly: detailsFrom(draws) };
  return { name: `r${index}`, firstAvailable: ['a', 'b'].map((name) => ({ name, ...detailsFrom(draws) })) };
}

/** Returns true if a request is for one device. */
const isForOne = ({ exactly }: DeviceRequest): boolean => exactly?.count === 1;

/** kube-scheduler compares distinct attributes only with the last device of each other request. */
function constraintsFrom(draws: Draws, requests: readonly DeviceRequest[]): readonly DeviceConstraint[] {
  if (draws.isWithin(0.6)) return [];
  const isDistinct = draws.isWithin(0.3) && requests.every(isForOne);
  return [isDistinct ? { distinctAttribute: ROOT } : { matchAttribute: ROOT }];
}

/** Pod with its claims. */
export interface DevicePod {
  readonly pod: Pod;
  readonly claims: readonly ResourceClaim[];
}

export function devicePodFrom(draws: Draws, name: string): DevicePod {
  const claims = Array.from({ length: 1 + draws.below(2) }, (_, index): ResourceClaim => {
    const requests = Array.from({ length: 1 + draws.below(2) }, (__, at) => requestFrom(draws, at));
    return {
      apiVersion: API,
      kind: 'ResourceClaim',
      metadata: { name: `${name}-${index}`, namespace: 'default' },
      spec: { devices: { requests, constraints: constraintsFrom(draws, requests) } },
    };
  });
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      terminationGracePeriodSeconds: 0,
      resourceClaims: claims.map(({ metadata }, index) => ({ name: `c${index}`, resourceClaimName: metadata.name })),
      containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '100m' } } }],
    },
  } as Pod;
  return { pod, claims };
}

/** Pods with claims for devices. CPU time includes the compilation of the snapshot and of the templates. */
import { type Device, INSTANCE_TYPE_LABEL, type Pod, type ResourceClaim, type ResourceSlice } from '#api/objects';
import type { DeviceTemplates } from '#engine/devices';
import type { Snapshot, SolveOptions } from '#engine/model';
import { solve } from '#engine/solve';
import { benchmarkSnapshot } from './scheduling.ts';

const DRIVER = 'gpu.example.com';
const PER_NODE = 8;
/** Instance types with devices. */
const GPU_TYPES = 50;
const RUNS = 5;

export interface DeviceLine {
  readonly workload: string;
  readonly pods: number;
  /** Number of published devices. */
  readonly devices: number;
  /** Number of launched nodes. */
  readonly nodes: number;
  readonly cpuMilliseconds: number;
  /** Time for the allocation of devices alone. */
  readonly allocationMs: number;
}

const devices = (count: number): readonly Device[] =>
  Array.from({ length: count }, (_, at) => ({
    name: `gpu-${at}`,
    attributes: { model: { string: 'a' }, index: { int: at } },
    capacity: { memory: { value: '80Gi' } },
  }));

interface DeviceWorkload {
  readonly name: string;
  readonly pods: number;
  /** Devices of each claim. */
  readonly perPod?: number;
  /** Living nodes with devices. Half of the devices are in use. */
  readonly nodes?: number;
  readonly perNode?: number;
  readonly constraint?: string;
}

const WORKLOADS: readonly DeviceWorkload[] = [
  { name: 'devices-1000', pods: 1_000 },
  { name: 'devices-1000-on-500-nodes', pods: 1_000, nodes: 500 },
  // no solution: all devices look the same until the constraint rejects each pair
  { name: 'devices-8-of-16', pods: 1, perPod: 8, perNode: 16, constraint: `${DRIVER}/index` },
];

function claimOf(name: string, { perPod: count = 1, constraint }: DeviceWorkload, uid: string): ResourceClaim {
  const owner = { apiVersion: 'v1', kind: 'Pod', name, uid, controller: true };
  const selectors = [{ cel: { expression: `device.attributes['${DRIVER}'].model == 'a'` } }];
  const requests = [{ name: 'gpu', exactly: { deviceClassName: 'gpu', count, selectors } }];
  return {
    ...{ apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaim' },
    metadata: { name: `${name}-gpu`, namespace: 'default', ownerReferences: [owner] },
    spec: { devices: { requests, ...(constraint && { constraints: [{ matchAttribute: constraint }] }) } },
  };
}

const claimingPod = (name: string): Pod => ({
  ...{ apiVersion: 'v1', kind: 'Pod' },
  metadata: { name, namespace: 'default', uid: name },
  spec: {
    containers: [{ name: 'app', resources: { requests: { cpu: '1' } } }],
    resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'gpu' }],
  },
  status: { phase: 'Pending', resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: `${name}-gpu` }] },
});

function snapshotOf(workload: DeviceWorkload): Snapshot {
  const { pods: count, nodes: nodeCount = 0, perNode = PER_NODE } = workload;
  const base = benchmarkSnapshot({ name: '', pods: () => [], nodes: () => [], runs: 1 });
  const names = Array.from({ length: count }, (_, at) => `pod-${at}`);
  const templates: DeviceTemplates = { pools: [{ driver: DRIVER, pool: 'gpus', devices: devices(perNode) }] };
  const nodes = Array.from({ length: nodeCount }, (_, at) => gpuNode(`node-${at}`));
  const slices = nodes.map(({ name }) => sliceOf(name, perNode));
  const used = nodes.flatMap(({ name }) =>
    devices(perNode)
      .filter((_, at) => at % 2 === 0)
      .map((each) => inUse(name, each)),
  );
  return {
    ...base,
    pools: base.pools.map((pool) => ({
      ...pool,
      deviceTemplates: new Map(pool.instanceTypes.slice(-GPU_TYPES).map(({ name }) => [name, templates])),
    })),
    nodes,
    pendingPods: names.map(claimingPod),
    resourceClaims: [...names.map((name) => claimOf(name, workload, name)), ...used],
    resourceSlices: slices,
    deviceClasses: [
      {
        ...{ apiVersion: 'resource.k8s.io/v1', kind: 'DeviceClass', metadata: { name: 'gpu' } },
        spec: { selectors: [{ cel: { expression: `device.driver == '${DRIVER}'` } }] },
      },
    ],
  };
}

const sliceOf = (name: string, perNode: number): ResourceSlice => ({
  ...{ apiVersion: 'resource.k8s.io/v1', kind: 'ResourceSlice', metadata: { name } },
  spec: {
    ...{ driver: DRIVER, nodeName: name, devices: devices(perNode) },
    pool: { name, generation: 1, resourceSliceCount: 1 },
  },
});

/** Claim of a running pod. */
const inUse = (node: string, { name: device }: Device): ResourceClaim => ({
  ...{ apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaim' },
  metadata: { name: `${node}-${device}`, namespace: 'default' },
  spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu' } }] } },
  status: {
    allocation: { devices: { results: [{ request: 'gpu', driver: DRIVER, pool: node, device }] } },
    reservedFor: [{ resource: 'pods', name: `${node}-${device}`, uid: `${node}-${device}` }],
  },
});

function gpuNode(name: string): Snapshot['nodes'][number] {
  const labels = {
    'kubernetes.io/hostname': name,
    'topology.kubernetes.io/zone': 'test-zone-1',
    'karpenter.sh/capacity-type': 'spot',
    'karpenter.sh/nodepool': 'bench',
    [INSTANCE_TYPE_LABEL]: 'fake-it-399',
  };
  return {
    ...{ name, providerId: `aws:///${name}`, labels, annotations: {}, taints: [], pods: [], bufferPods: 0 },
    node: { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } },
    ...{ registered: true, initialized: true, markedForDeletion: false, nominatedUntilMs: 0 },
    capacity: { cpu: 64_000, memory: 256 * 2 ** 30, pods: 110, nodes: 1 },
    allocatable: { cpu: 63_000, memory: 250 * 2 ** 30, pods: 110 },
  };
}

/** Yields the best of a few runs with new input for each workload. */
export async function* deviceLines(
  options: SolveOptions,
  isWanted: (workload: string) => boolean,
): AsyncGenerator<DeviceLine> {
  for (const workload of WORKLOADS.filter(({ name }) => isWanted(name))) {
    let cpuMilliseconds = Number.POSITIVE_INFINITY;
    let allocationMs = Number.POSITIVE_INFINITY;
    let nodes = 0;
    let published = 0;
    for (let run = 0; run < RUNS; run++) {
      const snapshot = snapshotOf(workload);
      globalThis.gc?.();
      const before = process.cpuUsage();
      const plan = solve(snapshot, { ...options, ignoreDraRequests: false, elapsedMs: () => performance.now() });
      const { user, system } = process.cpuUsage(before);
      cpuMilliseconds = Math.min(cpuMilliseconds, (user + system) / 1000);
      allocationMs = Math.min(allocationMs, plan.allocation?.ms ?? 0);
      nodes = plan.claims.length;
      published = (snapshot.resourceSlices ?? []).reduce((sum, { spec }) => sum + (spec.devices ?? []).length, 0);
    }
    const { name, pods } = workload;
    yield {
      ...{ workload: name, pods, devices: published, nodes },
      cpuMilliseconds: Number(cpuMilliseconds.toFixed(1)),
      allocationMs: Number(allocationMs.toFixed(1)),
    };
  }
}

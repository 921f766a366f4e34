/** Clusters of pods with claims, for tests of whole solves. */
import {
  type DeviceRequest,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  type Pod,
  type ResourceClaim,
  type ResourceSlice,
} from '#api/objects';
import type { DeviceTemplates } from '../../../../src/engine/dra/template-types.ts';
import type { Plan, Snapshot, SolveOptions, StateNode } from '../../../../src/engine/model.ts';
import { solve } from '../../../../src/engine/solve.ts';
import { instanceType, nodePool, OPTIONS, oneOf, pod, snapshot, stateNode } from '../build.ts';
import { type ClaimParts, claim, DRIVER, devices, GPU_CLASS, request, slice } from './build.ts';

export const CHEAP = instanceType('a', { cpu: 8, usd: 0.1 });
export const GPU = instanceType('b', { cpu: 8, usd: 1 });
export const BIG = instanceType('c', { cpu: 64, gib: 256, usd: 10 });

export const TYPES = [CHEAP, GPU, BIG];

export type Templates = Readonly<Record<string, DeviceTemplates>>;

export interface ClusterParts extends Partial<Omit<Snapshot, 'pools'>> {
  readonly templates?: Templates;
  readonly claims?: readonly ResourceClaim[];
}

export function clusterOf({ templates = {}, claims = [], ...parts }: ClusterParts): Snapshot {
  return {
    ...snapshot({
      resourceClaims: claims,
      deviceClasses: [GPU_CLASS],
      resourceSlices: [],
      deviceTaintRules: [],
      ...parts,
    }),
    pools: [
      {
        nodePool: nodePool('default'),
        instanceTypes: TYPES,
        deviceTemplates: new Map(Object.entries(templates)),
      },
    ],
  };
}

export const DRA: SolveOptions = { ...OPTIONS, ignoreDraRequests: false };
export const planOf = (parts: ClusterParts, options: Partial<SolveOptions> = {}): Plan =>
  solve(clusterOf(parts), { ...DRA, ...options });

export interface Workload {
  readonly pods: readonly Pod[];
  readonly claims: readonly ResourceClaim[];
}

/** Pods with a claim each, which a template created. */
export function workload(count: number, requests: readonly DeviceRequest[] = [request('r')], name = 'pod'): Workload {
  const all = Array.from({ length: count }, (_, at) => privatePod(`${name}-${at}`, requests));
  return { pods: all.map((each) => each.pod), claims: all.map((each) => each.claim) };
}

export function privatePod(name: string, requests: readonly DeviceRequest[], parts: ClaimParts = {}) {
  const own = pod(name, { cpu: '100m', resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'gpu' }] });
  const made = claim(requests, { name: `${name}-gpu`, ...parts });
  const owner = { apiVersion: 'v1', kind: 'Pod', name, uid: own.metadata.uid ?? '', controller: true };
  return {
    pod: {
      ...own,
      status: { ...own.status, resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: `${name}-gpu` }] },
    },
    claim: { ...made, metadata: { ...made.metadata, ownerReferences: [owner] } },
  };
}

export const sharing = (name: string, claimName: string, parts: Parameters<typeof pod>[1] = {}): Pod =>
  pod(name, { cpu: '100m', resourceClaims: [{ name: 'gpu', resourceClaimName: claimName }], ...parts });

export const typesOf = ({ claims }: Plan) => claims.map(({ instanceTypes }) => instanceTypes);
export const podCounts = ({ claims }: Plan) => claims.map(({ pods }) => pods.length);
export const driversOf = ({ claims }: Plan) =>
  claims.map(({ annotations }) => annotations['karpenter.sh/requested-dra-drivers']);
export const NONE = 'allocating dynamic resources, no instance type can satisfy the allocation';

export const HUNDRED = `[${Array.from({ length: 100 }, (_, at) => at).join()}]`;

/** Node of type b whose driver publishes devices. */
export function gpuNode(name: string, count: number, parts: Partial<Parameters<typeof stateNode>[1]> = {}) {
  const node: StateNode = stateNode(name, {
    labels: { [INSTANCE_TYPE_LABEL]: 'b', [NODEPOOL_LABEL]: 'default' },
    ...parts,
  });
  const slices: ResourceSlice[] = [
    {
      ...slice(devices(count), { name, pool: name, nodeName: name }),
      metadata: { name, ownerReferences: [ownedBy(name)] },
    },
  ];
  return { node, slices };
}
export const ownedBy = (name: string) => ({ apiVersion: 'v1', kind: 'Node', name, uid: name });

/** Claim of a pod with devices of a node. */
export const held = (one: ResourceClaim, user: Pod, node: string, device = 'gpu-0'): ResourceClaim => ({
  ...one,
  status: {
    allocation: {
      devices: { results: [{ driver: DRIVER, pool: node, device, request: 'r' }] },
      nodeSelector: { nodeSelectorTerms: [{ matchFields: [oneOf('metadata.name', node)] }] },
    },
    reservedFor: [{ resource: 'pods', name: user.metadata.name, uid: user.metadata.uid ?? '' }],
  },
});
export const running = (one: Pod, nodeName: string): Pod => ({
  ...one,
  spec: { ...one.spec, nodeName },
  status: { ...one.status, phase: 'Running' },
});

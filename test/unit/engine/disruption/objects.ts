/** Builders of small objects for disruption tests. */
import {
  CAPACITY_TYPE_LABEL,
  INITIALIZED_LABEL,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  type NodeClaim,
  type NodePool,
  type Pod,
  type PodDisruptionBudget,
  REGISTERED_LABEL,
  ZONE_LABEL,
} from '#api/objects';
import type { Candidate } from '../../../../src/engine/disruption/command.ts';
import type { MethodInput } from '../../../../src/engine/disruption/method.ts';
import type { InstanceType, StateNode } from '../../../../src/engine/model.ts';

export const NOW = Date.UTC(2026, 0, 15, 12, 0, 0);
export const at = (ms: number): string => new Date(ms).toISOString();

export const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };

export const pool = (
  name = 'default',
  disruption: NodePool['spec']['disruption'] = { consolidateAfter: '0s' },
): NodePool => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name, uid: `uid-${name}` },
  spec: {
    template: { spec: { nodeClassRef, requirements: [] } },
    ...(disruption === undefined ? {} : { disruption }),
  },
});

export const pod = (
  name: string,
  more: Omit<Partial<Pod>, 'metadata'> & { metadata?: Partial<Pod['metadata']> } = {},
): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  ...more,
  metadata: { name, namespace: 'default', uid: `uid-${name}`, ...more.metadata },
  spec: { nodeName: 'node-1', containers: [{ name: 'main', resources: { requests: { cpu: '100m' } } }], ...more.spec },
  status: { phase: 'Running', ...more.status },
});

export const budget = (
  name: string,
  spec: PodDisruptionBudget['spec'],
  disruptionsAllowed = 1,
): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name, namespace: 'default' },
  spec,
  status: { disruptionsAllowed },
});

export const claim = (
  name: string,
  more: { readonly spec?: Partial<NodeClaim['spec']>; readonly status?: NodeClaim['status'] } = {},
): NodeClaim => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name, uid: `uid-${name}`, creationTimestamp: at(NOW - 3_600_000) },
  spec: { nodeClassRef, requirements: [], ...more.spec },
  status: { providerID: `aws:///${name}`, ...more.status },
});

export interface NodeOptions {
  readonly pool?: string;
  readonly type?: string;
  readonly pods?: readonly Pod[];
  readonly ready?: boolean;
  readonly claim?: NodeClaim;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly state?: Partial<StateNode>;
}

/** An initialized, ready and consolidatable node. */
export function stateNode(name: string, options: NodeOptions = {}): StateNode {
  const labels = {
    [NODEPOOL_LABEL]: options.pool ?? 'default',
    [REGISTERED_LABEL]: 'true',
    [INITIALIZED_LABEL]: 'true',
    [INSTANCE_TYPE_LABEL]: options.type ?? 'm.large',
    [ZONE_LABEL]: 'zone-a',
    [CAPACITY_TYPE_LABEL]: 'on-demand',
  };
  const annotations = options.annotations ?? {};
  const conditions = [
    { type: 'Initialized', status: 'True' as const, lastTransitionTime: at(NOW - 3_000_000) },
    { type: 'Consolidatable', status: 'True' as const },
  ];
  return {
    name,
    providerId: `aws:///${name}`,
    node: {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, uid: `uid-node-${name}`, labels, annotations },
      spec: { providerID: `aws:///${name}` },
      status: { conditions: [{ type: 'Ready', status: options.ready === false ? 'False' : 'True' }] },
    },
    nodeClaim: options.claim ?? claim(name, { status: { conditions } }),
    registered: true,
    initialized: true,
    labels,
    annotations,
    taints: [],
    capacity: { cpu: 2000, memory: 8 * 1024 ** 3, pods: 58, nodes: 1 },
    allocatable: { cpu: 1900, memory: 7 * 1024 ** 3, pods: 58 },
    pods: options.pods ?? [],
    markedForDeletion: false,
    nominatedUntilMs: 0,
    bufferPods: 0,
    ...options.state,
  };
}

export const instanceType = (name: string, cpu: number, usdPerHour: number): InstanceType => ({
  name,
  requirements: [
    { key: INSTANCE_TYPE_LABEL, operator: 'In', values: [name] },
    { key: ZONE_LABEL, operator: 'In', values: ['zone-a', 'zone-b'] },
    { key: CAPACITY_TYPE_LABEL, operator: 'In', values: ['on-demand', 'spot'] },
  ],
  capacity: { cpu: cpu * 1000, memory: cpu * 4 * 1024 ** 3, pods: 58 },
  overhead: { kubeReserved: {}, systemReserved: {}, evictionThreshold: {} },
  offerings: ['zone-a', 'zone-b'].flatMap((zone) =>
    [
      ['on-demand', usdPerHour],
      ['spot', usdPerHour * 0.4],
    ].map(([capacityType, price]) => ({
      requirements: [
        { key: ZONE_LABEL, operator: 'In' as const, values: [zone] },
        { key: CAPACITY_TYPE_LABEL, operator: 'In' as const, values: [String(capacityType)] },
      ],
      usdPerHour: Number(price),
      available: true,
    })),
  ),
});

/** Input for the candidates of the default NodePool, whose budget allows all of them. */
export function methodInputOf(candidates: readonly Candidate[], more: Partial<MethodInput> = {}): MethodInput {
  const input: MethodInput = {
    nowMs: NOW,
    candidates,
    budgets: new Map([['default', 100]]),
    totals: new Map(),
    pools: new Map(),
    claims: new Map(),
    spotToSpot: false,
    consolidation: 'compatible',
    unseenPools: new Set(),
    simulate: async () => undefined,
    elapsedMs: () => 0,
    refresh: async () => input,
    ...more,
  };
  return input;
}

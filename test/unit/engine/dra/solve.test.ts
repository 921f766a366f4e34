/** Pods with claims in whole solves: new nodes, existing nodes, nodes that launch, and nodes that are removed. */
import { describe, expect, it } from '@jest/globals';
import type { DeviceRequest, ResourceClaim, ResourceSlice } from '../../../../src/api/dra/objects.ts';
import type { Pod } from '../../../../src/api/kubernetes.ts';
import { INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, ZONE_LABEL } from '../../../../src/api/labels.ts';
import { virtualPods } from '../../../../src/engine/capacity-buffers.ts';
import type { DeviceTemplates } from '../../../../src/engine/dra/template-types.ts';
import type { Plan, Snapshot, SolveOptions, StateNode } from '../../../../src/engine/model.ts';
import { prepare, solve } from '../../../../src/engine/solve.ts';
import { instanceType, nodePool, OPTIONS, oneOf, pod, refusalText, snapshot, stateNode } from '../build.ts';
import {
  type ClaimParts,
  claim,
  DRIVER,
  deviceClass,
  devices,
  GPU_CLASS,
  request,
  selecting,
  slice,
  template,
} from './build.ts';

const CHEAP = instanceType('a', { cpu: 8, usd: 0.1 });
const GPU = instanceType('b', { cpu: 8, usd: 1 });
const BIG = instanceType('c', { cpu: 64, gib: 256, usd: 10 });

const TYPES = [CHEAP, GPU, BIG];

type Templates = Readonly<Record<string, DeviceTemplates>>;

interface ClusterParts extends Partial<Omit<Snapshot, 'pools'>> {
  readonly templates?: Templates;
  readonly claims?: readonly ResourceClaim[];
}

function clusterOf({ templates = {}, claims = [], ...parts }: ClusterParts): Snapshot {
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

const DRA: SolveOptions = { ...OPTIONS, ignoreDraRequests: false };
const planOf = (parts: ClusterParts, options: Partial<SolveOptions> = {}): Plan =>
  solve(clusterOf(parts), { ...DRA, ...options });

interface Workload {
  readonly pods: readonly Pod[];
  readonly claims: readonly ResourceClaim[];
}

/** Pods with a claim each, which a template created. */
function workload(count: number, requests: readonly DeviceRequest[] = [request('r')], name = 'pod'): Workload {
  const all = Array.from({ length: count }, (_, at) => privatePod(`${name}-${at}`, requests));
  return { pods: all.map((each) => each.pod), claims: all.map((each) => each.claim) };
}

function privatePod(name: string, requests: readonly DeviceRequest[], parts: ClaimParts = {}) {
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

const sharing = (name: string, claimName: string, parts: Parameters<typeof pod>[1] = {}): Pod =>
  pod(name, { cpu: '100m', resourceClaims: [{ name: 'gpu', resourceClaimName: claimName }], ...parts });

const typesOf = ({ claims }: Plan) => claims.map(({ instanceTypes }) => instanceTypes);
const podCounts = ({ claims }: Plan) => claims.map(({ pods }) => pods.length);
const driversOf = ({ claims }: Plan) =>
  claims.map(({ annotations }) => annotations['karpenter.sh/requested-dra-drivers']);
const NONE = 'allocating dynamic resources, no instance type can satisfy the allocation';

const HUNDRED = `[${Array.from({ length: 100 }, (_, at) => at).join()}]`;

/** Node of type b whose driver publishes devices. */
function gpuNode(name: string, count: number, parts: Partial<Parameters<typeof stateNode>[1]> = {}) {
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
const ownedBy = (name: string) => ({ apiVersion: 'v1', kind: 'Node', name, uid: name });

/** Claim of a pod with devices of a node. */
const held = (one: ResourceClaim, user: Pod, node: string, device = 'gpu-0'): ResourceClaim => ({
  ...one,
  status: {
    allocation: {
      devices: { results: [{ driver: DRIVER, pool: node, device, request: 'r' }] },
      nodeSelector: { nodeSelectorTerms: [{ matchFields: [oneOf('metadata.name', node)] }] },
    },
    reservedFor: [{ resource: 'pods', name: user.metadata.name, uid: user.metadata.uid ?? '' }],
  },
});
const running = (one: Pod, nodeName: string): Pod => ({
  ...one,
  spec: { ...one.spec, nodeName },
  status: { ...one.status, phase: 'Running' },
});

describe('new nodes', () => {
  const templates = { b: template(devices(2)) };

  it('have the devices that their pods claim, and list the drivers', () => {
    const { pods, claims } = workload(1);
    const plan = planOf({ templates, claims, pendingPods: [...pods] });
    expect(typesOf(plan)).toEqual([['b']]);
    expect(driversOf(plan)).toEqual([DRIVER]);
  });

  it('of pods without claims list no drivers and no more expensive types', () => {
    const { pods, claims } = workload(1);
    const plan = planOf({ templates, claims, pendingPods: [...pods, pod('plain', { cpu: '7950m' })] });
    expect(
      new Map(
        plan.claims.map(({ cheapest, annotations }) => [cheapest, annotations['karpenter.sh/requested-dra-drivers']]),
      ),
    ).toEqual(
      new Map([
        ['a', undefined],
        ['b', DRIVER],
      ]),
    );
  });

  it.each([
    [1, [1]],
    [2, [2]],
    [3, [2, 1]],
    [5, [2, 2, 1]],
  ])('hold as many pods as they have devices: %d pods', (count, expected) => {
    const { pods, claims } = workload(count);
    expect(podCounts(planOf({ templates, claims, pendingPods: pods }))).toEqual(expected);
  });

  it('belong to one pod if it requests all devices', () => {
    const more = { ...templates, c: template(devices(4)) };
    const { pods, claims } = workload(2, [request('r', { allocationMode: 'All' })]);
    const plan = planOf({ templates: more, claims, pendingPods: pods });
    expect([podCounts(plan), typesOf(plan)]).toEqual([
      [1, 1],
      [
        ['b', 'c'],
        ['b', 'c'],
      ],
    ]);
  });

  it('with more devices remain possible until a pod needs them', () => {
    const more = { ...templates, c: template(devices(4)) };
    const { pods, claims } = workload(3);
    const plan = planOf({ templates: more, claims, pendingPods: pods });
    expect(typesOf(plan)).toEqual([['c']]);
    const two = planOf({ templates: more, claims, pendingPods: pods.slice(0, 2) });
    expect(typesOf(two)).toEqual([['b', 'c']]);
  });

  it('are not launched for claims that no type satisfies, and the reason names the driver', () => {
    const { pods, claims } = workload(1);
    const plan = planOf({ claims, pendingPods: pods });
    expect(plan.claims).toEqual([]);
    expect(refusalText(plan, 'pod-0')).toContain(
      `${NONE}: no known device matches request "r" (class gpu): 3 types have no devices of driver ${DRIVER}`,
    );
    expect(plan.refusals.get('default/pod-0')).toMatchObject({ pools: [{ misfit: { code: 'devices' } }] });
  });

  it('are not launched for more devices than a type has, and the reason names the nearest type', () => {
    const { pods, claims } = workload(1, [request('r', { count: 5 })]);
    const plan = planOf({ templates: { b: template(devices(2)), c: template(devices(4)) }, claims, pendingPods: pods });
    expect(refusalText(plan, 'pod-0')).toContain(
      `2 types have too few devices of driver ${DRIVER}; the nearest type is c with 4 of 5 devices for request "r"`,
    );
    const odd = devices(4, (index) => ({ attributes: { index: { int: index } } }));
    const one = `device.attributes['${DRIVER}'].index == 9`;
    const other = workload(1, [request('r', selecting(one))]);
    const rejected = planOf({ templates: { b: template(odd) }, claims: other.claims, pendingPods: other.pods });
    expect(refusalText(rejected, 'pod-0')).toContain(`the nearest type is b: 4 devices rejected by selector "${one}"`);
  });

  it('are not launched while the class does not exist', () => {
    const { pods, claims } = workload(1);
    const plan = planOf({ templates, claims, pendingPods: pods, deviceClasses: [] });
    expect(refusalText(plan, 'pod-0')).toContain('DeviceClass "gpu" not found');
  });

  it('are not launched while the kinds cannot be read, but pods without claims get nodes', () => {
    const { pods, claims } = workload(1);
    const parts = { templates, claims, pendingPods: [...pods, pod('plain', { cpu: '1' })] };
    const plan = planOf({ ...parts, missingDeviceKinds: ['resourceslices'] });
    expect(refusalText(plan, 'pod-0')).toMatch(/^dynamic resource allocation is not available: .*resourceslices/);
    expect(plan.claims.flatMap(({ pods: placed }) => placed)).toEqual(['default/plain']);
  });

  it('are not launched for expensive searches, which cost only their own pod', () => {
    const list = devices(30, (index) => ({ attributes: { id: { int: index } } }));
    const hard = privatePod('hard', [request('x', { count: 15 }), request('y', selecting('false'))]);
    const { pods, claims } = workload(20);
    const plan = planOf({
      templates: { b: template(list) },
      claims: [...claims, hard.claim],
      pendingPods: [hard.pod, ...pods],
    });
    expect(refusalText(plan, 'hard')).toContain('allocation of devices needs more than 200000 steps');
    expect(plan.claims.flatMap(({ pods: placed }) => placed)).toHaveLength(20);
  });

  it('satisfy minValues after the types without devices are removed', () => {
    const { pods, claims } = workload(1);
    const strict = nodePool('default', {
      requirements: [{ key: INSTANCE_TYPE_LABEL, operator: 'Exists', minValues: 2 }],
    });
    const parts = clusterOf({ templates, claims, pendingPods: pods });
    const plan = solve({ ...parts, pools: parts.pools.map((one) => ({ ...one, nodePool: strict })) }, DRA);
    expect(plan.claims).toEqual([]);
    expect(refusalText(plan, 'pod-0')).toContain('minValues');
  });

  it('count for the limits of their NodePool with their resources only', () => {
    const { pods, claims } = workload(3);
    const limited = nodePool('default', { limits: { cpu: '8' } });
    const parts = clusterOf({ templates, claims, pendingPods: pods });
    const plan = solve({ ...parts, pools: parts.pools.map((one) => ({ ...one, nodePool: limited })) }, DRA);
    expect(podCounts(plan)).toEqual([2]);
    expect(refusalText(plan, 'pod-2')).toContain('limit');
  });

  it.each([
    ['that does not compile', 'device.driver =='],
    ['that is too long', `'${'x'.repeat(10 * 1024)}' == ''`],
    [
      'that costs too much',
      ['a', 'b', 'c', 'd'].reduceRight((body, name) => `${HUNDRED}.all(${name}, ${body})`, 'true'),
    ],
  ])('are launched for other pods if a pod has a selector %s', (_, expression) => {
    const { pods, claims } = workload(2);
    const bad = privatePod('bad', [request('r', selecting(expression))]);
    const plan = planOf({ templates, claims: [...claims, bad.claim], pendingPods: [bad.pod, ...pods] });
    expect(plan.claims.flatMap(({ pods: placed }) => placed).sort()).toEqual(['default/pod-0', 'default/pod-1']);
    expect(refusalText(plan, 'bad')).toMatch(/CEL expression|rejected by selector/);
  });

  it('depend only on the templates of their own snapshot', () => {
    const { pods, claims } = workload(1);
    // the same instance types, which the solver compiles once
    expect(typesOf(planOf({ templates, claims, pendingPods: pods }))).toEqual([['b']]);
    expect(typesOf(planOf({ templates: { c: template(devices(1)) }, claims, pendingPods: pods }))).toEqual([['c']]);
    expect(typesOf(planOf({ claims, pendingPods: pods }))).toEqual([]);
  });

  it('are the same for the same snapshot', () => {
    const { pods, claims } = workload(7);
    const parts = clusterOf({ templates: { ...templates, c: template(devices(4)) }, claims, pendingPods: pods });
    expect(solve(parts, DRA)).toEqual(solve(structuredClone(parts), DRA));
  });
});

describe('virtual pods of capacity buffers', () => {
  const templates = { b: template(devices(2)) };
  const buffer = { metadata: { name: 'buffer', namespace: 'default', uid: 'buffer' } };
  const like = (resourceClaims: NonNullable<Pod['spec']['resourceClaims']>) => [
    ...virtualPods(buffer, pod('like', { cpu: '100m', resourceClaims }), 3, 0),
  ];
  const claimTemplate = {
    ...{
      apiVersion: 'resource.k8s.io/v1',
      kind: 'ResourceClaimTemplate',
      metadata: { name: 't', namespace: 'default' },
    },
    spec: { spec: { devices: { requests: [request('r')] } } },
  };

  it('reserve the devices that their templates would claim', () => {
    const pendingPods = like([{ name: 'gpu', resourceClaimTemplateName: 't' }]);
    const plan = planOf({ templates, pendingPods, resourceClaimTemplates: [claimTemplate] });
    expect(typesOf(plan)).toEqual([['b'], ['b']]);
    expect(podCounts(plan)).toEqual([2, 1]);
    const missing = planOf({ templates, pendingPods });
    expect([...missing.refusals.values()][0]?.text).toBe('resourceclaimtemplate "default/t" not found');
  });

  it('need no devices for claims with a name', () => {
    const plan = planOf({ templates, pendingPods: like([{ name: 'gpu', resourceClaimName: 'named' }]) });
    expect(plan.claims.map(({ cheapest }) => cheapest)).toEqual(['a']);
  });
});

describe('pods of DaemonSets with claims', () => {
  const claimTemplate = {
    ...{ apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaimTemplate' },
    metadata: { name: 't', namespace: 'default' },
  };
  const templateOf = (parts: Parameters<typeof request>[1] = {}) => [
    { ...claimTemplate, spec: { spec: { devices: { requests: [request('r', parts)] } } } },
  ];
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'agent', controller: true };
  const agent = (name: string, parts: Parameters<typeof pod>[1] = {}): Pod => {
    const one = pod(name, {
      cpu: '100m',
      resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 't' }],
      ...parts,
    });
    return { ...one, metadata: { ...one.metadata, ownerReferences: [owner] } };
  };
  const templates = { b: template(devices(2)) };
  const daemonPods = [agent('agent')];

  it('take devices of new nodes before other pods', () => {
    const { pods, claims } = workload(2);
    const parts = { templates, claims, pendingPods: pods };
    expect(podCounts(planOf(parts))).toEqual([2]);
    const plan = planOf({ ...parts, daemonPods, resourceClaimTemplates: templateOf() });
    expect(podCounts(plan)).toEqual([1, 1]);
    const refused = planOf({
      ...parts,
      templates: { b: template(devices(1)) },
      daemonPods,
      resourceClaimTemplates: templateOf(),
    });
    expect(refused.claims).toEqual([]);
    expect(refusalText(refused, 'pod-0')).toContain('all 1 matching devices are in use');
  });

  it('take no devices of other types than their own', () => {
    const { pods, claims } = workload(2);
    const elsewhere = [agent('agent', { nodeSelector: { [INSTANCE_TYPE_LABEL]: 'c' } })];
    const parts = { templates, claims, pendingPods: pods, resourceClaimTemplates: templateOf() };
    expect(podCounts(planOf({ ...parts, daemonPods: elsewhere }))).toEqual([2]);
  });

  it.each([
    ['with administrative access', templateOf({ adminAccess: true })],
    ['that cannot be satisfied', templateOf({ count: 3 })],
    ['without a claim template', []],
  ])('take no devices for claims %s', (_, resourceClaimTemplates) => {
    const { pods, claims } = workload(2);
    const plan = planOf({ templates, claims, pendingPods: pods, daemonPods, resourceClaimTemplates });
    expect(podCounts(plan)).toEqual([2]);
  });

  it('do not delay a node for devices that only they claim', () => {
    const { pods, claims } = workload(1);
    const foreign = { driver: 'agent.example.com', pool: 'agents', devices: devices(1) };
    const plan = planOf({
      ...{ claims, pendingPods: pods, daemonPods },
      templates: { b: { pools: [...template(devices(1)).pools, foreign] } },
      deviceClasses: [GPU_CLASS, deviceClass('agent', "device.driver == 'agent.example.com'")],
      resourceClaimTemplates: templateOf({ deviceClassName: 'agent' }),
    });
    expect(driversOf(plan)).toEqual([DRIVER]);
  });

  describe('of a claim that all pods of the DaemonSet share', () => {
    const byName = { name: 'shared', resourceClaimName: 'shared' };
    const sharingAgents = [agent('agent', { resourceClaims: [byName] })];
    const inFlight = (name: string) => gpuNode(name, 0, { initialized: false }).node;

    it('take devices of the first node in flight, and of no new node', () => {
      const { pods, claims } = workload(5);
      const shared = claim([request('r')], { name: 'shared' });
      const parts = { templates, claims: [...claims, shared], pendingPods: pods, daemonPods: sharingAgents };
      const plan = planOf({ ...parts, nodes: [inFlight('m'), inFlight('n')] });
      expect(plan.placements.map((each) => [each.node, each.pods.length])).toEqual([
        ['m', 1],
        ['n', 2],
      ]);
      expect(podCounts(plan)).toEqual([2]);
    });

    it('take free devices of an initialized node', () => {
      const { pods, claims } = workload(2);
      const shared = claim([request('r')], { name: 'shared' });
      const { node, slices } = gpuNode('n', 2);
      const parts = { templates, pendingPods: pods, daemonPods: sharingAgents, nodes: [node], resourceSlices: slices };
      const plan = planOf({ ...parts, claims: [...claims, shared] });
      expect(plan.placements.map((each) => each.pods.length)).toEqual([1]);
    });

    it.each([
      ['does not run where the shared claim has no devices', 'm', 2],
      ['runs where the shared claim has devices', 'n', 1],
    ])('%s', (_, holder, expected) => {
      const { pods, claims } = workload(2);
      const shared = held(claim([request('r')], { name: 'shared' }), agent('agent-x'), holder, 'gpu-9');
      const both = [byName, { name: 'gpu', resourceClaimTemplateName: 't' }];
      const plan = planOf({
        ...{ templates, claims: [...claims, shared], pendingPods: pods, nodes: [inFlight('n')] },
        daemonPods: [agent('agent', { resourceClaims: both })],
        resourceClaimTemplates: templateOf(),
      });
      expect(plan.placements.map((each) => each.pods.length)).toEqual([expected]);
    });

    it.each([
      ['with administrative access', claim([request('r', { adminAccess: true })], { name: 'shared' })],
      ['that does not exist', claim([request('r')], { name: 'other' })],
      ['that no node satisfies', claim([request('r', { count: 3 })], { name: 'shared' })],
    ])('take no devices for a claim %s', (_, shared) => {
      const { pods, claims } = workload(2);
      const parts = { templates, claims: [...claims, shared], pendingPods: pods, daemonPods: sharingAgents };
      expect(planOf({ ...parts, nodes: [inFlight('m')] }).placements.map((each) => each.pods.length)).toEqual([2]);
    });
  });

  it.each([
    ['is initialized and their pod is missing', true, false, 1],
    ['is initialized and their pod runs', true, true, 2],
    ['is not initialized', false, true, 1],
  ])('take devices of an existing node that %s', (_, initialized, isRunning, expected) => {
    const { pods, claims } = workload(2);
    const { node, slices } = gpuNode('n', 2, {
      initialized,
      ...(isRunning && { pods: [running(agent('agent-n'), 'n')] }),
    });
    const parts = { nodes: [node], resourceSlices: slices, daemonPods, resourceClaimTemplates: templateOf() };
    const plan = planOf({ templates, claims, pendingPods: pods, ...parts });
    expect(plan.placements.map((each) => each.pods.length)).toEqual([expected]);
  });
});

describe('shared claims', () => {
  const templates = { b: template(devices(2)), c: template(devices(2)) };
  const shared = claim([request('r')], { name: 'shared' });

  it('keep their pods on one new node', () => {
    const plan = planOf({ templates, claims: [shared], pendingPods: [sharing('p', 'shared'), sharing('q', 'shared')] });
    expect(podCounts(plan)).toEqual([2]);
  });

  it('choose a type that has room for all their pods', () => {
    const requests = { cpu: '5' };
    const pendingPods = ['p', 'q', 'r'].map((name) => sharing(name, 'shared', requests));
    const plan = planOf({ templates, claims: [shared], pendingPods });
    expect(typesOf(plan)).toEqual([['c']]);
    expect(podCounts(plan)).toEqual([3]);
  });

  it('pass over an existing node that has room for only some of their pods', () => {
    const { node, slices } = gpuNode('n', 1, { allocatable: { cpu: '8' } });
    const parts = { templates, claims: [shared], nodes: [node], resourceSlices: slices };
    const pair = (cpu: string) => ['p', 'q'].map((name) => sharing(name, 'shared', { cpu }));
    expect(planOf({ ...parts, pendingPods: pair('3') }).placements.map(({ pods }) => pods)).toEqual([
      ['default/p', 'default/q'],
    ]);
    const larger = planOf({ ...parts, pendingPods: pair('5') });
    expect([larger.placements, podCounts(larger), typesOf(larger)]).toEqual([[], [2], [['c']]]);
  });

  it('of several kinds join all their pods, with the devices that each pod claims for itself', () => {
    const other = claim([request('r')], { name: 'other' });
    const { pods, claims } = workload(1);
    const both = (one: Pod, ...names: readonly string[]): Pod => ({
      ...one,
      spec: {
        ...one.spec,
        resourceClaims: [
          ...(one.spec.resourceClaims ?? []),
          ...names.map((name) => ({ name, resourceClaimName: name })),
        ],
      },
    });
    const [own] = pods as [Pod];
    const pendingPods = [
      both(own, 'other'),
      both(sharing('q', 'shared', { cpu: '5' }), 'other'),
      sharing('p', 'shared'),
    ];
    const parts = { claims: [...claims, shared, other], pendingPods };
    const plan = planOf({ ...parts, templates: { b: template(devices(3)), c: template(devices(2)) } });
    expect([typesOf(plan), podCounts(plan)]).toEqual([[['b']], [3]]);
  });

  it('refuse a pod that does not fit on that node', () => {
    const pendingPods = [sharing('p', 'shared', { cpu: '40' }), sharing('q', 'shared', { cpu: '39' })];
    const plan = planOf({ templates, claims: [shared], pendingPods });
    expect(podCounts(plan)).toEqual([1]);
    expect(refusalText(plan, 'q')).toContain(
      'claim is bound to a different in-flight NodeClaim (ResourceClaim=default/shared)',
    );
  });

  it('on the network narrow all their pods', () => {
    const nodeSelector = { nodeSelectorTerms: [{ matchExpressions: [oneOf(ZONE_LABEL, 'zone-b')] }] };
    const plan = planOf({
      claims: [shared],
      resourceSlices: [slice(devices(1), { nodeSelector })],
      pendingPods: [sharing('p', 'shared', { cpu: '60' }), sharing('q', 'shared', { cpu: '60' })],
    });
    expect(podCounts(plan)).toEqual([1, 1]);
    for (const { requirements, annotations } of plan.claims) {
      expect(requirements.find(({ key }) => key === ZONE_LABEL)?.values).toEqual(['zone-b']);
      // the node does not wait for a driver that publishes nothing for it
      expect(annotations).not.toHaveProperty('karpenter.sh/requested-dra-drivers');
    }
  });
});

describe('resources that a DeviceClass provides', () => {
  const templates = { b: template(devices(2)) };
  const IMPLICIT = 'deviceclass.resource.kubernetes.io/gpu';
  const asking = (count: number, resource: string) =>
    Array.from({ length: count }, (_, at) => pod(`pod-${at}`, { cpu: '100m', requests: { [resource]: '1' } }));
  const mapping = { ...GPU_CLASS, spec: { ...GPU_CLASS.spec, extendedResourceName: 'example.com/gpu' } };

  it.each([
    ['by the name of the class', IMPLICIT, GPU_CLASS],
    ['by a name that no type has', 'example.com/gpu', mapping],
  ])('take devices of new nodes %s', (_, resource, deviceClasses) => {
    const plan = planOf({ templates, pendingPods: asking(3, resource), deviceClasses: [deviceClasses] });
    expect(typesOf(plan)).toEqual([['b'], ['b']]);
    expect(podCounts(plan)).toEqual([2, 1]);
    expect(driversOf(plan)).toEqual([DRIVER, DRIVER]);
    const none = planOf({ pendingPods: asking(1, resource), deviceClasses: [deviceClasses] });
    expect(refusalText(none, 'pod-0')).toContain(`types have no devices of driver ${DRIVER}`);
  });

  it('are the capacity of types that have the resource', () => {
    const types = [CHEAP, { ...GPU, capacity: { ...GPU.capacity, 'example.com/gpu': 2 } }];
    const parts = clusterOf({ pendingPods: asking(3, 'example.com/gpu'), deviceClasses: [mapping] });
    const pools = parts.pools.map((pool) => ({ ...pool, instanceTypes: types }));
    const plan = solve({ ...parts, pools }, DRA);
    expect(podCounts(plan)).toEqual([2, 1]);
    expect(driversOf(plan)).toEqual([undefined, undefined]);
  });

  it.each([true, false])('are free devices of an initialized node without a device plugin: %s', (isOffered) => {
    const types = [CHEAP, isOffered ? { ...GPU, capacity: { ...GPU.capacity, 'example.com/gpu': 2 } } : GPU];
    const user = running(pod('user', { cpu: '100m', requests: { 'example.com/gpu': '1' } }), 'n');
    const { node, slices } = gpuNode('n', 3, { pods: [user] });
    const own = held(claim([request('r')], { name: 'user-extended-resources' }), user, 'n');
    const parts = clusterOf({
      ...{ nodes: [node], resourceSlices: slices, claims: [own], deviceClasses: [mapping], templates },
      pendingPods: asking(3, 'example.com/gpu'),
    });
    const plan = solve({ ...parts, pools: parts.pools.map((pool) => ({ ...pool, instanceTypes: types })) }, DRA);
    expect(plan.placements.map(({ pods }) => pods)).toEqual([['default/pod-0', 'default/pod-1']]);
    expect(podCounts(plan)).toEqual([1]);
  });

  it('of several classes with one name belong to the newest class', () => {
    const other = deviceClass('other', 'false');
    const older = { ...other, spec: { ...other.spec, extendedResourceName: 'example.com/gpu' } };
    const at = (one: typeof mapping, creationTimestamp: string) => ({
      ...one,
      metadata: { ...one.metadata, creationTimestamp },
    });
    const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'] as const;
    const count = (...deviceClasses: (typeof mapping)[]) =>
      planOf({ templates, pendingPods: asking(1, 'example.com/gpu'), deviceClasses }).claims.length;
    expect(count(at(older, early), at(mapping, late))).toBe(1);
    expect(count(at(older, late), at(mapping, early))).toBe(0);
    expect(count(at(older, late), at(mapping, late))).toBe(1);
  });
});

describe('existing nodes', () => {
  const templates = { b: template(devices(1)) };

  it('are used if a published device is free', () => {
    const { pods, claims } = workload(2);
    const { node, slices } = gpuNode('n', 1);
    const plan = planOf({ templates, claims, pendingPods: pods, nodes: [node], resourceSlices: slices });
    expect(plan.placements).toMatchObject([{ node: 'n', pods: ['default/pod-0'] }]);
    expect(podCounts(plan)).toEqual([1]);
  });

  it('are not used if their devices are taken', () => {
    const { pods, claims } = workload(1);
    const user = running(sharing('user', 'used'), 'n');
    const { node, slices } = gpuNode('n', 1, { pods: [user] });
    const used = held(claim([request('r')], { name: 'used' }), user, 'n');
    const parts = { templates, pendingPods: pods, nodes: [node], resourceSlices: slices };
    expect(planOf({ ...parts, claims: [...claims, used] }).placements).toEqual([]);
    const vanished = { ...parts, claims: [...claims, used], vanishedConsumers: [user.metadata.uid ?? ''] };
    expect(planOf(vanished).placements).toMatchObject([{ node: 'n' }]);
  });

  it('count the templates until they are initialized, and then the published devices', () => {
    const { pods, claims } = workload(2);
    for (const initialized of [false, true]) {
      const { node, slices } = gpuNode('n', 1, { initialized });
      const plan = planOf({ templates, claims, pendingPods: pods, nodes: [node], resourceSlices: slices });
      expect(plan.placements).toMatchObject([{ node: 'n', pods: ['default/pod-0'] }]);
      expect(podCounts(plan)).toEqual([1]);
    }
    const { node } = gpuNode('n', 1);
    expect(planOf({ templates, claims, pendingPods: pods, nodes: [node] }).placements).toEqual([]);
  });

  it('count the devices of pods that were bound to them before their initialization', () => {
    const { pods, claims } = workload(2);
    const user = running(sharing('user', 'used'), 'n');
    const own = held(claim([request('r')], { name: 'used' }), user, 'n');
    const { node, slices } = gpuNode('n', 2, { initialized: false, pods: [user] });
    const parts = { claims: [...claims, own], pendingPods: pods, nodes: [node], resourceSlices: slices };
    const plan = planOf({ ...parts, templates: { b: template(devices(2)) } });
    expect(plan.placements.map((each) => each.pods)).toEqual([['default/pod-0']]);
    expect(podCounts(plan)).toEqual([1]);
    // the DaemonSet of a bound pod takes its device once
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'agent', controller: true };
    const daemon = { ...user, metadata: { ...user.metadata, ownerReferences: [owner] } };
    const started = { ...parts, nodes: [{ ...node, pods: [daemon] }], daemonPods: [daemon] };
    expect(
      planOf({ ...started, templates: { b: template(devices(2)) } }).placements.flatMap((each) => each.pods),
    ).toEqual(['default/pod-0']);
  });

  it('of a suspended driver keep the pods that were nominated to them before their initialization, and no others', () => {
    const { pods, claims } = workload(3);
    const suspended = [{ driver: DRIVER, until: '2026-01-01T00:00:00Z', reason: 'no devices' }];
    const offers = { b: template(devices(4), { suspended }), c: template(devices(4)) };
    const nominatedClaims = new Map([
      [pods[1]?.metadata.uid ?? '', 'n'],
      [pods[2]?.metadata.uid ?? '', 'gone'],
    ]);
    const planWith = (initialized: boolean) => {
      const { node, slices } = gpuNode('n', 0, { initialized });
      const nodes = [{ ...node, nodeClaim: { metadata: { name: 'n' }, spec: {} } as never }];
      const parts = { nodes, resourceSlices: slices, nominatedClaims };
      return planOf({ templates: offers, claims, pendingPods: pods, ...parts });
    };
    expect(planWith(false).placements.map((each) => each.pods)).toEqual([['default/pod-1']]);
    expect(planWith(false).claims.map(({ instanceTypes, pods: own }) => [instanceTypes, own])).toEqual([
      [['c'], ['default/pod-0', 'default/pod-2']],
    ]);
    expect(planWith(true).placements).toEqual([]);
    expect(podCounts(planWith(true))).toEqual([3]);
  });

  it('keep the pods of an allocated claim', () => {
    const one = sharing('p', 'd');
    const [first, second] = [gpuNode('m', 1), gpuNode('n', 1)];
    const parts = { templates, nodes: [first.node, second.node], resourceSlices: [...first.slices, ...second.slices] };
    const own = held(claim([request('r')], { name: 'd' }), one, 'n');
    expect(planOf({ ...parts, claims: [own], pendingPods: [one] }).placements).toMatchObject([{ node: 'n' }]);
    const alone = planOf({ templates, claims: [own], pendingPods: [one] });
    expect(alone.claims).toEqual([]);
    expect(refusalText(alone, 'p')).toContain(
      'in-cluster allocation topology is incompatible with NodeClaim requirements (ResourceClaim=default/d)',
    );
  });
});

describe('the removal of a node', () => {
  const templates = { b: template(devices(1)) };

  /** Two nodes, the first with a pod that claims its device. */
  function moving(free: number, more: Partial<ClusterParts> = {}) {
    const user = running(sharing('p', 'd'), 'm');
    const [first, second] = [gpuNode('m', 1, { pods: [user] }), gpuNode('n', free)];
    const claims = [held(claim([request('r')], { name: 'd' }), user, 'm')];
    const parts = {
      templates: {},
      nodes: [first.node, second.node],
      resourceSlices: [...first.slices, ...second.slices],
    };
    const prepared = prepare(clusterOf({ claims, ...parts, ...more }), DRA);
    return prepared.solve({ leaving: new Set([first.node.providerId]), pendingPods: [user] });
  }

  it('moves the pod to a free device elsewhere', () => {
    expect(moving(1).placements).toMatchObject([{ node: 'n', pods: ['default/p'] }]);
  });

  it('moves the pod to a new node with the device', () => {
    expect(typesOf(moving(0, { templates }))).toEqual([['b']]);
  });

  it('is impossible if no other device exists', () => {
    const plan = moving(0);
    expect([plan.claims, plan.placements]).toEqual([[], []]);
    expect(refusalText(plan, 'p')).toContain(NONE);
  });

  it('is impossible while claims are ignored', () => {
    const user = running(sharing('p', 'd'), 'm');
    const [first, second] = [gpuNode('m', 1, { pods: [user] }), gpuNode('n', 1)];
    const ignoring = snapshot({ nodes: [first.node, second.node] });
    const plan = prepare(ignoring, OPTIONS).solve({
      leaving: new Set([first.node.providerId]),
      pendingPods: [user],
    });
    expect(refusalText(plan, 'p')).toContain('not yet supported');
  });

  it('keeps a claim for the network that a pod on another node shares', () => {
    const users = [running(sharing('p', 'd'), 'm'), running(sharing('q', 'd'), 'n')] as const;
    const nodes = users.map((user, at) => gpuNode(at === 0 ? 'm' : 'n', 1, { pods: [user] }).node);
    const term = { matchExpressions: [oneOf(ZONE_LABEL, 'zone-a')] };
    const own: ResourceClaim = {
      ...claim([request('r')], { name: 'd' }),
      status: {
        allocation: {
          devices: { results: [{ driver: DRIVER, pool: 'net', device: 'gpu-0', request: 'r' }] },
          nodeSelector: { nodeSelectorTerms: [term] },
        },
        reservedFor: users.map(({ metadata: { name, uid = '' } }) => ({ resource: 'pods', name, uid })),
      },
    };
    const network = slice(devices(2), { pool: 'net', nodeSelector: { nodeSelectorTerms: [term] } });
    const prepared = prepare(clusterOf({ claims: [own], nodes, resourceSlices: [network] }), DRA);
    const plan = prepared.solve({ leaving: new Set([nodes[0]?.providerId ?? '']), pendingPods: users.slice(0, 1) });
    expect(plan.placements).toMatchObject([{ node: 'n', pods: ['default/p'] }]);
  });

  it('moves two pods that share a claim to one node', () => {
    const users = ['p', 'q'].map((name) => running(sharing(name, 'd'), 'm'));
    const [first, second] = [gpuNode('m', 1, { pods: users }), gpuNode('n', 1)];
    const own = held(claim([request('r')], { name: 'd' }), users[0] as Pod, 'm');
    const reservedFor = users.map(({ metadata }) => ({
      resource: 'pods',
      name: metadata.name,
      uid: metadata.uid ?? '',
    }));
    const prepared = prepare(
      clusterOf({
        claims: [{ ...own, status: { ...own.status, reservedFor } }],
        nodes: [first.node, second.node],
        resourceSlices: [...first.slices, ...second.slices],
      }),
      DRA,
    );
    const both = prepared.solve({ leaving: new Set([first.node.providerId]), pendingPods: users });
    expect(both.placements).toMatchObject([{ node: 'n', pods: ['default/p', 'default/q'] }]);
    // the claim keeps its devices while one of its pods stays
    const one = prepared.solve({ leaving: new Set([first.node.providerId]), pendingPods: users.slice(1) });
    expect([one.placements, one.claims]).toEqual([[], []]);
    // an earlier simulation does not change a later one
    const again = prepared.solve({ leaving: new Set([first.node.providerId]), pendingPods: users });
    expect(again.placements).toEqual(both.placements);
  });
});

/** Pods with claims in whole solves: shared claims, existing nodes, and nodes that are removed. */
import { describe, expect, it } from '@jest/globals';
import { type NodeClaim, type Pod, type ResourceClaim, ZONE_LABEL } from '#api/objects';
import { prepare } from '../../../../src/engine/solve.ts';
import { partial } from '../../../support/partial.ts';
import { OPTIONS, oneOf, refusalText, snapshot } from '../build.ts';
import { claim, DRIVER, devices, request, slice, template } from './build.ts';
import {
  type ClusterParts,
  clusterOf,
  DRA,
  gpuNode,
  held,
  NONE,
  planOf,
  podCounts,
  running,
  sharing,
  typesOf,
  workload,
} from './cluster.ts';

describe('a shared claim', () => {
  const templates = { b: template(devices(2)), c: template(devices(2)) };
  const shared = claim([request('r')], { name: 'shared' });

  it('keeps its pods on one new node', () => {
    const plan = planOf({ templates, claims: [shared], pendingPods: [sharing('p', 'shared'), sharing('q', 'shared')] });
    expect(podCounts(plan)).toEqual([2]);
  });

  it('chooses a type that has room for all its pods', () => {
    const requests = { cpu: '5' };
    const pendingPods = ['p', 'q', 'r'].map((name) => sharing(name, 'shared', requests));
    const plan = planOf({ templates, claims: [shared], pendingPods });
    expect(typesOf(plan)).toEqual([['c']]);
    expect(podCounts(plan)).toEqual([3]);
  });

  it('passes over an existing node that has room for only some of its pods', () => {
    const { node, slices } = gpuNode('n', 1, { allocatable: { cpu: '8' } });
    const parts = { templates, claims: [shared], nodes: [node], resourceSlices: slices };
    const pair = (cpu: string) => ['p', 'q'].map((name) => sharing(name, 'shared', { cpu }));
    expect(planOf({ ...parts, pendingPods: pair('3') }).placements.map(({ pods }) => pods)).toEqual([
      ['default/p', 'default/q'],
    ]);
    const larger = planOf({ ...parts, pendingPods: pair('5') });
    expect([larger.placements, podCounts(larger), typesOf(larger)]).toEqual([[], [2], [['c']]]);
  });

  it('joins all its pods with claims of other kinds, with the devices that each pod claims for itself', () => {
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

  it('refuses a pod that does not fit on that node', () => {
    const pendingPods = [sharing('p', 'shared', { cpu: '40' }), sharing('q', 'shared', { cpu: '39' })];
    const plan = planOf({ templates, claims: [shared], pendingPods });
    expect(podCounts(plan)).toEqual([1]);
    expect(refusalText(plan, 'q')).toContain(
      'claim is bound to a different in-flight NodeClaim (ResourceClaim=default/shared)',
    );
  });

  it('narrows all its pods if it is on the network', () => {
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

describe('an existing node', () => {
  const templates = { b: template(devices(1)) };

  it('is used if a published device is free', () => {
    const { pods, claims } = workload(2);
    const { node, slices } = gpuNode('n', 1);
    const plan = planOf({ templates, claims, pendingPods: pods, nodes: [node], resourceSlices: slices });
    expect(plan.placements).toMatchObject([{ node: 'n', pods: ['default/pod-0'] }]);
    expect(podCounts(plan)).toEqual([1]);
  });

  it('is not used if its devices are taken', () => {
    const { pods, claims } = workload(1);
    const user = running(sharing('user', 'used'), 'n');
    const { node, slices } = gpuNode('n', 1, { pods: [user] });
    const used = held(claim([request('r')], { name: 'used' }), user, 'n');
    const parts = { templates, pendingPods: pods, nodes: [node], resourceSlices: slices };
    expect(planOf({ ...parts, claims: [...claims, used] }).placements).toEqual([]);
    const vanished = { ...parts, claims: [...claims, used], vanishedConsumers: [user.metadata.uid ?? ''] };
    expect(planOf(vanished).placements).toMatchObject([{ node: 'n' }]);
  });

  it('counts the templates until it is initialized, and then the published devices', () => {
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

  it('counts the devices of pods that were bound to it before its initialization', () => {
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

  it('keeps, for a suspended driver, the pods that were nominated to it before its initialization, and no others', () => {
    const { pods, claims } = workload(3);
    const suspended = [{ driver: DRIVER, until: '2026-01-01T00:00:00Z', reason: 'no devices' }];
    const offers = { b: template(devices(4), { suspended }), c: template(devices(4)) };
    const nominatedClaims = new Map([
      [pods[1]?.metadata.uid ?? '', 'n'],
      [pods[2]?.metadata.uid ?? '', 'gone'],
    ]);
    const planWith = (initialized: boolean) => {
      const { node, slices } = gpuNode('n', 0, { initialized });
      const nodes = [{ ...node, nodeClaim: partial<NodeClaim>({ metadata: { name: 'n' }, spec: {} }) }];
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

  it('keeps the pods of an allocated claim', () => {
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

/** Claims of the pods of DaemonSets in whole solves. */
import { describe, expect, it } from '@jest/globals';
import { INSTANCE_TYPE_LABEL, type Pod } from '#api/objects';
import { pod, refusalText } from '../build.ts';
import { claim, DRIVER, deviceClass, devices, GPU_CLASS, request, template } from './build.ts';
import { driversOf, gpuNode, held, planOf, podCounts, running, workload } from './cluster.ts';

describe('a pod of a DaemonSet with claims', () => {
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

  it('takes devices of new nodes before other pods', () => {
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

  it('takes no devices of other types than its own', () => {
    const { pods, claims } = workload(2);
    const elsewhere = [agent('agent', { nodeSelector: { [INSTANCE_TYPE_LABEL]: 'c' } })];
    const parts = { templates, claims, pendingPods: pods, resourceClaimTemplates: templateOf() };
    expect(podCounts(planOf({ ...parts, daemonPods: elsewhere }))).toEqual([2]);
  });

  it.each([
    ['with administrative access', templateOf({ adminAccess: true })],
    ['that cannot be satisfied', templateOf({ count: 3 })],
    ['without a claim template', []],
  ])('takes no devices for claims %s', (_, resourceClaimTemplates) => {
    const { pods, claims } = workload(2);
    const plan = planOf({ templates, claims, pendingPods: pods, daemonPods, resourceClaimTemplates });
    expect(podCounts(plan)).toEqual([2]);
  });

  it('does not delay a node for devices that only it claims', () => {
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

  describe('if all pods of the DaemonSet share the claim', () => {
    const byName = { name: 'shared', resourceClaimName: 'shared' };
    const sharingAgents = [agent('agent', { resourceClaims: [byName] })];
    const inFlight = (name: string) => gpuNode(name, 0, { initialized: false }).node;

    it('takes devices of the first node in flight, and of no new node', () => {
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

    it('takes free devices of an initialized node', () => {
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
    ])('takes no devices for a claim %s', (_, shared) => {
      const { pods, claims } = workload(2);
      const parts = { templates, claims: [...claims, shared], pendingPods: pods, daemonPods: sharingAgents };
      expect(planOf({ ...parts, nodes: [inFlight('m')] }).placements.map((each) => each.pods.length)).toEqual([2]);
    });
  });

  it.each([
    ['is initialized and their pod is missing', true, false, 1],
    ['is initialized and their pod runs', true, true, 2],
    ['is not initialized', false, true, 1],
  ])('takes devices of an existing node that %s', (_, initialized, isRunning, expected) => {
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

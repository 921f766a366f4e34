/** Prediction of the drain of a node. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DrainPlan } from '#engine/what-if';
import { DRAIN } from '../../../scripts/reference/outputs/nodes.ts';
import { explainDrain } from '../../../src/cli/explain-drain.ts';
import { drainText } from '../../../src/cli/render/effect.ts';
import { simulationText } from '../../../src/cli/render/simulation.ts';
import { type SimulateResult, simulate } from '../../../src/cli/simulate.ts';
import { strictly } from '../scripts/strictly.ts';

const NOW = Date.parse('2026-06-03T10:30:00Z');
const POOL = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
`;

/** A node with 8 vCPUs. */
const node = (name: string, grace = ''): string => `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: claim-${name}, creationTimestamp: 2026-06-03T08:30:00Z}
spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}, requirements: []${grace}}
status:
  providerID: aws:///us-west-2a/i-${name}
  conditions: [{type: Initialized, status: "True", lastTransitionTime: 2026-06-03T08:32:00Z}]
---
apiVersion: v1
kind: Node
metadata:
  name: ${name}.internal
  labels:
    karpenter.sh/nodepool: default
    karpenter.sh/registered: "true"
    karpenter.sh/initialized: "true"
    karpenter.sh/capacity-type: on-demand
    node.kubernetes.io/instance-type: m7g.2xlarge
    topology.kubernetes.io/zone: us-west-2a
spec: {providerID: aws:///us-west-2a/i-${name}}
status:
  capacity: {cpu: "8", memory: 32Gi, pods: "58"}
  allocatable: {cpu: 7910m, memory: 29Gi, pods: "58"}
  conditions: [{type: Ready, status: "True"}]
`;

interface PodShape {
  readonly cpu?: string;
  readonly on?: string;
  readonly isBare?: boolean;
  readonly annotations?: string;
}

const pod = (name: string, { cpu = '1', on, isBare = false, annotations = '{}' }: PodShape = {}): string => `
apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  namespace: default
  labels: {app: ${name}}
  annotations: ${annotations}
  ${isBare ? '' : `ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: ${name}, uid: ${name}, controller: true}]`}
spec:
  ${on === undefined ? '' : `nodeName: ${on}.internal`}
  containers: [{name: main, image: pause, resources: {requests: {cpu: "${cpu}", memory: 1Gi}}}]
status:
  ${on === undefined ? 'phase: Pending\n  conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]' : 'phase: Running\n  startTime: 2026-06-03T09:00:00Z'}
`;

interface BudgetShape {
  /** Field of the spec, such as `minAvailable: 1`. */
  readonly spec?: string;
  readonly healthy?: number;
  readonly desired?: number;
  readonly expected?: number;
}

const budget = (
  name: string,
  { spec = 'minAvailable: 1', healthy = 1, desired = 1, expected = 1 }: BudgetShape = {},
): string => `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: ${name}, namespace: default}
spec: {${spec}, selector: {matchLabels: {app: ${name}}}}
status: {disruptionsAllowed: ${Math.max(0, healthy - desired)}, currentHealthy: ${healthy}, desiredHealthy: ${desired}, expectedPods: ${expected}}
`;

describe('explain drain', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'drain-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function planOf(name: string, ...documents: readonly string[]): Promise<DrainPlan> {
    const path = join(folder, 'now.yaml');
    const hasPool = documents.some((text) => text.includes('kind: NodePool\n'));
    writeFileSync(path, [...(hasPool ? [] : [POOL]), ...documents].join('---'));
    const { drain } = await explainDrain(name, { filename: [path], nowMs: NOW });
    expect(strictly(DRAIN, drain)).toEqual([]);
    return drain;
  }

  it('shows that pods go to nodes with room, and that the price of the node is saved', async () => {
    const drain = await planOf('a', node('a'), node('b'), pod('web', { on: 'a' }), pod('db', { on: 'b' }));
    expect(drain).toMatchObject({
      node: 'a.internal',
      nodeClaim: 'claim-a',
      nodePool: 'default',
      canFinish: true,
      blockers: [],
      pods: [{ pod: 'default/web', node: 'b.internal' }],
      newNodes: [],
    });
    expect(drain.usdPerHour).toBeGreaterThan(0);
    expect(drain.usdPerHourAdded).toBe(-(drain.usdPerHour ?? 0));
    expect(drainText(drain)).toContain('can finish: no new node, saves $');
  });

  it('is the effect of simulate --what-if', async () => {
    const pods = [pod('web', { on: 'a', cpu: '6' }), pod('held', { on: 'a' }), pod('waiting', { cpu: '7' })];
    const drain = await planOf('a', node('a'), node('b'), ...pods, budget('held'));
    const whatIf = ['drain a'];
    const { simulation } = await simulate({ filename: [join(folder, 'now.yaml')], nowMs: NOW, whatIf });
    const { newNodesWithoutDrain, pods: moved, newNodes, before, after, usdPerHourAdded, ...own } = drain;
    expect(simulation.effect).toEqual({ drains: [own], pods: moved, newNodes, before, after, usdPerHourAdded });
    expect(newNodesWithoutDrain).toBe(before.newNodes);
  });

  it('counts the new nodes for its pods, but not those for pods that wait already', async () => {
    const pods = [pod('web', { on: 'a', cpu: '6' }), pod('db', { on: 'b', cpu: '7' }), pod('waiting', { cpu: '7' })];
    const drain = await planOf('claim-a', node('a'), node('b'), ...pods);
    expect(drain.newNodes.flatMap((each) => each.pods)).toEqual(['default/web']);
    expect(drain.pods).toEqual([{ pod: 'default/web', newNode: 0 }]);
    expect(drain.newNodesWithoutDrain).toBe(1);
    // both pods can share a new node, so the drain adds less than the price of this node
    expect(drain.usdPerHourAdded).toBeLessThan(drain.newNodes[0]?.usdPerHour ?? 0);
    expect(drainText(drain)).toContain('1 node for pods that wait already');
  });

  it.each([
    ['a PodDisruptionBudget', 'pdb', [pod('web', { on: 'a' }), budget('web')]],
    [
      'do-not-disrupt',
      'pod-do-not-disrupt',
      [pod('web', { on: 'a', annotations: '{karpenter.sh/do-not-disrupt: "true"}' })],
    ],
  ])('names %s that blocks it, unless the drain has a limit', async (_, code, blocking) => {
    const drain = await planOf('a', node('a'), node('b'), ...blocking);
    expect(drain).toMatchObject({ canFinish: false, blockers: [{ code, pods: ['default/web'] }] });
    expect(drainText(drain)).toMatch(new RegExp(`cannot finish without a change[\\s\\S]*${code}`));
    const limited = await planOf('a', node('a', ', terminationGracePeriod: 10m'), node('b'), ...blocking);
    expect(limited).toMatchObject({ canFinish: true, terminationGracePeriod: '10m', blockers: [{ code }] });
    expect(drainText(limited)).toContain('is blocked for at most 10m');
  });

  it('is not blocked by a protection that ends, or by a budget with a disruption', async () => {
    const until = pod('web', { on: 'a', annotations: '{karpenter.sh/do-not-disrupt: 2h}' });
    const drain = await planOf(
      'a',
      node('a'),
      node('b'),
      until,
      pod('api', { on: 'a' }),
      budget('api', { healthy: 2, expected: 2 }),
    );
    expect(drain).toMatchObject({ canFinish: true, blockers: [{ until: '2026-06-03T11:00:00Z' }] });
  });

  it('shows pods that are not created again, and pods that stay pending', async () => {
    const huge = pod('huge', { on: 'a', cpu: '500' });
    const { pods } = await planOf('a', node('a'), pod('bare', { on: 'a', isBare: true }), huge);
    expect(Object.fromEntries(pods.map((each) => [each.pod, each.problem]))).toEqual({
      'default/bare': 'the pod has no controller, so nothing creates it again',
      'default/huge': expect.stringContaining('cpu 500'),
    });
  });

  it('shows pods that stay pending because of a limit, to which the node counts until it is gone', async () => {
    const limited = POOL.replace('spec:\n', 'spec:\n  limits: {cpu: "16"}\n');
    const pods = [pod('web', { on: 'a', cpu: '6' }), pod('db', { on: 'b', cpu: '7' })];
    const drain = await planOf('a', node('a'), node('b'), ...pods, limited);
    expect(drain.newNodes).toEqual([]);
    expect(drain.pods).toEqual([{ pod: 'default/web', problem: expect.stringContaining('limit') }]);
  });

  it.each([
    ['maxUnavailable: 0', { healthy: 3, desired: 3, expected: 3 }, 'maxUnavailable 0 can never allow an eviction'],
    ['minAvailable: "100%"', { healthy: 3, desired: 3, expected: 3 }, 'minAvailable 100% can never allow an eviction'],
    [
      'minAvailable: 4',
      { healthy: 3, desired: 4, expected: 3 },
      'minAvailable 4 can never allow an eviction of its 3 pods',
    ],
    ['minAvailable: 2', { healthy: 2, desired: 2, expected: 3 }, 'waits until 1 more pod is ready'],
    ['maxUnavailable: "10%"', { healthy: 8, desired: 9, expected: 10 }, 'waits until 2 more pods are ready'],
  ])('distinguishes a budget with %s that can never allow an eviction from one that waits', async (spec, shape, text) => {
    const isEndless = text.includes('never');
    const drain = await planOf('a', node('a'), node('b'), pod('web', { on: 'a' }), budget('web', { spec, ...shape }));
    expect(drain).toMatchObject({
      canFinish: !isEndless,
      blockers: [{ code: 'pdb', text: expect.stringContaining(text), ends: isEndless ? 'never' : 'pods-ready' }],
    });
    expect(drainText(drain)).toContain(isEndless ? 'cannot finish without a change' : 'Time: once more pods are ready');
  });

  it('cannot finish if a budget requires pods that would stay pending', async () => {
    const shape = { spec: 'maxUnavailable: 1', healthy: 3, desired: 2, expected: 3 };
    const replica = (name: string, cpu: string): string =>
      pod(name, { on: 'a', cpu }).replace(`labels: {app: ${name}}`, 'labels: {app: web}');
    const drain = (...cpus: readonly string[]): Promise<DrainPlan> =>
      planOf('a', node('a'), node('b'), ...cpus.map((cpu, at) => replica(`web-${at}`, cpu)), budget('web', shape));
    expect(await drain('1', '1')).toMatchObject({ canFinish: true, blockers: [] });
    // the budget allows one pod to stay pending
    expect(await drain('1', '500')).toMatchObject({ canFinish: true, blockers: [] });
    expect(await drain('500', '500')).toMatchObject({
      canFinish: false,
      blockers: [{ code: 'pdb', text: expect.stringContaining('but 2 would stay pending'), ends: 'never' }],
    });
  });

  it('waits for a volume that no pod of the node uses', async () => {
    const attachment = `
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: csi-1}
spec: {attacher: ebs.csi.aws.com, nodeName: a.internal, source: {persistentVolumeName: pv-1}}
`;
    const drain = await planOf('a', node('a'), node('b'), pod('web', { on: 'a' }), attachment);
    expect(drain).toMatchObject({ canFinish: true, blockers: [{ code: 'volume-attached', ends: 'detached' }] });
    expect(drainText(drain)).toContain('once all volumes are detached');
  });

  it('places protected pods if a terminationGracePeriod deletes them', async () => {
    const held = pod('web', { on: 'a', annotations: '{karpenter.sh/do-not-disrupt: "true"}' });
    expect(await planOf('a', node('a', ', terminationGracePeriod: 10m'), node('b'), held)).toMatchObject({
      canFinish: true,
      pods: [{ pod: 'default/web', node: 'b.internal' }],
    });
  });

  it('names the known nodes if the node does not exist', async () => {
    await expect(planOf('c', node('a'), node('b'))).rejects.toThrow(
      /node "c" not found in .*; existing names: a\.internal, b\.internal/,
    );
  });

  describe('simulate --what-if', () => {
    async function simulated(whatIf: readonly string[], ...documents: readonly string[]): Promise<SimulateResult> {
      const path = join(folder, 'what-if.yaml');
      writeFileSync(path, [POOL, ...documents].join('---'));
      return simulate({ filename: [path], nowMs: NOW, whatIf });
    }

    it('names the blockers of a drain, subtracts its node, and does not count nodes for pods that wait already', async () => {
      const { simulation } = await simulated(
        ['drain a'],
        ...[node('a'), node('b')],
        pod('kept', { on: 'a', annotations: '{karpenter.sh/do-not-disrupt: "true"}' }),
        pod('web', { on: 'a' }),
        budget('web', { spec: 'maxUnavailable: 0' }),
        pod('free', { on: 'a' }),
        pod('waiting', { cpu: '9' }),
      );
      const { effect } = simulation;
      expect(effect).toMatchObject({
        drains: [
          {
            node: 'a.internal',
            canFinish: false,
            blockers: [
              { code: 'pod-do-not-disrupt', object: { kind: 'Pod', name: 'kept' } },
              { code: 'pdb', object: { kind: 'PodDisruptionBudget', name: 'web' } },
            ],
          },
        ],
        pods: expect.arrayContaining([{ pod: 'default/free', node: 'b.internal' }]),
        newNodes: [],
        before: { nodes: 3, newNodes: 1 },
        after: { nodes: 2, newNodes: 1 },
      });
      expect(effect?.usdPerHourAdded).toBe(-(effect?.drains[0]?.usdPerHour ?? 0));
      expect(effect?.pods.map((each) => each.pod)).not.toContain('default/waiting');
      const text = simulationText(simulation);
      expect(text).toContain('With the change: no new node, saves $');
      expect(text).toContain('cannot finish without a change');
      expect(text).toContain('1 node for pods that wait already');
    });

    it('shows the pods that a changed limit places', async () => {
      const { simulation } = await simulated(['limit default cpu=1'], node('a'), pod('web', { cpu: '9' }));
      expect(simulation.effect).toMatchObject({
        pods: [{ pod: 'default/web', problem: expect.stringContaining('limit') }],
        before: { nodes: 2, newNodes: 1, unschedulable: 0 },
        after: { nodes: 1, newNodes: 0, unschedulable: 1 },
        drains: [],
      });
    });

    it('compares prices', async () => {
      const { simulation } = await simulated(['m7g.*+100%'], node('a'));
      const { before, after } = simulation.effect ?? {};
      expect(after?.usdPerHour).toBeCloseTo(2 * (before?.usdPerHour ?? 0));
    });

    it('has no effect without a change', async () => {
      expect((await simulated([], node('a'))).simulation.effect).toBeUndefined();
    });
  });
});

/** Prediction of the drain of a node. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DRAIN } from '../../../scripts/reference/outputs/nodes.ts';
import { drainText, explainDrain } from '../../../src/cli/explain-drain.ts';
import { typesFor } from '../../../src/cli/scenario.ts';
import type { DrainPlan } from '../../../src/engine/blockers/drain-plan.ts';
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

const budget = (name: string, allowed: number): string => `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: ${name}, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {app: ${name}}}}
status: {disruptionsAllowed: ${allowed}, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1}
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
    const options = { filename: [path], nowMs: NOW };
    const { drain } = await explainDrain(name, options, (manifests, nowMs) => typesFor({}, manifests, nowMs));
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
    ['a PodDisruptionBudget', 'pdb', [pod('web', { on: 'a' }), budget('web', 0)]],
    [
      'do-not-disrupt',
      'pod-do-not-disrupt',
      [pod('web', { on: 'a', annotations: '{karpenter.sh/do-not-disrupt: "true"}' })],
    ],
  ])('names %s that blocks it, unless the drain has a limit', async (_, code, blocking) => {
    const drain = await planOf('a', node('a'), node('b'), ...blocking);
    expect(drain).toMatchObject({ canFinish: false, blockers: [{ code, pods: ['default/web'] }] });
    expect(drainText(drain)).toMatch(new RegExp(`cannot finish now[\\s\\S]*${code}`));
    const limited = await planOf('a', node('a', ', terminationGracePeriod: 10m'), node('b'), ...blocking);
    expect(limited).toMatchObject({ canFinish: true, terminationGracePeriod: '10m', blockers: [{ code }] });
    expect(drainText(limited)).toContain('is blocked for at most 10m');
  });

  it('is not blocked by a protection that ends, or by a budget with a disruption', async () => {
    const until = pod('web', { on: 'a', annotations: '{karpenter.sh/do-not-disrupt: 2h}' });
    const drain = await planOf('a', node('a'), node('b'), until, pod('api', { on: 'a' }), budget('api', 1));
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

  it('names the known nodes if the node does not exist', async () => {
    await expect(planOf('c', node('a'), node('b'))).rejects.toThrow(
      /node "c" not found in .*; existing names: a\.internal, b\.internal/,
    );
  });
});

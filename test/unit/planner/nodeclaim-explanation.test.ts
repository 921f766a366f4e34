import { describe, expect, it } from '@jest/globals';
import { builtInTypes, parseManifests, worldOf } from '#cli/testing';
import type { LaunchAnswer } from '#engine/explanations';
import { explainClaim } from '../../../src/planner/nodeclaim-explanation.ts';

const NOW = '2026-06-03T10:30:00Z';

const OBJECTS = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: node.kubernetes.io/instance-type, operator: In, values: [m6i.large, c6a.large]}
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: default-a
  uid: a
  labels:
    karpenter.sh/nodepool: default
    karpenter.sh/capacity-type: on-demand
    node.kubernetes.io/instance-type: m6i.large
    topology.kubernetes.io/zone: us-west-2a
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m6i.large, c6a.large]}]
  resources: {requests: {cpu: 1}}
status: {providerID: 'aws:///us-west-2a/i-1', nodeName: node-a, allocatable: {cpu: 2, memory: 7Gi, pods: 29}}
---
apiVersion: v1
kind: Node
metadata: {name: node-a, labels: {karpenter.sh/nodepool: default, node.kubernetes.io/instance-type: m6i.large}}
spec: {providerID: 'aws:///us-west-2a/i-1'}
status: {allocatable: {cpu: 2, memory: 7Gi, pods: 29}}
---
apiVersion: v1
kind: Pod
metadata: {name: bound, namespace: shop, uid: bound}
spec: {nodeName: node-a, containers: [{name: main, resources: {requests: {cpu: 1}}}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: agent, namespace: shop, uid: agent, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: d, controller: true}]}
spec: {nodeName: node-a, containers: [{name: main}]}
status: {phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: waiting, namespace: shop, uid: waiting}
spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}
---
apiVersion: v1
kind: Event
metadata: {name: waiting.1, namespace: shop}
involvedObject: {kind: Pod, namespace: shop, name: waiting, uid: waiting}
reason: Nominated
message: 'Pod should schedule on: nodeclaim/default-a'
lastTimestamp: '2026-06-03T10:29:50Z'
`;

const ANSWER: LaunchAnswer = { requestedTypes: 2, capacityType: 'on-demand', errors: [] };

async function explained(name: string, answerOf?: () => LaunchAnswer) {
  const nowMs = Date.parse(NOW);
  const manifests = parseManifests(OBJECTS, 'test.yaml');
  const { cluster, allPools } = await worldOf(manifests, { instanceTypes: builtInTypes(manifests, nowMs), nowMs });
  const poolOf = (asked: string) => allPools.find(({ nodePool }) => nodePool.metadata.name === asked);
  return explainClaim(cluster, name, { nowMs, poolOf, ...(answerOf && { answerOf }) });
}

describe('the explanation of a NodeClaim', () => {
  it('names the pods on the node and the pending pods of the launch, without pods of DaemonSets', async () => {
    expect((await explained('default-a'))?.pods).toEqual(['shop/bound', 'shop/waiting']);
  });

  it('has the price of the instance and the cheaper instance type', async () => {
    const found = await explained('default-a', () => ANSWER);
    expect(found).toMatchObject({
      nodeClaim: 'default-a',
      launched: { instanceType: 'm6i.large', usdPerHour: expect.any(Number) },
      answer: ANSWER,
    });
    expect(found?.alternatives.map(({ instanceType }) => instanceType)).toContain('c6a.large');
  });

  it('exists for the name of the node, and not for other names', async () => {
    expect(await explained('node-a')).toEqual(await explained('default-a'));
    expect(await explained('node-b')).toBeUndefined();
  });
});

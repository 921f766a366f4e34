/** The objects that a cluster on AWS needs to launch nodes. */
import type { EC2NodeClass, NodeClaim, NodePool } from '#api/objects';
import type { NodeClaimRequirement } from '#api/testing';

const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };

/** Finds subnets and security groups by the discovery tag of the cluster. */
export function nodeClassOf(clusterName: string, more: Partial<EC2NodeClass['spec']> = {}): EC2NodeClass {
  const discovery = [{ tags: { 'karpenter.sh/discovery': clusterName } }];
  return {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default' },
    spec: {
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      role: `KarpenterNodeRole-${clusterName}`,
      subnetSelectorTerms: discovery,
      securityGroupSelectorTerms: discovery,
      ...more,
    },
  };
}

export const nodePoolOf = (...requirements: readonly NodeClaimRequirement[]): NodePool => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: { template: { spec: { nodeClassRef, requirements } } },
});

/** A claim for one small pod. EC2 returns launch times in whole seconds, so the creation time has whole seconds too. */
export const nodeClaimOf = (name: string, nowMs: number, requirements: readonly NodeClaimRequirement[]): NodeClaim => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: {
    name,
    labels: { 'karpenter.sh/nodepool': 'default' },
    creationTimestamp: new Date(Math.floor(nowMs / 1000) * 1000).toISOString(),
  },
  spec: { nodeClassRef, requirements, resources: { requests: { cpu: '1', memory: '1Gi', pods: '3' } } },
});

/** Healthy objects that must keep working regardless of other objects in the cluster. */
import type { EC2NodeClass, NodePool, Pod } from '#api/objects';

/** Each healthy pod selects its own value of this label, so that each needs a separate node. */
const NODE_LABEL = 'example.com/node';
/** Taint that keeps the pods of hostile inputs off the nodes of healthy pods. */
const TAINT = { key: 'example.com/healthy', value: 'true', effect: 'NoSchedule' } as const;

export const healthyNodeClass = (): EC2NodeClass =>
  ({
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'healthy' },
    spec: {
      role: 'KarpenterNodeRole-test',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      subnetSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'test' } }],
      securityGroupSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'test' } }],
    },
  }) as EC2NodeClass;

export const healthyPool = (): NodePool =>
  ({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: 'healthy' },
    spec: {
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'healthy' },
          expireAfter: 'Never',
          taints: [TAINT],
          requirements: [
            { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
            { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m5.large', 'm5.xlarge'] },
            { key: NODE_LABEL, operator: 'Exists' },
          ],
        },
      },
      disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: '0s', budgets: [{ nodes: '100%' }] },
    },
  }) as unknown as NodePool;

/** Returns a NodePool that accepts the pods of hostile inputs. */
export const openPool = (): NodePool => {
  const { spec, ...rest } = healthyPool();
  const { taints: _, ...template } = spec.template.spec;
  const requirements = template.requirements.filter(({ key }) => key !== NODE_LABEL);
  return { ...rest, metadata: { name: 'open' }, spec: { ...spec, template: { spec: { ...template, requirements } } } };
};

/** Returns a pod that fills a small node and terminates immediately on deletion. */
export const smallPod = (name: string, nodeSelector: Readonly<Record<string, string>>): Pod =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: {
      nodeSelector,
      tolerations: [{ operator: 'Exists' }],
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '1' } } }],
    },
  }) as unknown as Pod;

export const healthyPod = (number: number): Pod =>
  smallPod(`healthy-${number}`, { 'karpenter.sh/nodepool': 'healthy', [NODE_LABEL]: `n${number}` });

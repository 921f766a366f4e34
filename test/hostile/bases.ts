/**
 * Valid objects of the custom kinds with as many fields as possible. Tests replace single fields with extreme values.
 */
import type { KubeObject } from '#api/objects';
import { healthyNodeClass, healthyPool } from './healthy.ts';

const NODE_CLASS_REF = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'healthy' };

export const nodePoolBase = (name: string, nodeClass = 'healthy'): KubeObject => {
  const { spec } = healthyPool();
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      ...spec,
      weight: 1,
      limits: { cpu: '1000' },
      template: {
        metadata: { labels: { 'example.com/pool': 'hostile' }, annotations: { 'example.com/note': 'x' } },
        spec: {
          ...spec.template.spec,
          nodeClassRef: { ...NODE_CLASS_REF, name: nodeClass },
          taints: [{ key: 'example.com/hostile', value: 'x', effect: 'NoSchedule' }],
          startupTaints: [{ key: 'example.com/starting', value: 'x', effect: 'PreferNoSchedule' }],
          terminationGracePeriod: '10s',
          requirements: [
            { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m5.large', 'm5.xlarge'] },
            { key: 'karpenter.k8s.aws/instance-cpu', operator: 'Gt', values: ['1'] },
          ],
        },
      },
      disruption: {
        consolidationPolicy: 'WhenEmpty',
        consolidateAfter: '0s',
        budgets: [{ nodes: '100%', schedule: '0 0 * * *', duration: '1h', reasons: ['Empty'] }, { nodes: '100%' }],
      },
    },
  } as KubeObject;
};

export const nodeClassBase = (name: string): KubeObject => {
  const { spec } = healthyNodeClass();
  return {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name },
    spec: {
      ...spec,
      tags: { team: 'x' },
      userData: 'x',
      associatePublicIPAddress: false,
      blockDeviceMappings: [
        { deviceName: '/dev/xvda', rootVolume: true, ebs: { volumeSize: '20Gi', volumeType: 'gp3', encrypted: true } },
      ],
      kubelet: { maxPods: 20 },
      metadataOptions: { httpTokens: 'required' },
      detailedMonitoring: false,
    },
  } as unknown as KubeObject;
};

export const nodeClaimBase = (name: string): KubeObject =>
  ({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name, labels: { 'karpenter.sh/nodepool': 'healthy' } },
    spec: {
      nodeClassRef: NODE_CLASS_REF,
      requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m5.large'] }],
      resources: { requests: { cpu: '1' } },
      taints: [{ key: 'example.com/hostile', value: 'x', effect: 'NoSchedule' }],
      startupTaints: [],
      terminationGracePeriod: '10s',
      expireAfter: 'Never',
    },
  }) as unknown as KubeObject;

export const overlayBase = (name: string): KubeObject =>
  ({
    apiVersion: 'karpenter.sh/v1alpha1',
    kind: 'NodeOverlay',
    metadata: { name },
    spec: {
      requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m5.xlarge'] }],
      capacity: { 'example.com/dongle': '1' },
      weight: 1,
    },
  }) as unknown as KubeObject;

export const policyBase = (name: string): KubeObject =>
  ({
    apiVersion: 'karpenter-ts.sh/v1alpha1',
    kind: 'NodePolicy',
    metadata: { name },
    spec: {
      nodePools: { names: ['hostile'] },
      mode: 'Act',
      zones: { balance: '3%' },
      ceilings: { usdPerHour: 5 },
      windows: {
        timeZone: 'Europe/Berlin',
        allowed: [{ reasons: ['Drifted'], days: ['Mon'], start: '20:00', end: '06:00' }],
      },
    },
  }) as unknown as KubeObject;

export const bufferBase = (name: string): KubeObject =>
  ({
    apiVersion: 'autoscaling.x-k8s.io/v1beta1',
    kind: 'CapacityBuffer',
    metadata: { name, namespace: 'default' },
    spec: { podTemplateRef: { name: 'hostile' }, replicas: 1, limits: { cpu: '1' } },
  }) as unknown as KubeObject;

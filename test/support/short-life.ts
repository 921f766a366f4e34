/** A short cluster life with every kind of event: pods that are created, scaled, deleted, or end by themselves. */
import type { KubeObject } from '#api/objects';
import type { ObjectRef, Trace, TraceEvent } from '#replay/trace';
import { DEFAULT_WORLD, type WorldModel } from '#replay/world-model';

/** Instances, pods and prices of the local world without a world model. */
export const NEUTRAL_WORLD: WorldModel = {
  ...DEFAULT_WORLD,
  bootSeconds: { p50: 0, p95: 0 },
  podStartSeconds: 1,
  spot: { volatility: 0, interruptionsPerDay: 0, unevenness: 1 },
  soldOut: { spot: 0, onDemand: 0, hours: 2 },
  imageRotationDays: 0,
};

const requesting = (cpu: string, memory: string) => [
  { name: 'main', image: 'pause', resources: { requests: { cpu, memory }, limits: { memory } } },
];

const service = (name: string, replicas: number, cpu: string, memory: string) =>
  ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace: 'default', name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { terminationGracePeriodSeconds: 0, containers: requesting(cpu, memory) },
      },
    },
  }) as KubeObject;

const task = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { namespace: 'default', name: 'task', labels: { app: 'task' } },
  spec: { containers: requesting('1500m', '2Gi') },
} as unknown as KubeObject;

const WEB: ObjectRef = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'web' };

const EVENTS: readonly TraceEvent[] = [
  { at: 0, apply: service('web', 4, '500m', '1Gi') },
  { at: 240, scale: WEB, replicas: 14 },
  { at: 540, apply: task, runsFor: 300, count: 8 },
  { at: 1320, scale: WEB, replicas: 5 },
  { at: 1980, delete: WEB },
];

/** About 40 minutes: a service that is scaled up and down, and a burst of pods that end by themselves. */
export const SHORT_LIFE: Trace = {
  header: { trace: 'karpenter/v1', name: 'short life', start: '2026-01-05T09:00:00Z', seconds: 2400 },
  events: () => EVENTS,
};

/** The NodePool and the EC2NodeClass of this cluster. */
export const SHORT_LIFE_OBJECTS: readonly KubeObject[] = [
  {
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default' },
    spec: {
      role: 'KarpenterNodeRole-replay',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      subnetSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'replay' } }],
      securityGroupSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'replay' } }],
    },
  } as KubeObject,
  {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: 'default' },
    spec: {
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
          expireAfter: 'Never',
          requirements: [
            { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
            { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
            { key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['c', 'm', 'r'] },
            { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['4'] },
          ],
        },
      },
      disruption: {
        consolidationPolicy: 'WhenEmptyOrUnderutilized',
        consolidateAfter: '1m',
        budgets: [{ nodes: '100%' }],
      },
    },
  } as unknown as KubeObject,
];

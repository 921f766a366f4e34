/** Pods of random clusters, and buffers for future pods. */
import type { KubeObject } from '#api/objects';
import { type Dice, oneIn } from '../random.ts';
import { ZONES } from './node-classes.ts';
import { CAPACITY_LABEL, ZONE_LABEL } from './node-pools.ts';

export interface PodParts {
  readonly name: string;
  /** Label value that is shared by pods of one kind. */
  readonly app: string;
  readonly annotations: object;
  readonly spec: object;
}

/**
 * Constraints of pods in addition to resources. Arguments are the shared label value and the names of the NodePools.
 */
const REQUIRED: readonly ((roll: Dice, app: string, pools: readonly string[]) => object)[] = [
  () => ({}),
  () => ({}),
  (roll) => ({ nodeSelector: { [CAPACITY_LABEL]: roll.pick(['on-demand', 'spot']) } }),
  (roll) => ({ nodeSelector: { [ZONE_LABEL]: roll.pick([...ZONES, 'us-west-2z']) } }),
  (roll, _, pools) => ({ nodeSelector: { 'karpenter.sh/nodepool': roll.pick([...pools, 'nobody']) } }),
  (roll) => ({ nodeSelector: { tier: roll.pick(['front', 'back']) } }),
  () => ({ tolerations: [{ key: 'team', operator: 'Exists' }] }),
  (_, app) => ({
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: { matchLabels: { app } }, topologyKey: 'kubernetes.io/hostname' },
        ],
      },
    },
  }),
  (roll, app) => ({
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: roll.pick([ZONE_LABEL, 'kubernetes.io/hostname']),
        whenUnsatisfiable: roll.pick(['DoNotSchedule', 'ScheduleAnyway']),
        labelSelector: { matchLabels: { app } },
      },
    ],
  }),
];

export function podParts(roll: Dice, app: string, pools: readonly string[]): readonly PodParts[] {
  const cpu = roll.pick(['300m', '900m', '1500m', '3', '7', '40']);
  const memory = roll.pick(['256Mi', '1Gi', '6Gi']);
  const required = roll.pick(REQUIRED)(roll, app, pools);
  const isGuarded = oneIn(roll, 8);
  return Array.from({ length: 1 + roll.upTo(3) }, (_, index) => ({
    name: `${app}-${index}`,
    app,
    annotations: isGuarded ? { 'karpenter.sh/do-not-disrupt': 'true' } : {},
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu, memory } } }],
      ...required,
    },
  }));
}

export const pod = ({ name, app, annotations, spec }: PodParts): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      labels: { app },
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec,
  }) as KubeObject;

export function buffer(roll: Dice, name: string): readonly KubeObject[] {
  const requests = { cpu: roll.pick(['500m', '2']), memory: '512Mi' };
  const template = { spec: { containers: [{ name: 'main', image: 'pause', resources: { requests } }] } };
  const metadata = { name, namespace: 'default' };
  return [
    { apiVersion: 'v1', kind: 'PodTemplate', metadata, template },
    {
      apiVersion: 'autoscaling.x-k8s.io/v1beta1',
      kind: 'CapacityBuffer',
      metadata,
      spec: { podTemplateRef: { name }, replicas: 1 + roll.upTo(1) },
    },
  ] as unknown as readonly KubeObject[];
}

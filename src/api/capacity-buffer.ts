/** CapacityBuffer: reserves capacity for pods that do not exist yet (feature gate CapacityBuffer). */
import { type Declared, int32, int64, object, optional, quantityMap, rule, text } from './schema/declare.ts';
import { columns, type Resource, type ResourceDeclaration } from './schema/resource.ts';
import { conditions } from './shapes.ts';

const podTemplateRef = (description: string) =>
  object({ name: text({ description: 'Name of the PodTemplate.', minLength: 1 }) }, { description });

const capacityBufferSpec = object(
  {
    provisioningStrategy: optional(
      text({
        description: 'How the room is kept; only `buffer.x-k8s.io/active-capacity` is acted on.',
        default: 'buffer.x-k8s.io/active-capacity',
      }),
    ),
    podTemplateRef: optional(podTemplateRef('PodTemplate in the same namespace that the kept room is for.')),
    scalableRef: optional(
      object(
        {
          apiGroup: optional(text({ description: 'API group of the workload; empty for the core group.' })),
          kind: text({ description: 'Deployment, StatefulSet or ReplicaSet.', minLength: 1 }),
          name: text({ description: 'Name of the workload.', minLength: 1 }),
        },
        { description: 'Workload in the same namespace whose pods the kept room is for.' },
      ),
    ),
    replicas: optional(int32({ description: 'Number of pods to keep room for.', minimum: 0 })),
    percentage: optional(
      int32({
        description: "Share of the workload's replicas to keep room for, rounded up, at least one pod.",
        minimum: 0,
      }),
    ),
    limits: optional(quantityMap({ description: 'Most that the kept room may request in all.' })),
  },
  {
    description: 'What room is kept.',
    rules: [
      rule(
        '!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)',
        'If podTemplateRef is set, replicas or limits must also be set',
      ),
      rule(
        '!has(self.podTemplateRef) || !has(self.scalableRef)',
        'You must define either PodTemplateRef or ScalableRef, but not both',
      ),
    ],
  },
);

const capacityBufferStatus = object(
  {
    podTemplateRef: optional(podTemplateRef('PodTemplate that was found.')),
    podTemplateGeneration: optional(int64({ description: 'Its generation.' })),
    replicas: optional(int32({ description: 'Number of pods that room is kept for.' })),
    provisioningStrategy: optional(text({ description: 'Strategy in force.' })),
    conditions: optional(conditions()),
  },
  { description: 'What room there is.' },
);

export type CapacityBufferSpec = Declared<typeof capacityBufferSpec>;
export type CapacityBuffer = Resource<typeof capacityBufferSpec, typeof capacityBufferStatus>;

export const CAPACITY_BUFFER_DECLARATION: ResourceDeclaration = {
  group: 'autoscaling.x-k8s.io',
  version: 'v1beta1',
  kind: 'CapacityBuffer',
  plural: 'capacitybuffers',
  singular: 'capacitybuffer',
  shortNames: ['cb'],
  scope: 'Namespaced',
  category: 'autoscaling',
  description: 'A CapacityBuffer keeps room on nodes for pods that do not exist yet.',
  columns: [
    { name: 'Strategy', type: 'string', jsonPath: '.spec.provisioningStrategy' },
    { name: 'PodTemplate', type: 'string', jsonPath: '.status.podTemplateRef.name' },
    { name: 'Replicas', type: 'integer', jsonPath: '.status.replicas' },
    { name: 'ConditionsType', type: 'string', jsonPath: '.status.conditions[*].type' },
    { name: 'ConditionsStatus', type: 'string', jsonPath: '.status.conditions[*].status' },
    { name: 'ConditionsReason', type: 'string', jsonPath: '.status.conditions[*].reason' },
    columns.age,
  ],
  spec: capacityBufferSpec,
  status: capacityBufferStatus,
};
